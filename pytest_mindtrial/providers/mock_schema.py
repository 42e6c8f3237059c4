"""Makes a small value that a JSON Schema accepts, so that the mock can answer schema-validation tasks.

Covers the keywords people write in task files: types, ``const``, ``enum``, ``default``, ``examples``, bounds, lengths,
patterns, formats, arrays, objects, combinations and local references. ``not``, ``if`` and remote references are beyond
it; a task that needs them gets a scripted answer. Does not validate. Source: JSON Schema 2020-12.
"""

from __future__ import annotations

import math
from collections.abc import Mapping
from typing import Any

from pytest_mindtrial.providers.mock_pattern import text_matching

__all__ = ["InstanceError", "minimal_instance"]

_FORMATS = {
    "date": "2026-01-02",
    "date-time": "2026-01-02T03:04:05Z",
    "time": "03:04:05Z",
    "duration": "P1D",
    "email": "someone@example.org",
    "hostname": "example.org",
    "ipv4": "192.0.2.1",
    "ipv6": "2001:db8::1",
    "uri": "https://example.org/",
    "uuid": "00000000-0000-4000-8000-000000000000",
}
_MAX_DEPTH = 30


class InstanceError(Exception):
    """No value could be made; the text says which part of the schema is too much."""


def minimal_instance(schema: Any) -> Any:
    """Return a value for the schema, the same one every time.

    Raises:
        InstanceError: The schema accepts nothing or uses a keyword this module does not know how to satisfy.
        PatternError: A ``pattern`` is too hard.
    """
    return _make(schema, schema, 0)


def _make(schema: Any, root: Any, depth: int) -> Any:
    if depth > _MAX_DEPTH:
        raise InstanceError("the schema refers to itself without end")
    if schema is True:
        return None
    if not isinstance(schema, Mapping):
        raise InstanceError(f"{schema!r} accepts nothing" if schema is False else f"{schema!r} is no schema")
    schema = _flatten(schema, root, depth)
    if "const" in schema:
        return schema["const"]
    for key in ("enum", "examples"):
        if schema.get(key):
            return schema[key][0]
    if "default" in schema:
        return schema["default"]
    kind = schema.get("type") or _guess_type(schema)
    if isinstance(kind, list):
        kind = next((one for one in kind if one != "null"), "null")
    if kind not in _MAKERS:
        raise InstanceError(f"unknown type {kind!r}")
    return _MAKERS[kind](schema, root, depth)


def _flatten(schema: Mapping[str, Any], root: Any, depth: int) -> Mapping[str, Any]:
    """Merge references, ``allOf`` and the first branch of ``anyOf``/``oneOf`` into one schema."""
    merged = {key: value for key, value in schema.items() if key not in ("$ref", "allOf", "anyOf", "oneOf")}
    parts = [_resolve(schema["$ref"], root)] if "$ref" in schema else []
    parts += schema.get("allOf", [])
    parts += [schema[key][0] for key in ("anyOf", "oneOf") if schema.get(key)]
    for part in parts:
        if depth > _MAX_DEPTH:
            raise InstanceError("the schema refers to itself without end")
        if isinstance(part, Mapping):
            _merge(merged, _flatten(part, root, depth + 1))
        elif part is False:
            raise InstanceError("a branch of the schema accepts nothing")
    return merged


def _merge(into: dict[str, Any], part: Mapping[str, Any]) -> None:
    for key, value in part.items():
        if key not in into:
            into[key] = value
        elif key == "properties":
            into[key] = {**value, **into[key]}
        elif key == "required":
            into[key] = [*into[key], *(name for name in value if name not in into[key])]
        elif key in ("minimum", "exclusiveMinimum", "minLength", "minItems"):
            into[key] = max(into[key], value)
        elif key in ("maximum", "exclusiveMaximum", "maxLength", "maxItems"):
            into[key] = min(into[key], value)


