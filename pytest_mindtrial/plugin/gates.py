"""The gates of a session: read before anything is spent, decided when every result is there.

Does not measure (``results/gates.py``), does not know the table of exit statuses (``results/gate_decision.py``) and
does not set one (``plugin/conclusion.py``). Source: spec pytest 5; design D16.
"""

from __future__ import annotations

import re
from collections.abc import Collection, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING, Literal, cast

import pytest

from pytest_mindtrial.core.errors import ResultsError
from pytest_mindtrial.results.compare import Comparison, compare
from pytest_mindtrial.results.gate_decision import Decision, GatePolicy, SessionFacts, decide
from pytest_mindtrial.results.gate_expression import GateExpression, parse_gate
from pytest_mindtrial.results.gates import Answer, GateOutcome, evaluate_baseline, evaluate_gate, evaluate_pins
from pytest_mindtrial.results.stored import read_stored_results

if TYPE_CHECKING:
    from pytest_mindtrial.core.record import Result
    from pytest_mindtrial.plugin.options import Settings

__all__ = ["Gates", "read_gates"]

_SHARE = re.compile(r"[0-9]+(\.[0-9]*)?%?|\.[0-9]+%?")


@dataclass(frozen=True, slots=True)
class Gates:
    """What the user demands of a session.

    Attributes:
        expressions: ``--mt-min-pass-rate`` first, then every ``--mt-gate``.
        baseline: Earlier results; None = no such gate.
        level: Greatest one-sided p-value that counts as a regression.
        policy: What doubt means.
    """

    expressions: tuple[GateExpression, ...]
    baseline: tuple[Result, ...] | None
    level: float
    policy: GatePolicy

    def decide(
        self, results: Sequence[Result], pinned: Collection[str], facts: SessionFacts
    ) -> tuple[Decision, Comparison | None]:
        """Return the decision, and the comparison with the baseline where there is one.

        Args:
            results: Every reported result.
            pinned: Node ids of items that must pass.
            facts: The session.
        """
        pins = dict.fromkeys((item.provider, item.run, item.task) for item in results if item.nodeid in pinned)
        outcomes = [outcome for gate in self.expressions for outcome in evaluate_gate(gate, results)]
        outcomes += evaluate_pins(tuple(pins), results)
        comparison, regressions = self._against_baseline(results)
        return decide([*outcomes, *regressions], results, facts, self.policy), comparison

    def _against_baseline(self, results: Sequence[Result]) -> tuple[Comparison | None, list[GateOutcome]]:
        if self.baseline is None:
            return None, []
        try:
            comparison = compare(self.baseline, results)
        except ResultsError as error:  # no run in common: nothing was measured
            words = "no significant regression"
            undecided = GateOutcome("baseline", words, "", Answer.UNDECIDED, None, self.level, 0, str(error))
            return None, [undecided]
        return comparison, evaluate_baseline(comparison, level=self.level)


def read_gates(settings: Settings) -> Gates:
    """Read expressions and the baseline.

    Raises:
        pytest.UsageError: One of them cannot be read.
    """
    try:
        expressions = [parse_gate(text) for text in settings.gates]
        baseline = _read_baseline(settings.baseline) if settings.baseline else None
    except ResultsError as error:
        raise pytest.UsageError(str(error)) from None
    if settings.min_pass_rate:
        expressions.insert(0, _pass_rate_gate(settings.min_pass_rate))
    undecided = cast("Literal['red', 'green']", settings.undecided)
    return Gates(tuple(expressions), baseline, _level(settings.baseline_level), GatePolicy.of(expressions, undecided))


def _read_baseline(path: Path) -> tuple[Result, ...]:
    results = read_stored_results(path)
    if not results:
        raise ResultsError(f"--mt-baseline: {path} holds no results")
    return results


def _pass_rate_gate(text: str) -> GateExpression:
    if _SHARE.fullmatch(text.strip()):
        try:
            return parse_gate(f"pass-rate >= {text.strip()}")
        except ResultsError:  # above 1
            pass
    raise pytest.UsageError(f"--mt-min-pass-rate: {text!r} is not a share from 0 to 1 (or 0% to 100%)")


def _level(text: str) -> float:
    try:
        level = float(text)
    except ValueError:
        level = 0.0
    if not 0 < level < 1:
        raise pytest.UsageError(f"--mt-baseline-level: {text!r} is not a number between 0 and 1")
    return level
