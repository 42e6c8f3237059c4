"""Replies of Google's dialect: stop classes, calls, text.

Does not put streams together (``_google_stream.py``). Source: spec providers 5, 6 and 12.
"""

from __future__ import annotations

import json
from collections.abc import Iterator, Mapping, Sequence
from typing import Any

from pytest_mindtrial.core.values import StopClass, ToolCall

__all__ = [
    "answer_text",
    "blocked_prompt",
    "classify",
    "first_candidate",
    "parts_of",
    "read_calls",
    "stop_details",
]

_UNSPECIFIED = frozenset(("", "FINISH_REASON_UNSPECIFIED"))
_FILTERED = frozenset(("SAFETY", "RECITATION", "LANGUAGE", "BLOCKLIST", "PROHIBITED_CONTENT", "SPII", "MODEL_ARMOR"))
_FAILED = frozenset(
    (
        "MALFORMED_FUNCTION_CALL",
        "UNEXPECTED_TOOL_CALL",
        "TOO_MANY_TOOL_CALLS",
        "MISSING_THOUGHT_SIGNATURE",
        "MALFORMED_RESPONSE",
        "OTHER",
    )
)


def first_candidate(reply: Mapping[str, Any]) -> Mapping[str, Any] | None:
    """Return the only candidate we ask for; None = there is none."""
    candidates = reply.get("candidates")
    if isinstance(candidates, list) and candidates and isinstance(candidates[0], Mapping):
        return candidates[0]
    return None


def blocked_prompt(reply: Mapping[str, Any]) -> tuple[str, dict[str, str]] | None:
    """Return why a prompt got no candidate, and what else is said about it; None = nothing is said."""
    feedback = reply.get("promptFeedback")
    reason = feedback.get("blockReason") if isinstance(feedback, Mapping) else None
    if not isinstance(reason, str) or not reason:
        return None
    message = feedback.get("blockReasonMessage") if isinstance(feedback, Mapping) else None
    return reason, {"Block Reason Message": message} if isinstance(message, str) and message else {}


def classify(reason: str, *, has_calls: bool) -> StopClass:
    """Return the stop class of a finish reason; unknown reasons are terminal."""
    if reason == "STOP" or reason in _UNSPECIFIED:
        if has_calls:
            return StopClass.TOOLS
        return StopClass.FINAL if reason == "STOP" else StopClass.CONTINUE
    if reason == "MAX_TOKENS":
        return StopClass.TRUNCATED
    if reason in _FILTERED or reason.startswith("IMAGE_"):
        return StopClass.FILTERED
    return StopClass.FAILED if reason in _FAILED else StopClass.FINAL


def parts_of(candidate: Mapping[str, Any]) -> list[Mapping[str, Any]]:
    """Return the parts of a candidate; none when it has no content."""
    content = candidate.get("content")
    parts = content.get("parts") if isinstance(content, Mapping) else None
    return [part for part in parts if isinstance(part, Mapping)] if isinstance(parts, list) else []


def answer_text(parts: Sequence[Mapping[str, Any]]) -> str | None:
    """Return the texts that are not thoughts, joined; None = none came."""
    texts = (part.get("text") for part in parts if not part.get("thought"))
    return "".join(text for text in texts if isinstance(text, str)) or None


def read_calls(parts: Sequence[Mapping[str, Any]], turn: int) -> Iterator[tuple[ToolCall, bool]]:
    """Yield the tool calls in order and whether each came with an id; a missing one becomes ``call_<turn>_<n>``."""
    found = [part["functionCall"] for part in parts if isinstance(part.get("functionCall"), Mapping)]
    for number, call in enumerate(found, 1):
        identity = call.get("id")
        arguments = json.dumps(call.get("args") or {}, ensure_ascii=False)
        made = ToolCall(str(identity or f"call_{turn}_{number}"), str(call.get("name") or ""), arguments)
        yield made, bool(identity)


def stop_details(candidate: Mapping[str, Any]) -> dict[str, str]:
    """Return what the candidate says about its end beyond the reason."""
    details = {}
    if isinstance(candidate.get("finishMessage"), str):
        details["Finish Message"] = candidate["finishMessage"]
    ratings = candidate.get("safetyRatings")
    listed = [item for item in ratings if isinstance(item, Mapping)] if isinstance(ratings, list) else []
    blocked = [str(item.get("category")) for item in listed if item.get("blocked") is True]
    if blocked:
        details["Blocked Categories"] = ", ".join(blocked)
    return details
