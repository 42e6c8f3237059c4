"""Counts, rates with their evidence, and order statistics of a set of results.

Does not group by other dimensions (``results/stats.py``) and does not compare runs (``results/compare.py``).

Inclusions: model time is `Result.duration_ns` (requests of the attempt; no waiting, tools or validation) of results
that are not skipped and, for percentiles, got a complete reply. Tokens are the candidate's (answer and error usage;
judges excluded), as effective input and output. Cost excludes judges, judge cost has its own field. None is "unknown"
or "nothing there", never zero.

Source: spec mindtrial 7.4 and 8.3; design D15; Wilson, "Probable Inference", 1927.
"""

from __future__ import annotations

import math
from collections.abc import Iterable, Sequence
from dataclasses import dataclass, field
from decimal import ROUND_HALF_UP, Decimal
from typing import TypeVar

from pytest_mindtrial.core.record import Result
from pytest_mindtrial.core.values import Kind
from pytest_mindtrial.results.costs import candidate_cost, candidate_records, judge_cost, total_cost
from pytest_mindtrial.results.significance import Interval

__all__ = [
    "Counts",
    "RunSummary",
    "count_kinds",
    "median",
    "model_times",
    "percentile",
    "population_stddev",
    "summarize",
    "wilson_interval",
]

_Number = TypeVar("_Number", int, float)

_Z_95 = 1.959963984540054
"""Quantile 0.975 of the normal distribution."""


def wilson_interval(successes: float, trials: int) -> Interval | None:
    """Return the 95 % Wilson score interval of a proportion; None without trials.

    No continuity correction. Invariant: 0 ≤ lower ≤ successes/trials ≤ upper ≤ 1.
    """
    if trials == 0:
        return None
    share, z2 = successes / trials, _Z_95 * _Z_95
    centre = (share + z2 / (2 * trials)) / (1 + z2 / trials)
    half = _Z_95 / (1 + z2 / trials) * math.sqrt(share * (1 - share) / trials + z2 / (4 * trials * trials))
    lower = 0.0 if successes == 0 else max(0.0, centre - half)
    upper = 1.0 if successes == trials else min(1.0, centre + half)
    return Interval(lower, upper)


@dataclass(frozen=True, slots=True)
class Counts:
    """Results by kind. Skipped ones are in no rate."""

    passed: int = 0
    failed: int = 0
    error: int = 0
    skipped: int = 0

    @property
    def decided(self) -> int:
        """Results with a verdict: passed and failed."""
        return self.passed + self.failed

    @property
    def attempted(self) -> int:
        """Everything but skipped."""
        return self.passed + self.failed + self.error

    @property
    def total(self) -> int:
        """Everything."""
        return self.attempted + self.skipped

    @property
    def pass_rate(self) -> float | None:
        """Passed of attempted, errors counting as not passed; None without attempts."""
        return self.passed / self.attempted if self.attempted else None

    @property
    def pass_interval(self) -> Interval | None:
        """95 % Wilson interval of the pass rate; None without attempts."""
        return wilson_interval(self.passed, self.attempted)

    @property
    def pass_percent(self) -> float:
        """Pass rate in percent as MindTrial rounds it; 0 without attempts, as MindTrial shows it."""
        return _percent(self.passed, self.attempted)

    @property
    def accuracy_percent(self) -> float:
        """Passed of decided in percent; 0 without decisions."""
        return _percent(self.passed, self.decided)

    @property
    def error_percent(self) -> float:
        """Errors of attempted in percent; 0 without attempts."""
        return _percent(self.error, self.attempted)


def _percent(part: int, whole: int) -> float:
    if whole == 0:
        return 0.0
    # Half away from zero on the product of the binary rate, as Go's math.Round does it.
    return float(Decimal(part / whole * 10000).quantize(Decimal(1), ROUND_HALF_UP)) / 100


def count_kinds(results: Iterable[Result]) -> Counts:
    """Return how many results there are of each kind."""
    by_kind = dict.fromkeys(Kind, 0)
    for result in results:
        by_kind[result.kind] += 1
    return Counts(by_kind[Kind.PASSED], by_kind[Kind.FAILED], by_kind[Kind.ERROR], by_kind[Kind.SKIPPED])


