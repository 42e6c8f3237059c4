from __future__ import annotations

import json

import pytest
from hypothesis import given
from hypothesis import strategies as st

from pytest_mindtrial.core.record import Result
from pytest_mindtrial.core.values import Kind
from pytest_mindtrial.results.gate_decision import Decision, GatePolicy, SessionFacts, decide
from pytest_mindtrial.results.gate_expression import parse_gate
from pytest_mindtrial.results.gates import Answer, GateOutcome, evaluate_gate, evaluate_pins
from tests.support.sample_results import attempt

GREEN, RED, UNDECIDED = Answer.GREEN, Answer.RED, Answer.UNDECIDED
KINDS = {"P": Kind.PASSED, "F": Kind.FAILED, "E": Kind.ERROR, "S": Kind.SKIPPED}


def results(kinds: str) -> list[Result]:
    return [attempt(f"t{index}", KINDS[letter]) for index, letter in enumerate(kinds)]


def run(
    kinds: str,
    gate: str | None,
    status: int,
    *,
    expected: int | None = None,
    interrupted: bool = False,
    foreign: int = 0,
    policy: GatePolicy | None = None,
) -> Decision:
    items = results(kinds)
    outcomes = evaluate_gate(parse_gate(gate), items) if gate else []
    facts = SessionFacts(len(items) if expected is None else expected, len(items), status, interrupted, foreign)
    expressions = [parse_gate(gate)] if gate else []
    return decide(outcomes, items, facts, policy or GatePolicy.of(expressions))


# The experiments of spec pytest 5 (3 of 4 right), then each rule by itself.
@pytest.mark.parametrize(
    "kinds, gate, status, options, answer, exit_status",
    [
        ("PPPF", None, 1, {}, None, 1),
        ("PPPF", "pass-rate >= 0.7", 1, {}, GREEN, 0),
        ("PPPF", "pass-rate >= 0.9", 1, {}, RED, 1),
        ("PF", "pass-rate >= 0.5", 1, {"expected": 4, "interrupted": True}, UNDECIDED, 1),
        ("", "pass-rate >= 0.7", 1, {}, None, 1),
        ("", "pass-rate >= 0.7", 0, {}, None, 0),
        ("", "pass-rate >= 0.7", 0, {"expected": 3}, UNDECIDED, 1),
        ("PPPP", "pass-rate >= 0.7", 0, {}, GREEN, 0),
        ("PPPP", "cost <= 0", 0, {}, RED, 1),
        ("PPPE", "pass-rate >= 0.7", 1, {}, RED, 1),
        ("PPPE", "error-rate <= 0.25", 1, {}, GREEN, 0),
        ("PPPE", "error-rate <= 0.2", 1, {}, RED, 1),
        ("PPPE", "error-rate <= 0.25 where suite = core", 1, {}, RED, 1),
        ("PPPE", "pass-rate >= 0.7", 1, {"policy": GatePolicy(max_error_rate=0.25)}, GREEN, 0),
        ("PPPF", "pass-rate >= 0.7", 1, {"foreign": 1}, RED, 1),
        ("PPPF", "pass-rate >= 0.7", 1, {"foreign": 1, "interrupted": True}, RED, 1),
        ("PPPP", "pass-rate >= 0.7", 0, {"expected": 5}, UNDECIDED, 1),
        ("FFFF", "pass-rate >= 0.7", 1, {"expected": 5}, UNDECIDED, 1),
        ("PPPP", "pass-rate >= 0.7", 0, {"interrupted": True}, UNDECIDED, 1),
        ("PPPP", "pass^2 >= 0.7", 0, {}, UNDECIDED, 1),
        ("PPPP", "pass^2 >= 0.7", 1, {"policy": GatePolicy("green")}, UNDECIDED, 0),
        ("PPPP", "pass^2 >= 0.7", 1, {"policy": GatePolicy("green"), "expected": 9}, UNDECIDED, 1),
        ("PPPP", "pass-rate >= 0.7", 1, {"policy": GatePolicy("green"), "interrupted": True}, UNDECIDED, 1),
        ("PPPP", "pass-rate >= 0.7", 2, {"interrupted": True}, UNDECIDED, 2),
        ("PPPP", "pass-rate >= 0.7", 3, {}, UNDECIDED, 3),
        ("PPPP", "pass-rate >= 0.7", 4, {}, UNDECIDED, 4),
        ("PPPP", "pass-rate >= 0.7", 5, {}, UNDECIDED, 5),
        ("S", "pass-rate >= 0.7", 0, {}, UNDECIDED, 1),
    ],
)
def test_the_gate_table(
    kinds: str, gate: str | None, status: int, options: dict[str, object], answer: Answer | None, exit_status: int
) -> None:
    decision = run(kinds, gate, status, **options)  # type: ignore[arg-type]  # parametrized
    assert (decision.answer, decision.exit_status) == (answer, exit_status)
    assert bool(decision.reasons) == (answer not in (None, GREEN))


def test_pins_alone_leave_pytests_rule() -> None:
    pins = evaluate_pins([("openai", "gpt", "t0")], results("PF"))
    assert decide(pins, results("PF"), SessionFacts(2, 2, 1)).answer is None


def test_a_red_pin_beats_a_green_gate() -> None:
    items = results("FPPP")
    outcomes = [*evaluate_gate(parse_gate("pass-rate >= 0.5"), items), *evaluate_pins([("openai", "gpt", "t0")], items)]
    decision = decide(outcomes, items, SessionFacts(4, 4, 1))
    assert (decision.answer, decision.exit_status, decision.reasons) == (RED, 1, ("must pass is red",))


def test_what_is_printed() -> None:
    assert run("PPPE", "pass-rate >= 0.7", 1).lines == [
        "gate: pass-rate >= 0.7: pass-rate 0.75 (3 passed of 4, 95 % interval 0.301 to 0.954) >= 0.7 → GREEN",
        "gate: 1 errors of 4, more than 0 allowed",
        "gate: RED (exit status 1)",
    ]
    assert run("P", None, 0).lines == []


def test_what_goes_into_junit_and_json() -> None:
    decision = run("P", "pass-rate >= 0.7", 0)
    assert list(decision.properties()) == ["mt_gate", "mt_gate_1"]
    assert decision.properties()["mt_gate"] == "green"
    assert run("P", None, 0).properties() == {}
    assert json.loads(json.dumps(decision.as_object()))["outcomes"][0]["value"] == 1.0


outcomes = st.builds(
    GateOutcome,
    st.sampled_from(["gate", "pin", "baseline"]),
    st.just("g"),
    st.just(""),
    st.sampled_from(Answer),
    st.none(),
    st.none(),
    st.just(0),
    st.just("a"),
)
facts = st.builds(
    SessionFacts, st.integers(0, 3), st.integers(0, 3), st.integers(0, 5), st.booleans(), st.integers(0, 1)
)


@given(st.lists(outcomes, max_size=4), st.text("PFES", max_size=4), facts, st.sampled_from(["red", "green"]))
def test_zero_is_earned(gates: list[GateOutcome], kinds: str, session: SessionFacts, undecided: str) -> None:
    decision = decide(gates, results(kinds), session, GatePolicy(undecided))  # type: ignore[arg-type]  # sampled
    if session.exit_status > 1 or decision.answer is None:
        assert decision.exit_status == session.exit_status
    elif decision.exit_status == 0:
        assert not session.interrupted
        assert session.expected == session.reported
        assert not session.foreign_failures
        assert "E" not in kinds
        assert all(gate.answer is not RED for gate in gates)
        assert undecided == "green" or all(gate.answer is GREEN for gate in gates)
