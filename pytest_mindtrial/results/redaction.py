"""Keeping secrets out of what is written: every text of a result passes the redactor before any writer sees it.

Redacting a finished document is not enough: a secret with a quotation mark, a backslash or a ``<`` looks different
once it is JSON or CSV. Does not know which texts are secret (`core.secret.Redactor`).

Source: design D17; field pain 23.
"""

from __future__ import annotations

import json
import re
from collections.abc import Callable, Iterable, Mapping
from typing import Any

from pytest_mindtrial.core.jsontext import MAX_DEPTH, cut_depth
from pytest_mindtrial.core.record import Result
from pytest_mindtrial.core.wire import from_wire, to_wire

__all__ = ["is_clean", "redact_results", "redacted"]

_ESCAPED = re.compile(r'\\(?:u[0-9a-f]{4}|[\\"bfnrt])')
_CHARACTERS = {r"\\": "\\", r"\"": '"', r"\b": "\b", r"\f": "\f", r"\n": "\n", r"\r": "\r", r"\t": "\t"}


def redacted(value: Any, redact: Callable[[str], str]) -> Any:
    """Return plain data with every text and every key redacted."""
    if isinstance(value, str):
        return redact(value)
    if isinstance(value, Mapping):
        return {redact(key): redacted(item, redact) for key, item in value.items()}
    if isinstance(value, list):
        return [redacted(item, redact) for item in value]
    return value


def is_clean(wire: Mapping[str, Any], redact: Callable[[str], str]) -> bool:
    """Tell quickly that plain data hold no secret and are not nested too deeply; False means: look closely.

    One search in the JSON text instead of one per value, which is what ten thousand results can afford. The text is
    unescaped first, so that every value stands in it as it is.
    """
    try:
        text = json.dumps(wire, ensure_ascii=False)
    except (RecursionError, TypeError, ValueError):
        return False
    if text.count("{") + text.count("[") >= MAX_DEPTH:
        return False
    if "\\" in text:
        text = _ESCAPED.sub(_unescaped, text)
    return redact(text) == text


def _unescaped(match: re.Match[str]) -> str:
    escape = match[0]
    return _CHARACTERS.get(escape) or chr(int(escape[2:], 16))


def redact_results(results: Iterable[Result], redact: Callable[[str], str]) -> list[Result]:
    """Return the results as they may be written; those that change come back with lists inside answers as lists."""
    return [_redact_result(result, redact) for result in results]


def _redact_result(result: Result, redact: Callable[[str], str]) -> Result:
    wire = to_wire(result)
    if is_clean(wire, redact):
        return result
    # The kind decides what the result is; it is ours, never a secret.
    return from_wire(Result, redacted(cut_depth(wire), redact) | {"kind": wire["kind"]})
