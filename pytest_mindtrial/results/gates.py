"""Gates measured on results: green, red or undecided, with the arithmetic in words.

Does not read the expression language (``results/gate_expression.py``) and does not decide a session's exit status
(``results/gate_decision.py``). A gate never guesses: without results, with an unknown cost or with fewer attempts than
``pass^K`` needs it is undecided. Source: design D15, D16.
"""

from __future__ import annotations

import math
from collections.abc import Callable, Collection, Iterable, Sequence
from dataclasses import dataclass
from enum import StrEnum
from typing import Literal

from pytest_mindtrial.core.display import one_line
from pytest_mindtrial.core.durations import format_duration
from pytest_mindtrial.core.record import Result
from pytest_mindtrial.core.values import Kind
from pytest_mindtrial.results.compare import Comparison, RunComparison
from pytest_mindtrial.results.costs import Spent, candidate_cost, judge_cost, total_cost
from pytest_mindtrial.results.gate_expression import GateExpression, Metric
from pytest_mindtrial.results.repeats import pass_all_k, pass_any_k
from pytest_mindtrial.results.significance import smallest_p
from pytest_mindtrial.results.statistics import count_kinds, model_times, percentile, wilson_interval
from pytest_mindtrial.results.stats_filters import group_results

__all__ = ["Answer", "GateOutcome", "MustPass", "evaluate_baseline", "evaluate_gate", "evaluate_pins"]

MustPass = tuple[str, str, str]
"""Provider, run and task of a pinned item."""


class Answer(StrEnum):
    """What a gate says."""

    GREEN = "green"
    RED = "red"
    UNDECIDED = "undecided"


@dataclass(frozen=True, slots=True)
class GateOutcome:
    """What one gate says about one group.

    Attributes:
        kind: ``gate`` (an expression), ``pin`` (must-pass) or ``baseline``.
        gate: The user's words.
        group: Which group of a ``per`` gate, which pinned item, which run; blank = everything.
        answer: The answer.
        value: What was measured: share, money, or nanoseconds; None when it could not be.
        limit: What it was compared with; None for pins.
        samples: How many results (for pass^K tasks, for baselines pairs) the value is made of.
        arithmetic: The calculation as one line of text.
    """

    kind: Literal["gate", "pin", "baseline"]
    gate: str
    group: str
    answer: Answer
    value: float | None
    limit: float | None
    samples: int
    arithmetic: str

    @property
    def line(self) -> str:
        """The outcome as one line for people, safe for a terminal and for XML."""
        where = f" [{self.group}]" if self.group else ""
        return one_line(f"{self.kind}: {self.gate}{where}: {self.arithmetic} → {self.answer.value.upper()}")


@dataclass(frozen=True, slots=True)
class _Measured:
    """A value with its evidence. ``upper`` is the other end of the interval where a bound is measured."""

    value: float | None
    samples: int
    evidence: str
    upper: float | None = None


def evaluate_gate(expression: GateExpression, results: Iterable[Result]) -> list[GateOutcome]:
    """Measure a gate.

    Returns:
        One outcome per group of ``per``, sorted by the group's values; without ``per`` exactly one; never empty.
    """
    meant = [result for result in results if all(condition(result) for condition in expression.where)]
    groups = group_results(meant, expression.per) if meant and expression.per else [((), tuple(meant))]
    return [
        _outcome(
            expression, ", ".join(f"{name}={value}" for name, value in zip(expression.per, key, strict=False)), members
        )
        for key, members in groups
    ]


def _outcome(expression: GateExpression, group: str, results: Sequence[Result]) -> GateOutcome:
    metric = expression.metric
    measured = _MEASURES[metric.name](metric, results)
    answer = _answer(expression, measured)
    shown = "unknown" if measured.value is None else _shown(metric, measured.value)
    evidence = f" ({measured.evidence})" if measured.evidence else ""
    return GateOutcome(
        "gate",
        expression.text,
        group,
        answer,
        measured.value,
        expression.limit,
        measured.samples,
        f"{metric} {shown}{evidence} {expression.operator} {_shown(metric, expression.limit)}",
    )


def _answer(expression: GateExpression, measured: _Measured) -> Answer:
    if measured.value is None:
        return Answer.UNDECIDED
    if expression.holds(measured.value):
        return Answer.GREEN
    # A bound that misses the limit proves nothing while the interval still reaches it.
    is_open = measured.upper is not None and expression.holds(measured.upper)
    return Answer.UNDECIDED if is_open else Answer.RED


def _shown(metric: Metric, value: float) -> str:
    if metric.is_duration:
        return format_duration(round(value))
    return f"{value:.4g}" if metric.is_share else f"{value:.6g}"


def _pass_rate(_: Metric, results: Sequence[Result]) -> _Measured:
    counts = count_kinds(results)
    interval = counts.pass_interval
    bounds = f", 95 % interval {interval.lower:.3f} to {interval.upper:.3f}" if interval else ""
    return _share(counts.passed, counts.attempted, "passed", bounds)


def _accuracy(_: Metric, results: Sequence[Result]) -> _Measured:
    counts = count_kinds(results)
    return _share(counts.passed, counts.decided, "passed")


def _error_rate(_: Metric, results: Sequence[Result]) -> _Measured:
    counts = count_kinds(results)
    return _share(counts.error, counts.attempted, "errors")


def _share(part: int, whole: int, what: str, more: str = "") -> _Measured:
    if not whole:
        return _Measured(None, 0, "no results")
    return _Measured(part / whole, whole, f"{part} {what} of {whole}{more}")


