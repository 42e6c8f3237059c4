"""Kinds, truth and text of template values, as Go has them.

Does not format by verbs (``printf.py``). Values are str, bool, int, float, None, lists or tuples, and mappings with
text keys; nothing else is ever looked into. Source: spec mindtrial 3.3 and 3.4.
"""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any, Literal

from pytest_mindtrial.core.gonumbers import go_float
from pytest_mindtrial.suite.gotemplate.errors import TemplateFault

__all__ = ["NO_VALUE", "ValueKind", "describe", "go_text", "is_true", "kind_of", "sorted_items"]

ValueKind = Literal["nil", "bool", "int", "float", "text", "list", "map"]

NO_VALUE = "<no value>"
MAX_DEPTH = 200
"""Deepest nesting of values that is printed."""

_NAMES: dict[ValueKind, str] = {
    "nil": "nil",
    "bool": "a bool",
    "int": "an int",
    "float": "a float",
    "text": "a string",
    "list": "a list",
    "map": "a map",
}


def kind_of(value: Any) -> ValueKind:
    """Return the kind of a value.

    Raises:
        TemplateFault: It is none of the kinds a template may see.
    """
    if value is None:
        return "nil"
    if isinstance(value, str):
        return "text"
    if isinstance(value, bool):
        return "bool"
    if isinstance(value, int):
        return "int"
    if isinstance(value, float):
        return "float"
    if isinstance(value, list | tuple):
        return "list"
    if isinstance(value, Mapping):
        return "map"
    raise TemplateFault(f"a value of type {type(value).__name__} cannot be used in a template")


def describe(value: Any) -> str:
    """Return the kind of a value in words, such as ``a string``."""
    return _NAMES[kind_of(value)]


def is_true(value: Any) -> bool:
    """Return Go's truth: false for false, 0, empty text, nil, an empty list or map."""
    kind = kind_of(value)
    if kind in ("list", "map", "text"):
        return len(value) > 0
    return bool(value)


def sorted_items(mapping: Mapping[Any, Any]) -> list[tuple[str, Any]]:
    """Return the items in key order.

    Raises:
        TemplateFault: A key is not text.
    """
    for key in mapping:
        if not isinstance(key, str):
            raise TemplateFault(f"a map key of type {type(key).__name__} cannot be used in a template; keys are text")
    return sorted(mapping.items())


def go_text(value: Any, *, max_chars: int) -> str:
    """Return a value as ``print`` shows it; nil is ``<nil>``.

    Raises:
        TemplateFault: The text would be longer than ``max_chars`` or the value is nested too deeply.
    """
    if isinstance(value, str):
        return str(value)
    parts: list[str] = []
    _print(value, parts, [max_chars], 0)
    return "".join(parts)


def _print(value: Any, parts: list[str], left: list[int], depth: int) -> None:
    if depth > MAX_DEPTH:
        raise TemplateFault(f"a value nested deeper than {MAX_DEPTH} levels cannot be printed")
    kind = kind_of(value)
    if kind == "list":
        _put("[", parts, left)
        for number, item in enumerate(value):
            if number:
                _put(" ", parts, left)
            _print(item, parts, left, depth + 1)
        _put("]", parts, left)
    elif kind == "map":
        _put("map[", parts, left)
        for number, (key, item) in enumerate(sorted_items(value)):
            _put(f" {key}:" if number else f"{key}:", parts, left)
            _print(item, parts, left, depth + 1)
        _put("]", parts, left)
    else:
        _put(_scalar_text(kind, value), parts, left)


def _scalar_text(kind: ValueKind, value: Any) -> str:
    if kind == "nil":
        return "<nil>"
    if kind == "bool":
        return "true" if value else "false"
    if kind == "int":
        return whole_number(value)
    return go_float(value) if kind == "float" else str(value)


def whole_number(value: int) -> str:
    """Return the decimal digits; numbers beyond 4,000 digits are refused (converting them takes quadratic time)."""
    if value.bit_length() > 13_000:
        raise TemplateFault("a number of more than 4,000 digits cannot be printed")
    return int.__repr__(value)


def _put(piece: str, parts: list[str], left: list[int]) -> None:
    left[0] -= len(piece)
    if left[0] < 0:
        raise TemplateFault("the text of the value is longer than a template may produce")
    parts.append(piece)
