"""Are written schemas schemas, do written values fit them, can they be JSON: answers in words for the file's author.

Compiling and caching is ``core/schemas.py``; added here is what only YAML can write: keys that are no text, dates,
infinities. Does not judge model answers. Source: spec mindtrial 2.4.
"""

from __future__ import annotations

import datetime as dt
import math
from collections.abc import Mapping
from typing import Any

from pytest_mindtrial.core.schemas import SchemaError, compile_schema, schema_problems

__all__ = ["json_problem", "mismatch", "rfc3339_dates", "schema_problem"]


def schema_problem(schema: Mapping[str, Any]) -> str | None:
    """Return why a value is no usable JSON Schema, or None."""
    strange = json_problem(schema)
    if strange:
        return strange
    try:
        compile_schema(schema)
    except SchemaError as error:
        return error.message
    except RecursionError:
        return "the schema is nested too deeply"
    return None


def mismatch(schema: Mapping[str, Any], value: Any) -> str | None:
    """Return how a value breaks a usable schema, or None."""
    strange = json_problem(value)
    if strange:
        return strange
    try:
        found = schema_problems(compile_schema(schema), value)
    except SchemaError as error:
        return error.message
    if not found:
        return None
    more = f" (and {len(found) - 1} more)" if len(found) > 1 else ""
    return found[0] + more


def json_problem(value: Any) -> str | None:
    """Return what JSON cannot hold (keys that are no text, dates, infinities), or None."""
    if isinstance(value, Mapping):
        for key in value:
            if not isinstance(key, str):
                return f"the key {key!r} is not a text; put it in quotes"
        value = value.values()
    elif hasattr(value, "isoformat"):
        return f"{value.isoformat()} is a date; put it in quotes to make it a text"
    elif isinstance(value, float):
        return None if math.isfinite(value) else f"{value} is not a JSON number"
    elif not isinstance(value, list | tuple):
        return None
    for item in value:
        problem = json_problem(item)
        if problem:
            return problem
    return None


def rfc3339_dates(value: Any) -> Any:
    """Return a value with dates as RFC 3339 texts, midnight UTC where no time is written, as Go encodes them."""
    if isinstance(value, dict):
        return {key: rfc3339_dates(item) for key, item in value.items()}
    if isinstance(value, list | tuple):
        return type(value)(rfc3339_dates(item) for item in value)
    if isinstance(value, dt.datetime):
        return value.isoformat().replace("+00:00", "Z")
    return f"{value.isoformat()}T00:00:00Z" if isinstance(value, dt.date) else value
