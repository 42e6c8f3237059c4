"""JSON Schemas: compiled once, kept by content, never fetched from anywhere.

Does not coerce values; ``format`` is an annotation. Draft 2020-12 unless ``$schema`` names another. ``jsonschema`` is
imported on the first use, because it costs more than the rest of a start without schemas. Source: spec mindtrial 2.4;
design D19 (patterns are Python's regular expressions).
"""

from __future__ import annotations

import math
import threading
from collections import OrderedDict
from collections.abc import Iterator, Mapping
from dataclasses import dataclass
from fractions import Fraction
from itertools import islice
from typing import Any
from urllib.parse import unquote

from pytest_mindtrial.core.errors import UserError
from pytest_mindtrial.core.ids import content_digest

__all__ = ["CompiledSchema", "SchemaError", "compile_schema", "plain_json", "schema_problems"]

MAX_PROBLEMS = 20
MAX_MESSAGE = 300
MAX_CACHED = 256

_cache: OrderedDict[str, CompiledSchema] = OrderedDict()
_lock = threading.Lock()


class SchemaError(UserError):
    """A JSON Schema is itself unusable.

    Attributes:
        path: JSON path of the fault inside the schema, such as ``$.properties.age.minimum``.
        reason: The fault in words, without the path.
    """

    def __init__(self, path: str, reason: str) -> None:
        super().__init__(f"{path}: {reason}")
        self.path = path
        self.reason = reason


@dataclass(frozen=True, slots=True, eq=False)
class CompiledSchema:
    """A checked schema, safe to share between threads.

    Attributes:
        schema: The schema as plain dictionaries and lists.
        digest: Digest of its content.
    """

    schema: Any
    digest: str
    _validator: Any

    def problems(self, value: Any) -> Iterator[str]:
        """Yield each reason why the value does not fit, in document order, as ``path: message``.

        Raises:
            SchemaError: The schema refers to itself without end.
        """
        from referencing.exceptions import Unresolvable

        try:
            for error in self._validator.iter_errors(plain_json(value)):
                yield f"{error.json_path}: {_shorten(error.message)}"
        except Unresolvable as error:
            raise SchemaError("$", f"a reference cannot be resolved: {_shorten(str(error))}") from None
        except RecursionError:
            raise SchemaError(
                "$", "the schema refers to itself without end, or the value is nested too deeply"
            ) from None

    def fits(self, value: Any) -> bool:
        """Return whether the value fits.

        Raises:
            SchemaError: The schema refers to itself without end.
        """
        return next(self.problems(value), None) is None


def compile_schema(schema: Any) -> CompiledSchema:
    """Check a JSON Schema and make it ready for use.

    Equal schemas share one compiled form; the most recent 256 are kept.

    Args:
        schema: A mapping, or true or false.

    Raises:
        SchemaError: It is no valid schema, names an unknown draft, or refers to something outside itself.
    """
    if not isinstance(schema, Mapping | bool):
        raise SchemaError("$", f"a JSON Schema is an object, found {type(schema).__name__}")
    try:
        digest = content_digest(schema)
    except (TypeError, ValueError, RecursionError) as error:
        raise SchemaError("$", f"the schema is not JSON: {error}") from None
    with _lock:
        found = _cache.get(digest)
        if found is not None:
            _cache.move_to_end(digest)
            return found
    compiled = _compile(plain_json(schema), digest)
    with _lock:
        _cache[digest] = compiled
        if len(_cache) > MAX_CACHED:
            _cache.popitem(last=False)
    return compiled


def schema_problems(compiled: CompiledSchema, value: Any) -> list[str]:
    """Return why the value does not fit, at most 20 lines ``path: message``; empty when it fits.

    Raises:
        SchemaError: The schema refers to itself without end.
    """
    found = list(islice(compiled.problems(value), MAX_PROBLEMS + 1))
    return [*found[: MAX_PROBLEMS - 1], "… and more"] if len(found) > MAX_PROBLEMS else found


