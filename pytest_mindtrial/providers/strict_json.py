"""Reads valid JSON as the rest of the project wants it: exact whole numbers, no NaN, last key wins, no surrogates.

Does not repair anything (``lenient_json.py``). Source: spec mindtrial 4.2.
"""

from __future__ import annotations

import json
import math
import re
from collections.abc import Callable
from typing import Any, NoReturn

from pytest_mindtrial.core.errors import ReplyParseError

__all__ = ["Number", "as_float", "json_decoder", "read_strict", "without_surrogates"]

Number = Callable[[str], Any]
"""Makes the value of a number that is not an integer literal."""

_SURROGATE = re.compile("[\ud800-\udfff]")


def as_float(literal: str) -> float:
    """Return the float of a JSON number.

    Raises:
        ReplyParseError: It is too large.
    """
    value = float(literal)
    if math.isinf(value):
        raise ReplyParseError(f"the number {literal[:40]} is too large")
    return value


def read_strict(text: str, number: Number = as_float) -> Any:
    """Return the value of a text that is valid JSON; lone surrogates become U+FFFD.

    Args:
        text: JSON, white space around it allowed.
        number: Makes the value of a number that is not an integer literal.

    Raises:
        ReplyParseError: The text is not valid JSON, or nested too deeply.
    """
    try:
        return without_surrogates(json_decoder(number).decode(text), text)
    except RecursionError:
        raise ReplyParseError("the reply is nested too deeply") from None
    except ValueError as error:
        raise ReplyParseError(f"the reply is not valid JSON: {error}") from None


def json_decoder(number: Number) -> json.JSONDecoder:
    """Return a decoder that refuses NaN and infinities and keeps the last of two equal keys."""
    return json.JSONDecoder(parse_float=number, parse_constant=_no_constant, object_pairs_hook=_last_wins)


def _no_constant(word: str) -> NoReturn:
    raise ReplyParseError(f"{word} is no JSON value")


def _last_wins(pairs: list[tuple[str, Any]]) -> dict[str, Any]:
    """Build an object whose keys stand in the order of their last mention."""
    out = dict(pairs)
    if len(out) != len(pairs):
        out = {}
        for key, value in pairs:
            out.pop(key, None)
            out[key] = value
    return out


def without_surrogates(value: Any, text: str) -> Any:
    """Return the value with lone surrogates replaced; they could not be written anywhere."""
    return _scrubbed(value) if "\\ud" in text or "\\uD" in text or _SURROGATE.search(text) else value


def _scrubbed(value: Any) -> Any:
    if isinstance(value, str):
        return _SURROGATE.sub("\ufffd", value)
    if isinstance(value, dict):
        return {_scrubbed(key): _scrubbed(item) for key, item in value.items()}
    return [_scrubbed(item) for item in value] if isinstance(value, list) else value
