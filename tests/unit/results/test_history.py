from __future__ import annotations

import contextlib
import sqlite3
from collections.abc import Iterator
from datetime import UTC, datetime
from pathlib import Path

import pytest

from pytest_mindtrial.core.errors import ResultsError
from pytest_mindtrial.core.record import Result
from pytest_mindtrial.core.values import Kind, Usage
from pytest_mindtrial.results.history import FlakyTask, History, StaleTask, TrendPoint, open_history
from tests.support.sample_results import HOSTILE, attempt, awkward, full

NOW = datetime(2026, 1, 2, 3, 4, 5, tzinfo=UTC)
P, F, E, S = Kind.PASSED, Kind.FAILED, Kind.ERROR, Kind.SKIPPED


@pytest.fixture
def path(tmp_path: Path) -> Path:
    return tmp_path / "deep" / "history.db"


@pytest.fixture
def history(path: Path) -> Iterator[History]:
    with open_history(path) as opened:
        yield opened


def night(number: int, *kinds: Kind, run: str = "gpt", definition: str = "") -> list[Result]:
    return [
        attempt(f"t{index}", kind, run=run, trace=f"{number}/{index}", definition=definition)
        for index, kind in enumerate(kinds)
    ]


def test_evaluations_are_listed_in_order(history: History) -> None:
    assert history.add(night(1, P, F), recorded_at=NOW, label="a1b2", source="r.json")
    assert history.add(night(2, P, P), recorded_at=NOW)
    first, second = history.evaluations()
    assert (first.id, first.label, first.source, first.results, first.passed) == (1, "a1b2", "r.json", 2, 1)
    assert (second.recorded_at, second.seed, second.passed) == ("2026-01-02T03:04:05+00:00", "seed-1", 2)


def test_recording_twice_changes_nothing(history: History) -> None:
    assert history.add(night(1, P), recorded_at=NOW)
    assert not history.add(night(1, P), recorded_at=NOW, label="again")
    assert len(history.evaluations()) == 1


def test_nothing_cannot_be_recorded(history: History) -> None:
    with pytest.raises(ResultsError, match="there are no results to record"):
        history.add([], recorded_at=NOW)


def test_the_last_result_of_a_key_wins(history: History) -> None:
    history.add([attempt("t", F, trace="1"), attempt("t", P, trace="2")], recorded_at=NOW)
    assert [(point.passed, point.failed) for point in history.trend()] == [(1, 0)]


def test_trends(history: History) -> None:
    history.add([*night(1, P, F), attempt("t0", E, run="other")], recorded_at=NOW, label="one")
    history.add([attempt("t0", kind, repeat=n) for n, kind in enumerate((P, F, S, P), 1)], recorded_at=NOW)
    points = history.trend(task="t0", provider="openai", run="gpt")
    stamp = "2026-01-02T03:04:05+00:00"
    assert points == [
        TrendPoint(1, stamp, "one", "openai", "gpt", "t0", 1, 0, 0, 0),
        TrendPoint(2, stamp, "", "openai", "gpt", "t0", 2, 1, 0, 1),
    ]
    assert [point.evaluation_id for point in history.trend(last=1)] == [2]
    assert len(history.trend()) == 4


def test_flaky_tasks(history: History) -> None:
    for number, kinds in enumerate([(P, P, P), (F, P, E), (P, P, F)], 1):
        history.add(night(number, *kinds), recorded_at=NOW)
    assert history.flaky() == [FlakyTask("openai", "gpt", "t0", 2, 1, 2), FlakyTask("openai", "gpt", "t2", 1, 1, 1)]


def test_a_changed_task_is_not_flaky(history: History) -> None:
    history.add(night(1, P, definition="old"), recorded_at=NOW)
    history.add(night(2, F, definition="new"), recorded_at=NOW)
    assert history.flaky() == []


def test_flips_are_counted_within_one_definition(history: History) -> None:
    for number, (kind, definition) in enumerate([(F, "old"), (P, "new"), (F, "new")]):
        history.add(night(number, kind, definition=definition), recorded_at=NOW)
    assert history.flaky() == [FlakyTask("openai", "gpt", "t0", 1, 1, 1)]


def test_repeats_that_disagree_are_flaky(history: History) -> None:
    history.add([attempt("t", P, repeat=1), attempt("t", F, repeat=2)], recorded_at=NOW)
    assert history.flaky() == [FlakyTask("openai", "gpt", "t", 1, 1, 1)]


