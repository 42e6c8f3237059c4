"""The log tables and their column widths."""

from __future__ import annotations

import pytest

from pytest_mindtrial.core.record import Result
from pytest_mindtrial.core.values import Kind
from pytest_mindtrial.results.log_tables import align_columns, log_text, summary_log_text


@pytest.mark.parametrize(
    "rows, text",
    [
        ([], ""),
        ([("a",)], "a |\n"),
        ([("a", "bb"), ("ccc", "")], "a   |bb |\nccc |   |\n"),
        # The inner lines of an answer end the blocks, so later rows have widths of their own.
        (
            [("first column", "x"), ("a", "1\n22\n333333"), ("b", "y")],
            "first column |x |\na            |1\n22\n333333 |\nb      |y |\n",
        ),
        # Two lines: the second has a cell in the first column, and nothing in the second.
        ([("a", "1\n22222"), ("b", "y")], "a     |1\n22222 |\nb     |y |\n"),
        ([("tab\there", "x"), ("a", "b")], "tab |here |x |\na   |b    |\n"),
        ([("日本", "x"), ("abc", "y")], "日本  |x |\nabc |y |\n"),
        ([("\x1b[1m", "x\r\ny")], "\\x1b[1m |x\ny       |\n"),
    ],
)
def test_column_widths(rows: list[tuple[str, ...]], text: str) -> None:
    assert align_columns(rows) == text


def results() -> list[Result]:
    kinds = (Kind.PASSED, Kind.PASSED, Kind.FAILED, Kind.ERROR, Kind.SKIPPED)
    return [
        Result(f"T{n}", kind, "task", "p", f"r{n % 2}", got="x", want=("x",), duration_ns=1_500_000_000 * n)
        for n, kind in enumerate(kinds)
    ]


def test_detail_table() -> None:
    assert log_text(results()).splitlines()[:3] == [
        "TraceID |Provider |Run |Task |Status  |Duration |Answer |",
        "T0      |p        |r0  |task |Passed  |0s       |x      |",
        "T1      |p        |r1  |task |Passed  |1.5s     |x      |",
    ]


def test_summary_table() -> None:
    assert summary_log_text(results()).splitlines() == [
        "Provider |Run |Passed |Failed |Error |Skipped |Pass Rate (%) |Accuracy (%) |Error Rate (%) |Total Duration |",
        "p        |r0  |1      |1      |0     |1       |50.00         |50.00        |0.00           |9s             |",
        "p        |r1  |1      |0      |1     |0       |50.00         |100.00       |50.00          |6s             |",
    ]


def test_empty_tables_have_headers() -> None:
    assert log_text([]) == "TraceID |Provider |Run |Task |Status |Duration |Answer |\n"
    assert summary_log_text([]).startswith("Provider |Run |")