def percentile(values: Sequence[_Number], percent: float) -> _Number | None:
    """Return the nearest-rank percentile: the smallest value that at least ``percent`` % of the values do not exceed.

    Always one of the values, so that a p95 can be looked up in the report; None without values.
    """
    if not values:
        return None
    rank = math.ceil(percent / 100 * len(values))
    return sorted(values)[max(rank, 1) - 1]


def median(values: Sequence[float]) -> float | None:
    """Return the middle value or the mean of the two middle ones; None without values."""
    if not values:
        return None
    ordered = sorted(values)
    middle = len(ordered) // 2
    return ordered[middle] if len(ordered) % 2 else (ordered[middle - 1] + ordered[middle]) / 2


def population_stddev(values: Sequence[float]) -> float | None:
    """Return the standard deviation divided by n (not n - 1); None without values."""
    if not values:
        return None
    mean = math.fsum(values) / len(values)
    return math.sqrt(math.fsum((value - mean) ** 2 for value in values) / len(values))


@dataclass(frozen=True, slots=True)
class RunSummary:
    """What is said of one run in summaries.

    Attributes:
        p50_ns: Median model time by nearest rank, in nanoseconds; None where nothing was replied.
        p95_ns: 95th percentile of the same.
        input_tokens: Effective input tokens; None when no result reported any.
        output_tokens: Effective output tokens; None when no result reported any.
        cost: Candidate cost; None when one result's cost is unknown, currencies differ or nothing was used.
        currency: Of the candidate cost; blank without one.
        judge_cost: Judges' cost; None as for the candidate.
        judge_currency: Of the judges' cost; blank without one.
        retries: Requests that were repeated.
        is_mock: True when a mock answered.
        expected: Items that were selected for this run; None = unknown.
    """

    provider: str
    run: str
    counts: Counts = field(default_factory=Counts)
    p50_ns: int | None = None
    p95_ns: int | None = None
    input_tokens: int | None = None
    output_tokens: int | None = None
    cost: float | None = None
    currency: str = ""
    judge_cost: float | None = None
    judge_currency: str = ""
    retries: int = 0
    is_mock: bool = False
    expected: int | None = None


def summarize(results: Iterable[Result], expected: dict[tuple[str, str], int] | None = None) -> list[RunSummary]:
    """Return one summary per provider and run, sorted by both.

    Args:
        results: In any order.
        expected: Selected items per provider and run; runs without any result appear too.
    """
    groups: dict[tuple[str, str], list[Result]] = {key: [] for key in expected or {}}
    for result in results:
        groups.setdefault((result.provider, result.run), []).append(result)
    return [
        _summary(provider, run, members, (expected or {}).get((provider, run)))
        for (provider, run), members in sorted(groups.items())
    ]


def _summary(provider: str, run: str, results: Sequence[Result], expected: int | None) -> RunSummary:
    attempted = [result for result in results if result.kind is not Kind.SKIPPED]
    times = model_times(results)
    usages = [usage for result in attempted for usage in candidate_records(result)]
    cost = total_cost(map(candidate_cost, attempted))
    judged = total_cost(map(judge_cost, attempted))
    return RunSummary(
        provider,
        run,
        count_kinds(results),
        percentile(times, 50),
        percentile(times, 95),
        _reported_sum(usage.effective_input for usage in usages),
        _reported_sum(usage.effective_output for usage in usages),
        cost.amount,
        cost.currency,
        judged.amount,
        judged.currency,
        sum(request.attempt > 1 for result in results for request in result.requests),
        any(result.is_mock for result in results),
        expected,
    )


def model_times(results: Iterable[Result]) -> list[int]:
    """Return the model times of attempts that got a reply; a request that was turned away took no 0 ms to answer."""
    return [
        result.duration_ns
        for result in results
        if result.kind is not Kind.SKIPPED and (result.duration_ns or result.kind is not Kind.ERROR)
    ]


def _reported_sum(values: Iterable[int | None]) -> int | None:
    known = [value for value in values if value is not None]
    return sum(known) if known else None
