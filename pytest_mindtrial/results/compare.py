"""Comparing two sets of results task by task: fixed, broken, same, new, gone.

Does not write (``results/compare_writers.py``) and does not decide gates (``results/gates.py``). The unit of evidence
is the task: its repeats are averaged first, so they are never taken for independent tasks. Errors and skips are no
decision; a task without a decision on one side is ``undecided`` and in no test. With one attempt per task the sign
test is McNemar's exact test. Source: design D15; issue "From results to decisions".
"""

from __future__ import annotations

import math
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, replace
from enum import StrEnum

from pytest_mindtrial.core.errors import ResultsError
from pytest_mindtrial.core.record import Result
from pytest_mindtrial.core.values import Kind
from pytest_mindtrial.results.costs import Spent, candidate_cost, candidate_tokens, total_cost
from pytest_mindtrial.results.significance import Interval, bootstrap_mean, holm, sign_test

__all__ = ["Amounts", "Change", "Comparison", "RunComparison", "RunName", "Tally", "TaskChange", "compare"]

RunName = tuple[str, str]
"""Provider and run."""

_Tasks = dict[str, list[Result]]


class Change(StrEnum):
    """What happened to a task between two evaluations."""

    BROKEN = "broken"
    FIXED = "fixed"
    UNDECIDED = "undecided"
    NEW = "new"
    GONE = "gone"
    SAME = "same"


@dataclass(frozen=True, slots=True)
class Tally:
    """The results of one task on one side.

    Attributes:
        passed: Passed attempts.
        decided: Passed and failed attempts.
        attempts: All, with errors and skips.
    """

    passed: int
    decided: int
    attempts: int

    @property
    def share(self) -> float | None:
        """Passed of decided; None without a decision."""
        return self.passed / self.decided if self.decided else None


@dataclass(frozen=True, slots=True)
class TaskChange:
    """One task; ``old`` or ``new`` is None where the task does not exist."""

    task: str
    change: Change
    old: Tally | None
    new: Tally | None


@dataclass(frozen=True, slots=True)
class Amounts:
    """Sums over the tasks that both sides have; None = nothing reported or not known.

    Attributes:
        duration_ns: Model time.
        cost: Candidates only.
    """

    input_tokens: int | None
    output_tokens: int | None
    duration_ns: int
    cost: Spent


@dataclass(frozen=True, slots=True)
class RunComparison:
    """One run against another (or against its earlier self).

    Attributes:
        old: Provider and run.
        new: Provider and run.
        tasks: Sorted by change (broken first), then by name.
        pairs: Tasks decided on both sides; all rates and tests are about these.
        old_rate: Mean pass share of the pairs; None without pairs.
        new_rate: The same, afterwards.
        interval: 95 % paired bootstrap interval of the difference; None with fewer than two pairs.
        test: ``exact McNemar``, or ``exact sign test`` where a task has several attempts.
        p_value: Two-sided.
        adjusted_p: Two-sided, by Holm's method over all runs compared at once.
        p_worse: One-sided: probability of so many falls or more if falls and rises were equally likely.
        old_amounts: What the old side used for the common tasks.
        new_amounts: What the new side used for the common tasks.
    """

    old: RunName
    new: RunName
    tasks: tuple[TaskChange, ...]
    pairs: int
    old_rate: float | None
    new_rate: float | None
    interval: Interval | None
    test: str
    p_value: float
    adjusted_p: float
    p_worse: float
    old_amounts: Amounts
    new_amounts: Amounts

    def count(self, change: Change) -> int:
        """Return how many tasks changed this way."""
        return sum(item.change is change for item in self.tasks)

    @property
    def difference(self) -> float | None:
        """New minus old rate of the pairs."""
        return None if self.old_rate is None or self.new_rate is None else self.new_rate - self.old_rate


@dataclass(frozen=True, slots=True)
class Comparison:
    """All runs that were compared.

    Attributes:
        only_old: Runs without a counterpart, not compared.
        only_new: The same on the other side.
    """

    runs: tuple[RunComparison, ...]
    only_old: tuple[RunName, ...] = ()
    only_new: tuple[RunName, ...] = ()


