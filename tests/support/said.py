"""What a scripted model says, free of vendor forms."""

from __future__ import annotations

import json
from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any, Literal

__all__ = ["Call", "Said", "pieces", "wrapped"]

End = Literal["answer", "tools", "truncated", "filtered", "refused", "continue"]


@dataclass(frozen=True)
class Call:
    """A tool call of a scripted reply."""

    id: str
    name: str = "add"
    arguments: Mapping[str, Any] | None = None

    @property
    def given(self) -> dict[str, Any]:
        return dict(self.arguments if self.arguments is not None else {"a": 2, "b": 2})


@dataclass(frozen=True)
class Said:
    """What a vendor says in one reply.

    Attributes:
        counts: Token counters: ``all``, ``basic`` (input and output only) or ``none``.
    """

    text: str | None = None
    calls: tuple[Call, ...] = ()
    reasoning: str = ""
    end: End = "answer"
    counts: Literal["all", "basic", "none"] = "all"

    @property
    def is_refused(self) -> bool:
        return self.end == "refused"


def wrapped(answer: Any = "4") -> str:
    """Return an answer in the agreed structure."""
    return json.dumps({"title": "Sum", "explanation": "2+2", "final_answer": answer})


def pieces(text: str) -> list[str]:
    """Cut a text into the pieces of a stream."""
    middle = len(text) // 2
    return [piece for piece in (text[:middle], text[middle:]) if piece]
