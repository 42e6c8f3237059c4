"""Number and JSON text as Go writes them: ``fmt`` floats, ``encoding/json`` floats and documents.

Does not parse anything. Needed because MindTrial's templates, hashes and result files show numbers in Go's form, and
equal evaluations must give equal text. Source: spec mindtrial 3.4, 3.5 and A.2 (measured against Go 1.26).
"""

from __future__ import annotations

import json
import math
import re
from collections.abc import Mapping
from typing import Any

__all__ = ["LiteralFloat", "go_float", "go_json", "json_float"]

MAX_DEPTH = 200
"""Deepest nesting of lists and maps that is written."""

_SPECIAL = re.compile("[\u2028\u2029\ud800-\udfff]")
_SPECIAL_HTML = re.compile("[<>&\u2028\u2029\ud800-\udfff]")


class LiteralFloat(float):
    """A float that remembers how it was written, for numbers with more digits than a float holds.

    JSON writers copy the literal; it computes like the nearest float.
    """

    __slots__ = ("literal",)
    literal: str

    def __new__(cls, literal: str) -> LiteralFloat:
        """Keep the literal beside the value."""
        self = super().__new__(cls, literal)
        self.literal = literal
        return self

    def __reduce__(self) -> tuple[type[LiteralFloat], tuple[str]]:
        return LiteralFloat, (self.literal,)


def go_float(value: float) -> str:
    """Return a float as ``{{.}}`` and ``%v`` show it.

    The shortest digits that read back the same; exponent form when the decimal exponent is below -4 or at least 6.
    """
    if math.isnan(value):
        return "NaN"
    if math.isinf(value):
        return "+Inf" if value > 0 else "-Inf"
    sign, digits, exponent = _shortest(value)
    if exponent < -4 or exponent >= 6:
        return sign + _scientific(digits, exponent, width=2)
    return sign + _positional(digits, exponent)


def json_float(value: float) -> str:
    """Return a float as Go's JSON writer shows it.

    Positional for 1e-6 <= |x| < 1e21, else with an exponent that has no leading zeros.

    Raises:
        ValueError: The value is infinite or not a number; JSON has no text for it.
    """
    if not math.isfinite(value):
        raise ValueError(f"{go_float(value)} cannot be written as JSON")
    if isinstance(value, LiteralFloat):
        return value.literal
    sign, digits, exponent = _shortest(value)
    if value != 0 and not 1e-6 <= abs(value) < 1e21:
        return sign + _scientific(digits, exponent, width=1)
    return sign + _positional(digits, exponent)


def go_json(value: Any, *, indent: int = 0, escape_html: bool = False, max_chars: int | None = None) -> str:
    """Return JSON text in Go's form: keys sorted, Go's floats, U+2028 and U+2029 escaped, lone surrogates replaced.

    Args:
        value: JSON values: str, bool, int, float, None, lists or tuples, mappings with text keys.
        indent: Spaces per level; 0 writes the compact form.
        escape_html: Also write ``<``, ``>``, ``&`` as escapes, as Go does by default.
        max_chars: Refuse to write more characters than this; None = no limit.

    Raises:
        ValueError: A number has no JSON form, the nesting is deeper than 200 levels, or the text grows too long.
        TypeError: A value is none of the kinds above.
    """
    writer = _JsonWriter(indent, escape_html, max_chars)
    writer.write(value, 0)
    return "".join(writer.parts)


class _JsonWriter:
    """Collects the pieces of one document."""

    def __init__(self, indent: int, escape_html: bool, max_chars: int | None) -> None:
        self.parts: list[str] = []
        self._indent = indent
        self._escaped = _SPECIAL_HTML if escape_html else _SPECIAL
        self._left = max_chars

    def write(self, value: Any, depth: int) -> None:
        if depth > MAX_DEPTH:
            raise ValueError(f"values nested deeper than {MAX_DEPTH} levels cannot be written")
        if isinstance(value, Mapping):
            items = sorted(value.items(), key=_key)
            self._group("{}", depth, [(self._text(key) + (": " if self._indent else ":"), item) for key, item in items])
        elif isinstance(value, list | tuple):
            self._group("[]", depth, [("", item) for item in value])
        else:
            self._put(self._scalar(value))

    def _group(self, brackets: str, depth: int, items: list[tuple[str, Any]]) -> None:
        if not items:
            self._put(brackets)
            return
        inner = "\n" + " " * (self._indent * (depth + 1)) if self._indent else ""
        outer = "\n" + " " * (self._indent * depth) if self._indent else ""
        self._put(brackets[0])
        for number, (prefix, item) in enumerate(items):
            self._put(("," if number else "") + inner + prefix)
            self.write(item, depth + 1)
        self._put(outer + brackets[1])

    def _scalar(self, value: Any) -> str:
        if value is None:
            return "null"
        if isinstance(value, bool):
            return "true" if value else "false"
        if isinstance(value, str):
            return self._text(value)
        if isinstance(value, int):
            return int.__repr__(value)
        if isinstance(value, float):
            return json_float(value)
        raise TypeError(f"a value of type {type(value).__name__} cannot be written as JSON")

    def _text(self, text: str) -> str:
        return self._escaped.sub(_escape, json.dumps(str(text), ensure_ascii=False))

    def _put(self, piece: str) -> None:
        if self._left is not None:
            self._left -= len(piece)
            if self._left < 0:
                raise ValueError("the JSON text grows too long")
        self.parts.append(piece)


def _key(item: tuple[Any, Any]) -> str:
    if not isinstance(item[0], str):
        raise TypeError(f"a key of type {type(item[0]).__name__} cannot be written as JSON; keys are text")
    return item[0]


def _escape(match: re.Match[str]) -> str:
    code = ord(match.group())
    return "\\ufffd" if 0xD800 <= code <= 0xDFFF else f"\\u{code:04x}"


def _shortest(value: float) -> tuple[str, str, int]:
    """Return sign, significant digits and the decimal exponent of the first digit."""
    text = float.__repr__(value)
    sign, text = ("-", text[1:]) if text.startswith("-") else ("", text)
    mantissa, _, power = text.partition("e")
    whole, _, fraction = mantissa.partition(".")
    digits = (whole + fraction).lstrip("0")
    exponent = len(whole) - 1 + int(power or 0) - (len(whole + fraction) - len(digits))
    digits = digits.rstrip("0")
    return (sign, digits, exponent) if digits else (sign, "0", 0)


def _scientific(digits: str, exponent: int, width: int) -> str:
    fraction = f".{digits[1:]}" if len(digits) > 1 else ""
    return f"{digits[0]}{fraction}e{'-' if exponent < 0 else '+'}{abs(exponent):0{width}d}"


def _positional(digits: str, exponent: int) -> str:
    if exponent < 0:
        return "0." + "0" * (-exponent - 1) + digits
    whole = digits[: exponent + 1].ljust(exponent + 1, "0")
    fraction = digits[exponent + 1 :]
    return f"{whole}.{fraction}" if fraction else whole
