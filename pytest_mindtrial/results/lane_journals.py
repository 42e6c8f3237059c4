"""Journals of xdist's workers, and how they become part of the session's one journal.

A worker journals every attempt in the moment it is finished, into ``<stem>.<session>-lane<n>.journal.jsonl`` beside the
session's ``<stem>.journal.jsonl``; the controller journals what is reported to it. At the end `absorb` adds what was
finished and never reported, and removes the workers' files, so that one journal is left. They stay when the controller
was killed: `read_session` reads them together. Does not run anything. Source: design D6, D7; spec pytest 4.3 and 4.4.
"""

from __future__ import annotations

import glob
import json
from collections.abc import Callable, Collection, Iterable
from dataclasses import replace
from pathlib import Path

from pytest_mindtrial.core.errors import ResultsError
from pytest_mindtrial.core.record import Result
from pytest_mindtrial.core.wire import from_wire
from pytest_mindtrial.results.journal_reader import JournalContent, read_journal

__all__ = ["LaneIndex", "absorb", "lane_suffix", "read_session"]

_SUFFIX = ".journal.jsonl"


def lane_suffix(session: str, lane: int) -> str:
    """Return what follows a stem in the name of a worker's journal."""
    return f".{session}-lane{lane}{_SUFFIX}"


def read_session(path: Path) -> JournalContent:
    """Read a session's journal together with those of its workers that were never absorbed.

    Raises:
        ResultsError: As `read_journal`.
    """
    main = read_journal(path)
    results = {result.trace_id: result for result in main.results}
    torn, reported = main.torn, set(main.reported)
    for lane in _lanes_beside(path):
        content = read_journal(lane)
        for result in content.results:
            results.setdefault(result.trace_id, result)
        torn, reported = torn or content.torn, reported | content.reported
    return replace(main, results=tuple(results.values()), torn=torn, reported=frozenset(reported))


def _lanes_beside(path: Path) -> list[Path]:
    if not path.name.endswith(_SUFFIX):
        return []
    stem = glob.escape(path.name.removesuffix(_SUFFIX))
    return sorted(path.parent.glob(f"{stem}.*-lane*{_SUFFIX}"))


def absorb(lanes: Iterable[Path], known: Collection[str], write: Callable[[Result], None]) -> list[str]:
    """Write what workers have journalled and nobody knows yet, and remove their files.

    Args:
        lanes: Files of workers that have ended; those that do not exist are passed over.
        known: Trace ids that need not be written.
        write: Journals one finished attempt.

    Returns:
        One text per file that could not be read; such a file is kept.
    """
    problems = []
    for lane in lanes:
        if not lane.exists():
            continue
        try:
            content = read_journal(lane)
        except ResultsError as error:
            problems.append(f"{error}; the file is kept")
            continue
        for result in content.results:
            if result.trace_id not in known:
                write(result)
        lane.unlink()
    return problems


class LaneIndex:
    """Finds results in a journal that is still being written, each line read once."""

    def __init__(self, path: Path) -> None:
        self._path = path
        self._end = 0
        self._places: dict[str, tuple[int, int]] = {}

    def find(self, trace_id: str) -> Result:
        """Return a finished attempt.

        Raises:
            ResultsError: The file does not hold it.
        """
        try:
            with self._path.open("rb") as stream:
                self._read_on(stream.seek(self._end), stream)
                start, size = self._places[trace_id]
                stream.seek(start)
                return from_wire(Result, json.loads(stream.read(size))["result"])
        except (OSError, KeyError, ValueError) as error:
            raise ResultsError(f"{self._path}: the attempt {trace_id} is not in this worker's journal") from error

    def _read_on(self, position: int, lines: Iterable[bytes]) -> None:
        for line in lines:
            if not line.endswith(b"\n"):
                break
            data = json.loads(line)
            if "result" in data:
                self._places[data["result"]["trace_id"]] = (position, len(line))
            position += len(line)
        self._end = position
