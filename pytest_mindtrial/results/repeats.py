"""What repeats say: pass@k, pass^k, and the tasks whose outcome changes from try to try.

pass@k is the chance that at least one of k tries passes, pass^k that all of them do. Both are estimated without bias
from n ≥ k tries by counting subsets, per task, and averaged over tasks: tries of one task are no independent evidence,
so the interval counts tasks. Errors are tries that did not pass; skipped ones are left out. Results without a repeat
index are not looked at. Does not render.

Source: design D15; Chen et al., "Evaluating Large Language Models Trained on Code", 2021 (pass@k); Yao et al.,
"τ-bench", 2024 (pass^k).
"""

from __future__ import annotations

import math
from collections.abc import Callable, Iterable, Sequence
from dataclasses import dataclass

from pytest_mindtrial.core.display import one_line
from pytest_mindtrial.core.record import Result
from pytest_mindtrial.core.values import Kind
from pytest_mindtrial.results.significance import Interval
from pytest_mindtrial.results.statistics import wilson_interval

__all__ = ["Estimate", "RepeatSummary", "TaskTally", "pass_all_k", "pass_any_k", "repeat_lines", "summarize_repeats"]

_NAMES_SHOWN = 5


@dataclass(frozen=True, slots=True)
class TaskTally:
    """The tries of one task by one run."""

    task: str
    passed: int
    tries: int

    @property
    def is_flaky(self) -> bool:
        """True when some tries passed and some did not."""
        return 0 < self.passed < self.tries


@dataclass(frozen=True, slots=True)
class Estimate:
    """A mean over tasks.

    Attributes:
        interval: 95 %; cautious: it is what as many tasks with one try each would give (a share's variance is never
            larger than that).
    """

    value: float
    interval: Interval


@dataclass(frozen=True, slots=True)
class RepeatSummary:
    """The repeats of one run.

    Attributes:
        tallies: One per repeated task with at least one try that was not skipped, in order of first appearance.
        tries: k of the last entry of the following: the fewest tries of any task.
        any_of: pass@k for k = 1 … ``tries``.
        all_of: pass^k for k = 1 … ``tries``.
    """

    provider: str
    run: str
    tallies: tuple[TaskTally, ...]
    tries: int
    any_of: tuple[Estimate, ...]
    all_of: tuple[Estimate, ...]

    @property
    def flaky(self) -> tuple[TaskTally, ...]:
        """Tasks that passed sometimes."""
        return tuple(tally for tally in self.tallies if tally.is_flaky)


def pass_any_k(passed: int, tries: int, k: int) -> float:
    """Return the unbiased estimate of the chance that at least one of k tries passes; ``k`` from 1 to ``tries``."""
    return 1 - math.comb(tries - passed, k) / math.comb(tries, k)


def pass_all_k(passed: int, tries: int, k: int) -> float:
    """Return the unbiased estimate of the chance that all of k tries pass; ``k`` from 1 to ``tries``."""
    return math.comb(passed, k) / math.comb(tries, k)


def summarize_repeats(results: Iterable[Result]) -> list[RepeatSummary]:
    """Return one summary per provider and run with repeated tasks, sorted by both."""
    runs: dict[tuple[str, str], dict[tuple[str, str], list[Result]]] = {}
    for result in results:
        if result.repeat is not None and result.kind is not Kind.SKIPPED:
            tasks = runs.setdefault((result.provider, result.run), {})
            tasks.setdefault((result.source.partition(":")[0], result.task), []).append(result)
    return [_summary(provider, run, tasks) for (provider, run), tasks in sorted(runs.items())]


def _summary(provider: str, run: str, tasks: dict[tuple[str, str], list[Result]]) -> RepeatSummary:
    tallies = tuple(
        TaskTally(task, sum(result.kind is Kind.PASSED for result in members), len(members))
        for (_, task), members in tasks.items()
    )
    tries = min(tally.tries for tally in tallies)
    ks = range(1, tries + 1)
    any_of = tuple(_mean(tallies, pass_any_k, k) for k in ks)
    all_of = tuple(_mean(tallies, pass_all_k, k) for k in ks)
    return RepeatSummary(provider, run, tallies, tries, any_of, all_of)


def _mean(tallies: Sequence[TaskTally], estimate: Callable[[int, int, int], float], k: int) -> Estimate:
    count = len(tallies)
    value = math.fsum(estimate(tally.passed, tally.tries, k) for tally in tallies) / count
    interval = wilson_interval(value * count, count)
    assert interval is not None
    return Estimate(value, interval)


def repeat_lines(summaries: Iterable[RepeatSummary]) -> list[str]:
    """Return what a terminal shows: two estimates per run, and its flaky tasks."""
    lines = []
    for summary in summaries:
        k = summary.tries
        name = f"{one_line(summary.provider)} {one_line(summary.run)}"
        numbers = [f"pass@{k} {_shown(summary.any_of[-1])}", f"pass^{k} {_shown(summary.all_of[-1])}"]
        if k == 1:
            numbers = numbers[:1]
        count = len(summary.tallies)
        lines.append(f"repeats: {name}: {count} task{'' if count == 1 else 's'} × {k}: {', '.join(numbers)}")
        if summary.flaky:
            lines.append(f"  {len(summary.flaky)} flaky: {_names(summary.flaky)}")
    return lines


def _shown(estimate: Estimate) -> str:
    low, high = estimate.interval.lower * 100, estimate.interval.upper * 100
    return f"{estimate.value * 100:.1f} % [{low:.1f}, {high:.1f}]"


def _names(flaky: Sequence[TaskTally]) -> str:
    shown = [f"{one_line(tally.task)} ({tally.passed}/{tally.tries})" for tally in flaky[:_NAMES_SHOWN]]
    more = len(flaky) - len(shown)
    return ", ".join(shown) + (f" and {more} more" if more > 0 else "")
