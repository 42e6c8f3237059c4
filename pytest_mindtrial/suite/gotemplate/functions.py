"""The functions a template may call.

``and`` and ``or`` decide which arguments are evaluated and live in the interpreter. Nothing here reads files, time or
attributes. Source: spec mindtrial 3.3 to 3.5; Go's text/template.
"""

from __future__ import annotations

import hashlib
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from typing import Any
from urllib.parse import quote_plus

from pytest_mindtrial.core.gonumbers import go_json
from pytest_mindtrial.suite.gotemplate.errors import TemplateFault
from pytest_mindtrial.suite.gotemplate.printf import printf
from pytest_mindtrial.suite.gotemplate.printing import NO_VALUE, describe, go_text, is_true, kind_of

__all__ = ["BUILTINS", "EXTRAS", "FUNCTIONS", "GoFunction"]

MAX_TEXT = 16 * 1024 * 1024
"""Most characters one function may produce."""

_MAX_INT = 2**63


@dataclass(frozen=True, slots=True)
class GoFunction:
    """A function and how many arguments it takes; ``most`` None = any number."""

    call: Callable[..., Any]
    least: int
    most: int | None


def _length(value: Any) -> int:
    kind = kind_of(value)
    if kind == "text":
        return len(_utf8(value))
    if kind in ("list", "map"):
        return len(value)
    raise TemplateFault(f"len of {describe(value)}; it takes a string, a list or a map")


def _index(value: Any, *keys: Any) -> Any:
    for key in keys:
        kind = kind_of(value)
        if kind == "map":
            if kind_of(key) != "text":
                raise TemplateFault(f"a map is indexed by a string, found {describe(key)}")
            value = value.get(key)
        elif kind in ("list", "text"):
            items = _utf8(value) if kind == "text" else value
            value = items[_position(key, len(items) - 1)]
        else:
            raise TemplateFault(f"index of {describe(value)}; it takes a list, a map or a string")
    return value


def _position(value: Any, most: int) -> int:
    if kind_of(value) != "int":
        raise TemplateFault(f"an index must be an int, found {describe(value)}")
    if not 0 <= value <= most:
        raise TemplateFault(
            f"index {value} is out of range" + (f" 0 to {most}" if most >= 0 else "; there are no elements")
        )
    return int(value)


def _slice(value: Any, *bounds: Any) -> Any:
    kind = kind_of(value)
    if kind not in ("list", "text"):
        raise TemplateFault(f"slice of {describe(value)}; it takes a string or a list")
    if kind == "text" and len(bounds) == 3:
        raise TemplateFault("a string is sliced by at most two indexes")
    items = _utf8(value) if kind == "text" else value
    places = [_position(bound, len(items)) for bound in bounds]
    if places != sorted(places):
        raise TemplateFault(f"slice indexes must grow, found {' '.join(map(str, places))}")
    part = items[slice(*(places[:2] if len(places) > 1 else (places or [0]) + [len(items)]))]
    return part.decode("utf-8", "replace") if kind == "text" else part


def _print(*values: Any) -> str:
    """Join as Go's Sprint: a space between two values when neither is text."""
    parts: list[str] = []
    for number, value in enumerate(values):
        if number and not isinstance(value, str) and not isinstance(values[number - 1], str):
            parts.append(" ")
        parts.append(go_text(value, max_chars=MAX_TEXT))
    return "".join(parts)


def _println(*values: Any) -> str:
    return " ".join(go_text(value, max_chars=MAX_TEXT) for value in values) + "\n"


def _printf(template: Any, *values: Any) -> str:
    if kind_of(template) != "text":
        raise TemplateFault(f"printf starts with a format string, found {describe(template)}")
    return printf(template, values, max_chars=MAX_TEXT)


def _printable(values: Sequence[Any]) -> str:
    return _print(*(NO_VALUE if value is None else value for value in values))


