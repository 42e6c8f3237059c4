"""What results cost: their usage records priced with the prices recorded in them.

Does not know the pricing rules of one usage record (``core/pricing.py``). A result that already carries its cost keeps
it; MindTrial's documents carry only usage and prices. Source: spec mindtrial 8.3.
"""

from __future__ import annotations

import math
from collections.abc import Iterable, Mapping
from dataclasses import dataclass
from typing import Any

from pytest_mindtrial.core.pricing import UNKNOWN_COST, NoCost, cost_of
from pytest_mindtrial.core.record import Result
from pytest_mindtrial.core.values import Usage
from pytest_mindtrial.suite.model import Pricing

__all__ = ["Spent", "candidate_cost", "candidate_records", "candidate_tokens", "judge_cost", "total_cost"]


@dataclass(frozen=True, slots=True)
class Spent:
    """An amount of money.

    Attributes:
        amount: None = unknown, or nothing was used.
        currency: Blank without an amount.
        is_unknown: True when tokens were used whose price cannot be told; a sum with it is unknown.
    """

    amount: float | None = None
    currency: str = ""
    is_unknown: bool = False


_NOTHING = Spent()
_UNKNOWN = Spent(is_unknown=True)


def candidate_records(result: Result) -> list[Usage]:
    """Return the usage records of the candidate: the answer's, and the error's unless a validator spent it."""
    records = [result.answer.usage] if result.answer else []
    if result.error and not result.error.from_validation:
        records.append(result.error.usage)
    return records


def candidate_tokens(result: Result) -> tuple[int | None, int | None]:
    """Return the candidate's effective input and output tokens; None where none were reported."""
    records = candidate_records(result)
    reported_input = [tokens for usage in records if (tokens := usage.effective_input) is not None]
    reported_output = [tokens for usage in records if (tokens := usage.effective_output) is not None]
    return sum(reported_input) if reported_input else None, sum(reported_output) if reported_output else None


def candidate_cost(result: Result) -> Spent:
    """Return what the candidate cost; judges excluded."""
    if result.cost is not None:
        return Spent(result.cost, result.currency)
    return _priced(candidate_records(result), result.run_config)


def judge_cost(result: Result) -> Spent:
    """Return what judges cost, under the judge's own prices; the candidate excluded."""
    if result.judge_cost is not None:
        return Spent(result.judge_cost, result.currency)
    records = [result.validation.usage] if result.validation else []
    if result.error and result.error.from_validation:
        records.append(result.error.usage)
    semantic = result.validation.semantic if result.validation else None
    return _priced(records, semantic.variant_config if semantic else None)


def total_cost(costs: Iterable[Spent]) -> Spent:
    """Add amounts up: one unknown, or two currencies (compared as exact text), make the sum unknown."""
    amounts: list[float] = []
    currencies: set[str] = set()
    for cost in costs:
        if cost.is_unknown:
            return _UNKNOWN
        if cost.amount is not None:
            amounts.append(cost.amount)
            currencies.add(cost.currency)
    if len(currencies) > 1:
        return _UNKNOWN
    return Spent(math.fsum(amounts), currencies.pop()) if amounts else _NOTHING


def _priced(records: Iterable[Usage], run_config: Mapping[str, Any] | None) -> Spent:
    prices = _prices(run_config) if run_config else None
    costs = [cost_of(usage, prices) for usage in records]
    if UNKNOWN_COST in costs:
        return _UNKNOWN
    amounts = [cost for cost in costs if not isinstance(cost, NoCost)]
    return Spent(math.fsum(amounts), prices.currency) if amounts and prices else _NOTHING


def _prices(run_config: Mapping[str, Any]) -> Pricing | None:
    recorded = run_config.get("Pricing")
    if not isinstance(recorded, Mapping):
        return None
    return Pricing(
        currency=str(recorded.get("Currency") or "USD"),
        input_per_million=_rate(recorded.get("InputPerMillion")),
        output_per_million=_rate(recorded.get("OutputPerMillion")),
        cache_read_per_million=_rate(recorded.get("CacheReadPerMillion")),
        cache_write_per_million=_rate(recorded.get("CacheWritePerMillion")),
        reasoning_per_million=_rate(recorded.get("ReasoningPerMillion")),
    )


def _rate(value: Any) -> float | None:
    # A document of another program may hold anything here; what is no number is an unknown rate.
    return value if isinstance(value, int | float) and not isinstance(value, bool) else None
