"""The table of the terminal summary: one row per provider and run, every rate with its n and interval.

Does not print and does not compute (``results/statistics.py``). All text from files and models is made safe for a
terminal. Unknown is an empty mark, never 0. Source: design D15 and 6; field pains 28, 29, 37.
"""

from __future__ import annotations

import unicodedata
from collections.abc import Callable, Sequence
from typing import NamedTuple

from pytest_mindtrial.core.display import one_line
from pytest_mindtrial.core.durations import format_duration
from pytest_mindtrial.results.statistics import RunSummary

__all__ = ["coverage_line", "money", "notes", "terminal_table", "tokens"]

UNKNOWN = "–"
"""Stands for a value that is not known."""

_ALARM_FROM = 5
"""Attempts from which on a rate of exactly 0 % or 100 % deserves a note."""


class _Column(NamedTuple):
    title: str
    cell: Callable[[RunSummary], str]
    is_number: bool = True
    drop_rank: int = 0  # 0 = never dropped; the highest rank goes first when the terminal is narrow


def _rate(run: RunSummary) -> str:
    rate = run.counts.pass_rate
    if rate is None:
        return UNKNOWN
    return f"{run.counts.passed}/{run.counts.attempted} {run.counts.pass_percent:.1f} %"


def _interval(run: RunSummary) -> str:
    interval = run.counts.pass_interval
    return f"[{interval.lower * 100:.1f}, {interval.upper * 100:.1f}]" if interval else UNKNOWN


def _times(run: RunSummary) -> str:
    if run.p50_ns is None or run.p95_ns is None:
        return UNKNOWN
    return f"{_short_time(run.p50_ns)} / {_short_time(run.p95_ns)}"


def _short_time(nanoseconds: int) -> str:
    """Return a duration with three digits at most: milliseconds below a second, then tenths up to a minute."""
    if nanoseconds < 999_500_000:
        return f"{nanoseconds / 1e6:.0f}ms"
    if nanoseconds < 59_950_000_000:
        return f"{nanoseconds / 1e9:.1f}s"
    return format_duration(round(nanoseconds / 1e9) * 1_000_000_000)


def tokens(count: int | None) -> str:
    """Return a token count in at most four digits: ``950``, ``12.3k``, ``4.56M``; a dash when unknown."""
    if count is None:
        return UNKNOWN
    for unit, size in (("G", 1e9), ("M", 1e6), ("k", 1e3)):
        if count >= size:
            return f"{count / size:.3g}{unit}" if count < 999.5 * size else f"{count / size:.0f}{unit}"
    return str(count)


def money(amount: float | None, currency: str) -> str:
    """Return an amount with its currency: two decimals from 1 on, four below; a dash when unknown."""
    if amount is None:
        return UNKNOWN
    digits = 2 if amount >= 1 or amount == 0 else 4
    return f"{amount:.{digits}f} {one_line(currency)}".rstrip()


_COLUMNS = (
    _Column("provider", lambda run: one_line(run.provider), is_number=False),
    _Column("run", lambda run: one_line(run.run) + (" (mock)" if run.is_mock else ""), is_number=False),
    _Column("passed", lambda run: str(run.counts.passed)),
    _Column("failed", lambda run: str(run.counts.failed)),
    _Column("error", lambda run: str(run.counts.error)),
    _Column("skipped", lambda run: str(run.counts.skipped)),
    _Column("pass rate", _rate),
    _Column("95 % interval", _interval, drop_rank=1),
    _Column("p50 / p95", _times, drop_rank=3),
    _Column("tokens in / out", lambda run: f"{tokens(run.input_tokens)} / {tokens(run.output_tokens)}", drop_rank=4),
    _Column("cost", lambda run: money(run.cost, run.currency), drop_rank=2),
    _Column("judges", lambda run: money(run.judge_cost, run.judge_currency), drop_rank=5),
)


def terminal_table(summaries: Sequence[RunSummary], width: int) -> list[str]:
    """Return the table as lines, the header first; no line has trailing spaces.

    Args:
        summaries: One per row.
        width: Columns of the terminal. Where the table is wider, it loses judge cost, tokens, times, cost and
            interval, in this order; then long names are cut.
    """
    if not summaries:
        return []
    columns = [column for column in _COLUMNS if column.title != "judges" or any(run.judge_cost for run in summaries)]
    while True:
        table = [[column.title for column in columns], *([column.cell(run) for column in columns] for run in summaries)]
        widths = [max(_width(row[index]) for row in table) for index in range(len(columns))]
        droppable = max(columns, key=lambda column: column.drop_rank)
        if _total(widths) <= width or not droppable.drop_rank:
            break
        columns.remove(droppable)
    widths[:2] = _narrower(widths, width)
    return [_line(row, widths, columns) for row in table]


def _total(widths: Sequence[int]) -> int:
    return sum(widths) + 2 * (len(widths) - 1)


def _narrower(widths: Sequence[int], width: int) -> list[int]:
    """Return widths for the two name columns that make the table fit, at least 8 each."""
    names = list(widths[:2])
    excess = _total(widths) - width
    while excess > 0 and max(names) > 8:
        names[names.index(max(names))] -= 1
        excess -= 1
    return names


def _line(row: Sequence[str], widths: Sequence[int], columns: Sequence[_Column]) -> str:
    cells = []
    for text, width, column in zip(row, widths, columns, strict=True):
        shown = _cut(text, width)
        space = " " * (width - _width(shown))
        cells.append(space + shown if column.is_number else shown + space)
    return "  ".join(cells).rstrip()


def _cut(text: str, width: int) -> str:
    if _width(text) <= width:
        return text
    while _width(text) > width - 1:
        text = text[:-1]
    return text + "…"


def _width(text: str) -> int:
    """Return the terminal cells a text takes: wide East Asian characters two, combining marks none."""
    return sum(
        0 if unicodedata.combining(char) else 2 if unicodedata.east_asian_width(char) in "WF" else 1 for char in text
    )


def coverage_line(reported: int, expected: int | None) -> str:
    """Return how much of the evaluation the numbers stand for; blank when that is everything or unknown."""
    if expected is None or expected == reported:
        return ""
    share = reported / expected * 100 if expected else 0.0
    return f"coverage: {reported} of {expected} items reported ({share:.1f} %)"


def notes(summaries: Sequence[RunSummary], *, is_whole: bool = True) -> list[str]:
    """Return one line for each run whose numbers look like a mistake in the suite rather than a model's ability.

    Args:
        summaries: The runs.
        is_whole: The numbers stand for whole suites; from a part one cannot tell that a suite is too easy.
    """
    lines = []
    for run in summaries:
        counts, name = run.counts, f"{one_line(run.provider)} {one_line(run.run)}"
        if counts.attempted < _ALARM_FROM or run.is_mock:
            continue
        if counts.error == counts.attempted:
            lines.append(f"{name}: all {counts.attempted} attempts ended in errors; no answer was graded")
        elif counts.passed == 0:
            lines.append(f"{name}: 0 of {counts.attempted} passed; look at one answer before you trust the rules")
        elif counts.passed == counts.attempted and is_whole:
            lines.append(f"{name}: all {counts.attempted} passed; the suite no longer separates good from better")
    return lines
