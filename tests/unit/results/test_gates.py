from __future__ import annotations

import dataclasses
from dataclasses import replace

import pytest

from pytest_mindtrial.core.record import Result
from pytest_mindtrial.core.values import Kind
from pytest_mindtrial.results.compare import compare
from pytest_mindtrial.results.gate_expression import parse_gate
from pytest_mindtrial.results.gates import Answer, GateOutcome, evaluate_baseline, evaluate_gate, evaluate_pins
from tests.support.sample_results import HOSTILE, attempt

P, F, E, S = Kind.PASSED, Kind.FAILED, Kind.ERROR, Kind.SKIPPED
GREEN, RED, UNDECIDED = Answer.GREEN, Answer.RED, Answer.UNDECIDED


def results(kinds: str, run: str = "gpt") -> list[Result]:
    letters = {"P": P, "F": F, "E": E, "S": S}
    return [attempt(f"t{index}", letters[letter], run=run) for index, letter in enumerate(kinds)]


def one(gate: str, items: list[Result]) -> GateOutcome:
    (outcome,) = evaluate_gate(parse_gate(gate), items)
    return outcome


@pytest.mark.parametrize(
    "gate, kinds, answer",
    [
        ("pass-rate >= 0.75", "PPPF", GREEN),
        ("pass-rate > 0.75", "PPPF", RED),
        ("pass-rate >= 0.75", "PPPE", GREEN),
        ("pass-rate >= 0.75", "PPPFS", GREEN),
        ("pass-rate >= 0.8", "PPPF", RED),
        ("pass-rate >= 0.8", "SSS", UNDECIDED),
        ("pass-rate >= 0.8", "", UNDECIDED),
        ("accuracy >= 1", "PPE", GREEN),
        ("accuracy >= 1", "E", UNDECIDED),
        ("error-rate <= 0.5", "PE", GREEN),
        ("error-rate <= 0.5", "EEP", RED),
        ("pass-rate-lower >= 0.5", "P" * 20, GREEN),
        ("pass-rate-lower >= 0.5", "PPP", UNDECIDED),
        ("pass-rate-lower >= 0.5", "F" * 20, RED),
        ("pass-rate-lower >= 0.5", "", UNDECIDED),
        ("p95 <= 1s", "PP", GREEN),
        ("p50 < 1s", "PP", RED),
        ("p50 < 1s", "S", UNDECIDED),
        ("cost <= 0.012", "PP", GREEN),
        ("cost <= 0.011", "PP", RED),
        ("judge-cost <= 1", "PP", UNDECIDED),
        ("pass-rate >= 0.5 where suite = other", "PP", UNDECIDED),
    ],
)
def test_answers(gate: str, kinds: str, answer: Answer) -> None:
    assert one(gate, results(kinds)).answer is answer


def test_a_dead_service_is_not_a_fast_one() -> None:
    dead = replace(attempt("t", Kind.ERROR), duration_ns=0)
    assert one("p95 <= 1s", [dead, dead]).answer is UNDECIDED


def test_the_arithmetic_is_in_words() -> None:
    outcome = one("pass-rate >= 75%", results("PPPF"))
    assert outcome.line == (
        "gate: pass-rate >= 75%: pass-rate 0.75 (3 passed of 4, 95 % interval 0.301 to 0.954) >= 0.75 → GREEN"
    )
    assert (outcome.value, outcome.limit, outcome.samples) == (0.75, 0.75, 4)


def test_repeats_do_not_narrow_the_bound() -> None:
    repeated = [attempt("t", repeat=index) for index in range(1, 51)]
    outcome = one("pass-rate-lower >= 0.5", repeated)
    assert outcome.answer is UNDECIDED
    assert "50 passed of 50 over 1 tasks" in outcome.arithmetic


def test_groups_are_judged_one_by_one() -> None:
    outcomes = evaluate_gate(parse_gate("pass-rate >= 0.5 per run"), results("PP", "a") + results("FF", "b"))
    assert [(item.group, item.answer) for item in outcomes] == [("run=a", GREEN), ("run=b", RED)]
    assert "[run=b]" in outcomes[1].line


