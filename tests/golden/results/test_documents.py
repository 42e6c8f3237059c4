"""JSON, CSV and log tables as bytes."""

from __future__ import annotations

import csv
import io
import json
from collections.abc import Callable, Sequence
from pathlib import Path

import pytest

from pytest_mindtrial.core.record import Result
from pytest_mindtrial.results.csv_writer import COLUMNS, write_csv
from pytest_mindtrial.results.json_writer import write_json
from pytest_mindtrial.results.log_tables import log_text, summary_log_text
from pytest_mindtrial.results.statistics import summarize
from pytest_mindtrial.results.summary import terminal_table
from tests.golden.results.samples import EVALUATION, awkward, full
from tests.support.golden import check_golden

FOLDER = Path(__file__).parent / "files"

CASES: dict[str, Callable[[], list[Result]]] = {"empty": list, "full": full, "awkward": awkward}

FORMS: dict[str, Callable[[Sequence[Result]], str]] = {
    "json": lambda results: write_json(results, EVALUATION),
    "csv": write_csv,
    "log": log_text,
    "summary.log": summary_log_text,
    "terminal": lambda results: "\n".join(terminal_table(summarize(results), 140)) + "\n",
}


@pytest.mark.parametrize("form", FORMS)
@pytest.mark.parametrize("case", CASES)
def test_bytes(case: str, form: str) -> None:
    text = FORMS[form](CASES[case]())
    check_golden(FOLDER / f"{case}.{form}.golden", text.encode("utf-8", "replace").decode())


@pytest.mark.parametrize("case", CASES)
def test_json_parses_and_has_every_result(case: str) -> None:
    results = CASES[case]()
    document = json.loads(write_json(results, EVALUATION))
    assert sum(map(len, document["Results"].values())) == len(results)
    assert list(document["Results"]) == sorted(document["Results"])


@pytest.mark.parametrize("case", CASES)
def test_csv_parses_and_has_every_result(case: str) -> None:
    results = CASES[case]()
    rows = list(csv.reader(io.StringIO(write_csv(results), newline="")))
    assert rows[0] == list(COLUMNS)
    assert len(rows) == len(results) + 1
    assert all(len(row) == len(COLUMNS) for row in rows)
    assert not [cell for row in rows for cell in row if cell.startswith(("=", "+", "-", "@", "\t", "\r"))]


@pytest.mark.parametrize("form", ["log", "summary.log", "terminal"])
def test_tables_hold_no_control_characters(form: str) -> None:
    text = FORMS[form](awkward())
    assert not [char for char in text if (ord(char) < 32 and char not in "\n\t") or 0x7F <= ord(char) < 0xA0]
    assert "\u202e" not in text
