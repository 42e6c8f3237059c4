"""The journal: one JSON line per finished attempt, on disk from the moment it finished.

Does not decide what is reused (``--mt-resume``) and writes no report. Lines are versioned; the wire form of a result is
`core.wire`'s. What a reader may rely on: every line but the last is complete; of several lines of one trace the last
one counts; a session that continues a journal writes a header line of its own.

Line types: ``header`` (who, which evaluation), ``attempt`` (a whole result), ``reported`` (its item was reported; with
the whole result where that changed since the attempt), ``finished`` (the session ended in good order). Long texts that
stand in a result twice are written once (``results/copies.py``).

Source: design D7; spec pytest 6; spec mindtrial 10, W6.
"""

from __future__ import annotations

import json
import os
import threading
from collections import deque
from collections.abc import Mapping
from dataclasses import replace
from datetime import datetime
from pathlib import Path
from typing import Any

from pytest_mindtrial.core.clock import Clock, SystemClock
from pytest_mindtrial.core.errors import UserError
from pytest_mindtrial.core.jsontext import cut_depth
from pytest_mindtrial.core.record import Result
from pytest_mindtrial.core.secret import Redactor
from pytest_mindtrial.core.wire import WIRE_VERSION, to_wire
from pytest_mindtrial.results.copies import leave_out_copies
from pytest_mindtrial.results.disk_sync import DiskSync
from pytest_mindtrial.results.evaluation import EvaluationInfo
from pytest_mindtrial.results.redaction import clean_text, redacted

__all__ = ["Journal", "wire_line"]

_SYNC_AFTER_NS = 1_000_000_000
_SYNC_AFTER_LINES = 100

_ENCODE = json.JSONEncoder(separators=(",", ":"), check_circular=False).encode
_NOT_CLEAN = -1


