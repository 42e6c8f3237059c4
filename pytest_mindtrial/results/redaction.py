"""Keeping secrets out of what is written: every text of a result passes the redactor before any writer sees it.

Redacting a finished document is not enough: a secret with a quotation mark, a backslash or a ``<`` looks different
once it is JSON or CSV. Does not know which texts are secret (`core.secret.Redactor`).

Source: design D17; field pain 23.
"""

from __future__ import annotations

import json
from collections.abc import Callable, Iterable, Mapping
from typing import Any

from pytest_mindtrial.core.jsontext import MAX_DEPTH, cut_depth, is_too_deep
from pytest_mindtrial.core.record import Result
from pytest_mindtrial.core.secret import Redactor
from pytest_mindtrial.core.wire import from_wire, to_wire

__all__ = ["clean_text", "redact_result", "redact_results", "redacted"]

_ENCODE = json.JSONEncoder(separators=(",", ":"), check_circular=False).encode


def redacted(value: Any, redact: Callable[[str], str]) -> Any:
    """Return plain data with every text and every key redacted."""
    if isinstance(value, str):
        return redact(value)
    if isinstance(value, Mapping):
        return {redact(key): redacted(item, redact) for key, item in value.items()}
    if isinstance(value, list):
        return [redacted(item, redact) for item in value]
    return value


def clean_text(wire: Mapping[str, Any], redact: Redactor) -> str | None:
    """Return plain data as ASCII JSON without spaces when they hold no secret and are not nested too deeply.

    One search in the text instead of one per value, which is what ten thousand results can afford.

    Returns:
        The text; None = there may be something to redact or to cut: look closely.
    """
    try:
        text = _ENCODE(wire)
    except (RecursionError, TypeError, ValueError):
        return None
    if redact.may_be_in(text):
        return None
    # As many brackets as that are needed to be too deep, but long answers have them, too.
    if text.count("{") + text.count("[") >= MAX_DEPTH and is_too_deep(wire):
        return None
    return text


def redact_results(results: Iterable[Result], redact: Redactor) -> list[Result]:
    """Return the results as they may be written; those that change come back with lists inside answers as lists."""
    return [redact_result(result, redact) for result in results]


def redact_result(result: Result, redact: Redactor) -> Result:
    """Return one result as it may be written, itself when it holds no secret."""
    wire = to_wire(result)
    if clean_text(wire, redact) is not None:
        return result
    # The kind decides what the result is; it is ours, never a secret.
    return from_wire(Result, redacted(cut_depth(wire), redact) | {"kind": wire["kind"]})
