"""Scalar properties of items, which junit and pytest-json-report write beside each test.

Only names, numbers and truth values: a dict would become a Python text in junit (spec field 3.1). Unknown numbers are
left out, not shown as 0. Does not write any report.
"""

from __future__ import annotations

from typing import TYPE_CHECKING

from pytest_mindtrial.core.display import one_line
from pytest_mindtrial.results.costs import candidate_cost, candidate_tokens

if TYPE_CHECKING:
    import pytest

    from pytest_mindtrial.core.record import Result
    from pytest_mindtrial.plugin.items import TaskItem

__all__ = ["add_properties", "properties_of"]

_PREFIX = "mt_"
_MUST_PASS = "must_pass"
"""Marker of items that must pass, and the property by which their reports say so (``plugin/conclusion.py``)."""


def add_properties(item: TaskItem, report: pytest.TestReport) -> None:
    """Give an item's report the properties of its result; those of an earlier attempt (a rerun) are replaced."""
    if item.result is None:
        return
    if item.described is not item.result:  # once, not in each of three phases
        _describe(item, item.result)
    report.user_properties = list(item.user_properties)


def _describe(item: TaskItem, result: Result) -> None:
    item.described = result
    own: list[tuple[str, object]] = [*properties_of(result).items()]
    if item.get_closest_marker(_MUST_PASS) is not None:
        own.append((_MUST_PASS, True))
    others = [entry for entry in item.user_properties if not entry[0].startswith(_PREFIX) and entry[0] != _MUST_PASS]
    item.user_properties[:] = [*others, *own]


def properties_of(result: Result) -> dict[str, object]:
    """Return the properties of a result, by name.

    ``mt_cost`` is the candidate's own, judges excluded. ``mt_seconds`` is model time: no waiting, tools or validation.
    """
    run_config = result.run_config or {}
    input_tokens, output_tokens = candidate_tokens(result)
    cost = candidate_cost(result)
    values: dict[str, object] = {
        "mt_task": one_line(result.task),
        "mt_provider": one_line(result.provider),
        "mt_run": one_line(result.run),
        "mt_model": one_line(str(run_config.get("Model") or "")) or None,
        "mt_kind": result.kind.value,
        "mt_repeat": result.repeat,
        "mt_suite": one_line(result.metadata.suite) or None,
        "mt_seconds": round(result.duration_ns / 1e9, 6),
        "mt_input_tokens": input_tokens,
        "mt_output_tokens": output_tokens,
        "mt_cost": cost.amount,
        "mt_currency": (cost.currency or None) if cost.amount is not None else None,
        "mt_trace_id": result.trace_id,
    }
    return {name: value for name, value in values.items() if value is not None}