def _pass_rate_lower(_: Metric, results: Sequence[Result]) -> _Measured:
    """Measure the interval's lower end; repeats of one task count as one piece of evidence, which is cautious."""
    tasks = _by_item(results)
    counts = count_kinds(results)
    interval = wilson_interval((counts.pass_rate or 0.0) * len(tasks), len(tasks))
    if interval is None:
        return _Measured(None, 0, "no results")
    repeats = f" over {len(tasks)} tasks" if len(tasks) != counts.attempted else ""
    evidence = f"{counts.passed} passed of {counts.attempted}{repeats}, 95 % interval up to {interval.upper:.3f}"
    return _Measured(interval.lower, counts.attempted, evidence, interval.upper)


def _money(cost_of: Callable[[Result], Spent]) -> Callable[[Metric, Sequence[Result]], _Measured]:
    def measure(_: Metric, results: Sequence[Result]) -> _Measured:
        attempted = [result for result in results if result.kind is not Kind.SKIPPED]
        spent = total_cost(map(cost_of, attempted))
        if spent.amount is None:
            why = "a price, a counter or a common currency is missing" if spent.is_unknown else "nothing was priced"
            return _Measured(None, len(attempted), why)
        return _Measured(spent.amount, len(attempted), f"{spent.currency}, {len(attempted)} results")

    return measure


def _percentile(percent: float) -> Callable[[Metric, Sequence[Result]], _Measured]:
    def measure(_: Metric, results: Sequence[Result]) -> _Measured:
        times = model_times(results)
        value = percentile(times, percent)
        return _Measured(value, len(times), f"of {len(times)} attempts" if times else "no replies")

    return measure


def _repeated(metric: Metric, results: Sequence[Result]) -> _Measured:
    """Measure pass^K or pass@K: the mean over tasks of the chance that K drawn attempts all (or one of them) pass."""
    tallies = [(sum(item.kind is Kind.PASSED for item in group), len(group)) for group in _by_item(results).values()]
    short = sum(attempts < metric.k for _, attempts in tallies)
    if not tallies or short:
        why = f"{short} of {len(tallies)} tasks have fewer than {metric.k} attempts" if tallies else "no results"
        return _Measured(None, len(tallies), why)
    chances = [_chance(metric, passed, attempts) for passed, attempts in tallies]
    return _Measured(math.fsum(chances) / len(chances), len(chances), f"mean of {len(chances)} tasks")


def _chance(metric: Metric, passed: int, attempts: int) -> float:
    estimate = pass_all_k if metric.name == "pass^k" else pass_any_k
    return estimate(passed, attempts, metric.k)


def _by_item(results: Iterable[Result]) -> dict[MustPass, list[Result]]:
    """Group the attempts of each task of each run; skipped ones are left out."""
    groups: dict[MustPass, list[Result]] = {}
    for result in results:
        if result.kind is not Kind.SKIPPED:
            groups.setdefault((result.provider, result.run, result.task), []).append(result)
    return groups


_MEASURES: dict[str, Callable[[Metric, Sequence[Result]], _Measured]] = {
    "pass-rate": _pass_rate,
    "pass-rate-lower": _pass_rate_lower,
    "accuracy": _accuracy,
    "error-rate": _error_rate,
    "cost": _money(candidate_cost),
    "judge-cost": _money(judge_cost),
    "p50": _percentile(50),
    "p95": _percentile(95),
    "pass^k": _repeated,
    "pass@k": _repeated,
}


def evaluate_pins(pins: Collection[MustPass], results: Iterable[Result]) -> list[GateOutcome]:
    """Check items that must pass: every attempt of them.

    Returns:
        One outcome per pin, in their order: red for a failure or an error, undecided when the item was skipped or has
        no result.
    """
    found: dict[MustPass, list[Result]] = {}
    for result in results:
        found.setdefault((result.provider, result.run, result.task), []).append(result)
    return [_pin(pin, found.get(pin, [])) for pin in pins]


def _pin(pin: MustPass, results: Sequence[Result]) -> GateOutcome:
    counts = count_kinds(results)
    provider, run, task = pin
    if counts.failed or counts.error:
        answer = Answer.RED
    elif counts.skipped or not counts.passed:
        answer = Answer.UNDECIDED
    else:
        answer = Answer.GREEN
    parts = [
        f"{count} {word}"
        for count, word in (
            (counts.passed, "passed"),
            (counts.failed, "failed"),
            (counts.error, "error"),
            (counts.skipped, "skipped"),
        )
        if count
    ]
    arithmetic = ", ".join(parts) or "no result"
    return GateOutcome("pin", "must pass", f"{task} [{provider}-{run}]", answer, None, None, counts.total, arithmetic)


def evaluate_baseline(comparison: Comparison, *, level: float = 0.05) -> list[GateOutcome]:
    """Check "no significant regression" run by run.

    Args:
        comparison: The baseline as the old side.
        level: Greatest one-sided p-value that counts as a regression, between 0 and 1.

    Returns:
        One outcome per compared run: red for a significant fall, undecided when even all pairs falling would not have
        been significant, else green.
    """
    return [_baseline(run, level) for run in comparison.runs]


def _baseline(run: RunComparison, level: float) -> GateOutcome:
    needed = next(pairs for pairs in range(1, 10_000) if smallest_p(pairs) <= level)
    if run.pairs < needed:
        answer = Answer.UNDECIDED
        arithmetic = f"{run.pairs} paired tasks; {needed} are needed to see a regression"
    else:
        answer = Answer.RED if run.p_worse <= level else Answer.GREEN
        arithmetic = (
            f"{run.old_rate:.4g} → {run.new_rate:.4g} over {run.pairs} paired tasks, "
            f"one-sided p {run.p_worse:.4f} (regression at {level:g} or less)"
        )
    group = "/".join(run.new)
    return GateOutcome(
        "baseline", "no significant regression", group, answer, run.p_worse, level, run.pairs, arithmetic
    )
