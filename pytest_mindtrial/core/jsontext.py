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
from collections.abc import Callable, Iterable, Mapping
from json.encoder import encode_basestring
from typing import Any, NamedTuple

from pytest_mindtrial.core.gonumbers import json_float

__all__ = [
    "MAX_DEPTH",
    "WrittenJson",
    "compact_json",
    "cut_depth",
    "pretty_json",
    "sorted_keys",
    "text_lines",
    "value_lines",
    "value_text",
]

MAX_DEPTH = 100
"""Levels of lists and objects that are written; deeper ones become a mark."""

_TOO_DEEP = f"(nested deeper than {MAX_DEPTH} levels)"
_UNSAFE = re.compile("[<>&\u2028\u2029\ud800-\udfff]")
_SURROGATE = re.compile("[\ud800-\udfff]")
_LINE_BREAK = re.compile(r"\r?\n")


class WrittenJson(str):
    """The text of a value that `pretty_json` has written for the depth at which it will stand in a larger value.

    Ten thousand results as text take a fifth of the memory that they take as values.
    """

    __slots__ = ()


class _Layout(NamedTuple):
    """How to write: what starts a line, what each level adds to it, the colon, and the escaping of strings."""

    newline: str
    step: str
    colon: str
    string: Callable[[str], str]


def pretty_json(value: Any, depth: int = 0) -> str:
    """Return a value as JSON with an indent of two spaces and without a final newline.

    Args:
        value: Nested mappings, lists, tuples, strings, numbers, booleans and None; keys are turned into text.
        depth: How many levels around it will be written by somebody else.

    Raises:
        TypeError: The value holds something that JSON has no form for.
    """
    return _text(value, _Layout("\n", "  ", ": ", _html_safe_string), depth)


def compact_json(value: Any) -> str:
    """Return a value as JSON on one line without spaces; otherwise as `pretty_json`."""
    return _text(value, _Layout("", "", ":", _html_safe_string))


def value_text(value: Any) -> str:
    """Return a string as it is and any other value as sorted pretty JSON, for people to read.

    Markup characters stay readable here: the text is data that its writer escapes once more.
    """
    if isinstance(value, str):
        return value
    return _text(sorted_keys(value), _Layout("\n", "  ", ": ", _string))


def _text(value: Any, layout: _Layout, depth: int = 0) -> str:
    out: list[str] = []
    _write(value, out, layout, depth)
    return "".join(out)


def _write(value: Any, out: list[str], layout: _Layout, depth: int) -> None:
    # Scalars first: most values are, and asking for an abstract class is slow.
    if value is None or isinstance(value, str | int | float):
        out.append(value if type(value) is WrittenJson else _scalar(value, layout.string))
        return
    is_object = isinstance(value, Mapping)
    if not is_object and not isinstance(value, list | tuple):
        raise TypeError(f"cannot write {type(value).__name__} as JSON")
    string, colon = layout.string, layout.colon
    if depth >= MAX_DEPTH:
        out.append(string(_TOO_DEEP))
        return
    opening, closing = "{}" if is_object else "[]"
    if not value:
        out.append(opening + closing)
        return
    line = layout.newline + layout.step * (depth + 1)
    before = opening + line
    members: Iterable[tuple[Any, Any]] = value.items() if is_object else ((None, item) for item in value)
    for key, item in members:
        if is_object:
            before += string(str(key)) + colon
        if type(item) is str:
            out.append(before + string(item))
        else:
            out.append(before)
            _write(item, out, layout, depth + 1)
        before = "," + line
    out.append(layout.newline + layout.step * depth + closing)


def _scalar(value: str | float | None, string: Callable[[str], str]) -> str:
    if isinstance(value, str):
        return string(value)
    if value is None:
        return "null"
    if isinstance(value, bool):
        return "true" if value else "false"
    if isinstance(value, int):
        return int.__repr__(value)
    return json_float(value) if math.isfinite(value) else string(_not_finite(value))


def _string(text: str) -> str:
    return encode_basestring(text) if text.isascii() else _SURROGATE.sub(_escape, encode_basestring(text))


def _html_safe_string(text: str) -> str:
    encoded: str = encode_basestring(text)
    return _UNSAFE.sub(_escape, encoded) if _UNSAFE.search(encoded) else encoded


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
    return _LINE_BREAK.split(text) if text else []


def value_lines(value: Any) -> list[str]:
    """Return the lines of a value: of a string itself, of anything else its pretty JSON."""
    return text_lines(value_text(value))
