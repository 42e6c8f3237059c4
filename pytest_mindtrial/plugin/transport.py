"""How results travel from xdist's workers to the controller: one plain attribute on the report.

The attribute is JSON text, because what models say (lone surrogates, huge integers, deep nesting) is more than xdist's
channel can carry. A result above `MAX_CHARS` stays in the worker's journal and only its place travels. Does not
journal. Source: spec pytest 4.3.
"""

from __future__ import annotations

import json
from pathlib import Path

from pytest_mindtrial.core.record import Result
from pytest_mindtrial.core.wire import from_wire, to_wire
from pytest_mindtrial.results.lane_journals import LaneIndex

__all__ = ["MAX_CHARS", "Inbox", "pack"]

MAX_CHARS = 256 * 1024
"""Longest text that travels; a longer one would hold up the reports of all workers."""


def pack(result: Result, journal: Path | None) -> dict[str, str]:
    """Return a result as the attribute of a report.

    Args:
        result: The result, journalled already.
        journal: The worker's journal; None = there is none, everything travels.
    """
    try:
        text = json.dumps(to_wire(result))
    except RecursionError:
        text = ""
    if journal is not None and (not text or len(text) > MAX_CHARS):
        return {"trace_id": result.trace_id, "journal": str(journal)}
    return {"result": text}


class Inbox:
    """Unpacks what workers send."""

    def __init__(self) -> None:
        self._journals: dict[str, LaneIndex] = {}

    def unpack(self, data: dict[str, str]) -> Result:
        """Return the result.

        Raises:
            ResultsError: The worker's journal does not hold it.
        """
        if "result" in data:
            return from_wire(Result, json.loads(data["result"]))
        index = self._journals.setdefault(data["journal"], LaneIndex(Path(data["journal"])))
        return index.find(data["trace_id"])
