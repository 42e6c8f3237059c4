"""Whether an answer schema is one that OpenAI's strict mode takes, told before a request is paid for.

Does not change schemas and does not validate answers. Source: spec providers 4.3, row "openai strict".
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from typing import Any

__all__ = ["strict_problem"]

_FORBIDDEN = (
    "allOf",
    "not",
    "if",
    "then",
    "else",
    "dependentRequired",
    "dependentSchemas",
    "patternProperties",
)
_ANNOTATIONS = frozenset(("description", "title"))


def strict_problem(schema: Mapping[str, Any]) -> str | None:
    """Return the first thing strict mode would refuse, with its path in the schema; None = nothing was found.

    Sizes and depth are left to the service, whose limits change.
    """
    return next(_problems(schema, "#"), None)


def _problems(node: Any, path: str) -> Iterator[str]:
    if not isinstance(node, Mapping):
        return
    for keyword in _FORBIDDEN:
        if keyword in node:
            yield f"{path}: {keyword!r} is not allowed"
    if "$ref" in node and set(node) - {"$ref"} - _ANNOTATIONS:
        yield f"{path}: '$ref' may not stand beside other keywords"
    if node.get("type") == "object" or "properties" in node:
        yield from _object_problems(node, path)
    for place, child in _children(node, path):
        yield from _problems(child, place)


def _object_problems(node: Mapping[str, Any], path: str) -> Iterator[str]:
    if node.get("additionalProperties") is not False:
        yield f"{path}: an object needs 'additionalProperties: false'"
    required = node.get("required")
    listed = set(required) if isinstance(required, list | tuple) else set()
    properties = node.get("properties")
    for name in properties if isinstance(properties, Mapping) else ():
        if name not in listed:
            yield f"{path}/properties/{name}: every property must be listed in 'required'"


def _children(node: Mapping[str, Any], path: str) -> Iterator[tuple[str, Any]]:
    for keyword in ("properties", "$defs", "definitions"):
        named = node.get(keyword)
        if isinstance(named, Mapping):
            for name, child in named.items():
                yield f"{path}/{keyword}/{name}", child
    for keyword in ("anyOf", "oneOf", "prefixItems"):
        listed = node.get(keyword)
        if isinstance(listed, list | tuple):
            for number, child in enumerate(listed):
                yield f"{path}/{keyword}/{number}", child
    yield f"{path}/items", node.get("items")
