"""A model's tool arguments: parsed, checked against the tool's schema, turned into files.

Does not run tools. Source: seed 000, section Tools; spec docker 4.3 and 4.4.
"""

from __future__ import annotations

import json
from collections.abc import Mapping
from typing import Any

from pytest_mindtrial.core.errors import MindTrialError
from pytest_mindtrial.sandbox.staging import StagedFile

__all__ = ["ArgumentError", "check_arguments", "parameter_files", "parse_arguments"]

_SHOWN_VIOLATIONS = 5
_SHOWN_CHARS = 300


class ArgumentError(MindTrialError):
    """The model's arguments cannot be used; the text is for the model."""


def parse_arguments(text: str) -> dict[str, Any]:
    """Return the JSON object that a model sent; ``null`` means no arguments.

    Raises:
        ArgumentError: Not a JSON object.
    """
    try:
        value = json.loads(text, parse_constant=_reject_constant)
    except (ValueError, RecursionError) as error:
        raise ArgumentError(f"they are not JSON ({error})" if text.strip() else "they are empty") from error
    if value is None:
        return {}
    if not isinstance(value, dict):
        raise ArgumentError(f"they must be a JSON object, not {_json_name(value)}")
    return value


def check_arguments(arguments: Mapping[str, Any], schema: Mapping[str, Any]) -> None:
    """Check arguments against a tool's parameter schema; ``format`` is not asserted, nothing remote is fetched.

    Raises:
        ArgumentError: Up to five violations with their paths.
    """
    import jsonschema
    from referencing import Registry
    from referencing.exceptions import Unresolvable

    kind = jsonschema.validators.validator_for(schema, default=jsonschema.Draft202012Validator)
    try:
        errors = sorted(kind(schema, registry=Registry()).iter_errors(arguments), key=lambda error: error.json_path)
    except (Unresolvable, RecursionError) as error:
        raise ArgumentError(f"they cannot be checked against the schema of the tool ({error})") from error
    if errors:
        shown = [f"{error.json_path}: {_short(error.message)}" for error in errors[:_SHOWN_VIOLATIONS]]
        more = len(errors) - len(shown)
        raise ArgumentError("; ".join(shown) + (f"; and {more} more" if more else ""))


def parameter_files(arguments: Mapping[str, Any], targets: Mapping[str, str]) -> list[StagedFile]:
    """Return one file for each argument that the tool wants in a file; other arguments have no way in.

    A string is written as it is; every other value as compact JSON with sorted keys and exact integers.

    Raises:
        ArgumentError: A value cannot be written as UTF-8 text.
    """
    files = []
    for name, target in targets.items():
        if name in arguments:
            try:
                files.append(StagedFile(target, _text(arguments[name]).encode("utf-8")))
            except (ValueError, RecursionError) as error:
                raise ArgumentError(f"{name} cannot be written as text ({error})") from error
    return files


def _text(value: Any) -> str:
    if isinstance(value, str):
        return value
    return json.dumps(value, separators=(",", ":"), sort_keys=True, ensure_ascii=False, allow_nan=False)


def _reject_constant(name: str) -> None:
    raise ValueError(f"{name} is not a JSON number")


def _json_name(value: Any) -> str:
    if isinstance(value, bool):
        return "a boolean"
    if isinstance(value, list):
        return "an array"
    return "a string" if isinstance(value, str) else "a number"


def _short(text: str) -> str:
    return text if len(text) <= _SHOWN_CHARS else text[: _SHOWN_CHARS - 1] + "…"