def compare(
    old: Iterable[Result], new: Iterable[Result], pairing: Mapping[RunName, RunName] | None = None
) -> Comparison:
    """Compare two evaluations.

    Args:
        old: The baseline.
        new: What is judged.
        pairing: Old run → new run. None = runs of the same provider and name; where there is none and both sides have
            one run, these two (a swapped model).

    Raises:
        ResultsError: A side is empty, or it is not clear which runs belong together.
    """
    before, after = _by_run(old), _by_run(new)
    chosen = dict(pairing) if pairing else _pairing(before, after)
    _check_known(chosen, before, "old")
    _check_known(chosen.values(), after, "new")
    runs = [_compare_run(name, other, before[name], after[other]) for name, other in chosen.items()]
    adjusted = holm([run.p_value for run in runs])
    return Comparison(
        tuple(replace(run, adjusted_p=p_value) for run, p_value in zip(runs, adjusted, strict=True)),
        tuple(name for name in before if name not in chosen),
        tuple(name for name in after if name not in chosen.values()),
    )


def _by_run(results: Iterable[Result]) -> dict[RunName, _Tasks]:
    runs: dict[RunName, _Tasks] = {}
    for result in results:
        runs.setdefault((result.provider, result.run), {}).setdefault(result.task, []).append(result)
    return runs


def _check_known(names: Iterable[RunName], runs: Mapping[RunName, _Tasks], side: str) -> None:
    for name in names:
        if name not in runs:
            raise ResultsError(f"the {side} results have no run {'/'.join(name)}; they have {_names(runs)}")


def _pairing(before: Mapping[RunName, _Tasks], after: Mapping[RunName, _Tasks]) -> dict[RunName, RunName]:
    if not before or not after:
        raise ResultsError(f"the {'new' if before else 'old'} results are empty; there is nothing to compare")
    common = [name for name in before if name in after]
    if common:
        return {name: name for name in common}
    if len(before) == len(after) == 1:
        return {next(iter(before)): next(iter(after))}
    raise ResultsError(
        f"no run is in both results (old: {_names(before)}; new: {_names(after)}); say which two belong together"
    )


def _names(runs: Iterable[RunName]) -> str:
    return ", ".join("/".join(name) for name in runs)


def _compare_run(old: RunName, new: RunName, before: _Tasks, after: _Tasks) -> RunComparison:
    tasks = [_change(task, before.get(task, []), after.get(task, [])) for task in before | after]
    tasks.sort(key=lambda item: (list(Change).index(item.change), item.task))
    shares = [pair for pair in map(_shares, tasks) if pair is not None]
    differences = [after_share - before_share for before_share, after_share in shares]
    p_value = sign_test(differences)
    is_single = all(len(group) == 1 for side in (before, after) for group in side.values())
    common = [task for task in before if task in after]
    return RunComparison(
        old=old,
        new=new,
        tasks=tuple(tasks),
        pairs=len(shares),
        old_rate=_mean([share for share, _ in shares]),
        new_rate=_mean([share for _, share in shares]),
        interval=bootstrap_mean(differences),
        test="exact McNemar" if is_single else "exact sign test",
        p_value=p_value,
        adjusted_p=p_value,
        p_worse=sign_test(differences, worse_only=True),
        old_amounts=_amounts([result for task in common for result in before[task]]),
        new_amounts=_amounts([result for task in common for result in after[task]]),
    )


def _change(task: str, before: Sequence[Result], after: Sequence[Result]) -> TaskChange:
    old, new = _tally(before), _tally(after)
    if old is None:
        change = Change.NEW
    elif new is None:
        change = Change.GONE
    elif old.share is None or new.share is None:
        change = Change.UNDECIDED
    elif new.share == old.share:
        change = Change.SAME
    else:
        change = Change.FIXED if new.share > old.share else Change.BROKEN
    return TaskChange(task, change, old, new)


def _shares(item: TaskChange) -> tuple[float, float] | None:
    old, new = item.old.share if item.old else None, item.new.share if item.new else None
    return None if old is None or new is None else (old, new)


def _tally(results: Sequence[Result]) -> Tally | None:
    if not results:
        return None
    passed = sum(result.kind is Kind.PASSED for result in results)
    decided = sum(result.kind in (Kind.PASSED, Kind.FAILED) for result in results)
    return Tally(passed, decided, len(results))


def _mean(values: Sequence[float]) -> float | None:
    return math.fsum(values) / len(values) if values else None


def _amounts(results: Sequence[Result]) -> Amounts:
    tokens = [candidate_tokens(result) for result in results]
    return Amounts(
        _sum([into for into, _ in tokens]),
        _sum([out for _, out in tokens]),
        sum(result.duration_ns for result in results),
        total_cost(map(candidate_cost, results)),
    )


def _sum(values: Sequence[int | None]) -> int | None:
    known = [value for value in values if value is not None]
    return sum(known) if known else None
