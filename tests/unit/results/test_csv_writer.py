"""CSV: quoting, formulas, order."""

from __future__ import annotations

import csv
import io

import pytest
from hypothesis import given
from hypothesis import strategies as st

from pytest_mindtrial.core.record import Metadata, Result
from pytest_mindtrial.core.values import Kind
from pytest_mindtrial.results.csv_writer import csv_line, neutralise_formula, write_csv


@pytest.mark.parametrize(
    "cell, written",
    [
        ("", ""),
        ("plain", "plain"),
        ("a b", "a b"),
        (" a", '" a"'),
        ("\ta", '"\ta"'),
        ("a,b", '"a,b"'),
        ('a"b', '"a""b"'),
        ("a\nb", '"a\nb"'),
        ("a\rb", '"a\rb"'),
        (r"\.", r'"\."'),
        (r"\.x", r"\.x"),
        ("\u00a0x", "\u00a0x"),
        ("'x", "'x"),
    ],
)
def test_quoting(cell: str, written: str) -> None:
    assert csv_line([cell, "z"]) == f"{written},z\n"


@given(st.lists(st.text(), min_size=2, max_size=5))
def test_any_line_reads_back(cells: list[str]) -> None:
    assert next(csv.reader(io.StringIO(csv_line(cells), newline=""))) == cells


@pytest.mark.parametrize("start", ["=", "+", "-", "@", "\t", "\r"])
def test_formulas_are_disarmed(start: str) -> None:
    assert neutralise_formula(f"{start}1+1") == f"'{start}1+1"
    assert neutralise_formula(f"1{start}") == f"1{start}"


@pytest.mark.parametrize("duration_ns, written", [(0, "0"), (499_999, "0"), (500_000, "1"), (95 * 10**9, "95000")])
def test_rows(duration_ns: int, written: str) -> None:
    tags = Metadata("s", "c", "d", ("t1", "t2"))
    result = Result("T1", Kind.PASSED, "=task", "p", "r", got="-5", metadata=tags, duration_ns=duration_ns)
    assert write_csv([result]).split("\n")[1] == f"T1,p,r,'=task,Passed,{written},'-5,{{}},s,c,d,\"t1,t2\""


def test_order_and_empty() -> None:
    results = [
        Result(trace, Kind.PASSED, "t", provider, "r") for trace, provider in (("2", "b"), ("1", "b"), ("3", "a"))
    ]
    assert [line[:1] for line in write_csv(results).splitlines()[1:]] == ["3", "2", "1"]
    assert (
        write_csv([]) == "TraceID,Provider,Run,Task,Status,DurationMS,Answer,Details,Suite,Category,Difficulty,Tags\n"
    )
