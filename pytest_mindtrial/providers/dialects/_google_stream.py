"""Streams of Google's dialect: partial replies in, the reply the same request would have given at once out.

Does not read bytes (``providers/sse.py``). Source: spec providers 9.
"""

from __future__ import annotations

import json
from collections.abc import Iterable, Mapping
from typing import Any

from pytest_mindtrial.core.errors import TransportError
from pytest_mindtrial.providers.dialects._google_reply import blocked_prompt, first_candidate, parts_of
from pytest_mindtrial.providers.errors import error_in_reply
from pytest_mindtrial.providers.sse import SseEvent

__all__ = ["assemble_google"]

_PLAIN_TEXT = frozenset(("text", "thought"))


def assemble_google(events: Iterable[SseEvent]) -> Mapping[str, Any]:
    """Return the complete reply. Its end is the end of the body, once a reason to stop has come.

    Raises:
        TransportError: No ``finishReason`` came, or an event is not a JSON object (cause ``stream-cut``).
        ApiError: The stream carries an error.
    """
    assembly = _Assembly()
    for event in events:
        assembly.add(_chunk(event))
    if not assembly.is_finished:
        raise TransportError("the reply stream ended before its end mark", transient=True, cause="stream-cut")
    return assembly.reply()


def _chunk(event: SseEvent) -> Mapping[str, Any]:
    try:
        chunk = json.loads(event.data)
    except ValueError:
        chunk = None
    if not isinstance(chunk, Mapping):
        raise TransportError("the reply stream holds an event that is not JSON", transient=True, cause="stream-cut")
    fault = error_in_reply(chunk)
    if fault is not None:
        raise fault
    return chunk


class _Assembly:
    def __init__(self) -> None:
        self._top: dict[str, Any] = {}
        self._candidate: dict[str, Any] | None = None
        self._content: dict[str, Any] = {}
        self._parts: list[dict[str, Any]] = []

    @property
    def is_finished(self) -> bool:
        """True once a finish reason came, or the news that the prompt is blocked."""
        if self._candidate is not None:
            return bool(self._candidate.get("finishReason"))
        return blocked_prompt(self._top) is not None

    def add(self, chunk: Mapping[str, Any]) -> None:
        self._top |= {key: value for key, value in chunk.items() if key != "candidates" and value is not None}
        candidate = first_candidate(chunk)
        if candidate is None:
            return
        self._candidate = self._candidate or {}
        self._candidate |= {key: value for key, value in candidate.items() if key != "content" and value is not None}
        content = candidate.get("content")
        if isinstance(content, Mapping):
            self._content |= {key: value for key, value in content.items() if key != "parts"}
        for part in parts_of(candidate):
            self._add_part(part)

    def reply(self) -> Mapping[str, Any]:
        if self._candidate is None:
            return self._top
        candidate = dict(self._candidate)
        if self._content or self._parts:
            candidate["content"] = {**self._content, "parts": self._parts}
        return {**self._top, "candidates": [candidate]}

    def _add_part(self, part: Mapping[str, Any]) -> None:
        last = self._parts[-1] if self._parts else None
        if last is not None and _are_one_text(last, part):
            last["text"] += part["text"]
        else:
            self._parts.append(dict(part))


def _are_one_text(first: Mapping[str, Any], second: Mapping[str, Any]) -> bool:
    """Tell whether two adjacent parts are pieces of one text; a signature belongs to its own part."""
    if not (set(first) <= _PLAIN_TEXT and set(second) <= _PLAIN_TEXT):
        return False
    is_text = isinstance(first.get("text"), str) and isinstance(second.get("text"), str)
    return is_text and bool(first.get("thought")) == bool(second.get("thought"))
