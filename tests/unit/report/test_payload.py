"""What the page is told."""

from __future__ import annotations

import json
from collections.abc import Callable, Sequence
from dataclasses import replace
from pathlib import Path
from typing import Any

import pytest

from pytest_mindtrial.core.jsontext import pretty_json
from pytest_mindtrial.core.record import AnswerRecord, ErrorRecord, Result, Semantic, ToolUsageRecord, ValidationRecord
from pytest_mindtrial.core.values import Kind, Usage
from pytest_mindtrial.report import payload
from pytest_mindtrial.report.payload import index, row_ids
from pytest_mindtrial.results.evaluation import EvaluationInfo
from tests.golden.results.samples import EVALUATION, awkward, full
from tests.support.golden import check_golden

GOLDEN = Path(__file__).parents[2] / "golden/results/files"


def plain(task: str = "task", kind: Kind = Kind.PASSED) -> Result:
    return Result("T1", kind, task, "p", "r")


def bodies(results: Sequence[Result]) -> list[dict[str, Any]]:
    return list(map(payload.body, results, payload.with_transcript(results)))


@pytest.mark.parametrize("name, make", [("empty", list), ("full", full), ("awkward", awkward)])
def test_golden(name: str, make: Callable[[], list[Result]]) -> None:
    data = {"index": index(make(), EVALUATION), "bodies": [bodies(make())] if make() else []}
    check_golden(GOLDEN / f"{name}.html-payload.golden", pretty_json(data) + "\n")


@pytest.mark.parametrize("created, shown", [(None, ""), ("1985-03-04", "1985-03-04")])
def test_creation_time_may_be_unknown(created: str | None, shown: str) -> None:
    assert index([], EvaluationInfo(created_at=created))["evaluation"]["created_at"] == shown


def test_row_ids_are_unique_addresses() -> None:
    results = [plain("a b/c"), plain("a b/c"), plain("a-b_c"), replace(plain("a b/c"), repeat=2)]
    assert row_ids(results) == ["run-p-r-a-b_c", "run-p-r-a-b_c-2", "run-p-r-a-b_c-3", "run-p-r-a-b_c-r2"]


@pytest.mark.parametrize(
    ("reply", "has_transcript", "is_shown"), [("raw", True, False), ("raw", False, True), ("other", True, True)]
)
def test_a_raw_reply_that_is_a_message_is_not_shown_twice(reply: str, has_transcript: bool, is_shown: bool) -> None:
    messages = ({"role": "user", "text": "q"}, {"role": "assistant", "text": reply})
    result = replace(plain(), answer=AnswerRecord("t", "e", "content", raw_text="raw"), transcript=messages)
    assert ("raw_text" in payload.body(result, has_transcript)["answer"]) is is_shown


def test_long_texts_are_cut_with_a_mark(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(payload, "MAX_TEXT", 10)
    result = replace(
        plain(),
        got="x" * 15,
        want=("y" * 11,),
        answer=AnswerRecord("t" * 12, "", "z" * 11),
        transcript=({"role": "user", "text": "w" * 11},),
    )
    (body,) = bodies([result])
    assert body["got"] == "x" * 10 + "\n… (cut: 5 more characters are in the journal)"
    assert all(
        "cut: 1 more" in text for text in (body["want"][0], body["answer"]["content"], body["transcript"][0]["text"])
    )
    assert "cut: 2 more" in body["answer"]["title"]


def test_transcripts_have_a_budget(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(payload, "MAX_TRANSCRIPTS", 25)
    results = [replace(plain(), transcript=({"role": "user", "text": "x" * 10},)) for _ in range(4)]
    assert [len(body["transcript"]) for body in bodies(results)] == [1, 1, 0, 0]
    assert index(results, EVALUATION)["cut"] == "transcripts of the last 2 results are only in the journal"
    assert index(results[:2], EVALUATION)["cut"] == ""


def test_unknown_numbers_are_null() -> None:
    (row,) = index([plain()], EVALUATION)["rows"]
    assert row[8:12] == [None, None, None, None]
    (run,) = index([plain(kind=Kind.SKIPPED)], EVALUATION)["runs"]
    assert [run[key] for key in ("passRate", "accuracy", "errorRate", "interval", "p50_ns", "cost")] == [None] * 6


def test_tool_calls_of_validators_are_not_the_candidates() -> None:
    answer = AnswerRecord("", "", "x", tool_usage={"a": ToolUsageRecord(2), "b": ToolUsageRecord(1)})
    error = ErrorRecord("", "", tool_usage={"a": ToolUsageRecord(9)}, from_validation=True)
    (row,) = index([replace(plain(), answer=answer, error=error)], EVALUATION)["rows"]
    assert row[10] == 3
    (row,) = index([replace(plain(), error=replace(error, from_validation=False))], EVALUATION)["rows"]
    assert row[10] == 9


def test_bodies_carry_no_raw_provider_objects_and_a_readable_verdict() -> None:
    usage = Usage(1, raw=({"secret": "raw"},))
    validation = ValidationRecord("semantic", usage=usage, semantic=Semantic("j", "p", "v", {"ok": False}))
    result = replace(plain(), answer=AnswerRecord("", "", "x", usage=usage), validation=validation)
    (body,) = bodies([result])
    assert "secret" not in json.dumps(body)
    assert body["validation"]["semantic"]["verdict"] == '{\n  "ok": false\n}'
    assert body["answer"]["usage"] == {"input_tokens": 1}


def test_thousands_of_rows_of_one_name_are_numbered_at_once() -> None:
    ids = row_ids([plain("ä")] * 30_000)  # a search from 2 for each would take minutes
    assert (ids[0], ids[1], ids[-1]) == ("run-p-r-_", "run-p-r-_-2", "run-p-r-_-30000")
    assert len(set(ids)) == 30_000


def test_numbered_rows_give_way_to_names_that_look_like_them() -> None:
    assert row_ids([plain("a"), plain("a-2"), plain("a"), plain("a-2"), plain("a")]) == [
        "run-p-r-a",
        "run-p-r-a-2",
        "run-p-r-a-3",
        "run-p-r-a-2-2",
        "run-p-r-a-4",
    ]
