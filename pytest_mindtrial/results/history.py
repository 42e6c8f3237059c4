"""The history file: results of many evaluations in SQLite, and what can be learnt from them.

Does not keep prompts, answers or reasons: those stay in the reports. Tables: ``results/history_schema.py``.
Source: issue "From results to decisions"; design D15.
"""

from __future__ import annotations

import sqlite3
from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from dataclasses import dataclass
from datetime import datetime
from pathlib import Path
from typing import Any

from pytest_mindtrial.core.errors import ResultsError
from pytest_mindtrial.core.ids import content_digest
from pytest_mindtrial.core.record import AnswerRecord, Result
from pytest_mindtrial.core.values import Kind, Usage
from pytest_mindtrial.results.costs import candidate_cost, candidate_tokens, judge_cost
from pytest_mindtrial.results.history_schema import APPLICATION_ID, SCHEMA, SCHEMA_VERSION

__all__ = ["FlakyTask", "History", "RecordedEvaluation", "StaleTask", "TrendPoint", "open_history"]


@dataclass(frozen=True, slots=True)
class RecordedEvaluation:
    """One line of the list of evaluations."""

    id: int
    recorded_at: str
    label: str
    seed: str
    source: str
    results: int
    passed: int


@dataclass(frozen=True, slots=True)
class TrendPoint:
    """What became of one task in one run of one evaluation, repeats added up."""

    evaluation_id: int
    recorded_at: str
    label: str
    provider: str
    run: str
    task: str
    passed: int
    failed: int
    error: int
    skipped: int


@dataclass(frozen=True, slots=True)
class FlakyTask:
    """A task that one run answered both rightly and wrongly although its definition did not change.

    Attributes:
        flips: Changes between passed and failed from one decided result to the next, in the order of recording.
    """

    provider: str
    run: str
    task: str
    passed: int
    failed: int
    flips: int


@dataclass(frozen=True, slots=True)
class StaleTask:
    """A task that never told two runs apart: every decided result has the same kind.

    Attributes:
        kind: ``Passed`` or ``Failed``.
        results: Decided results seen.
        runs: Distinct runs that answered it.
    """

    task: str
    kind: str
    results: int
    runs: int


@contextmanager
def open_history(path: Path) -> Iterator[History]:
    """Open a history file, making it and its directory when missing; everything is committed or nothing.

    Raises:
        ResultsError: The file is no history, of a newer version, or cannot be used.
    """
    connection = _connect(path)
    try:
        yield History(connection)
        connection.execute("COMMIT")
    except sqlite3.Error as error:
        raise ResultsError(f"cannot use the history file {path}: {error}") from error
    finally:
        # Closing without COMMIT rolls back.
        connection.close()


def _connect(path: Path) -> sqlite3.Connection:
    connection: sqlite3.Connection | None = None
    try:
        path.parent.mkdir(parents=True, exist_ok=True)
        connection = sqlite3.connect(path, timeout=30, isolation_level=None)
        connection.execute("PRAGMA foreign_keys = ON")
        connection.execute("BEGIN IMMEDIATE")
        _prepare(connection, path)
    except (sqlite3.Error, OSError, ResultsError) as error:
        if connection is not None:
            connection.close()
        if isinstance(error, ResultsError):
            raise
        raise ResultsError(f"cannot use the history file {path}: {error}") from error
    return connection


def _prepare(connection: sqlite3.Connection, path: Path) -> None:
    (version,) = connection.execute("PRAGMA user_version").fetchone()
    (application,) = connection.execute("PRAGMA application_id").fetchone()
    (tables,) = connection.execute("SELECT count(*) FROM sqlite_master").fetchone()
    if tables == 0 and version == 0:
        for statement in SCHEMA.split(";\n\n"):
            connection.execute(statement)
        connection.execute(f"PRAGMA user_version = {SCHEMA_VERSION}")
        connection.execute(f"PRAGMA application_id = {APPLICATION_ID}")
    elif application != APPLICATION_ID:
        raise ResultsError(f"{path} is an SQLite file of another program; name a new file or a history file")
    elif version > SCHEMA_VERSION:
        raise ResultsError(f"{path} has history version {version}; this program knows up to {SCHEMA_VERSION}")


