"""Checks model parameters against the one parameter table.

Does not read YAML and does not build requests; both use the same rows. Source: spec providers 10.2, 11, 12, 13; seed
guide, section on ``model-parameters``.
"""

from __future__ import annotations

import math
from collections.abc import Callable, Iterator, Mapping
from typing import Any

from pytest_mindtrial.core.errors import ConfigError, Position
from pytest_mindtrial.suite.json_schema import json_problem
from pytest_mindtrial.suite.parameter_rows import TABLES
from pytest_mindtrial.suite.parameter_types import Dialect, Exclusion, ParameterTable, Row
from pytest_mindtrial.suite.suggest import allowed_list, near_match

__all__ = [
    "ANTHROPIC_DEFAULT_MAX_TOKENS",
    "TABLES",
    "Dialect",
    "Exclusion",
    "ParameterTable",
    "Row",
    "check_output_mode",
    "check_parameters",
]

ANTHROPIC_DEFAULT_MAX_TOKENS = 32768
"""Sent when ``max-tokens`` is not set, because the API demands a value."""


def check_parameters(
    provider: str,
    parameters: Mapping[str, Any],
    positions: Mapping[str, Position] | None = None,
) -> list[ConfigError]:
    """Find every mistake in a run's model parameters.

    Args:
        provider: Provider name.
        parameters: Keys as written, values as plain data; None means not written.
        positions: Key → place of its value.

    Returns:
        Errors in the order of the file, then those of combinations; empty when all is well.
    """
    places = positions or {}
    table = TABLES.get(provider)
    if table is None:
        return [
            ConfigError(f"provider {provider!r} does not support model parameters", next(iter(places.values()), None))
        ]
    errors = []
    for name, value in parameters.items():
        message = _value_problem(table, name, value)
        if message:
            errors.append(ConfigError(message, places.get(name)))
    if errors:
        return errors
    given = {name: value for name, value in parameters.items() if value is not None and value is not False}
    return [ConfigError(message, places.get(name)) for name, message in _combinations(table, given)]


def check_output_mode(provider: str, parameters: Mapping[str, Any]) -> str | None:
    """Return what is wrong with a run that sets ``disable-structured-output``, or None.

    Args:
        provider: Provider name.
        parameters: The run's checked model parameters.
    """
    table = TABLES.get(provider)
    chosen = parameters.get("response-format")
    if table and "response-format" in table.by_name and chosen not in (None, "text"):
        return (
            "disable-structured-output requires response format to be plain text: "
            f"found response-format: {chosen}; remove it or write text"
        )
    return None


def _value_problem(table: ParameterTable, name: str, value: Any) -> str | None:
    row = table.by_name.get(name)
    if row is None:
        return _unknown_problem(table, name, value)
    if value is None:
        return None
    problem = _CHECKS[row.kind](row, value)
    return f"{name}: {problem}" if problem else None


def _unknown_problem(table: ParameterTable, name: str, value: Any) -> str | None:
    strange = json_problem(value) if table.passes_unknown or table.is_free else None
    if strange or table.is_free:
        return f"{name}: {strange}" if strange else None
    hint = near_match(name, table.by_name)
    if not table.passes_unknown:
        return f"unknown model parameter {name!r} for {table.provider}{hint} (allowed: {allowed_list(table.by_name)})"
    if "-" in name:
        return (
            f"unknown model parameter {name!r} for {table.provider}{hint} (typed parameters: "
            f"{allowed_list(table.by_name)}; parameters passed through are written with underscores)"
        )
    if name in table.reserved:
        return f"{name}: is set by the run itself and cannot be passed through"
    if name == "stream" and not isinstance(value, bool | None):
        return f"stream: must be true or false, found {value!r}"
    return None


def _check_bool(row: Row, value: Any) -> str | None:
    return None if isinstance(value, bool) else f"must be true or false, found {value!r}"


def _check_int(row: Row, value: Any) -> str | None:
    if isinstance(value, bool) or not isinstance(value, int):
        return f"must be a whole number, found {value!r}"
    return _check_range(row, value)


def _check_number(row: Row, value: Any) -> str | None:
    if isinstance(value, bool) or not isinstance(value, int | float) or not math.isfinite(value):
        return f"must be a number, found {value!r}"
    return _check_range(row, value)


def _check_range(row: Row, value: float) -> str | None:
    low, high = row.minimum, row.maximum
    if (low is None or value >= low) and (high is None or value <= high):
        return None
    if low is None:
        return f"must be at most {high:.12g}, found {value}"
    if high is None:
        return f"must be at least {low:.12g}, found {value}"
    return f"must be between {low:.12g} and {high:.12g}, found {value}"


def _check_choice(row: Row, value: Any) -> str | None:
    if value in row.choices:
        return None
    return f"must be one of {allowed_list(row.choices)}, found {value!r}{near_match(str(value), row.choices)}"


def _check_server_tools(row: Row, value: Any) -> str | None:
    if not isinstance(value, list | tuple):
        return f"must be a list of server tools, found {value!r}"
    for index, entry in enumerate(value):
        if not isinstance(entry, Mapping):
            return f"[{index}] must be a map with type and parameters, found {entry!r}"
        unknown = [str(key) for key in entry if key not in ("type", "parameters")]
        if unknown:
            return f"[{index}] has the unknown key {unknown[0]!r} (allowed: type, parameters)"
        kind = entry.get("type")
        if not isinstance(kind, str) or not kind.strip():
            return f"[{index}].type is required and must be a text, found {kind!r}"
        if not isinstance(entry.get("parameters"), Mapping | None):
            return f"[{index}].parameters must be a map, found {entry['parameters']!r}"
    return None


_CHECKS: Mapping[str, Callable[[Row, Any], str | None]] = {
    "bool": _check_bool,
    "int": _check_int,
    "number": _check_number,
    "choice": _check_choice,
    "server-tools": _check_server_tools,
}


def _combinations(table: ParameterTable, given: Mapping[str, Any]) -> Iterator[tuple[str, str]]:
    for pair in table.exclusions:
        if pair.first in given and pair.second in given:
            yield pair.second, f"{pair.second}: cannot be combined with {pair.first}: {pair.advice}"
    if table.provider == "anthropic":
        yield from _anthropic_combinations(given)


def _anthropic_combinations(given: Mapping[str, Any]) -> Iterator[tuple[str, str]]:
    budget, effort, thinking = given.get("thinking-budget-tokens"), given.get("effort"), given.get("thinking")
    if thinking and budget is not None:
        yield (
            "thinking-budget-tokens",
            f"thinking-budget-tokens: cannot be combined with thinking: {thinking}",
        )
    if thinking and effort in ("xhigh", "max"):
        yield "effort", f"effort: {effort} cannot be combined with thinking: {thinking} (allowed: low, medium, high)"
    if budget is not None and effort is None:
        limit = given.get("max-tokens", ANTHROPIC_DEFAULT_MAX_TOKENS)
        if budget >= limit:
            note = "" if "max-tokens" in given else " (the default)"
            yield (
                "thinking-budget-tokens",
                f"thinking-budget-tokens: must be less than max-tokens, found {budget} with max-tokens {limit}{note}",
            )
