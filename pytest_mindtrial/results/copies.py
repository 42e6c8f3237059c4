"""Long texts that stand in a result more than once are journalled once.

An answer of 100,000 characters is its content, what was compared, the raw reply, and a message of the conversation.
`leave_out_copies` takes what can be told from the rest out of a result's wire form and says so; `put_back_copies` is
its inverse. A reader that does not know of it reads the result without these two fields. Short texts stay, so that most
lines are complete for every reader. Does not touch the tasks' own texts. Source: design D7; `core.wire`.
"""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

__all__ = ["LONG", "leave_out_copies", "put_back_copies"]

LONG = 1_000
"""Characters from which on a text is not written twice."""

_KEY = "copies"


def leave_out_copies(wire: dict[str, Any]) -> None:
    """Remove ``got`` and the answer's ``raw_text`` where they are long and stand elsewhere in the result.

    Args:
        wire: A result as `core.wire.to_wire` made it; changed in place.
    """
    answer = wire.get("answer")
    if answer is None:
        return
    left_out = []
    if _is_long(got := wire.get("got")) and got == answer.get("content"):
        del wire["got"]
        left_out.append("got")
    if _is_long(raw := answer.get("raw_text")) and raw == _last_reply(wire):
        del answer["raw_text"]
        left_out.append("raw_text")
    if left_out:
        wire[_KEY] = left_out


def put_back_copies(wire: Mapping[str, Any]) -> Mapping[str, Any]:
    """Return the wire form of a result with the fields that `leave_out_copies` removed."""
    if not isinstance(wire, Mapping) or _KEY not in wire:
        return wire
    left_out, answer = wire[_KEY], wire["answer"]
    whole = {name: value for name, value in wire.items() if name != _KEY}
    if "got" in left_out:
        whole["got"] = answer["content"]
    if "raw_text" in left_out:
        whole["answer"] = {**answer, "raw_text": _last_reply(wire)}
    return whole


def _is_long(text: Any) -> bool:
    return type(text) is str and len(text) >= LONG


def _last_reply(wire: Mapping[str, Any]) -> Any:
    messages = reversed(wire.get("transcript", ()))
    return next((message.get("text") for message in messages if message.get("role") == "assistant"), None)
