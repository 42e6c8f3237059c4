"""Are the schemas in suite files schemas, and do written values fit them.

Equal schemas are checked once per process; ``jsonschema`` is imported on first use. Nothing is ever fetched: a ``$ref``
that leaves the document is an error. Does not judge model answers. Source: spec mindtrial 2.4; design D19.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from functools import lru_cache
from typing import Any

__all__ = ["mismatch", "schema_problem"]

_MAX_CHARS = 300
_NOT_SCHEMAS = frozenset(("const", "enum", "default", "examples"))


def schema_problem(schema: Mapping[str, Any]) -> str | None:
    """Return why a value is no usable JSON Schema, or None.

    Draft 2020-12 unless ``$schema`` names another published draft. ``format`` is not enforced; ``pattern`` follows
    Python's regular expressions.
    """
    return _checked(repr(schema), _Held(schema))[1]


def mismatch(schema: Mapping[str, Any], value: Any) -> str | None:
    """Return how a value breaks a schema, or None. The schema must be usable."""
    strange = _not_json(value)
    if strange:
        return strange
    validator, _ = _checked(repr(schema), _Held(schema))
    errors = sorted(validator.iter_errors(value), key=lambda error: [str(part) for part in error.absolute_path])
    if not errors:
        return None
    first = errors[0]
    where = "".join(f"[{part}]" if isinstance(part, int) else f".{part}" for part in first.absolute_path).lstrip(".")
    text = f"at {where}: {first.message}" if where else str(first.message)
    more = f" (and {len(errors) - 1} more)" if len(errors) > 1 else ""
    return _cut(text) + more


class _Held:
    """Carries an unhashable schema past the cache key: all holders are equal."""

    def __init__(self, schema: Any) -> None:
        self.schema = schema

    def __eq__(self, other: object) -> bool:
        return isinstance(other, _Held)

    def __hash__(self) -> int:
        return 0


@lru_cache(maxsize=512)
def _checked(text: str, held: _Held) -> tuple[Any, str | None]:
    """Return a validator and what is wrong with the schema whose ``repr`` is ``text``."""
    import jsonschema
    import jsonschema_specifications  # type: ignore[import-untyped]  # no stubs are published
    from jsonschema.validators import validator_for

    schema = held.schema
    strange = _not_json(schema)
    if strange:
        return None, strange
    named = schema.get("$schema")
    kind = validator_for(schema, default=None) if named is not None else jsonschema.Draft202012Validator
    if kind is None:
        return None, f"unknown $schema {named!r}; write https://json-schema.org/draft/2020-12/schema or leave it out"
    try:
        kind.check_schema(schema)
    except jsonschema.SchemaError as error:
        where = "/".join(str(part) for part in error.absolute_path)
        return None, _cut(f"at {where}: {error.message}" if where else error.message)
    except RecursionError:
        return None, "the schema is nested too deeply"
    registry: Any = jsonschema_specifications.REGISTRY  # the published meta-schemas, local
    return kind(schema, registry=registry), _reference_problem(schema, registry)


def _reference_problem(schema: Mapping[str, Any], registry: Any) -> str | None:
    import referencing
    from referencing.jsonschema import DRAFT202012

    references = sorted(set(_references(schema)))
    if not references:
        return None
    base = str(schema.get("$id", ""))
    resource = referencing.Resource.from_contents(dict(schema), default_specification=DRAFT202012)
    resolver = registry.with_resource(base, resource).crawl().resolver(base)
    for reference in references:
        try:
            resolver.lookup(reference)
        except referencing.exceptions.Unresolvable:
            return f"$ref {reference!r} cannot be resolved; only references inside the schema are followed"
    return None


def _references(value: Any) -> Iterator[str]:
    if isinstance(value, Mapping):
        for key, item in value.items():
            if key in ("$ref", "$dynamicRef") and isinstance(item, str):
                yield item
            elif key not in _NOT_SCHEMAS:
                yield from _references(item)
    elif isinstance(value, list):
        for item in value:
            yield from _references(item)


def _not_json(value: Any) -> str | None:
    """Return what JSON cannot hold: keys that are no text, and dates."""
    if isinstance(value, Mapping):
        for key, item in value.items():
            if not isinstance(key, str):
                return f"the key {key!r} is not a text; put it in quotes"
            problem = _not_json(item)
            if problem:
                return problem
    elif isinstance(value, list | tuple):
        for item in value:
            problem = _not_json(item)
            if problem:
                return problem
    elif hasattr(value, "isoformat"):
        return f"{value.isoformat()} is a date; put it in quotes to make it a text"
    elif isinstance(value, float) and (value != value or value in (float("inf"), float("-inf"))):
        return f"{value} is not a JSON number"
    return None


def _cut(text: str) -> str:
    return text if len(text) <= _MAX_CHARS else f"{text[:_MAX_CHARS]}…"