def plain_json(value: Any) -> Any:
    """Return the value with every mapping as a dictionary and every sequence as a list.

    Raises:
        RecursionError: The value is nested too deeply.
    """
    if isinstance(value, Mapping):
        return {key: plain_json(item) for key, item in value.items()}
    if isinstance(value, list | tuple):
        return [plain_json(item) for item in value]
    return value


def _compile(schema: Any, digest: str) -> CompiledSchema:
    import jsonschema

    kind = _draft(schema)
    try:
        kind.check_schema(schema)
    except jsonschema.SchemaError as error:
        raise SchemaError(error.json_path, _shorten(error.message)) from None
    _check_references(schema)
    exact = jsonschema.validators.extend(kind, {"multipleOf": _multiple_of})
    return CompiledSchema(schema, digest, exact(schema, registry=_specifications()))


def _draft(schema: Any) -> Any:
    import jsonschema

    default = jsonschema.Draft202012Validator
    name = schema.get("$schema") if isinstance(schema, Mapping) else None
    if name is None:
        return default
    found = jsonschema.validators.validator_for(schema, default=None) if isinstance(name, str) else None
    if found is None:
        raise SchemaError("$['$schema']", f"unknown draft {name!r}; the default is {default.META_SCHEMA['$id']}")
    return found


def _multiple_of(validator: Any, divisor: Any, value: Any, schema: Any) -> Iterator[Any]:
    """Compare in decimal, so that 4.02 is a multiple of 0.01 as it reads."""
    import jsonschema

    if not validator.is_type(value, "number"):
        return
    if (isinstance(value, float) and not math.isfinite(value)) or _exact(value) % _exact(divisor):
        yield jsonschema.ValidationError(f"{value!r} is not a multiple of {divisor!r}")


def _exact(number: float) -> Fraction:
    """Return the number as it is written, not as it is stored."""
    return Fraction(number) if isinstance(number, int) else Fraction(repr(number))


def _specifications() -> Any:
    """Return the registry of the published drafts; it retrieves nothing."""
    import jsonschema_specifications  # type: ignore[import-untyped]  # ships no types

    return jsonschema_specifications.REGISTRY


def _check_references(schema: Any) -> None:
    """Refuse references that lead out of the document or to nothing inside it.

    Only plain pointers (``#/…``) are followed; anchors and documents embedded by ``$id`` are left to validation.
    """
    references = list(_references(schema, "$"))
    own = {target for _, key, target in references if key == "$id"}
    if any(key == "$id" and path != "$" for path, key, _ in references):
        return
    for path, key, target in references:
        document, _, pointer = target.partition("#")
        if key == "$id":
            continue
        if document and document not in own and document not in _specifications():
            raise SchemaError(path, f"{target!r} lies outside the schema and is never fetched; use $defs")
        if not document and pointer.startswith("/") and not _exists(schema, pointer):
            raise SchemaError(path, f"{target!r} points to nothing in the schema")


def _references(schema: Any, path: str) -> Iterator[tuple[str, str, str]]:
    if isinstance(schema, Mapping):
        for key, item in schema.items():
            if key in ("$ref", "$dynamicRef", "$id") and isinstance(item, str):
                yield path, key, item
            elif key not in ("const", "enum", "default", "examples"):
                yield from _references(item, f"{path}.{key}")
    elif isinstance(schema, list):
        for number, item in enumerate(schema):
            yield from _references(item, f"{path}[{number}]")


def _exists(schema: Any, pointer: str) -> bool:
    for part in pointer.split("/")[1:]:
        step = unquote(part).replace("~1", "/").replace("~0", "~")
        if isinstance(schema, Mapping) and step in schema:
            schema = schema[step]
        elif isinstance(schema, list) and step.isascii() and step.isdigit() and int(step) < len(schema):
            schema = schema[int(step)]
        else:
            return False
    return True


def _shorten(message: str) -> str:
    return message if len(message) <= MAX_MESSAGE else message[: MAX_MESSAGE - 1] + "…"
