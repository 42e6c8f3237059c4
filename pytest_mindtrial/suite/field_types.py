"""Types of YAML fields: the base class of the file models, and markers for fields that are read in their own way.

Does not read (``suite/decode.py``). Source: spec mindtrial 0.3, 2.3.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import Annotated, Any

from pydantic import AfterValidator, BaseModel, ConfigDict, Field, StringConstraints, WithJsonSchema

__all__ = [
    "AsSet",
    "AsWritten",
    "Duration",
    "EnvMap",
    "ExpectedSet",
    "GoDuration",
    "PositiveDuration",
    "RawNode",
    "RequiredText",
    "Text",
    "TextMap",
    "YamlModel",
    "kebab",
    "unique",
]


def kebab(name: str) -> str:
    """Return the YAML key of a field: the one place where underscores and hyphens are exchanged."""
    return name.replace("_", "-")


class YamlModel(BaseModel):
    """Base of everything written in a YAML file: frozen, strict about keys, keys with hyphens."""

    model_config = ConfigDict(
        frozen=True,
        extra="forbid",
        alias_generator=kebab,
        validate_by_name=True,
        validate_by_alias=True,
        arbitrary_types_allowed=True,
        protected_namespaces=(),
        defer_build=True,  # most models are only parts of others, and need no validator of their own
    )


class GoDuration:
    """Marks a number of seconds that is written as a Go duration text."""


class AsSet:
    """Marks a field whose sequence is a set of values, any other node a set of one, and nothing the empty set."""


class AsWritten:
    """Marks a field that is handed over as a node, because its meaning depends on its neighbours."""


_SCALAR_TEXT = {"type": ["string", "number", "boolean"]}

Text = Annotated[str, WithJsonSchema(_SCALAR_TEXT)]
"""Any scalar, as its literal text."""

RequiredText = Annotated[
    str,
    StringConstraints(min_length=1),
    WithJsonSchema({"anyOf": [{"type": "string", "minLength": 1}, {"type": ["number", "boolean"]}]}),
]
"""As `Text`, but not empty."""

_DURATION_SCHEMA = {
    "type": "string",
    "pattern": r"^([+-]?0|[+-]?(([0-9]+\.?[0-9]*|\.[0-9]+)(ns|us|µs|μs|ms|s|m|h))+)$",
    "examples": ["60s", "1m30s"],
}

Duration = Annotated[float, GoDuration(), WithJsonSchema(_DURATION_SCHEMA)]
"""Seconds, written as ``90s`` or ``1m30s``."""


def _positive(value: float) -> float:
    if value <= 0:
        raise ValueError("must be longer than 0s")
    return value


PositiveDuration = Annotated[float, GoDuration(), AfterValidator(_positive), WithJsonSchema(_DURATION_SCHEMA)]
"""As `Duration`, above zero."""

ExpectedSet = Annotated[tuple[Any, ...], AsSet(), WithJsonSchema({})]
"""A set of values of any kind."""

RawNode = Annotated[Any, AsWritten()]
"""A node, decoded later."""

TextMap = dict[str, Text]
"""Names to literal texts."""


def _environment(value: dict[str, str]) -> dict[str, str]:
    for name in value:
        if not name.strip() or "=" in name:
            raise ValueError(f"{name!r} is no name of an environment variable: it must not be blank or contain '='")
    return value


EnvMap = Annotated[TextMap, AfterValidator(_environment)]
"""Environment variables."""

Size = Annotated[int, Field(ge=0)]


def unique(attribute: str) -> Callable[[Any], Any]:
    """Return a validator that refuses two items of one name in a list.

    Args:
        attribute: The naming attribute, such as ``name``.
    """

    def check(items: Any) -> Any:
        seen: dict[str, int] = {}
        for index, item in enumerate(items or ()):
            name = getattr(item, attribute)
            if name in seen:
                raise ValueError(f"{attribute} {name!r} is not unique: items {seen[name]} and {index} share it")
            seen[name] = index
        return items

    return check
