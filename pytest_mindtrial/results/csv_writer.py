"""MindTrial's CSV of results.

Does not compute statistics (``results/stats.py``). One deviation from MindTrial: a text cell that a spreadsheet would
execute as a formula (it begins with ``=``, ``+``, ``-``, ``@``, TAB or CR) gets a leading apostrophe, because answers
are written by models and read by people in spreadsheets. The integer column is exempt.

Source: spec mindtrial 7.2; design D17.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator

from pytest_mindtrial.core.durations import round_duration
from pytest_mindtrial.core.jsontext import pretty_json
from pytest_mindtrial.core.record import Result
from pytest_mindtrial.results.answer_text import answer_text
from pytest_mindtrial.results.json_writer import details_object

__all__ = ["COLUMNS", "csv_line", "csv_pieces", "csv_row", "neutralise_formula", "write_csv"]

COLUMNS = (
    "TraceID",
    "Provider",
    "Run",
    "Task",
    "Status",
    "DurationMS",
    "Answer",
    "Details",
    "Suite",
    "Category",
    "Difficulty",
    "Tags",
)


def write_csv(results: Iterable[Result]) -> str:
    """Return the table as text with LF line ends.

    Args:
        results: In any order; providers are sorted, the order inside a provider stays.
    """
    return "".join(csv_pieces(results))


def csv_pieces(results: Iterable[Result], row: Callable[[Result], str] | None = None) -> Iterator[str]:
    """Yield what `write_csv` returns line by line.

    Args:
        results: As of `write_csv`.
        row: Returns the `csv_row` of a result; None = makes it.
    """
    yield csv_line(COLUMNS)
    yield from map(row or csv_row, sorted(results, key=lambda result: result.provider))


def csv_row(result: Result) -> str:
    """Return the line of one result."""
    return csv_line(_cells(result))


def _cells(result: Result) -> list[str]:
    metadata = result.metadata
    texts = [result.trace_id, result.provider, result.run, result.task, result.kind.value]
    answer = [answer_text(result), pretty_json(details_object(result))]
    labels = [metadata.suite, metadata.category, metadata.difficulty, ",".join(metadata.tags)]
    return [
        *map(neutralise_formula, texts),
        str(round_duration(result.duration_ns) // 1_000_000),
        *map(neutralise_formula, answer + labels),
    ]


def neutralise_formula(text: str) -> str:
    """Return the text, with a leading apostrophe where a spreadsheet would read a formula."""
    return "'" + text if text.startswith(("=", "+", "-", "@", "\t", "\r")) else text


def csv_line(cells: Iterable[str]) -> str:
    """Return one line; a cell is quoted only where it must be."""
    return ",".join(map(_quoted, cells)) + "\n"


def _quoted(cell: str) -> str:
    if cell == r"\." or cell.startswith((" ", "\t")) or "," in cell or '"' in cell or "\r" in cell or "\n" in cell:
        return '"' + cell.replace('"', '""') + '"'
    return cell
