"""Replies of the chat dialect: stop classes, tool calls, text, and the message that is replayed.

Does not put streams together (``_chat_stream.py``). Source: spec providers 5, 6, 13.7.
"""

from __future__ import annotations

import json
from collections.abc import Mapping
from typing import Any

from pytest_mindtrial.core.values import StopClass, ToolCall
from pytest_mindtrial.providers.profiles import ReasoningReplay

__all__ = ["answer_text", "classify", "read_calls", "replayed", "strip_thinking"]

_REASONING_KEYS = ("reasoning_details", "reasoning", "reasoning_content")
_STOPS = {
    "length": StopClass.TRUNCATED,
    "model_length": StopClass.TRUNCATED,
    "content_filter": StopClass.FILTERED,
    "error": StopClass.FAILED,
    "insufficient_system_resource": StopClass.FAILED,
}
_RUNS_TOOLS = frozenset(("", "stop", "tool_calls"))


def classify(reason: str, *, has_calls: bool, is_refused: bool) -> StopClass:
    """Return the stop class of a finish reason; unknown reasons are terminal, so that a new word never loops."""
    stop = _STOPS.get(reason)
    if stop is not None:
        return stop
    if has_calls and reason in _RUNS_TOOLS:
        return StopClass.TOOLS
    if is_refused:
        return StopClass.REFUSED
    return StopClass.CONTINUE if not reason else StopClass.FINAL


def answer_text(content: Any) -> str | None:
    """Return the text of a message's content: a string, or the text parts of a list, joined; None = none came."""
    if isinstance(content, str):
        return content or None
    if not isinstance(content, list):
        return None
    texts = [part.get("text") for part in content if isinstance(part, Mapping) and part.get("type") == "text"]
    return "".join(text for text in texts if isinstance(text, str)) or None


def strip_thinking(text: str | None) -> str | None:
    """Return the text without one leading ``<think>…</think>`` block, as servers without a reasoning field send it."""
    if text is None or not text.lstrip().startswith("<think>"):
        return text
    _, closed, rest = text.partition("</think>")
    return (rest.lstrip() or None) if closed else text


def read_calls(message: Mapping[str, Any], turn: int) -> tuple[ToolCall, ...]:
    """Return the tool calls in order; a missing id becomes ``call_<turn>_<n>``."""
    calls = message.get("tool_calls")
    if not isinstance(calls, list):
        return ()
    out = []
    for number, call in enumerate((item for item in calls if isinstance(item, Mapping)), 1):
        function = call.get("function")
        function = function if isinstance(function, Mapping) else {}
        identity = call.get("id") or f"call_{turn}_{number}"
        out.append(ToolCall(str(identity), str(function.get("name") or ""), _arguments(function.get("arguments"))))
    return tuple(out)


def _arguments(value: Any) -> str:
    if isinstance(value, str):
        return value if value.strip() else "{}"
    return "{}" if value is None else json.dumps(value, ensure_ascii=False)


def replayed(
    message: Mapping[str, Any],
    calls: tuple[ToolCall, ...],
    *,
    rule: ReasoningReplay,
    preserves_thinking: bool,
    runs_tools: bool,
) -> dict[str, Any]:
    """Return the assistant message as it goes back: what came, minus reasoning the vendor does not want to see.

    Calls that will not be answered (truncated replies) are left out, because every vendor rejects unanswered ones.
    """
    out = dict(message)
    out.setdefault("role", "assistant")
    if not runs_tools:
        out.pop("tool_calls", None)
    elif any(not call.get("id") for call in out["tool_calls"] if isinstance(call, Mapping)):
        raw = [call for call in out["tool_calls"] if isinstance(call, Mapping)]
        out["tool_calls"] = [{**call, "id": made.id, "type": "function"} for call, made in zip(raw, calls, strict=True)]
    for key in _unwanted(out, rule, preserves_thinking=preserves_thinking, runs_tools=runs_tools):
        del out[key]
    return out


def _unwanted(
    message: Mapping[str, Any], rule: ReasoningReplay, *, preserves_thinking: bool, runs_tools: bool
) -> list[str]:
    present = [key for key in _REASONING_KEYS if key in message]
    if rule == "details":
        kept = [key for key in present if message[key] is not None][:1]
        return [key for key in present if key not in kept]
    if (rule == "with-tools" and not runs_tools) or (rule == "preserve-thinking" and not preserves_thinking):
        return [key for key in present if key == "reasoning_content"]
    return []
