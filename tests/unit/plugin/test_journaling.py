"""The session's journal keeps its first failure and raises none."""

from __future__ import annotations

import pytest

from pytest_mindtrial.core.errors import UserError
from pytest_mindtrial.core.secret import Redactor
from pytest_mindtrial.plugin.journaling import SessionJournal
from pytest_mindtrial.results.evaluation import EvaluationInfo
from pytest_mindtrial.results.journal import Journal
from pytest_mindtrial.results.journal_reader import read_journal
from tests.support.sample_results import attempt


def test_everything_is_written_and_closing_twice_is_harmless(tmp_path):
    path = tmp_path / "j.jsonl"
    journal = SessionJournal(path, EvaluationInfo(), Redactor())
    journal.attempt(attempt("a"))
    journal.reported(attempt("a"))
    journal.close(EvaluationInfo())
    journal.close(EvaluationInfo())
    content = read_journal(path)
    assert len(content.results) == len(content.reported) == 1
    assert content.header.is_complete
    assert journal.problem == ""


def test_the_first_failure_is_kept_and_nothing_more_is_tried(tmp_path, monkeypatch):
    journal = SessionJournal(tmp_path / "j.jsonl", EvaluationInfo(), Redactor())
    calls: list[str] = []

    def fail(self, *arguments):
        calls.append("write")
        raise UserError(f"disk full {len(calls)}")

    monkeypatch.setattr(Journal, "attempt", fail)
    journal.attempt(attempt("a"))
    journal.attempt(attempt("b"))
    journal.reported(attempt("b"))
    assert journal.problem == "disk full 1"
    assert calls == ["write"]
    journal.close(EvaluationInfo())


def test_a_failure_while_closing_is_a_problem_too(tmp_path, monkeypatch):
    journal = SessionJournal(tmp_path / "j.jsonl", EvaluationInfo(), Redactor())

    def fail(self):
        raise UserError("not on disk")

    monkeypatch.setattr(Journal, "close", fail)
    journal.close(EvaluationInfo())
    assert journal.problem == "not on disk"


def test_one_that_cannot_be_opened_raises(tmp_path):
    (tmp_path / "file").write_text("")
    with pytest.raises(UserError, match="cannot open the journal"):
        SessionJournal(tmp_path / "file" / "j.jsonl", EvaluationInfo(), Redactor())
