"""Statistics of groups of results, as MindTrial's ``stats`` command defines them.

Does not write (``results/stats_writers.py``). Inclusions: skipped results are in ``Skipped`` and in nothing else;
durations are model time; tokens, tool calls and cost are the candidate's, never a judge's. Source: spec mindtrial 8.3.
"""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from dataclasses import dataclass

from pytest_mindtrial.core.record import Result
from pytest_mindtrial.core.values import Kind, Usage
from pytest_mindtrial.results.costs import Spent, candidate_cost, candidate_records, judge_cost, total_cost
from pytest_mindtrial.results.statistics import Counts, count_kinds, median, population_stddev
from pytest_mindtrial.results.stats_filters import Filters, group_results

__all__ = ["Spread", "StatsGroup", "compute_stats"]


@dataclass(frozen=True, slots=True)
class Spread:
    """Total, median and population standard deviation of what was reported.

    Attributes:
        total: None when no result reported a value.
        median: None with fewer than two values; the same for ``stddev``.
    """

    total: int | None = None
    median: float | None = None
    stddev: float | None = None


@dataclass(frozen=True, slots=True)
class StatsGroup:
    """One row.

    Attributes:
        dimensions: Names and values, in group-by order.
        duration: Nanoseconds; median and deviation truncated to whole ones.
        transient_errors: Errors known to be transient.
        response_parsing_errors: Errors of reading the reply; may count the same result again.
        cost: The candidates' estimated cost.
        judge_cost: The judges' estimated cost.
    """

    dimensions: tuple[tuple[str, str], ...]
    counts: Counts
    duration: Spread
    input_tokens: Spread
    output_tokens: Spread
    reasoning_tokens: Spread
    cache_read_tokens: Spread
    cache_write_tokens: Spread
    tool_calls: Spread
    transient_errors: int
    response_parsing_errors: int
    cost: Spent
    judge_cost: Spent


def compute_stats(
    results: Iterable[Result], group_by: Sequence[str], filters: Filters | None = None
) -> list[StatsGroup]:
    """Filter, group and measure results that are merged already.

    Args:
        results: One per provider, run, task and repeat.
        group_by: Dimensions from `stats_filters.parse_group_by`.
        filters: None = all results.

    Returns:
        Groups sorted by their dimension values.
    """
    wanted = results if filters is None else filter(filters, results)
    return [_group(tuple(zip(group_by, key, strict=True)), members) for key, members in group_results(wanted, group_by)]


def _group(dimensions: tuple[tuple[str, str], ...], results: Sequence[Result]) -> StatsGroup:
    attempted = [result for result in results if result.kind is not Kind.SKIPPED]
    records = [candidate_records(result) for result in attempted]
    errors = [result.error for result in attempted if result.kind is Kind.ERROR and result.error]
    return StatsGroup(
        dimensions=dimensions,
        counts=count_kinds(results),
        duration=_whole(_spread([result.duration_ns for result in attempted])),
        input_tokens=_token_spread(records, "effective_input"),
        output_tokens=_token_spread(records, "effective_output"),
        reasoning_tokens=_token_spread(records, "reasoning_tokens"),
        cache_read_tokens=_token_spread(records, "cache_read_tokens"),
        cache_write_tokens=_token_spread(records, "cache_write_tokens"),
        tool_calls=_spread(_reported(_tool_calls(result) for result in attempted)),
        transient_errors=sum(error.transient is True for error in errors),
        response_parsing_errors=sum(error.response_parsing for error in errors),
        cost=total_cost(map(candidate_cost, attempted)),
        judge_cost=total_cost(map(judge_cost, attempted)),
    )


def _spread(values: Sequence[int]) -> Spread:
    if len(values) < 2:
        return Spread(values[0] if values else None)
    return Spread(sum(values), median(values), population_stddev(values))


def _whole(spread: Spread) -> Spread:
    if spread.median is None or spread.stddev is None:
        return spread
    return Spread(spread.total, int(spread.median), int(spread.stddev))


def _token_spread(records: Iterable[Sequence[Usage]], counter: str) -> Spread:
    per_result = (_sum_reported(getattr(usage, counter) for usage in usages) for usages in records)
    return _spread(_reported(per_result))


def _tool_calls(result: Result) -> int | None:
    """Return the tool processes that ran for the candidate; None when none is recorded."""
    parts = [result.answer.tool_usage] if result.answer else []
    if result.error and not result.error.from_validation:
        parts.append(result.error.tool_usage)
    # A count of 0 is what remains of an absent counter; MindTrial never writes a reported 0.
    return _sum_reported(usage.call_count or None for part in parts for usage in part.values())


def _sum_reported(values: Iterable[int | None]) -> int | None:
    known = _reported(values)
    return sum(known) if known else None


def _reported(values: Iterable[int | None]) -> list[int]:
    return [value for value in values if value is not None]
