"""Small values that cross layers: result kinds, token usage, tool calls, stop classes.

Does not compute prices or statistics. Source: spec mindtrial 7.1, spec providers 6 and 7.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, replace
from enum import StrEnum
from typing import Any, Literal

__all__ = ["CacheAccounting", "Kind", "ReasoningAccounting", "StopClass", "ToolCall", "ToolResult", "Usage"]

CacheAccounting = Literal["cache_tokens_separate", "cache_tokens_included"]
ReasoningAccounting = Literal["reasoning_tokens_separate", "reasoning_tokens_included"]


class Kind(StrEnum):
    """What became of a result. A wrong answer, no answer and a skipped task are three different things."""

    PASSED = "Passed"
    FAILED = "Failed"
    ERROR = "Error"
    SKIPPED = "Skipped"


class StopClass(StrEnum):
    """Why a turn ended, in the classes of spec providers 6."""

    FINAL = "final"
    TOOLS = "tools"
    CONTINUE = "continue"
    TRUNCATED = "truncated"
    FILTERED = "filtered"
    REFUSED = "refused"
    FAILED = "failed"


@dataclass(frozen=True, slots=True)
class Usage:
    """Token counters of one or several requests. None means not reported; 0 means reported zero.

    Attributes:
        input_tokens: Prompt tokens; includes cache tokens only when ``input_accounting`` says included.
        output_tokens: Reply tokens; includes reasoning only when ``output_accounting`` says included.
        reasoning_tokens: Hidden reasoning tokens.
        cache_write_tokens: Prompt tokens written to the provider's cache.
        cache_read_tokens: Prompt tokens read from the provider's cache.
        input_accounting: Whether input_tokens contains the cache counters.
        output_accounting: Whether output_tokens contains reasoning_tokens.
        raw: The provider's own usage objects, one per request, in order.
    """

    input_tokens: int | None = None
    output_tokens: int | None = None
    reasoning_tokens: int | None = None
    cache_write_tokens: int | None = None
    cache_read_tokens: int | None = None
    input_accounting: CacheAccounting | None = None
    output_accounting: ReasoningAccounting | None = None
    raw: tuple[Mapping[str, Any], ...] = ()

    def __add__(self, other: Usage) -> Usage:
        """Return the sum; None + None stays None, None + n is n."""
        return Usage(
            _sum(self.input_tokens, other.input_tokens),
            _sum(self.output_tokens, other.output_tokens),
            _sum(self.reasoning_tokens, other.reasoning_tokens),
            _sum(self.cache_write_tokens, other.cache_write_tokens),
            _sum(self.cache_read_tokens, other.cache_read_tokens),
            self.input_accounting or other.input_accounting,
            self.output_accounting or other.output_accounting,
            self.raw + other.raw,
        )

    @property
    def is_empty(self) -> bool:
        """True when no counter was reported."""
        return self.effective_input is None and self.effective_output is None and self.reasoning_tokens is None

    @property
    def effective_input(self) -> int | None:
        """All prompt tokens, cache included; None when none was reported or the mode is unknown.

        Source: spec mindtrial 7.1. A mode we do not know can only come from a results file.
        """
        if self.input_accounting == "cache_tokens_included":
            return self.input_tokens
        if self.input_accounting not in (None, "cache_tokens_separate"):
            return None
        return _sum(_sum(self.input_tokens, self.cache_write_tokens), self.cache_read_tokens)

    @property
    def effective_output(self) -> int | None:
        """All reply tokens, reasoning included; None when none was reported or the mode is unknown.

        Source: spec mindtrial 7.1.
        """
        if self.output_accounting == "reasoning_tokens_separate":
            return _sum(self.output_tokens, self.reasoning_tokens)
        if self.output_accounting not in (None, "reasoning_tokens_included"):
            return None
        return self.output_tokens

    def without_raw(self) -> Usage:
        """Return the counters alone."""
        return replace(self, raw=())


def _sum(a: int | None, b: int | None) -> int | None:
    if a is None:
        return b
    return a if b is None else a + b


@dataclass(frozen=True, slots=True)
class ToolCall:
    """A model's wish to call a tool.

    Attributes:
        id: The provider's call id, or one we made when it sent none.
        name: Tool name as the model wrote it.
        arguments: JSON object text, unchecked.
    """

    id: str
    name: str
    arguments: str


@dataclass(frozen=True, slots=True)
class ToolResult:
    """What the model is told about one call.

    Attributes:
        call: The call answered.
        content: Text for the model.
        is_error: True when the text reports a failure.
    """

    call: ToolCall
    content: str
    is_error: bool = False
