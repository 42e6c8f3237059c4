"""Long texts of a result are journalled once and come back everywhere."""

from __future__ import annotations

import json
from dataclasses import replace
from pathlib import Path
from typing import Any

import pytest

from pytest_mindtrial.core.clock import FakeClock
from pytest_mindtrial.core.record import AnswerRecord, Result
from pytest_mindtrial.core.secret import Redactor, Secret
from pytest_mindtrial.core.values import Kind
from pytest_mindtrial.core.wire import from_wire, to_wire
from pytest_mindtrial.results.copies import LONG, leave_out_copies, put_back_copies
from pytest_mindtrial.results.journal import Journal
from pytest_mindtrial.results.journal_reader import read_journal
from tests.golden.results.samples import EVALUATION

TEXT = 'a long "answer"\n' * 200
REPLY = json.dumps({"final_answer": TEXT})


def result(
    content: Any = TEXT, got: Any = TEXT, raw: str | None = REPLY, replies: tuple[str, ...] = (REPLY,)
) -> Result:
    messages = [{"role": "user", "text": "q"}]
    for reply in replies:
        messages += [{"role": "assistant", "text": reply}, {"role": "user", "text": "try again"}]
    answer = AnswerRecord("t", "e", content, ("x",), raw_text=raw)
    return Result("T1", Kind.FAILED, "task", "p", "r", got=got, want=("x",), answer=answer, transcript=tuple(messages))


def thinned(of: Result) -> dict[str, Any]:
    wire = to_wire(of)
    leave_out_copies(wire)
    return json.loads(json.dumps(wire))


CASES = [
    (result(), ["got", "raw_text"]),
    (result(raw=None, replies=(TEXT,)), ["got"]),
    (result(got=TEXT.upper()), ["raw_text"]),
    (result(replies=("first", REPLY)), ["raw_text", "got"]),
    (result(replies=(REPLY, "last")), ["got"]),
    (result(replies=()), ["got"]),
    (result(content={"n": TEXT}, got={"n": TEXT}), ["raw_text"]),
    (result(content="short", got="short", raw="shorter", replies=("shorter",)), []),
    (result(content="", got="", raw="", replies=("",)), []),
    (result(content=5, got=True), ["raw_text"]),
    (replace(result(), answer=None), []),
    (replace(result(), got=None), ["raw_text"]),
]


@pytest.mark.parametrize(("whole", "left_out"), CASES, ids=range(len(CASES)))
def test_what_is_left_out_comes_back(whole: Result, left_out: list[str]) -> None:
    wire = thinned(whole)
    assert sorted(wire.get("copies", [])) == sorted(left_out)
    assert ("got" in wire) is ("got" not in left_out and whole.got is not None)
    assert from_wire(Result, put_back_copies(wire)) == whole


def test_a_text_of_a_hundred_thousand_characters_stands_in_a_line_twice(tmp_path: Path) -> None:
    """Once as the answer and once in the conversation, as the model wrote it."""
    text = "x" * 100_000
    reply = json.dumps({"final_answer": text})
    whole = result(text, text, reply, (reply,))
    journal = Journal(tmp_path / "j.jsonl", EVALUATION, Redactor(), FakeClock())
    journal.attempt(whole)
    journal.close()
    assert (tmp_path / "j.jsonl").stat().st_size < 205_000
    assert read_journal(tmp_path / "j.jsonl").results == (whole,)


def test_a_reader_that_does_not_know_of_it_reads_the_rest() -> None:
    assert from_wire(Result, thinned(result())) == replace(
        result(), got=None, answer=AnswerRecord("t", "e", TEXT, ("x",))
    )


def test_lines_without_copies_are_read_as_they_are() -> None:
    wire = to_wire(result())
    assert put_back_copies(wire) is wire


def test_secrets_are_in_no_copy(tmp_path: Path) -> None:
    redact = Redactor()
    redact.add(Secret("sk-0123456789abcdef"))
    text = f"{'x' * LONG} sk-0123456789abcdef"
    journal = Journal(tmp_path / "j.jsonl", EVALUATION, redact, FakeClock())
    journal.attempt(result(text, text, None, (text,)))
    journal.close()
    assert b"sk-0123456789" not in (tmp_path / "j.jsonl").read_bytes()
    (read,) = read_journal(tmp_path / "j.jsonl").results
    assert read.answer is not None
    assert read.got == read.answer.content == redact(text) != text


@pytest.mark.parametrize("copies", ["got", 5, {"got": 1}])
@pytest.mark.parametrize("change", [{"answer": None}, {"answer": {}}, {}])
def test_a_damaged_mark_is_damage_with_its_line(tmp_path: Path, copies: Any, change: dict[str, Any]) -> None:
    from pytest_mindtrial.core.errors import ResultsError

    path = tmp_path / "j.jsonl"
    Journal(path, EVALUATION, Redactor(), FakeClock()).close()
    line = {"v": 1, "type": "attempt", "result": {**to_wire(result()), "copies": copies, **change}}
    with path.open("a") as stream:
        stream.write(json.dumps(line) + "\n")
    if change or copies == 5:
        with pytest.raises(ResultsError, match="damaged journal line"):
            read_journal(path)
    else:
        assert read_journal(path).results == (result(),)
