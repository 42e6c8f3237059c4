"""Words for what pydantic refuses.

Does not find the place (``suite/decode.py``).
"""

from __future__ import annotations

import re
from typing import Any

from pytest_mindtrial.suite.suggest import allowed_list, near_match

__all__ = ["error_text"]

_SHOWN = 60


def error_text(item: Any) -> str:
    """Return the message of one entry of ``ValidationError.errors()``."""
    kind: str = item["type"]
    context: dict[str, Any] = item.get("ctx", {})
    value = item.get("input")
    if kind in ("missing", "string_too_short"):
        return "is required"
    if kind == "literal_error":
        words = re.findall(r"'([^']*)'", context["expected"])
        return f"must be one of {allowed_list(words)}, found {_shown(value)}{near_match(str(value), words)}"
    if kind in ("greater_than_equal", "less_than_equal"):
        word, bound = ("at least", context["ge"]) if kind == "greater_than_equal" else ("at most", context["le"])
        return f"must be {word} {bound}, found {_shown(value)}"
    if kind == "value_error":
        return str(context["error"])
    if kind == "finite_number":
        return f"must be a finite number, found {_shown(value)}"
    return f"{item['msg'].removeprefix('Value error, ')}, found {_shown(value)}"


def _shown(value: Any) -> str:
    text = repr(value)
    return text if len(text) <= _SHOWN else f"{text[:_SHOWN]}…"
