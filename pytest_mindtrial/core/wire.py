"""Plain data at process borders: records to and from dictionaries of JSON values.

One codec for all record types, driven by their annotations, so that a new field needs no second definition. Does not
write JSON text. Values that equal the field's default are left out; unknown keys are ignored on reading, so an older
reader takes a newer journal. Source: design D7, style habit 16.
"""

from __future__ import annotations

import dataclasses
import functools
import types
import typing
from collections.abc import Callable, Iterable, Mapping
from enum import Enum
from typing import Any, TypeVar, cast

__all__ = ["WIRE_VERSION", "from_wire", "to_wire"]

WIRE_VERSION = 1
"""Raised when a reader of the previous version could no longer understand the data."""

T = TypeVar("T")

_PLAIN = frozenset((str, int, float, bool, type(None)))


def to_wire(value: Any) -> dict[str, Any]:
    """Return a dataclass as nested dictionaries and lists; fields equal to their default are omitted."""
    return cast("dict[str, Any]", _encode(value))


def from_wire(kind: type[T], data: Mapping[str, Any]) -> T:
    """Rebuild a dataclass of type ``kind``.

    Raises:
        TypeError: A required field is missing or the data has another shape.
    """
    if not isinstance(data, Mapping):
        raise TypeError(f"{kind.__name__} needs a mapping, got {type(data).__name__}")
    values = {}
    for name, decode in _decoders(cast("type", kind)):
        if name in data:
            values[name] = decode(data[name])
    return kind(**values)


def _encode(value: Any) -> Any:
    return _encoder(cast("type", type(value)))(value)


@functools.cache
def _encoder(kind: type) -> Callable[[Any], Any]:
    """Return what encodes values of exactly this type; chosen once, because ten thousand results have many values."""
    if issubclass(kind, Enum):
        return _enum_value
    if dataclasses.is_dataclass(kind):
        return functools.partial(_encode_fields, _defaults(kind))
    if issubclass(kind, Mapping):
        return _encode_members
    if issubclass(kind, list | tuple):
        return _encode_items
    return _same


def _enum_value(value: Enum) -> Any:
    return value.value


def _encode_fields(fields: tuple[tuple[str, Any], ...], value: Any) -> dict[str, Any]:
    out: dict[str, Any] = {}
    for name, default in fields:
        item = getattr(value, name)
        if item is default or (type(item) is type(default) and item == default):
            continue
        out[name] = item if type(item) in _PLAIN else _encode(item)
    return out


def _encode_members(value: Mapping[Any, Any]) -> dict[str, Any]:
    return {str(key): item if type(item) in _PLAIN else _encode(item) for key, item in value.items()}


def _encode_items(value: Iterable[Any]) -> list[Any]:
    return [item if type(item) in _PLAIN else _encode(item) for item in value]


@functools.cache
def _defaults(kind: type) -> tuple[tuple[str, Any], ...]:
    out = []
    for item in dataclasses.fields(kind):
        default = item.default
        if item.default_factory is not dataclasses.MISSING:
            default = item.default_factory()
        out.append((item.name, default))
    return tuple(out)


@functools.cache
def _decoders(kind: type) -> tuple[tuple[str, Callable[[Any], Any]], ...]:
    hints = typing.get_type_hints(kind)
    return tuple((item.name, _decoder(hints[item.name])) for item in dataclasses.fields(kind))


def _same(value: Any) -> Any:
    return value


def _decoder(hint: Any) -> Callable[[Any], Any]:
    origin = typing.get_origin(hint)
    args = typing.get_args(hint)
    if origin in (typing.Union, types.UnionType):
        inner = [arg for arg in args if arg is not type(None)]
        if len(inner) != 1:
            return _same
        decode = _decoder(inner[0])
        return lambda value: None if value is None else decode(value)
    if origin is tuple:
        decode = _decoder(args[0])
        return lambda value: tuple(decode(item) for item in value)
    if origin in (dict, Mapping):
        decode = _decoder(args[1])
        return lambda value: {key: decode(item) for key, item in value.items()}
    if isinstance(hint, type) and dataclasses.is_dataclass(hint):
        return functools.partial(from_wire, hint)
    if isinstance(hint, type) and issubclass(hint, Enum):
        return hint
    return _same
