"""Streams of the chat dialect: chunks in, the reply the same request would have given without streaming out.

Does not read bytes (``providers/sse.py``). Source: spec providers 9.
"""

from __future__ import annotations

import json
from collections.abc import Iterable, Mapping
from typing import Any

from pytest_mindtrial.core.errors import TransportError
from pytest_mindtrial.providers.errors import error_in_reply
from pytest_mindtrial.providers.sse import SseEvent

__all__ = ["assemble_chat"]

_APPENDED = ("content", "refusal", "reasoning_content", "reasoning")
_MERGED_DETAILS = {"reasoning.text": "text", "reasoning.summary": "summary"}


def assemble_chat(events: Iterable[SseEvent]) -> Mapping[str, Any]:
    """Return the complete reply.

    Raises:
        TransportError: ``[DONE]`` is missing or a chunk is not a JSON object (cause ``stream-cut``).
        ApiError: A chunk carries an error.
    """
    assembly = _Assembly()
    for event in events:
        if event.data.strip() == "[DONE]":
            return assembly.reply()
        assembly.add(_chunk(event))
    raise TransportError("the reply stream ended before its end mark", transient=True, cause="stream-cut")


def _chunk(event: SseEvent) -> Mapping[str, Any]:
    try:
        chunk = json.loads(event.data)
    except ValueError:
        chunk = None
    if not isinstance(chunk, Mapping):
        raise TransportError("the reply stream holds an event that is not JSON", transient=True, cause="stream-cut")
    fault = error_in_reply({"error": chunk} if event.event == "error" and "error" not in chunk else chunk)
    if fault is not None:
        raise fault
    return chunk


class _Assembly:
    def __init__(self) -> None:
        self._top: dict[str, Any] = {}
        self._choice: dict[str, Any] = {"index": 0, "finish_reason": None}
        self._message: dict[str, Any] = {"role": "assistant", "content": None}
        self._calls: dict[int, dict[str, Any]] = {}
        self._has_choice = False
        self._usage: Any = None

    def add(self, chunk: Mapping[str, Any]) -> None:
        for key, value in chunk.items():
            if key not in ("choices", "usage") and value is not None:
                self._top.setdefault(key, value)
        self._usage = chunk.get("usage") or self._usage
        choices = chunk.get("choices")
        for choice in choices if isinstance(choices, list) else ():
            if isinstance(choice, Mapping) and not choice.get("index"):
                self._add_choice(choice)

    def reply(self) -> Mapping[str, Any]:
        if self._calls:
            self._message["tool_calls"] = [self._calls[index] for index in sorted(self._calls)]
        out = {**self._top, "object": "chat.completion"}
        out["choices"] = [{**self._choice, "message": self._message}] if self._has_choice else []
        if self._usage is not None:
            out["usage"] = self._usage
        return out

    def _add_choice(self, choice: Mapping[str, Any]) -> None:
        self._has_choice = True
        for key, value in choice.items():
            if key not in ("delta", "index", "usage") and value is not None:
                self._choice[key] = value
        # Moonshot puts the counters into the last choice instead of beside it.
        self._usage = choice.get("usage") or self._usage
        delta = choice.get("delta")
        if isinstance(delta, Mapping):
            self._add_delta(delta)

    def _add_delta(self, delta: Mapping[str, Any]) -> None:
        for key, value in delta.items():
            if value is None:
                continue
            if key == "tool_calls":
                self._add_calls(value)
            elif key == "reasoning_details":
                _add_details(self._message.setdefault(key, []), value)
            elif key in _APPENDED:
                self._message[key] = _joined(self._message.get(key), value)
            else:
                self._message[key] = value

    def _add_calls(self, deltas: Any) -> None:
        for position, delta in enumerate(deltas if isinstance(deltas, list) else ()):
            if not isinstance(delta, Mapping):
                continue
            call = self._calls.setdefault(self._index(delta, position), {})
            _merge_call(call, delta)

    def _index(self, delta: Mapping[str, Any], position: int) -> int:
        index = delta.get("index")
        if isinstance(index, int):
            return index
        # Without an index the position counts; another id at the same position begins another call.
        known = self._calls.get(position)
        if known is None or not delta.get("id") or known.get("id") in (None, "", delta["id"]):
            return position
        return next(
            (place for place, call in self._calls.items() if call.get("id") == delta["id"]), max(self._calls) + 1
        )


def _merge_call(call: dict[str, Any], delta: Mapping[str, Any]) -> None:
    for key, value in delta.items():
        if key not in ("index", "function") and value:
            call.setdefault(key, value)
    call.setdefault("type", "function")
    function = call.setdefault("function", {"name": "", "arguments": ""})
    part = delta.get("function")
    if not isinstance(part, Mapping):
        return
    function["name"] = function["name"] or part.get("name") or ""
    arguments = part.get("arguments")
    if arguments is not None:
        function["arguments"] = _joined(function["arguments"], arguments)


def _joined(known: Any, value: Any) -> Any:
    """Append text to text and parts to parts; a list after a text (or the other way round) makes a list of parts."""
    if not known and known != []:
        return value if not isinstance(value, list) else list(value)
    if isinstance(known, str) and isinstance(value, str):
        return known + value
    if isinstance(known, dict) or isinstance(value, dict):
        return value
    out = known if isinstance(known, list) else [{"type": "text", "text": known}]
    for part in value if isinstance(value, list) else [{"type": "text", "text": value}]:
        if out and _is_text(out[-1]) and _is_text(part):
            out[-1] = {**out[-1], "text": out[-1]["text"] + part["text"]}
        else:
            out.append(part)
    return out


def _is_text(part: Any) -> bool:
    return isinstance(part, Mapping) and part.get("type") == "text" and isinstance(part.get("text"), str)


def _add_details(known: list[Any], arriving: Any) -> None:
    """Append reasoning details; adjacent texts and adjacent summaries become one entry, everything else stays apart."""
    for entry in arriving if isinstance(arriving, list) else ():
        last = known[-1] if known else None
        key = _MERGED_DETAILS.get(str(entry.get("type"))) if isinstance(entry, Mapping) else None
        if key is None or not isinstance(last, dict) or last.get("type") != entry["type"]:
            known.append(dict(entry) if isinstance(entry, Mapping) else entry)
            continue
        last[key] = "".join(text for text in (last.get(key), entry.get(key)) if isinstance(text, str))
        for name, value in entry.items():
            if last.get(name) is None:
                last[name] = value