class Journal:
    """Writes one journal file; may be called from several threads.

    Every result reaches the operating system before the call returns, so a killed process loses none. It reaches the
    disk, in a thread of its own, after a second or a hundred writes (whichever is first, checked at each write) and on
    closing, so a power cut loses that much. Marks of reported items that carry no result go out with the next line: a
    killed process may lose the last few, which only means that a finished attempt counts as not reported. The file is
    appended to when it exists; a torn last line is ended first.

    Args:
        path: The file; parent directories are created.
        evaluation: Facts for the header line.
        redact: Applied to every text that is written; may learn secrets meanwhile.
        clock: Source of the time between two syncs.

    Raises:
        UserError: The file cannot be opened or written: disk full, read-only, no permission. After a failed write the
            file still ends with a complete line.
    """

    def __init__(self, path: Path, evaluation: EvaluationInfo, redact: Redactor, clock: Clock | None = None) -> None:
        self.path = path
        self._redact = redact
        self._clock = clock or SystemClock()
        self._lock = threading.Lock()
        self._results: dict[str, tuple[Result, int]] = {}  # with the redactor's version at which it was clean
        self._waiting: deque[bytes] = deque()
        self._unsynced = 0
        self._synced_ns = self._clock.monotonic_ns()
        try:
            path.parent.mkdir(parents=True, exist_ok=True)
            handle = os.open(path, os.O_RDWR | os.O_CREAT | os.O_APPEND | os.O_CLOEXEC, 0o666)
        except OSError as error:
            raise self._failure("open", error) from error
        self._file: int | None = handle
        self._sync = DiskSync(handle)
        try:
            self._end_torn_line(handle)
            self._write(wire_line(redacted(_header(evaluation), redact)))
        except UserError:
            self._file = None
            os.close(handle)
            raise

    def attempt(self, result: Result) -> None:
        """Record a finished attempt."""
        self._write(_line("attempt", f',"result":{self._encode(result)}'))

    def reported(self, result: Result) -> None:
        """Record that the attempt's item was reported; the whole result again only if it changed."""
        known, version = self._results.get(result.trace_id, (None, _NOT_CLEAN))
        fields = f',"trace_id":{_ENCODE(result.trace_id)},"kind":"{result.kind.value}"'
        if known is result or _is_equal(known, result):
            self._results[result.trace_id] = (result, version)
            # No lock: whoever reports must not wait for whoever is writing just now.
            self._waiting.append(_line("reported", fields))
            if len(self._waiting) >= _SYNC_AFTER_LINES or self._file is None:
                self._write()
        else:
            self._write(_line("reported", f'{fields},"result":{self._encode(result)}'))

    def is_clean(self, result: Result) -> bool:
        """Tell whether this very result was written as it is, and no secret was learnt since."""
        known, version = self._results.get(result.trace_id, (None, _NOT_CLEAN))
        return known is result and version == self._redact.version

    def finished(self, evaluation: EvaluationInfo) -> None:
        """Record that the session ended in good order, complete or not."""
        reason = self._redact(evaluation.incomplete_reason)
        self._write(wire_line({"type": "finished", "complete": evaluation.is_complete, "reason": reason}))

    def close(self) -> None:
        """Bring everything to disk and close; a second call does nothing.

        Raises:
            UserError: The last lines could not be brought to disk.
        """
        with self._lock:
            handle, self._file = self._file, None
            if handle is None:
                return
            self._sync.end()
            try:
                self._append(handle, self._taken())
                os.fsync(handle)
                if self._sync.problem is not None:
                    raise self._sync.problem
            except OSError as error:
                raise self._failure("write", error) from error
            finally:
                os.close(handle)

    def _encode(self, result: Result) -> str:
        version = self._redact.version
        try:
            wire = to_wire(result)
        except RecursionError:
            wire = to_wire(_shallow(result))
        leave_out_copies(wire)
        text = clean_text(wire, self._redact)
        self._results[result.trace_id] = (result, _NOT_CLEAN if text is None else version)
        # Before encoding: a secret with a quotation mark looks different once it is JSON.
        return _ENCODE(redacted(cut_depth(wire), self._redact)) if text is None else text

    def _write(self, line: bytes = b"") -> None:
        """Write what waits, and a further line."""
        with self._lock:
            if self._file is None:
                raise UserError(f"cannot write the journal {self.path}: it is closed")
            lines = self._taken() + line
            try:
                if self._sync.problem is not None:
                    raise self._sync.problem
                self._append(self._file, lines)
            except OSError as error:
                raise self._failure("write", error) from error
            self._unsynced += 1
            now = self._clock.monotonic_ns()
            if self._unsynced >= _SYNC_AFTER_LINES or now - self._synced_ns >= _SYNC_AFTER_NS:
                self._sync.soon()
                self._unsynced, self._synced_ns = 0, now

    def _taken(self) -> bytes:
        """Return the lines that wait, which then no longer do. The lock is held; others may append meanwhile."""
        return b"".join([self._waiting.popleft() for _ in range(len(self._waiting))])

    @staticmethod
    def _append(handle: int, line: bytes) -> None:
        rest = memoryview(line)
        try:
            while rest:
                rest = rest[os.write(handle, rest) :]
        except OSError:
            # Half a line would make the next one unreadable.
            if written := len(line) - len(rest):
                os.ftruncate(handle, os.fstat(handle).st_size - written)
            raise

    def _end_torn_line(self, handle: int) -> None:
        try:
            size = os.fstat(handle).st_size
            if size and os.pread(handle, 1, size - 1) != b"\n":
                self._append(handle, b"\n")
        except OSError as error:
            raise self._failure("continue", error) from error

    def _failure(self, action: str, error: OSError) -> UserError:
        reason = error.strerror or str(error)
        return UserError(
            f"cannot {action} the journal {self.path}: {reason}; free space or choose another output directory"
        )


def _is_equal(known: Result | None, result: Result) -> bool:
    try:
        return known == result
    except RecursionError:  # too deeply nested to compare: rather written twice
        return False


def wire_line(fields: Mapping[str, Any]) -> bytes:
    """Return one journal line; ASCII, so that lone surrogates and odd line separators cannot break it."""
    return _ENCODE({"v": WIRE_VERSION, **fields}).encode() + b"\n"


def _line(kind: str, fields: str) -> bytes:
    """Return a line whose further fields are JSON already; otherwise as `wire_line`."""
    return f'{{"v":{WIRE_VERSION},"type":"{kind}"{fields}}}\n'.encode()


def _header(evaluation: EvaluationInfo) -> dict[str, Any]:
    created = evaluation.created_at
    if isinstance(created, datetime):
        created = created.isoformat()
    return {"type": "header", "evaluation": to_wire(replace(evaluation, created_at=created))}


def _shallow(result: Result) -> Result:
    """Cut values that are nested too deeply for the wire codec."""
    answer, want = result.answer, result.want
    if answer is not None:
        expected = tuple(cut_depth(item) for item in answer.expected)
        answer = replace(answer, content=cut_depth(answer.content), expected=expected)
    return replace(
        result,
        got=cut_depth(result.got),
        want=None if want is None else tuple(cut_depth(item) for item in want),
        answer=answer,
    )
