"""Reading a journal back into results.

Does not write and does not judge what may be reused. Source: design D7.
"""

from __future__ import annotations

import json
from collections.abc import Mapping
from dataclasses import dataclass, field, replace
from datetime import datetime
from pathlib import Path
from typing import Any

from pytest_mindtrial.core.errors import Position, ResultsError
from pytest_mindtrial.core.record import Result
from pytest_mindtrial.core.wire import WIRE_VERSION, from_wire
from pytest_mindtrial.results.copies import put_back_copies
from pytest_mindtrial.results.evaluation import EvaluationInfo

__all__ = ["JournalContent", "journal_seed", "read_journal"]


@dataclass(frozen=True, slots=True)
class JournalContent:
    """What a journal holds.

    Attributes:
        header: Of the last session that wrote into it; its completeness is that of the last ``finished`` line, and
            incomplete where there is none.
        results: The last complete record of each trace, in the order in which the traces first appeared.
        torn: True when a line was cut off (the process was killed while writing); its attempt is not in results.
        reported: Trace ids whose items were reported.
    """

    header: EvaluationInfo
    results: tuple[Result, ...] = ()
    torn: bool = False
    reported: frozenset[str] = frozenset()


@dataclass(slots=True)
class _State:
    header: EvaluationInfo | None = None
    results: dict[str, Result] = field(default_factory=dict)
    reported: set[str] = field(default_factory=set)


def read_journal(path: Path) -> JournalContent:
    """Read a journal; a torn last line of any of its sessions is left out.

    Raises:
        ResultsError: No such file, not a journal, another version, or damage other than a torn line, with file and
            line.
    """
    try:
        lines = _parsed_lines(path.read_bytes())
    except OSError as error:
        raise ResultsError(f"cannot read the journal {path}: {error.strerror or error}") from error
    state = _State()
    torn = False
    for index, (number, data) in enumerate(lines):
        position = Position(str(path), number, 1)
        if data is not None:
            _take(data, state, position)
        elif index + 1 == len(lines) or _starts_session(lines[index + 1][1]):
            torn = True
        else:
            raise ResultsError("damaged journal line: not a complete JSON object, although more lines follow", position)
    if state.header is None:
        raise ResultsError(f"{path} is not a journal: it has no header line")
    return JournalContent(state.header, tuple(state.results.values()), torn, frozenset(state.reported))


def journal_seed(path: Path) -> str:
    """Return the evaluation seed of a journal's first session; blank where it cannot be told."""
    try:
        with path.open("rb") as stream:
            first = _parse(stream.readline())
    except OSError:
        return ""
    evaluation = (first or {}).get("evaluation")
    seed = evaluation.get("seed") if isinstance(evaluation, Mapping) else None
    return seed if isinstance(seed, str) else ""


def _parsed_lines(content: bytes) -> list[tuple[int, dict[str, Any] | None]]:
    """Return the lines that are not blank, with their 1-based numbers; None for a line that is not complete."""
    *complete, rest = content.split(b"\n")
    lines = [(number, _parse(line)) for number, line in enumerate(complete, 1) if line.strip()]
    # Without its newline a line is torn even where the part that is there happens to be JSON.
    return [*lines, (len(complete) + 1, None)] if rest.strip() else lines


def _parse(line: bytes) -> dict[str, Any] | None:
    try:
        data = json.loads(line)
    except (ValueError, RecursionError):
        return None
    return data if isinstance(data, dict) else None


def _starts_session(data: Mapping[str, Any] | None) -> bool:
    return data is not None and data.get("type") == "header"


def _take(data: Mapping[str, Any], state: _State, position: Position) -> None:
    if state.header is None and not _starts_session(data):
        raise ResultsError("not a journal: the first line is no header", position)
    version = data.get("v")
    if version != WIRE_VERSION:
        raise ResultsError(f"unsupported journal version {version!r}; this version reads {WIRE_VERSION}", position)
    try:
        _apply(data, state)
    except (TypeError, ValueError, KeyError, AttributeError) as error:
        raise ResultsError(f"damaged journal line: {error}", position) from error


def _apply(data: Mapping[str, Any], state: _State) -> None:
    if _starts_session(data):
        header = from_wire(EvaluationInfo, data["evaluation"])
        # Until the session says that it finished, it did not.
        reason = "the session did not end in good order"
        state.header = replace(header, created_at=_time(header.created_at), is_complete=False, incomplete_reason=reason)
    elif data["type"] == "finished" and state.header is not None:
        state.header = replace(
            state.header, is_complete=bool(data["complete"]), incomplete_reason=str(data.get("reason", ""))
        )
    elif data["type"] in ("attempt", "reported"):
        if "result" in data:
            result = from_wire(Result, put_back_copies(data["result"]))
            state.results[result.trace_id] = result
        if data["type"] == "reported":
            state.reported.add(data["trace_id"])


def _time(text: datetime | str | None) -> datetime | str | None:
    if not isinstance(text, str):
        return text
    try:
        return datetime.fromisoformat(text)
    except ValueError:
        return text