def test_tasks_that_never_discriminate(history: History) -> None:
    for number, run in enumerate(["a", "b", "a", "b"]):
        history.add(night(number, P, F, P if run == "a" else F, E, run=run), recorded_at=NOW)
    assert history.stale() == [StaleTask("t1", "Failed", 4, 2), StaleTask("t0", "Passed", 4, 2)]
    assert history.stale(at_least=5) == []


def test_forgetting(history: History) -> None:
    history.add(full(), recorded_at=NOW)
    assert history.forget(1)
    assert not history.forget(1)
    assert history.trend() == []


def test_other_tools_can_read_it(path: Path) -> None:
    with open_history(path) as history:
        history.add(full(), recorded_at=NOW)
    with sqlite3.connect(path) as connection:
        assert connection.execute("PRAGMA user_version").fetchone() == (1,)
        rows = connection.execute(
            "SELECT task, kind, model, input_tokens, cost, currency, judge_cost FROM result "
            "WHERE task IN ('sum', 'free', 'judged') ORDER BY task"
        ).fetchall()
        tags = connection.execute("SELECT task, tag FROM result_tag ORDER BY 1, 2").fetchall()
    connection.close()
    assert rows == [
        ("free", "Passed", "m-1", None, None, "", None),
        ("judged", "Passed", "m-1", 1000, 0.006, "USD", 0.0021),
        ("sum", "Passed", "m-1", 1000, 0.006, "USD", None),
    ]
    assert tags == [("judged", "a"), ("judged", "b"), ("sum", "a"), ("tools", "b")]


def test_hostile_texts_and_numbers_are_kept(path: Path) -> None:
    with open_history(path) as history:
        history.add(awkward(), recorded_at=NOW, label=HOSTILE["escape"], source=HOSTILE["surrogate"])
        history.add([attempt(HOSTILE["long"])], recorded_at=NOW)
    with open_history(path) as history:
        assert history.trend(task=HOSTILE["nul"])[0].task == HOSTILE["nul"]
        assert history.trend(task=HOSTILE["surrogate"])[0].task == "half ? emoji"
        assert history.evaluations()[0].label == HOSTILE["escape"]


def test_an_error_rolls_back(path: Path) -> None:
    with contextlib.suppress(RuntimeError), open_history(path) as history:
        history.add(full(), recorded_at=NOW)
        raise RuntimeError
    with open_history(path) as history:
        assert history.evaluations() == []


def test_a_broken_table_is_a_user_error(path: Path) -> None:
    with open_history(path):
        pass
    connection = sqlite3.connect(path)
    connection.execute("DROP VIEW task_trend")
    connection.commit()
    connection.close()
    with pytest.raises(ResultsError, match=r"cannot use the history file .*task_trend"), open_history(path) as history:
        history.trend()


def test_other_files_are_refused(tmp_path: Path) -> None:
    text = tmp_path / "notes.txt"
    text.write_text("hello " * 1000)
    foreign = tmp_path / "foreign.db"
    newer = tmp_path / "newer.db"
    for file, statements in [
        (foreign, ["CREATE TABLE x (y)"]),
        (newer, ["CREATE TABLE x (y)", "PRAGMA application_id = 1297371721", "PRAGMA user_version = 9"]),
    ]:
        connection = sqlite3.connect(file)
        for statement in statements:
            connection.execute(statement)
        connection.commit()
        connection.close()
    for file, message in [
        (text, "cannot use the history file .*not a database"),
        (tmp_path, "cannot use the history file .*unable to open"),
        (text / "below.db", "cannot use the history file"),
        (foreign, "is an SQLite file of another program"),
        (newer, "has history version 9; this program knows up to 1"),
    ]:
        with pytest.raises(ResultsError, match=message), open_history(file):
            pass


def test_token_counts_of_decided_results_come_back(history: History) -> None:
    history.add(night(1, P, F, E, S), recorded_at=NOW)
    history.add([attempt("t0", P, tokens=None)], recorded_at=NOW)
    found = [(item.task, item.kind, item.answer.usage) for item in history.token_counts() if item.answer]
    assert found == [("t0", P, Usage(1000, 500)), ("t1", F, Usage(1000, 500))]
