"""The four output shapes of statistics: text, csv, json, jsonl.

Does not compute. Column order of the tables and key order of the JSON objects differ; both are MindTrial's. With
``extended`` further columns stand at the end: the 95 % Wilson interval of the pass rate in percent, the judges' cost.
Dimension cells never start a formula (csv) and never reach the terminal as control characters (text).
Source: spec mindtrial 8.3 and 8.4.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import Any

from pytest_mindtrial.core.display import one_line
from pytest_mindtrial.core.durations import format_duration
from pytest_mindtrial.core.errors import ConfigError
from pytest_mindtrial.core.jsontext import compact_json, pretty_json
from pytest_mindtrial.results.csv_writer import csv_line, neutralise_formula
from pytest_mindtrial.results.stats import Spread, StatsGroup
from pytest_mindtrial.results.text_table import text_table
from pytest_mindtrial.suite.suggest import allowed_list, near_match

__all__ = ["STATS_FORMATS", "check_stats_format", "write_stats"]

STATS_FORMATS = ("text", "csv", "json", "jsonl")

_COUNTS = (
    ("Count", "attempted"),
    ("Passed", "passed"),
    ("Failed", "failed"),
    ("Error", "error"),
    ("Skipped", "skipped"),
)
_RATES = (("PassRate", "pass_percent"), ("Accuracy", "accuracy_percent"), ("ErrorRate", "error_percent"))
_EXTENDED = ("PassRateLower", "PassRateUpper", "EstimatedJudgeCost", "JudgeCostCurrency")
_SPREADS: tuple[tuple[str, str], ...] = (
    ("Duration", "duration"),
    ("InputTokens", "input_tokens"),
    ("OutputTokens", "output_tokens"),
    ("ReasoningTokens", "reasoning_tokens"),
    ("CacheReadTokens", "cache_read_tokens"),
    ("CacheWriteTokens", "cache_write_tokens"),
    ("ToolCalls", "tool_calls"),
)


def check_stats_format(name: str) -> None:
    """Refuse an unknown format, before any file is read.

    Raises:
        ConfigError: With the allowed names.
    """
    if name not in STATS_FORMATS:
        raise ConfigError(
            f"invalid stats-format: {name!r}; allowed: {allowed_list(STATS_FORMATS)}{near_match(name, STATS_FORMATS)}"
        )


def write_stats(
    groups: Sequence[StatsGroup], group_by: Sequence[str], stats_format: str, *, extended: bool = False
) -> str:
    """Return the statistics as text.

    Args:
        groups: Rows in writing order.
        group_by: Dimension names: the first columns, also when there is no row.
        stats_format: One of `STATS_FORMATS`.
        extended: Also write intervals and judge cost.
    """
    if stats_format == "json":
        return pretty_json([_json_object(group, extended) for group in groups]) + "\n"
    if stats_format == "jsonl":
        return "".join(compact_json(_json_object(group, extended)) + "\n" for group in groups)
    is_csv = stats_format == "csv"
    clean = neutralise_formula if is_csv else one_line
    rows = [[*group_by, *_columns(extended)]]
    rows += [[*(clean(value) for _, value in group.dimensions), *_cells(group, clean, extended)] for group in groups]
    return "".join(map(csv_line, rows)) if is_csv else text_table(rows)


def _columns(extended: bool) -> list[str]:
    names = [name for name, _ in (*_COUNTS, *_RATES)]
    for name, _ in _SPREADS:
        names += [f"Total{name}", f"Median{name}", f"Stddev{name}"]
    names += ["TransientErrors", "ResponseParsingErrors", "EstimatedCandidateCost", "CandidateCostCurrency"]
    return [*names, *_EXTENDED] if extended else names


def _cells(group: StatsGroup, clean: Callable[[str], str], extended: bool) -> list[str]:
    cells = [str(getattr(group.counts, attribute)) for _, attribute in _COUNTS]
    cells += [_decimal(getattr(group.counts, attribute), 2) for _, attribute in _RATES]
    for name, attribute in _SPREADS:
        spread: Spread = getattr(group, attribute)
        if name == "Duration":
            cells += map(_duration, (spread.total, spread.median, spread.stddev))
        else:
            total = "" if spread.total is None else str(spread.total)
            cells += [total, _decimal(spread.median, 2), _decimal(spread.stddev, 2)]
    cells += [str(group.transient_errors), str(group.response_parsing_errors)]
    cells += [_decimal(group.cost.amount, 6), clean(group.cost.currency)]
    if extended:
        cells += [_decimal(value, 2) for value in _interval(group)]
        cells += [_decimal(group.judge_cost.amount, 6), clean(group.judge_cost.currency)]
    return cells


def _interval(group: StatsGroup) -> tuple[float | None, float | None]:
    interval = group.counts.pass_interval
    return (None, None) if interval is None else (round(interval.lower * 100, 2), round(interval.upper * 100, 2))


def _decimal(value: float | None, decimals: int) -> str:
    return "" if value is None else f"{value:.{decimals}f}"


def _duration(value: float | None) -> str:
    return "" if value is None else format_duration(int(value))


def _json_object(group: StatsGroup, extended: bool) -> dict[str, Any]:
    out: dict[str, Any] = {"Dimensions": dict(sorted(group.dimensions))}
    out |= {name: getattr(group.counts, attribute) for name, attribute in (*_COUNTS, *_RATES)}
    for name, attribute in _SPREADS:
        spread: Spread = getattr(group, attribute)
        out |= {f"Total{name}": spread.total, f"Median{name}": spread.median, f"Stddev{name}": spread.stddev}
    out |= {
        "EstimatedCandidateCost": group.cost.amount,
        "CandidateCostCurrency": group.cost.currency,
        "TransientErrors": group.transient_errors,
        "ResponseParsingErrors": group.response_parsing_errors,
    }
    if extended:
        values = (*_interval(group), group.judge_cost.amount, group.judge_cost.currency)
        out |= dict(zip(_EXTENDED, values, strict=True))
    return out
