"""The spending limit of a session: money and tokens, reserved before every request and settled after its reply.

Every request is reserved, judges, retries and tool turns included; cached replies never get here. The limit is
overshot by no more than what the requests in flight take beyond their estimates, and once it is used up nothing is sent
any more. Does not stop the session (the plugin does) and lives in the engine's loop; several processes share a limit in
``engine/shared_budget.py``. Source: field pain 6; design D5.
"""

from __future__ import annotations

import asyncio
from collections.abc import Callable
from dataclasses import dataclass

from pytest_mindtrial.core.errors import ProviderError
from pytest_mindtrial.core.pricing import NoCost, Prices, cost_of
from pytest_mindtrial.core.values import Usage
from pytest_mindtrial.engine.estimate import TokenEstimate, max_output_tokens
from pytest_mindtrial.engine.requests import BUDGET_CAUSE
from pytest_mindtrial.suite.model import Run

__all__ = ["FALLBACK_CURRENCY", "NOTHING", "Account", "Amount", "Limits", "Reservation", "SpendingLimit"]

FALLBACK_CURRENCY = "USD"
"""Of a limit that names no currency where nothing has a price."""


@dataclass(frozen=True, slots=True)
class Amount:
    """Money, in the limit's currency, and tokens, input and output."""

    cost: float = 0.0
    tokens: int = 0

    def __add__(self, other: Amount) -> Amount:
        return Amount(self.cost + other.cost, self.tokens + other.tokens)

    def __sub__(self, other: Amount) -> Amount:
        return Amount(self.cost - other.cost, self.tokens - other.tokens)


NOTHING = Amount()


@dataclass(slots=True)
class Account:
    """What was spent, and what is set aside for requests in flight.

    Attributes:
        spent: Of requests that have ended.
        reserved: Expected of those in flight.
        in_flight: How many those are.
        requests: How many have ended, those that cost nothing because they were refused not counted.
    """

    spent: Amount = NOTHING
    reserved: Amount = NOTHING
    in_flight: int = 0
    requests: int = 0

    def reserve(self, need: Amount) -> None:
        """Set something aside for one more request."""
        self.reserved += need
        self.in_flight += 1

    def release(self, need: Amount) -> None:
        """End a request that cost nothing."""
        self.reserved -= need
        self.in_flight -= 1
        if not self.in_flight:
            self.reserved = NOTHING  # without the rounding of many sums

    def settle(self, need: Amount, took: Amount) -> None:
        """End a request."""
        self.release(need)
        self.spent += took
        self.requests += 1


@dataclass(frozen=True, slots=True)
class Limits:
    """How much may be spent, and the words for it.

    Attributes:
        max_cost: Most money; None = no limit.
        currency: Of ``max_cost``.
        max_tokens: Most tokens; None = no limit.
    """

    max_cost: float | None = None
    currency: str = ""
    max_tokens: int | None = None

    def has_room(self, account: Account, need: Amount) -> bool:
        """Tell whether a request may be sent while all those in flight take what is expected of them."""
        total = account.spent + account.reserved + need
        if self.max_cost is not None and total.cost > self.max_cost:
            return False
        return self.max_tokens is None or total.tokens <= self.max_tokens

    def spent(self, account: Account) -> str:
        """Return what was spent, for people."""
        parts = []
        if self.max_cost is not None:
            parts.append(f"{account.spent.cost:.4f} {self.currency} of {self.max_cost:g} {self.currency}")
        if self.max_tokens is not None:
            parts.append(f"{account.spent.tokens:,} of {self.max_tokens:,} tokens")
        requests = "1 request" if account.requests == 1 else f"{account.requests} requests"
        return f"{' and '.join(parts)} in {requests}"

    def used_up(self, account: Account, need: Amount) -> str:
        """Return why a request that needs so much is the first one that is not sent, for people."""
        is_cost = self.max_cost is not None and (account.spent + need).cost > self.max_cost
        what = f"about {need.cost:.4f} {self.currency}" if is_cost else f"about {need.tokens:,} tokens"
        name = "--mt-max-cost" if is_cost else "--mt-max-tokens"
        return f"{name} is used up: {self.spent(account)}; the next request would take {what}"


