"""A run as it appears in results: MindTrial's RunConfig object.

No name, no client configuration, no secrets. Does not read results back. Source: spec mindtrial 7.1, row "RunConfig".
"""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

from pytest_mindtrial.suite.model import Pricing, RetryPolicy, Run
from pytest_mindtrial.suite.parameters import TABLES, Row

__all__ = ["run_config"]

_TRI_STATE = frozenset(("disable-legacy-json-mode",))
"""Switches that are off by default, but whose absence MindTrial records as null."""


def run_config(run: Run) -> dict[str, Any] | None:
    """Return the run's settings in wire form; None when there is nothing to say.

    Zero values are left out. Model parameters keep their keys; typed parameters that are not set appear as null, plain
    switches as false, as soon as the run has any parameter.
    """
    config = {
        "Model": run.model,
        "MaxRequestsPerMinute": run.max_requests_per_minute,
        "TextOnly": run.text_only,
        "DisableStructuredOutput": run.disable_structured_output,
        "ModelParameters": _parameters(run),
        "RetryPolicy": _retry(run.retry_policy),
        "Pricing": _pricing(run.pricing),
    }
    return _without_zeros(config) or None


def _parameters(run: Run) -> dict[str, Any]:
    if not run.parameters:
        return {}
    table = TABLES.get(run.provider)
    if table is None or table.is_free:
        # A mock's script can be as large as the suite; only its plain settings are worth repeating in every result.
        return {name: value for name, value in run.parameters.items() if isinstance(value, str | int | float)}
    unset = {row.name: False if _is_plain_switch(row) else None for row in table.rows}
    return {**unset, **{name: value for name, value in run.parameters.items() if value is not None}}


def _is_plain_switch(row: Row) -> bool:
    """True for a boolean that MindTrial cannot tell from false when it is not written."""
    return row.kind == "bool" and row.default == "false" and row.name not in _TRI_STATE


def _retry(policy: RetryPolicy | None) -> dict[str, Any]:
    if policy is None:
        return {}
    return _without_zeros(
        {"MaxRetryAttempts": policy.max_retry_attempts, "InitialDelaySeconds": policy.initial_delay_seconds}
    )


def _pricing(pricing: Pricing | None) -> dict[str, Any]:
    """Rates that are not set are left out; a rate of 0 is a price and stays."""
    if pricing is None:
        return {}
    rates = {
        "Currency": pricing.currency or None,
        "InputPerMillion": pricing.input_per_million,
        "OutputPerMillion": pricing.output_per_million,
        "CacheReadPerMillion": pricing.cache_read_per_million,
        "CacheWritePerMillion": pricing.cache_write_per_million,
        "ReasoningPerMillion": pricing.reasoning_per_million,
    }
    return {name: rate for name, rate in rates.items() if rate is not None}


def _without_zeros(values: Mapping[str, Any]) -> dict[str, Any]:
    return {name: value for name, value in values.items() if value not in (None, 0, False, "", {})}