def _resolve(reference: str, root: Any) -> Any:
    if not reference.startswith("#"):
        raise InstanceError(f"the reference {reference!r} leaves the schema")
    node = root
    for escaped in reference[1:].split("/")[1:]:
        step = escaped.replace("~1", "/").replace("~0", "~")
        try:
            node = node[int(step)] if isinstance(node, list) else node[step]
        except (KeyError, IndexError, ValueError, TypeError):
            raise InstanceError(f"the reference {reference!r} leads nowhere") from None
    return node


def _guess_type(schema: Mapping[str, Any]) -> str:
    hints = {
        "object": ("properties", "required", "minProperties", "additionalProperties"),
        "array": ("items", "prefixItems", "minItems", "contains"),
        "string": ("pattern", "minLength", "maxLength", "format"),
        "number": ("minimum", "maximum", "exclusiveMinimum", "exclusiveMaximum", "multipleOf"),
    }
    return next((kind for kind, keys in hints.items() if any(key in schema for key in keys)), "null")


def _number(schema: Mapping[str, Any], root: Any, depth: int) -> Any:
    step = schema.get("multipleOf")
    low: Any = max((schema[key] for key in ("minimum", "exclusiveMinimum") if key in schema), default=None)
    high: Any = min((schema[key] for key in ("maximum", "exclusiveMaximum") if key in schema), default=None)
    if low is None and high is None:
        return 0
    if step is not None:
        return _multiple(schema, low, high, step)
    if low is not None and (low != schema.get("exclusiveMinimum")):
        return low
    if high is not None and (high != schema.get("exclusiveMaximum")):
        return high
    if low is None:
        return high - 1
    return low + 1 if high is None else (low + high) / 2


def _multiple(schema: Mapping[str, Any], low: Any, high: Any, step: Any) -> Any:
    if low is None:
        value = math.floor(high / step) * step
        return value - step if value == schema.get("exclusiveMaximum") else value
    value = math.ceil(low / step) * step
    return value + step if value == schema.get("exclusiveMinimum") else value


def _integer(schema: Mapping[str, Any], root: Any, depth: int) -> int:
    return int(_number({"multipleOf": 1, **schema}, root, depth))


def _string(schema: Mapping[str, Any], root: Any, depth: int) -> str:
    shortest = schema.get("minLength", 0)
    if "pattern" in schema:
        return text_matching(schema["pattern"], shortest)
    text = _FORMATS.get(schema.get("format", ""), "text")
    return text.ljust(shortest, "x")[: schema.get("maxLength")]


def _array(schema: Mapping[str, Any], root: Any, depth: int) -> list[Any]:
    first = [_make(item, root, depth + 1) for item in schema.get("prefixItems", [])]
    if "contains" in schema:
        first.append(_make(schema["contains"], root, depth + 1))
    items = schema.get("items", True)
    while len(first) < schema.get("minItems", 0):
        first.append(
            _distinct(_make(items, root, depth + 1), first, items)
            if schema.get("uniqueItems")
            else _make(items, root, depth + 1)
        )
    return first


def _distinct(value: Any, others: list[Any], items: Any) -> Any:
    if isinstance(items, Mapping) and "enum" in items:
        return next((one for one in items["enum"] if one not in others), value)
    while value in others:
        if isinstance(value, bool) or not isinstance(value, int | float | str):
            raise InstanceError("cannot make different items for uniqueItems")
        value = value + "x" if isinstance(value, str) else value + 1
    return value


def _object(schema: Mapping[str, Any], root: Any, depth: int) -> dict[str, Any]:
    properties = schema.get("properties", {})
    made = {name: _make(properties.get(name, True), root, depth + 1) for name in schema.get("required", [])}
    for name in properties:
        if len(made) >= schema.get("minProperties", 0):
            break
        made.setdefault(name, _make(properties[name], root, depth + 1))
    return made


_MAKERS = {
    "null": lambda schema, root, depth: None,
    "boolean": lambda schema, root, depth: True,
    "number": _number,
    "integer": _integer,
    "string": _string,
    "array": _array,
    "object": _object,
}