class SpendingLimit:
    """Implements `engine.requests.Budget`.

    Args:
        limits: How much may be spent. Runs without prices cost nothing here, so the caller sees to it that there are
            none where money is limited.

    Attributes:
        on_exhausted: Called once, in the loop, with the reason.
    """

    def __init__(self, limits: Limits) -> None:
        self.on_exhausted: Callable[[str], None] = lambda reason: None
        self._limits = limits
        self._reason = ""
        self._account = Account()
        # Keyed by identity, because runs hold mappings; the values keep the objects alive, so that ids stay unique.
        self._estimates: dict[int, tuple[Run, TokenEstimate]] = {}
        self._waiting: list[asyncio.Future[None]] = []

    @property
    def exhausted(self) -> str:
        """Why nothing is sent any more; blank while there is something left."""
        return self._reason

    @property
    def spent(self) -> str:
        """What was spent so far, for people."""
        return self._limits.spent(self._account)

    async def reserve(self, run: Run, weight: int) -> Reservation:
        """Return when a request may be sent.

        While the requests in flight may still turn out cheaper than expected, this waits for them.

        Args:
            run: Whose request it is.
            weight: Its size, see `core.weight.text_weight`.

        Raises:
            ProviderError: The limit is used up.
        """
        estimate = self._estimate(run)
        while not self._reason:
            need = self._amount(run, *estimate.tokens(weight))
            if self._take(need):
                return Reservation(self, run, weight, need)
            if not self._reason:
                await self._changed()
        raise ProviderError(self._reason, transient=False, cause=BUDGET_CAUSE)

    def stop(self) -> None:
        """Say that an item is left out for want of money."""

    def _take(self, need: Amount) -> bool:
        """Set an amount aside where there is room; without room and with nothing in flight there never will be."""
        account = self._account
        if self._limits.has_room(account, need):
            account.reserve(need)
            return True
        if not account.in_flight:
            self._exhaust(self._limits.used_up(account, need))
        return False

    async def _changed(self) -> None:
        """Wait until there may be more room."""
        future: asyncio.Future[None] = asyncio.get_running_loop().create_future()
        self._waiting.append(future)
        await future

    def _exhaust(self, reason: str) -> None:
        self._reason = reason
        self._wake()
        self.on_exhausted(reason)

    def _estimate(self, run: Run) -> TokenEstimate:
        known = self._estimates.get(id(run))
        if known is None:
            known = self._estimates[id(run)] = (run, TokenEstimate(max_output_tokens(run.parameters)))
        return known[1]

    def _settle(self, reservation: Reservation, usage: Usage | None) -> None:
        run = reservation.run
        amount = reservation.need
        if usage is not None:
            self._estimate(run).learn(reservation.weight, usage)
            amount = self._actual(run, usage, amount)
        self._account.settle(reservation.need, amount)
        self._wake()

    def _release(self, reservation: Reservation) -> None:
        self._account.release(reservation.need)
        self._wake()

    def _wake(self) -> None:
        waiting, self._waiting = self._waiting, []
        for future in waiting:
            if not future.done():
                future.set_result(None)

    def _amount(self, run: Run, into: int, out: int) -> Amount:
        return Amount(_dearest(run.pricing, into, out) if self._limits.max_cost is not None else 0.0, into + out)

    def _actual(self, run: Run, usage: Usage, expected: Amount) -> Amount:
        """Return what a reply has cost; counters that are not reported count as expected."""
        into, out = usage.effective_input, usage.effective_output
        if into is None or out is None:
            return expected
        cost = 0.0
        if self._limits.max_cost is not None and run.pricing is not None:
            priced = cost_of(usage, run.pricing)
            cost = _dearest(run.pricing, into, out) if isinstance(priced, NoCost) else priced
        return Amount(cost, into + out)


class Reservation:
    """What is set aside for one request; the first of `settle` and `release` counts."""

    __slots__ = ("_limit", "need", "run", "weight")

    def __init__(self, limit: SpendingLimit, run: Run, weight: int, need: Amount) -> None:
        self._limit: SpendingLimit | None = limit
        self.run = run
        self.weight = weight
        self.need = need

    def settle(self, usage: Usage | None) -> None:
        """Say what the reply took; None = nobody knows, so the estimate counts."""
        limit, self._limit = self._limit, None
        if limit is not None:
            limit._settle(self, usage)

    def release(self) -> None:
        """Say that nothing was spent."""
        limit, self._limit = self._limit, None
        if limit is not None:
            limit._release(self)


def _dearest(prices: Prices | None, into: int, out: int) -> float:
    """Return the cost when every token has the dearest rate of its direction."""
    if prices is None:
        return 0.0
    input_rate = max(prices.input_per_million or 0.0, prices.cache_write_per_million or 0.0)
    output_rate = max(prices.output_per_million or 0.0, prices.reasoning_per_million or 0.0)
    return (into * input_rate + out * output_rate) / 1e6
