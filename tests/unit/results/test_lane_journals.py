"""Journals of workers: found beside the session's, absorbed once, kept when damaged."""

from __future__ import annotations

from dataclasses import replace

import pytest

from pytest_mindtrial.core.errors import ResultsError
from pytest_mindtrial.core.secret import Redactor
from pytest_mindtrial.results.evaluation import EvaluationInfo
from pytest_mindtrial.results.journal import Journal
from pytest_mindtrial.results.journal_reader import read_journal
from pytest_mindtrial.results.lane_journals import LaneIndex, absorb, lane_suffix, read_session
from tests.support.sample_results import attempt

RESULTS = [replace(attempt(f"t{number}"), trace_id=f"{number:026}") for number in range(4)]


def journal(path, *results, reported=()):
    writer = Journal(path, EvaluationInfo(seed="s"), Redactor())
    for result in results:
        writer.attempt(result)
    for result in reported:
        writer.reported(result)
    writer.close()
    return path


def test_a_killed_session_is_read_with_its_workers(tmp_path):
    main = journal(tmp_path / "out.journal.jsonl", RESULTS[0])
    journal(tmp_path / f"out{lane_suffix('ab12', 0)}", RESULTS[0], RESULTS[1], reported=[RESULTS[1]])
    lane = journal(tmp_path / f"out{lane_suffix('ab12', 1)}", RESULTS[2])
    with lane.open("ab") as stream:
        stream.write(b'{"v":1,"type":"att')
    journal(tmp_path / f"other{lane_suffix('ab12', 0)}", RESULTS[3])
    content = read_session(main)
    assert [result.task for result in content.results] == ["t0", "t1", "t2"]
    assert content.torn
    assert content.reported == {RESULTS[1].trace_id}


def test_a_journal_of_another_name_stands_alone(tmp_path):
    main = journal(tmp_path / "renamed.jsonl", RESULTS[0])
    assert [result.task for result in read_session(main).results] == ["t0"]


def test_what_nobody_knows_is_absorbed_and_the_files_go(tmp_path):
    lanes = [tmp_path / f"out{lane_suffix('x', number)}" for number in range(3)]
    journal(lanes[0], RESULTS[0], RESULTS[1])
    journal(lanes[1], RESULTS[2])
    written = []
    assert absorb(lanes, {RESULTS[0].trace_id}, written.append) == []
    assert [result.task for result in written] == ["t1", "t2"]
    assert list(tmp_path.iterdir()) == []


def test_a_damaged_journal_is_kept(tmp_path):
    lane = tmp_path / "out.x-lane0.journal.jsonl"
    lane.write_text("nonsense\nmore\n")
    (problem,) = absorb([lane], (), lambda result: None)
    assert problem.endswith("the file is kept")
    assert lane.exists()


def test_the_index_reads_on_and_ignores_a_line_that_is_being_written(tmp_path):
    path = journal(tmp_path / "j.jsonl", RESULTS[0])
    index = LaneIndex(path)
    assert index.find(RESULTS[0].trace_id) == RESULTS[0]
    whole = path.read_bytes()
    journal(path, RESULTS[1])
    complete = path.read_bytes()
    path.write_bytes(complete[:-5])
    with pytest.raises(ResultsError):
        index.find(RESULTS[1].trace_id)
    path.write_bytes(complete)
    assert index.find(RESULTS[1].trace_id) == RESULTS[1]
    assert len(whole) < len(complete)
    assert len(read_journal(path).results) == 2
