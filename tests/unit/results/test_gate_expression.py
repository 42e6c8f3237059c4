from __future__ import annotations

import contextlib

import pytest
from hypothesis import given
from hypothesis import strategies as st

from pytest_mindtrial.core.errors import ResultsError
from pytest_mindtrial.results.gate_expression import Condition, GateExpression, Metric, parse_gate
from tests.support.sample_results import attempt


@pytest.mark.parametrize(
    "text, gate",
    [
        ("pass-rate >= 0.9", GateExpression("pass-rate >= 0.9", Metric("pass-rate"), ">=", 0.9)),
        (" pass-rate>=90% ", GateExpression("pass-rate>=90%", Metric("pass-rate"), ">=", 0.9)),
        ("pass-rate-lower > .5", GateExpression("pass-rate-lower > .5", Metric("pass-rate-lower"), ">", 0.5)),
        ("accuracy >= 1", GateExpression("accuracy >= 1", Metric("accuracy"), ">=", 1)),
        ("error-rate < 2%", GateExpression("error-rate < 2%", Metric("error-rate"), "<", 0.02)),
        ("cost <= 12.5", GateExpression("cost <= 12.5", Metric("cost"), "<=", 12.5)),
        ("p95 <= 1m30s", GateExpression("p95 <= 1m30s", Metric("p95"), "<=", 90e9)),
        ("pass^3 >= 0.5", GateExpression("pass^3 >= 0.5", Metric("pass^k", 3), ">=", 0.5)),
        ("pass@10 >= 0.5", GateExpression("pass@10 >= 0.5", Metric("pass@k", 10), ">=", 0.5)),
        (
            "judge-cost < 1 where suite = core and tag != 'must work' per provider, run",
            GateExpression(
                "judge-cost < 1 where suite = core and tag != 'must work' per provider, run",
                Metric("judge-cost"),
                "<",
                1,
                (Condition("suite", "core"), Condition("tag", "must work", False)),
                ("provider", "run"),
            ),
        ),
        (
            'p50 < 5s where run = "GPT-5.2 (high)" per tag',
            GateExpression(
                'p50 < 5s where run = "GPT-5.2 (high)" per tag',
                Metric("p50"),
                "<",
                5e9,
                (Condition("run", "GPT-5.2 (high)"),),
                ("tag",),
            ),
        ),
    ],
)
def test_gates(text: str, gate: GateExpression) -> None:
    assert parse_gate(text) == gate


@pytest.mark.parametrize(
    "text, message",
    [
        ("", "column 1: expected a metric, one of pass-rate"),
        ("pass_rate >= 0.9", "column 1: expected a metric.*did you mean 'pass-rate'.*found 'pass_rate >= 0.9'"),
        ("pass^0 >= 0.5", "pass\\^K and pass@K take a K from 1 to 1000"),
        ("pass^99999999999 >= 0.5", "take a K from 1 to 1000"),
        ("pass-rate", "column 10: expected an operator, one of >=, >, <=, <; found 'the end'"),
        ("pass-rate = 0.9", "column 11: expected an operator"),
        ("pass-rate-lower <= 0.9", "pass-rate-lower is a lower bound"),
        ("pass-rate >= high", "expected a number such as 0.9 or 90%; found 'high'"),
        ("pass-rate >= 90", "pass-rate lies between 0 and 1"),
        ("pass-rate >= -1", "expected a number"),
        ("cost <= 5%", "expected a number; found '5%'"),
        ("p95 <= 30", "'30' is not a duration"),
        (
            "pass-rate >= 0.9 when x",
            "column 18: unexpected text; after the limit come 'where' and 'per'; found 'when x'",
        ),
        ("pass-rate >= 0.9 where colour = red", "expected a dimension, one of provider, run"),
        ("pass-rate >= 0.9 where suite > x", "expected = or !=, one of =, !="),
        ("pass-rate >= 0.9 where suite =", "expected a value; quote values"),
        ("pass-rate >= 0.9 where suite = ,", "expected a value; quote values"),
        ("pass-rate >= 0.9 where suite = 'open", 'in quotes that are closed; found "\'open"'),
        ("pass-rate >= 0.9 per", "expected a dimension"),
        ("pass-rate >= 0.9 per run, run", "a dimension can be given once"),
        ("pass-rate >= 0.9 per run where suite = x", "unexpected text"),
    ],
)
def test_mistakes_are_located(text: str, message: str) -> None:
    with pytest.raises(ResultsError, match=message):
        parse_gate(text)


@given(st.text())
def test_any_text_is_a_gate_or_a_user_error(text: str) -> None:
    with contextlib.suppress(ResultsError):
        assert parse_gate(text).text == text.strip()


@given(st.text(alphabet=st.characters(exclude_characters="\"'")))
def test_quoted_values_are_taken_as_they_are(value: str) -> None:
    assert parse_gate(f'cost < 1 where tag = "{value}"').where == (Condition("tag", value),)


@pytest.mark.parametrize(
    "condition, holds",
    [
        (Condition("provider", "OpenAI"), True),
        (Condition("provider", "openai", is_equal=False), False),
        (Condition("tag", "b"), True),
        (Condition("tag", "c", is_equal=False), True),
        (Condition("difficulty", "(unspecified)"), False),
    ],
)
def test_conditions(condition: Condition, holds: bool) -> None:
    assert condition(attempt("t", tags=("a", "B"))) is holds


@pytest.mark.parametrize("metric, text", [(Metric("cost"), "cost"), (Metric("pass^k", 3), "pass^3")])
def test_metrics_show_as_written(metric: Metric, text: str) -> None:
    assert str(metric) == text
