"""The two plain tables of the log file: every result, and the counts per provider and run.

Does not print and does not colour; the terminal's own table is ``results/summary.py``. Column widths follow Go's
``text/tabwriter``: they are computed over consecutive lines only, and the inner lines of a multi-line answer, which
have no separator, end every block. Control characters other than newline and TAB are shown as escapes; a TAB separates
cells, as in MindTrial. Source: spec mindtrial 7.4.
"""

from __future__ import annotations

from collections.abc import Iterable, Sequence

from pytest_mindtrial.core.display import safe_text
from pytest_mindtrial.core.durations import format_duration, round_duration
from pytest_mindtrial.core.record import Result
from pytest_mindtrial.results.answer_text import answer_text
from pytest_mindtrial.results.statistics import Counts, count_kinds

__all__ = ["align_columns", "log_text", "summary_log_text"]

_DETAIL = ("TraceID", "Provider", "Run", "Task", "Status", "Duration", "Answer")
_SUMMARY = (
    "Provider",
    "Run",
    "Passed",
    "Failed",
    "Error",
    "Skipped",
    "Pass Rate (%)",
    "Accuracy (%)",
    "Error Rate (%)",
    "Total Duration",
)


def log_text(results: Sequence[Result]) -> str:
    """Return the detail table: providers sorted, results in the given order."""
    ordered = sorted(results, key=lambda result: result.provider)
    return align_columns([_DETAIL, *map(_detail_row, ordered)])


def _detail_row(result: Result) -> Sequence[str]:
    return (
        result.trace_id,
        result.provider,
        result.run,
        result.task,
        result.kind.value,
        format_duration(round_duration(result.duration_ns)),
        answer_text(result),
    )


def summary_log_text(results: Sequence[Result]) -> str:
    """Return the summary table, sorted by provider and run. Total Duration includes skipped results."""
    runs: dict[tuple[str, str], list[Result]] = {}
    for result in results:
        runs.setdefault((result.provider, result.run), []).append(result)
    rows = [_summary_row(provider, run, members) for (provider, run), members in sorted(runs.items())]
    return align_columns([_SUMMARY, *rows])


def _summary_row(provider: str, run: str, results: Sequence[Result]) -> Sequence[str]:
    counts: Counts = count_kinds(results)
    total = sum(result.duration_ns for result in results)
    return (
        provider,
        run,
        *(str(count) for count in (counts.passed, counts.failed, counts.error, counts.skipped)),
        *(f"{percent:.2f}" for percent in (counts.pass_percent, counts.accuracy_percent, counts.error_percent)),
        format_duration(round_duration(total)),
    )


def align_columns(rows: Iterable[Sequence[str]]) -> str:
    """Return rows as text: each cell padded to its column's width plus one space and followed by ``|``.

    A cell with line breaks ends its line there; only its last line is followed by a separator.
    """
    text = "".join("\t".join(map(safe_text, row)) + "\t\n" for row in rows)
    lines = [line.split("\t") for line in text.split("\n")[:-1]]
    widths = _block_widths([line[:-1] for line in lines])
    out = []
    for line, line_widths in zip(lines, widths, strict=True):
        padded = "".join(f"{cell:<{width}}|" for cell, width in zip(line[:-1], line_widths, strict=True))
        out.append(padded + line[-1] + "\n")
    return "".join(out)


def _block_widths(lines: Sequence[Sequence[str]]) -> list[list[int]]:
    """Return for each line the widths of its separated cells.

    A column's block is a run of neighbouring lines that all have a separated cell there.
    """
    widths: list[list[int]] = [[0] * len(line) for line in lines]
    for column in range(max((len(line) for line in lines), default=0)):
        start = 0
        while start < len(lines):
            end = start
            while end < len(lines) and len(lines[end]) > column:
                end += 1
            width = max((len(line[column]) for line in lines[start:end]), default=0) + 1
            for line_widths in widths[start:end]:
                line_widths[column] = width
            start = end + 1
    return widths
