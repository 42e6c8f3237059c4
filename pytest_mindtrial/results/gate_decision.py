"""From gates to the session's exit status: a pure function with a printed reason for every step.

Does not measure (``results/gates.py``) and knows no pytest object. Source: spec pytest 5; design D16.

Without a gate pytest's own status stands. With one, 0 needs: all gates green, no more errors than allowed, no failing
test that is not ours, every expected item reported, no interruption. Statuses 2 to 5 are never changed.
"""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from typing import Any, Literal

from pytest_mindtrial.core.record import Result
from pytest_mindtrial.core.wire import to_wire
from pytest_mindtrial.results.gate_expression import GateExpression
from pytest_mindtrial.results.gates import Answer, GateOutcome
from pytest_mindtrial.results.statistics import count_kinds

__all__ = ["Decision", "GatePolicy", "SessionFacts", "decide"]

OK, TESTS_FAILED = 0, 1


@dataclass(frozen=True, slots=True)
class SessionFacts:
    """What happened beside the results.

    Attributes:
        expected: Items of ours that were selected; 0 = there was nothing to run (``--collect-only``).
        reported: Items of ours with a result.
        exit_status: pytest's own status, 0 to 5.
        interrupted: True after Ctrl-C, ``-x`` or ``--maxfail`` cut the run.
        foreign_failures: Failed or broken tests that are not ours.
    """

    expected: int
    reported: int
    exit_status: int
    interrupted: bool = False
    foreign_failures: int = 0


@dataclass(frozen=True, slots=True)
class GatePolicy:
    """What is done with doubt.

    Attributes:
        undecided: Which exit status an undecided gate gets: ``red`` (1) or ``green`` (0).
        max_error_rate: Greatest share of errors among attempted results that is tolerated.
    """

    undecided: Literal["red", "green"] = "red"
    max_error_rate: float = 0.0

    @classmethod
    def of(cls, expressions: Iterable[GateExpression], undecided: Literal["red", "green"] = "red") -> GatePolicy:
        """Return the policy that goes with gates: one ``error-rate`` gate over everything replaces "no errors"."""
        limits = [
            gate.limit
            for gate in expressions
            if gate.metric.name == "error-rate" and gate.operator in ("<", "<=") and not gate.where and not gate.per
        ]
        return cls(undecided, min(limits, default=0.0))


@dataclass(frozen=True, slots=True)
class Decision:
    """What the session ends with.

    Attributes:
        answer: None when no gate was given or there was nothing to run: pytest's status stands.
        exit_status: For the process.
        reasons: Why the answer is not green; empty when it is.
        outcomes: The gates' arithmetic.
    """

    answer: Answer | None
    exit_status: int
    reasons: tuple[str, ...]
    outcomes: tuple[GateOutcome, ...]

    @property
    def lines(self) -> list[str]:
        """The arithmetic and the decision for the terminal; empty without gates."""
        if self.answer is None:
            return []
        return [
            *(outcome.line for outcome in self.outcomes),
            *(f"gate: {reason}" for reason in self.reasons),
            f"gate: {self.answer.value.upper()} (exit status {self.exit_status})",
        ]

    def as_object(self) -> dict[str, Any]:
        """Return plain data for JSON."""
        return to_wire(self)

    def properties(self) -> dict[str, str]:
        """Return scalar properties for junit's suite element; empty without gates."""
        if self.answer is None:
            return {}
        out = {"mt_gate": self.answer.value}
        for number, outcome in enumerate(self.outcomes, 1):
            out[f"mt_gate_{number}"] = outcome.line
        return out


def decide(
    outcomes: Sequence[GateOutcome], results: Iterable[Result], facts: SessionFacts, policy: GatePolicy = GatePolicy()
) -> Decision:
    """Decide the exit status.

    Args:
        outcomes: Of all gates, pins and baselines. Pins alone are no gate: without one of the others pytest's rule
            stands, under which any failure is red.
        results: All reported results of ours.
        facts: The session.
        policy: What doubt means.
    """
    has_gate = any(outcome.kind != "pin" for outcome in outcomes)
    if not has_gate or (facts.expected == 0 and facts.reported == 0):
        return Decision(None, facts.exit_status, (), tuple(outcomes))
    if facts.exit_status not in (OK, TESTS_FAILED):
        reason = f"not evaluated: the session ended with status {facts.exit_status}"
        return Decision(Answer.UNDECIDED, facts.exit_status, (reason,), tuple(outcomes))
    doubts = _doubts(facts)
    red = _red_reasons(outcomes, results, facts, policy, is_complete=not doubts)
    unsure = [f"{outcome.gate} is undecided" for outcome in outcomes if outcome.answer is Answer.UNDECIDED]
    if red:
        answer, status = Answer.RED, TESTS_FAILED
    elif doubts:
        answer, status = Answer.UNDECIDED, TESTS_FAILED
    elif unsure:
        answer, status = Answer.UNDECIDED, OK if policy.undecided == "green" else TESTS_FAILED
    else:
        answer, status = Answer.GREEN, OK
    return Decision(answer, status, (*red, *doubts, *dict.fromkeys(unsure)), tuple(outcomes))


def _doubts(facts: SessionFacts) -> list[str]:
    """Say why the results are not all there; no policy turns this green."""
    doubts = ["not evaluated: the run was interrupted"] if facts.interrupted else []
    if facts.reported != facts.expected:
        doubts.append(f"incomplete: {facts.reported} of {facts.expected} items have a result")
    return doubts


def _red_reasons(
    outcomes: Sequence[GateOutcome],
    results: Iterable[Result],
    facts: SessionFacts,
    policy: GatePolicy,
    *,
    is_complete: bool,
) -> list[str]:
    reasons = []
    if facts.foreign_failures:
        reasons.append(f"{facts.foreign_failures} other tests failed")
    # Part of the results proves nothing about all of them, in either direction.
    if is_complete:
        counts = count_kinds(results)
        rate = counts.error / counts.attempted if counts.attempted else 0.0
        if rate > policy.max_error_rate:
            reasons.append(f"{counts.error} errors of {counts.attempted}, more than {policy.max_error_rate:g} allowed")
        reasons += [f"{outcome.gate} is red" for outcome in outcomes if outcome.answer is Answer.RED]
    return list(dict.fromkeys(reasons))
