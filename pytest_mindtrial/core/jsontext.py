"""JSON text as MindTrial writes it: escaped for HTML, numbers as Go prints them, one value always one text.

Unlike ``core/gonumbers.py``, which refuses what Go refuses, this writer never loses a report to one odd value.
Does not read JSON and does not order the keys of objects that have a meaning of their own; ask for sorting with
`sorted_keys`. Standard JSON cannot carry NaN and infinities: they are written as the strings ``NaN``, ``+Inf`` and
``-Inf``, so that one odd number never costs a report. A lone surrogate (half of a broken emoji) is written as its
hexadecimal escape, which every reader takes. Values nested deeper than `MAX_DEPTH` are cut there with a visible mark:
a hostile answer of a thousand brackets must not exhaust the stack of the writer.

Source: spec mindtrial 7.1; the number rules of Go's ``encoding/json``.
"""

from __future__ import annotations

import math
import re
from collections.abc import Mapping
from json.encoder import encode_basestring
from typing import Any, NamedTuple

from pytest_mindtrial.core.gonumbers import json_float

__all__ = [
    "MAX_DEPTH",
    "compact_json",
    "cut_depth",
    "is_too_deep",
    "pretty_json",
    "sorted_keys",
    "text_lines",
    "value_lines",
    "value_text",
    "without_markup",
]

MAX_DEPTH = 100
"""Levels of lists and objects that are written; deeper ones become a mark."""

_TOO_DEEP = f"(nested deeper than {MAX_DEPTH} levels)"
_MARKUP = (("<", "\\u003c"), (">", "\\u003e"), ("&", "\\u0026"))
_SEPARATOR_OR_SURROGATE = re.compile("[\u2028\u2029\ud800-\udfff]")
_SURROGATE = re.compile("[\ud800-\udfff]")
_LINE_BREAK = re.compile(r"\r?\n")


class _Layout(NamedTuple):
    """How to write: what each level adds to the start of a line, and the colon. Blank steps are for one line."""

    step: str
    colon: str


_PRETTY = _Layout("  ", ": ")
_COMPACT = _Layout("", ":")


def pretty_json(value: Any, depth: int = 0) -> str:
    """Return a value as JSON with an indent of two spaces and without a final newline.

    Args:
        value: Nested mappings, lists, tuples, strings, numbers, booleans and None; keys are turned into text.
        depth: How many levels around it will be written by somebody else.

    Raises:
        TypeError: The value holds something that JSON has no form for.
    """
    return without_markup(_text(value, _PRETTY, "\n" + _PRETTY.step * depth, depth))


def compact_json(value: Any) -> str:
    """Return a value as JSON on one line without spaces; otherwise as `pretty_json`."""
    return without_markup(_text(value, _COMPACT, "", 0))


def value_text(value: Any) -> str:
    """Return a string as it is and any other value as sorted pretty JSON, for people to read.

    Markup characters stay readable here: the text is data that its writer escapes once more.
    """
    if isinstance(value, str):
        return value
    text = _text(sorted_keys(value), _PRETTY, "\n", 0)
    return text if text.isascii() else _SURROGATE.sub(_escape, text)


def without_markup(text: str) -> str:
    """Return JSON text with every character escaped that HTML or JavaScript could take for its own.

    Outside of strings JSON has none of these characters, so they can be escaped in the whole text at once.
    """
    for character, escape in _MARKUP:
        text = text.replace(character, escape)
    return text if text.isascii() else _SEPARATOR_OR_SURROGATE.sub(_escape, text)


def _text(value: Any, layout: _Layout, line: str, depth: int) -> str:
    """Return JSON text in which markup and lone surrogates are not escaped yet; ``line`` begins a line at ``depth``."""
    # Scalars first: most values are, and asking for an abstract class is slow.
    if value is None or isinstance(value, str | int | float):
        return _scalar(value)
    kind = type(value)
    is_object = kind is dict or (kind is not list and isinstance(value, Mapping))
    if not is_object and not isinstance(value, list | tuple):
        raise TypeError(f"cannot write {type(value).__name__} as JSON")
    if depth >= MAX_DEPTH:
        return encode_basestring(_TOO_DEEP)
    if not value:
        return "{}" if is_object else "[]"
    step, colon = layout
    inner, depth = line + step, depth + 1
    if is_object:
        members = [
            encode_basestring(str(key))
            + colon
            + (encode_basestring(item) if type(item) is str else _text(item, layout, inner, depth))
            for key, item in value.items()
        ]
        return "{" + inner + ("," + inner).join(members) + line + "}"
    items = [encode_basestring(item) if type(item) is str else _text(item, layout, inner, depth) for item in value]
    return "[" + inner + ("," + inner).join(items) + line + "]"


def _scalar(value: str | float | None) -> str:
    if isinstance(value, str):
        return encode_basestring(value)
    if value is None:
        return "null"
    if isinstance(value, bool):
        return "true" if value else "false"
    if isinstance(value, int):
        return int.__repr__(value)
    return json_float(value) if math.isfinite(value) else f'"{_not_finite(value)}"'


def _escape(match: re.Match[str]) -> str:
    return f"\\u{ord(match[0]):04x}"


def _not_finite(value: float) -> str:
    if math.isnan(value):
        return "NaN"
    return "+Inf" if value > 0 else "-Inf"


def sorted_keys(value: Any) -> Any:
    """Return the value with the keys of every object in byte order, as Go writes its maps; cut at `MAX_DEPTH`."""
    return _rebuild(value, 0, is_sorted=True)


def cut_depth(value: Any) -> Any:
    """Return the value with everything nested deeper than `MAX_DEPTH` replaced by a mark."""
    return _rebuild(value, 0, is_sorted=False)


def is_too_deep(value: Any) -> bool:
    """Tell whether `cut_depth` would cut something."""
    return _is_deeper(value, MAX_DEPTH)


def _is_deeper(value: Any, levels: int) -> bool:
    if value is None or isinstance(value, str | int | float) or not isinstance(value, Mapping | list | tuple):
        return False
    if not levels:
        return True
    items = value.values() if isinstance(value, Mapping) else value
    return any(_is_deeper(item, levels - 1) for item in items)


def _rebuild(value: Any, depth: int, *, is_sorted: bool) -> Any:
    if value is None or isinstance(value, str | int | float):
        return value
    if not isinstance(value, Mapping | list | tuple):
        return value
    if depth >= MAX_DEPTH:
        return _TOO_DEEP
    if isinstance(value, Mapping):
        members = sorted(value.items(), key=_key_text) if is_sorted else value.items()
        return {key: _rebuild(item, depth + 1, is_sorted=is_sorted) for key, item in members}
    return [_rebuild(item, depth + 1, is_sorted=is_sorted) for item in value]


def _key_text(member: tuple[Any, Any]) -> str:
    return str(member[0])


def text_lines(text: str) -> list[str]:
    """Return the lines of a text, split at LF and CRLF.

    An empty text has no lines; a final newline gives a final empty line (the trailing newline of a YAML block stays
    visible).
    """
    if "\n" not in text:
        return [text] if text else []
    return _LINE_BREAK.split(text)


def value_lines(value: Any) -> list[str]:
    """Return the lines of a value: of a string itself, of anything else its pretty JSON."""
    return text_lines(value_text(value))