def test_a_grouped_gate_without_results_is_undecided() -> None:
    assert one("pass-rate >= 0.5 per run", []).answer is UNDECIDED


@pytest.mark.parametrize(
    "gate, value",
    [("pass^1 >= 0.5", 0.5), ("pass^2 >= 0.5", 1 / 6), ("pass@1 >= 0.5", 0.5), ("pass@2 >= 0.5", 5 / 6)],
)
def test_repeated_attempts(gate: str, value: float) -> None:
    items = [attempt("t", kind, repeat=index) for index, kind in enumerate((P, F, P, E), 1)]
    assert one(gate, items).value == pytest.approx(value)


def test_too_few_attempts_are_undecided() -> None:
    outcome = one("pass^3 >= 0.5", results("PP"))
    assert outcome.answer is UNDECIDED
    assert "2 of 2 tasks have fewer than 3 attempts" in outcome.arithmetic
    assert one("pass^3 >= 0.5", []).answer is UNDECIDED
    assert one("pass^1 >= 0.5", results("PS")).value == 1


def test_unknown_costs_are_undecided() -> None:
    unpriced = dataclasses.replace(attempt("t"), run_config=None)
    outcome = one("cost <= 1", [unpriced])
    assert outcome.answer is UNDECIDED
    assert "a price, a counter or a common currency is missing" in outcome.line
    assert "nothing was priced" in one("cost <= 1", [attempt("t", tokens=None)]).line


@pytest.mark.parametrize(
    "kinds, answer, words",
    [
        ("P", GREEN, "1 passed"),
        ("F", RED, "1 failed"),
        ("E", RED, "1 error"),
        ("S", UNDECIDED, "1 skipped"),
        ("", UNDECIDED, "no result"),
    ],
)
def test_pins(kinds: str, answer: Answer, words: str) -> None:
    (outcome,) = evaluate_pins([("openai", "gpt", "t0")], results(kinds))
    assert (outcome.answer, outcome.arithmetic, outcome.group) == (answer, words, "t0 [openai-gpt]")


def test_every_repeat_of_a_pin_must_pass() -> None:
    items = [attempt("t", kind, repeat=index) for index, kind in enumerate((P, F), 1)]
    (outcome,) = evaluate_pins([("openai", "gpt", "t")], items)
    assert (outcome.answer, outcome.arithmetic) == (RED, "1 passed, 1 failed")


@pytest.mark.parametrize(
    "old, new, answer",
    [
        ("PPPPP", "FFFFF", RED),
        ("PPPPPP", "PFFFFP", GREEN),
        ("PPPP", "FFFF", UNDECIDED),
        ("FFFFF", "PPPPP", GREEN),
        ("PPPPP", "EEEEE", UNDECIDED),
    ],
)
def test_regression_against_a_baseline(old: str, new: str, answer: Answer) -> None:
    (outcome,) = evaluate_baseline(compare(results(old), results(new)))
    assert outcome.answer is answer
    assert outcome.group == "openai/gpt"


def test_the_level_can_be_chosen() -> None:
    (outcome,) = evaluate_baseline(compare(results("PPPP"), results("FFFF")), level=0.1)
    assert outcome.answer is RED


@pytest.mark.parametrize("text", HOSTILE.values(), ids=HOSTILE)
def test_hostile_names_stay_on_one_harmless_line(text: str) -> None:
    items = [attempt(text, run=text, provider=text)]
    outcomes = [
        *evaluate_gate(parse_gate("pass-rate >= 1 per run"), items),
        *evaluate_pins([(text, text, text)], items),
        *evaluate_baseline(compare(items, items)),
    ]
    for outcome in outcomes:
        assert len(outcome.line.splitlines()) == 1
        assert not any(mark in outcome.line for mark in "\x1b\x00\u202e\ud83d")
