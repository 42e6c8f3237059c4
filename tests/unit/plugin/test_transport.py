"""Results on their way from worker to controller: everything a model can say arrives, the large by journal."""

from __future__ import annotations

from dataclasses import replace

import pytest

from pytest_mindtrial.core.errors import ResultsError
from pytest_mindtrial.core.secret import Redactor
from pytest_mindtrial.plugin.transport import MAX_CHARS, Inbox, pack
from pytest_mindtrial.results.evaluation import EvaluationInfo
from pytest_mindtrial.results.journal import Journal
from tests.support.sample_results import attempt


@pytest.mark.parametrize("answer", ["plain", "\ud800 lone", 10**40, {"a": [None, 1.5, True]}, "é" * 1000])
def test_small_results_travel_whole(answer):
    result = replace(attempt("t"), got=answer)
    data = pack(result, None)
    assert data["result"].isascii()
    assert Inbox().unpack(data) == result


def test_large_results_travel_as_a_place_in_the_journal(tmp_path):
    path = tmp_path / "lane.journal.jsonl"
    journal = Journal(path, EvaluationInfo(), Redactor())
    results = [replace(attempt("t"), trace_id=f"{number:026}", got="y" * MAX_CHARS) for number in range(3)]
    inbox = Inbox()
    for result in results:
        journal.attempt(result)
        data = pack(result, path)
        assert data == {"trace_id": result.trace_id, "journal": str(path)}
        assert inbox.unpack(data) == result
    journal.close()
    assert inbox.unpack(pack(results[0], path)) == results[0]
    assert "result" in pack(results[0], None)


def test_nesting_that_no_codec_takes_travels_by_journal(tmp_path):
    nested: list[object] = []
    for _ in range(100_000):
        nested = [nested]
    assert "journal" in pack(replace(attempt("t"), got=nested), tmp_path / "j")


def test_a_place_that_does_not_exist_is_an_error_in_words(tmp_path):
    with pytest.raises(ResultsError, match=r"the attempt x is not in this worker's journal"):
        Inbox().unpack({"trace_id": "x", "journal": str(tmp_path / "none.jsonl")})
