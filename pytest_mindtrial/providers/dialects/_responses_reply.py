"""Replies of the Responses dialect: stop classes, text, calls, and streams.

Does not decide what is sent next (``openai_responses.py``). Source: spec providers 6 and 9.
"""

from __future__ import annotations

import json
from collections.abc import Iterable, Iterator, Mapping, Sequence
from typing import Any

from pytest_mindtrial.core.errors import TransportError
from pytest_mindtrial.core.values import StopClass, ToolCall
from pytest_mindtrial.providers.errors import error_in_reply
from pytest_mindtrial.providers.sse import SseEvent

__all__ = ["answer_text", "assemble_responses", "classify", "read_calls", "refusal_text"]

_TERMINAL_EVENTS = frozenset(("response.completed", "response.incomplete", "response.failed"))


def classify(reply: Mapping[str, Any], *, has_calls: bool, is_refused: bool) -> tuple[str, StopClass]:
    """Return the vendor's word for the stop and its class; unknown states are terminal."""
    status = str(reply.get("status") or "")
    if status == "incomplete":
        details = reply.get("incomplete_details")
        reason = str((details.get("reason") if isinstance(details, Mapping) else None) or status)
        return reason, StopClass.FILTERED if reason == "content_filter" else StopClass.TRUNCATED
    if status == "failed":
        return status, StopClass.FAILED
    if status in ("queued", "in_progress"):
        return status, StopClass.CONTINUE
    if has_calls:
        return status, StopClass.TOOLS
    return status, StopClass.REFUSED if is_refused else StopClass.FINAL


def answer_text(items: Sequence[Mapping[str, Any]]) -> str | None:
    """Return the text of the final phase, or of all messages when none is marked as final; None = none came."""
    messages = [item for item in items if item.get("type") == "message"]
    final = [item for item in messages if item.get("phase") == "final_answer"]
    texts = (part.get("text") for part in _parts(final or messages) if part.get("type") == "output_text")
    return "".join(text for text in texts if isinstance(text, str)) or None


def refusal_text(items: Sequence[Mapping[str, Any]]) -> str | None:
    """Return what the model said when it refused; None = it did not."""
    refusals = [part for part in _parts(items) if part.get("type") == "refusal"]
    return "".join(str(part.get("refusal") or "") for part in refusals) if refusals else None


def _parts(items: Iterable[Mapping[str, Any]]) -> Iterator[Mapping[str, Any]]:
    for item in items:
        content = item.get("content")
        for part in content if isinstance(content, list) else ():
            if isinstance(part, Mapping):
                yield part


def read_calls(items: Sequence[Mapping[str, Any]], turn: int) -> tuple[ToolCall, ...]:
    """Return the tool calls in order; a missing id becomes ``call_<turn>_<n>``."""
    calls = [item for item in items if item.get("type") == "function_call"]
    return tuple(
        ToolCall(
            str(call.get("call_id") or f"call_{turn}_{number}"),
            str(call.get("name") or ""),
            str(call.get("arguments") or "{}"),
        )
        for number, call in enumerate(calls, 1)
    )


def assemble_responses(events: Iterable[SseEvent]) -> Mapping[str, Any]:
    """Return the response that the terminal event carries; deltas before it repeat parts of it.

    Raises:
        TransportError: The terminal event is missing or an event is not a JSON object (cause ``stream-cut``).
        ApiError: The stream carries an error event.
    """
    for event in events:
        if event.data.strip() == "[DONE]":
            break
        value = _event(event)
        kind = str(value.get("type") or event.event)
        if kind == "error" and (fault := error_in_reply({"type": "error", **value})) is not None:
            raise fault
        response = value.get("response")
        if kind in _TERMINAL_EVENTS and isinstance(response, Mapping):
            return response
    raise TransportError("the reply stream ended before its end mark", transient=True, cause="stream-cut")


def _event(event: SseEvent) -> Mapping[str, Any]:
    try:
        value = json.loads(event.data)
    except ValueError:
        value = None
    if not isinstance(value, Mapping):
        raise TransportError("the reply stream holds an event that is not JSON", transient=True, cause="stream-cut")
    return value
