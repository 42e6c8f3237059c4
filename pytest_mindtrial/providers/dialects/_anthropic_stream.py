"""Streams of Anthropic's dialect: events in, the message the same request would have given without streaming out.

Does not read bytes (``providers/sse.py``). Source: spec providers 9.
"""

from __future__ import annotations

import json
from collections.abc import Iterable, Mapping
from typing import Any

from pytest_mindtrial.core.errors import TransportError
from pytest_mindtrial.providers.errors import error_in_reply
from pytest_mindtrial.providers.sse import SseEvent

__all__ = ["assemble_anthropic"]

_APPENDED = {"text_delta": "text", "thinking_delta": "thinking"}


def assemble_anthropic(events: Iterable[SseEvent]) -> Mapping[str, Any]:
    """Return the complete message.

    Raises:
        TransportError: ``message_stop`` is missing or an event is not a JSON object (cause ``stream-cut``).
        ApiError: The stream carries an error event.
    """
    assembly = _Assembly()
    for event in events:
        value = _event(event)
        kind = str(value.get("type") or event.event)
        if kind == "message_stop":
            return assembly.message()
        if kind == "error" and (fault := error_in_reply({"type": "error", **value})) is not None:
            raise fault
        assembly.add(kind, value)
    raise TransportError("the reply stream ended before its end mark", transient=True, cause="stream-cut")


def _event(event: SseEvent) -> Mapping[str, Any]:
    try:
        value = json.loads(event.data)
    except ValueError:
        value = None
    if not isinstance(value, Mapping):
        raise TransportError("the reply stream holds an event that is not JSON", transient=True, cause="stream-cut")
    return value


class _Assembly:
    def __init__(self) -> None:
        self._message: dict[str, Any] = {}
        self._usage: dict[str, Any] = {}
        self._blocks: dict[int, dict[str, Any]] = {}
        self._json: dict[int, str] = {}

    def add(self, kind: str, value: Mapping[str, Any]) -> None:
        if kind == "message_start":
            self._start(_mapping(value.get("message")))
        elif kind == "content_block_start":
            self._blocks[_index(value)] = dict(_mapping(value.get("content_block")))
        elif kind == "content_block_delta":
            self._add_delta(_index(value), _mapping(value.get("delta")))
        elif kind == "message_delta":
            self._message |= _mapping(value.get("delta"))
            self._count(value.get("usage"))

    def message(self) -> Mapping[str, Any]:
        for index, text in self._json.items():
            self._blocks[index]["input"] = _tool_input(text)
        out = {**self._message, "content": [self._blocks[index] for index in sorted(self._blocks)]}
        return {**out, "usage": self._usage} if self._usage else out

    def _start(self, message: Mapping[str, Any]) -> None:
        self._message = {key: item for key, item in message.items() if key not in ("content", "usage")}
        self._count(message.get("usage"))

    def _count(self, usage: Any) -> None:
        """Take counters over; later ones are totals, not additions."""
        self._usage |= {key: item for key, item in _mapping(usage).items() if item is not None}

    def _add_delta(self, index: int, delta: Mapping[str, Any]) -> None:
        block = self._blocks.setdefault(index, {})
        kind = str(delta.get("type") or "")
        if (key := _APPENDED.get(kind)) is not None:
            block.setdefault("type", key)
            block[key] = _text(block.get(key)) + _text(delta.get(key))
        elif kind == "signature_delta":
            block["signature"] = delta.get("signature")
        elif kind == "input_json_delta":
            self._json[index] = self._json.get(index, "") + _text(delta.get("partial_json"))
        elif kind == "citations_delta":
            known = block.get("citations")
            block["citations"] = [*(known if isinstance(known, list) else ()), delta.get("citation")]


def _mapping(value: Any) -> Mapping[str, Any]:
    return value if isinstance(value, Mapping) else {}


def _text(value: Any) -> str:
    return value if isinstance(value, str) else ""


def _index(value: Mapping[str, Any]) -> int:
    index = value.get("index")
    return index if isinstance(index, int) else 0


def _tool_input(text: str) -> Any:
    """Return a call's input. Broken JSON is wrapped, because a replayed call must carry an object."""
    if not text.strip():
        return {}
    try:
        value = json.loads(text)
    except ValueError:
        return {"INVALID_JSON": text}
    return value if isinstance(value, Mapping) else {"INVALID_JSON": text}