class History:
    """An open history file; get one from `open_history`."""

    def __init__(self, connection: sqlite3.Connection) -> None:
        self._connection = connection

    def add(self, results: Sequence[Result], *, recorded_at: datetime, label: str = "", source: str = "") -> bool:
        """Record the results of one evaluation.

        Returns:
            False when exactly these results are recorded already; nothing changes then.

        Raises:
            ResultsError: There are no results.
        """
        if not results:
            raise ResultsError("there are no results to record")
        digest = content_digest([(item.trace_id, item.kind.value, *_key(item), item.duration_ns) for item in results])
        seed = next((item.evaluation_seed for item in results if item.evaluation_seed), "")
        cursor = self._connection.execute(
            "INSERT OR IGNORE INTO evaluation (digest, seed, label, source, recorded_at) VALUES (?, ?, ?, ?, ?)",
            (digest, _text(seed), _text(label), _text(source), recorded_at.isoformat(timespec="seconds")),
        )
        if not cursor.rowcount:
            return False
        # The last result of a key wins, as in a merge.
        for result in {_key(item): item for item in results}.values():
            self._add_result(int(cursor.lastrowid or 0), result)
        return True

    def _add_result(self, evaluation_id: int, result: Result) -> None:
        row = _row(evaluation_id, result)
        names = ", ".join(row)
        marks = ", ".join("?" * len(row))
        self._connection.execute(f"INSERT INTO result ({names}) VALUES ({marks})", tuple(row.values()))
        key = (evaluation_id, *_key(result))
        self._connection.executemany(
            "INSERT OR IGNORE INTO result_tag VALUES (?, ?, ?, ?, ?, ?)",
            [(*key, _text(tag)) for tag in result.metadata.tags],
        )

    def evaluations(self) -> list[RecordedEvaluation]:
        """Return all evaluations, oldest first."""
        rows = self._connection.execute(
            "SELECT id, recorded_at, label, seed, source, count(task), coalesce(sum(kind = 'Passed'), 0) "
            "FROM evaluation LEFT JOIN result ON id = evaluation_id GROUP BY id ORDER BY id"
        )
        return [RecordedEvaluation(*row) for row in rows]

    def token_counts(self) -> list[Result]:
        """Return the decided results that reported tokens, oldest first, as far as the file keeps them.

        They hold names, kind and the candidate's counters: enough for a forecast, no answers.
        """
        rows = self._connection.execute(
            "SELECT provider, run, task, trace_id, kind, input_tokens, output_tokens FROM result "
            "WHERE kind IN ('Passed', 'Failed') AND input_tokens IS NOT NULL AND output_tokens IS NOT NULL "
            "ORDER BY evaluation_id, provider, run, task, repeat"
        )
        return [
            Result(trace_id, Kind(kind), task, provider, run, answer=AnswerRecord("", "", None, usage=Usage(into, out)))
            for provider, run, task, trace_id, kind, into, out in rows
        ]

    def forget(self, evaluation_id: int) -> bool:
        """Delete one evaluation; False when there is none with this id."""
        return bool(self._connection.execute("DELETE FROM evaluation WHERE id = ?", (evaluation_id,)).rowcount)

    def trend(self, *, task: str = "", provider: str = "", run: str = "", last: int = 0) -> list[TrendPoint]:
        """Return counts per task and run, each in the order of recording.

        Args:
            task: Exact name; blank = all.
            provider: Exact name; blank = all.
            run: Exact name; blank = all.
            last: Only the newest so many evaluations; 0 = all.
        """
        rows = self._connection.execute(
            "SELECT * FROM task_trend WHERE (? = '' OR task = ?) AND (? = '' OR provider = ?) AND (? = '' OR run = ?) "
            "AND evaluation_id IN (SELECT id FROM evaluation ORDER BY id DESC LIMIT ?) "
            "ORDER BY task, provider, run, evaluation_id",
            (*(_text(word) for word in (task, task, provider, provider, run, run)), last or -1),
        )
        return [TrendPoint(*row) for row in rows]

    def flaky(self) -> list[FlakyTask]:
        """Return flaky tasks, the most often flipping first; errors and skips are no evidence."""
        rows = self._connection.execute(
            "WITH decided AS (SELECT *, lag(kind) OVER (PARTITION BY provider, run, task, definition "
            "ORDER BY evaluation_id, repeat) AS before FROM result WHERE kind IN ('Passed', 'Failed')) "
            "SELECT provider, run, task, sum(kind = 'Passed') AS passed, sum(kind = 'Failed') AS failed, "
            "sum(kind <> before) AS flips FROM decided GROUP BY provider, run, task, definition "
            "HAVING passed > 0 AND failed > 0 ORDER BY flips DESC, task, provider, run"
        )
        return [FlakyTask(*row) for row in rows]

    def stale(self, *, at_least: int = 4) -> list[StaleTask]:
        """Return tasks that every run always passed or always failed.

        Args:
            at_least: Decided results needed before a task is judged.
        """
        rows = self._connection.execute(
            "SELECT task, min(kind), count(*) AS results, count(DISTINCT provider || char(10) || run) "
            "FROM result WHERE kind IN ('Passed', 'Failed') GROUP BY task "
            "HAVING min(kind) = max(kind) AND results >= ? ORDER BY min(kind), task",
            (at_least,),
        )
        return [StaleTask(*row) for row in rows]


def _key(result: Result) -> tuple[str, str, str, int]:
    return _text(result.provider), _text(result.run), _text(result.task), result.repeat or 0


def _row(evaluation_id: int, result: Result) -> dict[str, Any]:
    provider, run, task, repeat = _key(result)
    input_tokens, output_tokens = candidate_tokens(result)
    cost, judge = candidate_cost(result), judge_cost(result)
    return {
        "evaluation_id": evaluation_id,
        "provider": provider,
        "run": run,
        "task": task,
        "repeat": repeat,
        "kind": result.kind.value,
        "model": _text(str((result.run_config or {}).get("Model") or "")),
        "suite": _text(result.metadata.suite),
        "category": _text(result.metadata.category),
        "difficulty": _text(result.metadata.difficulty),
        "definition": _text(result.definition),
        "trace_id": _text(result.trace_id),
        "is_mock": int(result.is_mock),
        "duration_ns": _number(result.duration_ns),
        "input_tokens": _number(input_tokens),
        "output_tokens": _number(output_tokens),
        "cost": cost.amount,
        "judge_cost": judge.amount,
        "currency": _text(cost.currency or judge.currency),
    }


def _text(text: str) -> str:
    """Return text that can be encoded: a lone surrogate becomes a question mark."""
    return text.encode("utf-8", "replace").decode()


def _number(value: int | None) -> int | float | None:
    """Return a number that SQLite can hold: beyond 64 bits the nearest float."""
    return value if value is None or -(2**63) <= value < 2**63 else float(value)