_HTML = str.maketrans({"<": "&lt;", ">": "&gt;", "&": "&amp;", '"': "&#34;", "'": "&#39;", "\0": "\ufffd"})
_JS = {"\\": "\\\\", "'": "\\'", '"': '\\"', "<": "\\u003C", ">": "\\u003E", "&": "\\u0026", "=": "\\u003D"}


def _html(*values: Any) -> str:
    return _printable(values).translate(_HTML)


def _js(*values: Any) -> str:
    return "".join(_JS.get(char) or _js_char(char) for char in _printable(values))


def _js_char(char: str) -> str:
    return char if char.isprintable() or char == "\x7f" else f"\\u{ord(char):04X}"


def _urlquery(*values: Any) -> str:
    return quote_plus(_printable(values), safe="", errors="replace")


def _equal(first: Any, *others: Any) -> bool:
    return any(_equals(first, other) for other in others)


def _equals(first: Any, other: Any) -> bool:
    kind, other_kind = kind_of(first), kind_of(other)
    if "nil" in (kind, other_kind):
        return kind == other_kind
    if kind != other_kind:
        raise TemplateFault(f"cannot compare {describe(first)} with {describe(other)}")
    if kind in ("list", "map"):
        raise TemplateFault(f"{describe(first)} cannot be compared; only strings, numbers and bools can")
    return bool(first == other)


def _less(first: Any, other: Any) -> bool:
    kind = kind_of(first)
    if kind != kind_of(other):
        raise TemplateFault(f"cannot compare {describe(first)} with {describe(other)}")
    if kind not in ("text", "int", "float"):
        raise TemplateFault(f"{describe(first)} has no order; only strings and numbers have")
    return bool(first < other)


def _less_or_equal(first: Any, other: Any) -> bool:
    return _less(first, other) or _equals(first, other)


def _json(value: Any) -> str:
    try:
        return go_json(value, max_chars=MAX_TEXT)
    except (TypeError, ValueError) as error:
        raise TemplateFault(f"json: {error}") from None


def _hash(*values: Any) -> int:
    """Return 8 bytes of a SHA-256 over the length and text of each argument, as a number.

    Source: spec mindtrial 3.5.
    """
    digest = hashlib.sha256()
    for value in values:
        data = _utf8(go_text(value, max_chars=MAX_TEXT))
        digest.update(len(data).to_bytes(8, "big"))
        digest.update(data)
    return int.from_bytes(digest.digest()[:8], "big")


def _utf8(text: str) -> bytes:
    return text.encode("utf-8", "replace")


BUILTINS: Mapping[str, GoFunction] = {
    "eq": GoFunction(_equal, 2, None),
    "ge": GoFunction(lambda first, other: not _less(first, other), 2, 2),
    "gt": GoFunction(lambda first, other: not _less_or_equal(first, other), 2, 2),
    "html": GoFunction(_html, 0, None),
    "index": GoFunction(_index, 1, None),
    "js": GoFunction(_js, 0, None),
    "le": GoFunction(_less_or_equal, 2, 2),
    "len": GoFunction(_length, 1, 1),
    "lt": GoFunction(_less, 2, 2),
    "ne": GoFunction(lambda first, other: not _equals(first, other), 2, 2),
    "not": GoFunction(lambda value: not is_true(value), 1, 1),
    "print": GoFunction(_print, 0, None),
    "printf": GoFunction(_printf, 1, None),
    "println": GoFunction(_println, 0, None),
    "slice": GoFunction(_slice, 1, 4),
    "urlquery": GoFunction(_urlquery, 0, None),
}
"""Available in every template, besides ``and`` and ``or``."""

EXTRAS: Mapping[str, GoFunction] = {"hash": GoFunction(_hash, 1, None), "json": GoFunction(_json, 1, 1)}
"""Available only in the kinds that say so (spec mindtrial 3.1)."""

FUNCTIONS: Mapping[str, GoFunction] = {**BUILTINS, **EXTRAS}
