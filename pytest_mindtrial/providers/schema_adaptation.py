"""Schemas in the dialects that Anthropic and Google enforce: weaker than what the author wrote, never stronger.

What is adapted is only what is sent: answers are validated against the task's own schema (``providers/reading.py``).
OpenAI's strict mode gets no adaptation but a check (``strict_schema.py``). Source: spec providers 4.3.
"""

from __future__ import annotations

import json
from collections.abc import Callable, Iterator, Mapping
from typing import Any

from pytest_mindtrial.core.errors import TaskError

__all__ = ["for_anthropic", "for_google"]

_NAMED_SCHEMAS = frozenset(("properties", "patternProperties", "dependentSchemas", "$defs", "definitions"))
_PLAIN_VALUES = frozenset(("const", "enum", "default", "examples", "required"))

_ANTHROPIC_KEYWORDS = frozenset(
    (
        "type",
        "title",
        "description",
        "default",
        "properties",
        "required",
        "items",
        "anyOf",
        "allOf",
        "enum",
        "const",
        "$defs",
        "definitions",
    )
)
_ANTHROPIC_FORMATS = frozenset(
    ("date-time", "time", "date", "duration", "email", "hostname", "uri", "ipv4", "ipv6", "uuid")
)


def for_anthropic(schema: Mapping[str, Any]) -> dict[str, Any]:
    """Return a schema that Anthropic's constrained decoding takes.

    Objects are closed, ``oneOf`` becomes ``anyOf``, a ``$ref`` stands alone, and keywords that are not enforced move
    into the description, where the model can read them.

    Raises:
        TaskError: The schema refers to itself, which that decoding cannot do.
    """
    if (reference := _recursion(schema)) is not None:
        raise TaskError(
            f"anthropic cannot enforce a schema that refers to itself, and response-result-format does so at "
            f"{reference}. Change the schema, or set legacy-structured-output for the run"
        )
    adapted: dict[str, Any] = _mapped(schema, _anthropic_node)
    return adapted


def for_google(schema: Mapping[str, Any]) -> dict[str, Any]:
    """Return a schema for Google's ``responseJsonSchema``.

    ``$schema`` goes, ``const`` becomes an ``enum`` of one value, and a ``$ref`` beside other keywords is replaced by
    what it refers to (where that is the schema around it, the other keywords go instead).
    """
    adapted: dict[str, Any] = _GoogleAdaptation(schema).adapt(schema, ())
    return adapted


def _mapped(node: Any, change: Callable[[dict[str, Any]], dict[str, Any]]) -> Any:
    """Rebuild a schema from the leaves up; every subschema passes through ``change`` once."""
    if isinstance(node, list | tuple):
        return [_mapped(item, change) for item in node]
    if not isinstance(node, Mapping):
        return node
    return change({key: _mapped_value(key, item, change) for key, item in node.items()})


def _mapped_value(key: str, item: Any, change: Callable[[dict[str, Any]], dict[str, Any]]) -> Any:
    if key in _PLAIN_VALUES:
        return item
    if key in _NAMED_SCHEMAS and isinstance(item, Mapping):
        return {name: _mapped(inner, change) for name, inner in item.items()}
    return _mapped(item, change)


def _anthropic_node(node: dict[str, Any]) -> dict[str, Any]:
    if "$ref" in node:
        return {key: node[key] for key in ("$ref", "$defs", "definitions") if key in node}
    if "oneOf" in node and "anyOf" not in node:
        node = {("anyOf" if key == "oneOf" else key): item for key, item in node.items()}
    out: dict[str, Any] = {}
    told: dict[str, Any] = {}
    for key, item in node.items():
        (out if _is_enforced(key, item) else told)[key] = item
    if _is_object(node):
        out["additionalProperties"] = False
        if not isinstance(told.get("additionalProperties"), Mapping):
            told.pop("additionalProperties", None)
    if told:
        words = "{" + ", ".join(f"{key}: {_compact(item)}" for key, item in told.items()) + "}"
        out["description"] = f"{out['description']}\n\n{words}" if out.get("description") else words
    return out


def _is_enforced(key: str, item: Any) -> bool:
    if key == "format":
        return item in _ANTHROPIC_FORMATS
    if key == "minItems":
        return item in (0, 1)
    if key in ("enum", "const"):
        values = item if isinstance(item, list | tuple) else [item]
        return not any(isinstance(value, Mapping | list | tuple) for value in values)
    return key in _ANTHROPIC_KEYWORDS


def _is_object(node: Mapping[str, Any]) -> bool:
    kind = node.get("type")
    return "properties" in node or kind == "object" or (isinstance(kind, list | tuple) and "object" in kind)


def _compact(value: Any) -> str:
    return value if isinstance(value, str) else json.dumps(value, ensure_ascii=False)


class _GoogleAdaptation:
    """The adaptation of one schema, which references are looked up in."""

    def __init__(self, root: Mapping[str, Any]) -> None:
        self._root = root

    def adapt(self, node: Any, inside: tuple[str, ...]) -> Any:
        """Rebuild a subschema; ``inside`` holds the references that are being replaced around it."""
        if isinstance(node, list | tuple):
            return [self.adapt(item, inside) for item in node]
        if not isinstance(node, Mapping):
            return node
        reference = node.get("$ref")
        siblings = {key: item for key, item in node.items() if not key.startswith("$")}
        if isinstance(reference, str) and siblings:
            target = None if reference in inside else _resolve(self._root, reference)
            if not isinstance(target, Mapping):
                return {"$ref": reference}
            return self.adapt({**target, **siblings}, (*inside, reference))
        return self._members(node, inside)

    def _members(self, node: Mapping[str, Any], inside: tuple[str, ...]) -> dict[str, Any]:
        out: dict[str, Any] = {}
        for key, item in node.items():
            if key == "$schema":
                continue
            if key == "const":
                out["enum"] = [item]
            elif key in _PLAIN_VALUES:
                out.setdefault(key, item)
            elif key in _NAMED_SCHEMAS and isinstance(item, Mapping):
                out[key] = {name: self.adapt(inner, inside) for name, inner in item.items()}
            else:
                out[key] = self.adapt(item, inside)
        return out


def _resolve(root: Any, reference: str) -> Any:
    """Return what a local reference points at; None = nothing in this document."""
    if not reference.startswith("#"):
        return None
    node = root
    for part in filter(None, reference.removeprefix("#").split("/")):
        name = part.replace("~1", "/").replace("~0", "~")
        if isinstance(node, Mapping):
            node = node.get(name)
        elif isinstance(node, list | tuple) and name.isdigit() and int(name) < len(node):
            node = node[int(name)]
        else:
            return None
    return node


def _recursion(schema: Mapping[str, Any]) -> str | None:
    """Return a reference that leads back to itself; None = there is none."""
    finished: set[str] = set()

    def visit(node: Any, inside: tuple[str, ...]) -> str | None:
        for reference in _references(node):
            if reference in inside:
                return reference
            if reference not in finished:
                found = visit(_resolve(schema, reference), (*inside, reference))
                if found is not None:
                    return found
                finished.add(reference)
        return None

    return visit(schema, ())


def _references(node: Any) -> Iterator[str]:
    """Yield the references in a schema, without following them."""
    if isinstance(node, list | tuple):
        for item in node:
            yield from _references(item)
    elif isinstance(node, Mapping):
        if isinstance(node.get("$ref"), str):
            yield node["$ref"]
        for key, item in node.items():
            if key in _NAMED_SCHEMAS and isinstance(item, Mapping):
                yield from (found for inner in item.values() for found in _references(inner))
            elif key not in _PLAIN_VALUES:
                yield from _references(item)
