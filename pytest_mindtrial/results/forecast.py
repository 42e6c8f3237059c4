"""What an evaluation will probably cost, judged by earlier results.

Does not know prices of tokens that were never spent: an item without any earlier result of its run has no forecast, and
the forecast says how many those are. Source: field pain 7; issue "From results to decisions".
"""

from __future__ import annotations

import math
from collections.abc import Iterable, Sequence
from dataclasses import dataclass

from pytest_mindtrial.core.record import Result
from pytest_mindtrial.results.costs import candidate_cost

__all__ = ["Forecast", "forecast_cost"]

Item = tuple[str, str, str]
"""Provider, run and task."""


@dataclass(frozen=True, slots=True)
class Forecast:
    """Expected candidate cost.

    Attributes:
        amounts: Currency → sum over the items with a forecast; judges excluded.
        known: Items with a forecast.
        unknown: Items without.
    """

    amounts: dict[str, float]
    known: int
    unknown: int

    def __str__(self) -> str:
        total = " + ".join(f"{amount:.4f} {currency}" for currency, amount in sorted(self.amounts.items())) or "unknown"
        missing = f"; {self.unknown} more have no earlier result with a known cost" if self.unknown else ""
        return f"{total} for {self.known} of {self.known + self.unknown} items{missing}"


def forecast_cost(items: Sequence[Item], past: Iterable[Result]) -> Forecast:
    """Add up, per item, the mean known cost of its earlier results, else of its run's results."""
    by_item: dict[Item, list[float]] = {}
    by_run: dict[tuple[str, str], list[float]] = {}
    currencies: dict[tuple[str, str], str] = {}
    for result in past:
        cost = candidate_cost(result)
        if cost.amount is None:
            continue
        run = (result.provider, result.run)
        if currencies.setdefault(run, cost.currency) == cost.currency:
            by_item.setdefault((*run, result.task), []).append(cost.amount)
            by_run.setdefault(run, []).append(cost.amount)
    amounts: dict[str, float] = {}
    known = 0
    for provider, run_name, task in items:
        run = (provider, run_name)
        costs = by_item.get((*run, task)) or by_run.get(run)
        if costs:
            known += 1
            amounts[currencies[run]] = amounts.get(currencies[run], 0.0) + math.fsum(costs) / len(costs)
    return Forecast(amounts, known, len(items) - known)
