from __future__ import annotations

import dataclasses
from pathlib import Path

import pytest

from pytest_mindtrial.core.values import Kind
from pytest_mindtrial.results.compare import compare
from pytest_mindtrial.results.evaluation import EvaluationInfo
from pytest_mindtrial.results.gate_decision import SessionFacts, decide
from pytest_mindtrial.results.gate_expression import parse_gate
from pytest_mindtrial.results.gates import evaluate_gate
from pytest_mindtrial.results.markdown import render_markdown
from tests.support.golden import check_golden
from tests.support.sample_results import HOSTILE, SETS, attempt

HERE = Path(__file__).parent
INFO = EvaluationInfo(app_version="1.0", seed="abc", suites=("tasks.yaml",))


@pytest.mark.parametrize("name", SETS)
def test_reports(name: str) -> None:
    results = SETS[name]()
    outcomes = [
        outcome
        for text in ("pass-rate >= 0.5 per run", "cost <= 1")
        for outcome in evaluate_gate(parse_gate(text), results)
    ]
    decision = decide(outcomes, results, SessionFacts(len(results), len(results), 1)) if results else None
    comparison = compare(results, results) if results else None
    check_golden(HERE / f"{name}.md", render_markdown(results, INFO, decision, comparison))


def test_mock_answers_are_announced() -> None:
    result = dataclasses.replace(attempt("t"), is_mock=True)
    assert "Some answers came from the mock provider" in render_markdown([result], INFO)


def test_an_incomplete_evaluation_says_so() -> None:
    info = EvaluationInfo(is_complete=False, incomplete_reason="interrupted")
    assert "**Incomplete:** <code>interrupted</code>" in render_markdown([], info)
    assert "the session did not finish" in render_markdown([], EvaluationInfo(is_complete=False))


@pytest.mark.parametrize("text", HOSTILE.values(), ids=HOSTILE)
def test_hostile_text_stays_data(text: str) -> None:
    result = attempt(text, Kind.FAILED, provider=text, run=text, seed=text)
    info = EvaluationInfo(seed=text, suites=(text,), is_complete=False, incomplete_reason=text)
    gates = evaluate_gate(parse_gate("pass-rate >= 1 per run, provider"), [result])
    decision = decide(gates, [result], SessionFacts(1, 1, 1))
    written = render_markdown([result], info, decision, compare([result], [result]))
    written.encode()
    assert len(written) < 10_000
    for mark in ("<img", "</script", "\x1b", "\x00", "\u202e", "|`", '("http'):
        assert mark not in written
    rows = [line for line in written.splitlines() if line.startswith("|")]
    assert all(line.endswith("|") for line in rows)


def test_long_lists_and_mentions_are_bounded() -> None:
    results = [attempt(f"@team #{index}", Kind.FAILED, provider=f"p{index}") for index in range(120)]
    written = render_markdown(results, INFO)
    assert "… and 20 more." in written
    assert "… and 70 more." in written
    assert "@team" not in written
