"""Replies of Anthropic's dialect: stop classes, calls, text, and the blocks that are replayed.

Does not put streams together (``_anthropic_stream.py``). Source: spec providers 4.4, 5, 6 and 11.
"""

from __future__ import annotations

import json
from collections.abc import Mapping, Sequence
from typing import Any

from pytest_mindtrial.core.values import StopClass, ToolCall

__all__ = ["answer_text", "classify", "read_calls", "replayed_blocks", "stop_details"]

_STOPS = {
    "pause_turn": StopClass.CONTINUE,
    "max_tokens": StopClass.TRUNCATED,
    "model_context_window_exceeded": StopClass.TRUNCATED,
    "refusal": StopClass.REFUSED,
}


def classify(reason: str, *, has_calls: bool, is_submitted: bool) -> StopClass:
    """Return the stop class of a reason; unknown reasons are terminal.

    Args:
        reason: The vendor's word; blank when absent.
        has_calls: Whether the reply calls tools.
        is_submitted: Whether the answer tool was called, which ends the run whatever the reason.
    """
    if reason in ("tool_use", "") and has_calls and not is_submitted:
        return StopClass.TOOLS
    stop = _STOPS.get(reason, StopClass.FINAL if reason else StopClass.CONTINUE)
    return StopClass.FINAL if is_submitted and stop is StopClass.CONTINUE else stop


def answer_text(blocks: Sequence[Mapping[str, Any]]) -> str | None:
    """Return the text blocks, joined; None = none came."""
    texts = (block.get("text") for block in blocks if block.get("type") == "text")
    return "".join(text for text in texts if isinstance(text, str)) or None


def read_calls(blocks: Sequence[Mapping[str, Any]], turn: int) -> tuple[ToolCall, ...]:
    """Return the tool calls in order; a missing id becomes ``call_<turn>_<n>``."""
    calls = [block for block in blocks if block.get("type") == "tool_use"]
    return tuple(
        ToolCall(
            str(call.get("id") or f"call_{turn}_{number}"),
            str(call.get("name") or ""),
            json.dumps(call.get("input") or {}, ensure_ascii=False),
        )
        for number, call in enumerate(calls, 1)
    )


def replayed_blocks(blocks: Sequence[Mapping[str, Any]], calls: tuple[ToolCall, ...]) -> list[dict[str, Any]]:
    """Return the blocks as they go back: all, in order, unknown ones too, but no empty texts: the API refuses those."""
    made = iter(calls)
    out = []
    for block in blocks:
        if block.get("type") == "tool_use":
            out.append({**block, "id": next(made).id})
        elif block.get("type") != "text" or block.get("text"):
            out.append(dict(block))
    return out


def stop_details(reply: Mapping[str, Any]) -> dict[str, str]:
    """Return what the reply says about its end beyond the reason."""
    details = {}
    given = reply.get("stop_details")
    for key, value in given.items() if isinstance(given, Mapping) else ():
        if key != "type" and value is not None:
            details[key.replace("_", " ").title()] = value if isinstance(value, str) else json.dumps(value)
    if isinstance(reply.get("stop_sequence"), str):
        details["Stop Sequence"] = reply["stop_sequence"]
    return details
