"""``--mt-max-cost`` and ``--mt-max-tokens``: checked before anything is sent, and a clean end when they are used up.

Items whose attempt was not begun are not run: they get no report, the session fails and its reports say that they are
incomplete. Under xdist the workers share one limit, and the controller (``plugin/shared_budget.py``) ends the session.
Does not count (``engine/budget.py``). Source: field pain 6; design D16.
"""

from __future__ import annotations

import re
from collections.abc import Collection, Iterable
from dataclasses import replace
from typing import TYPE_CHECKING

import pytest

from pytest_mindtrial.engine.budget import FALLBACK_CURRENCY, Limits, SpendingLimit
from pytest_mindtrial.plugin.items import TaskItem

if TYPE_CHECKING:
    from pytest_mindtrial.plugin.evaluation import Evaluation
    from pytest_mindtrial.plugin.options import Settings
    from pytest_mindtrial.suite.model import Pricing, Provider, Run

__all__ = ["BudgetHooks", "limits_of", "refuse_several", "spending_limit"]

_AMOUNT = re.compile(r"\s*(\d+(?:\.\d+)?|\.\d+)\s*([A-Za-z]{3})?\s*")
_FREE = frozenset(("mock", "local"))


def spending_limit(evaluation: Evaluation, items: Iterable[TaskItem]) -> SpendingLimit:
    """Return the limit that the options ask for; at least one of them is given.

    Args:
        evaluation: The session's state; on an xdist worker the limit is that of all workers together.
        items: What will run here; all of it needs prices when money is limited and tokens are not.

    Raises:
        pytest.UsageError: The amount is none, or runs have no prices or prices in another currency.
    """
    settings = evaluation.settings
    limits = limits_of(settings)
    found = ""
    if limits.max_cost is not None:
        found = _checked_currency(limits.currency, items, needs_prices=limits.max_tokens is None)
    shared = getattr(evaluation.pytest_config, "workerinput", {}).get("mindtrial", {}).get("budget")
    if shared is None:
        return SpendingLimit(replace(limits, currency=found or FALLBACK_CURRENCY))
    from pytest_mindtrial.plugin.shared_budget import open_limit

    return open_limit(evaluation, limits, found, *shared)


def limits_of(settings: Settings) -> Limits:
    """Return how much the options let be spent; the currency is blank where they do not name one.

    Raises:
        pytest.UsageError: The amount is none.
    """
    amount, currency = _amount(settings.max_cost) if settings.max_cost is not None else (None, "")
    return Limits(amount, currency, settings.max_tokens)


def _amount(text: str) -> tuple[float, str]:
    found = _AMOUNT.fullmatch(text)
    if found is None or float(found[1]) <= 0:
        raise pytest.UsageError(f"--mt-max-cost: {text!r} is not an amount above 0, such as 5 or '5 EUR'")
    return float(found[1]), (found[2] or "").upper()


def _checked_currency(wanted: str, items: Iterable[TaskItem], *, needs_prices: bool) -> str:
    """Return the one currency that everything is priced in, blank without prices; different ones are never added."""
    runs = _runs(items)
    priced = {name: run.pricing for name, (provider, run) in runs.items() if _has_prices(run.pricing)}
    unpriced = [name for name, (provider, run) in runs.items() if name not in priced and provider.name not in _FREE]
    if unpriced and needs_prices:
        raise pytest.UsageError(
            f"--mt-max-cost: what these runs cost is unknown: {', '.join(unpriced)}; "
            "give them pricing with input and output rates, or limit tokens too with --mt-max-tokens"
        )
    currencies = {name: pricing.currency.upper() for name, pricing in priced.items() if pricing is not None}
    found = set(currencies.values())
    if not wanted:
        refuse_several(found)
    others = [f"{name} ({currency})" for name, currency in currencies.items() if wanted and currency != wanted]
    if others:
        raise pytest.UsageError(f"--mt-max-cost is in {wanted}, but these runs have other prices: {', '.join(others)}")
    return wanted or next(iter(found), "")


def refuse_several(currencies: Collection[str]) -> None:
    """Raise when there is more than one.

    Raises:
        pytest.UsageError: Different currencies are never added up.
    """
    if len(currencies) > 1:
        names = ", ".join(sorted(currencies))
        raise pytest.UsageError(f"--mt-max-cost: the selected runs have prices in {names}; select runs of one currency")


def _runs(items: Iterable[TaskItem]) -> dict[str, tuple[Provider, Run]]:
    """Return every run that will be asked, judges included, by a name for people."""
    from pytest_mindtrial.core.errors import ConfigError
    from pytest_mindtrial.engine.clients import find_variant

    runs: dict[str, tuple[Provider, Run]] = {}
    for item in items:
        runs.setdefault(f"{item.provider.name} {item.run.name}", (item.provider, item.run))
        rules = item.task.rules
        if rules.method == "semantic":
            try:
                judge, run = find_variant(item.suite_config.judges, rules.judge)
            except ConfigError:
                continue  # the attempt reports it
            runs.setdefault(f"judge {judge.name} {run.name}", (judge.provider, run))
    return runs


def _has_prices(pricing: Pricing | None) -> bool:
    return pricing is not None and pricing.input_per_million is not None and pricing.output_per_million is not None


class BudgetHooks:
    """Ends the session at the first item that the budget did not let run; a worker leaves out all that follow.

    Args:
        evaluation: The session's state.
        budget: The limit.
    """

    def __init__(self, evaluation: Evaluation, budget: SpendingLimit) -> None:
        self._evaluation = evaluation
        self._budget = budget
        self._has_stopped = False

    @pytest.hookimpl(tryfirst=True)
    def pytest_runtest_protocol(self, item: pytest.Item) -> bool | None:
        """Leave an item out whose attempt was not begun; nothing is reported of it."""
        if self._has_stopped:
            return True
        runner = self._evaluation.runner
        if not isinstance(item, TaskItem) or runner is None or runner.is_run(item):
            return None
        self._budget.stop()
        if self._evaluation.is_worker:
            self._has_stopped = True  # xdist would call it an interruption; the controller ends the session
        else:
            item.session.shouldfail = runner.exhausted
        return True
