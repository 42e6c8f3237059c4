"""The spending limit of a session: money and tokens, reserved before every request and settled after its reply.

Every request is reserved, judges, retries and tool turns included; cached replies never get here. The limit is
overshot by no more than what the requests in flight take beyond their estimates, and once it is used up nothing is sent
any more. Does not stop the session (the plugin does) and lives in the engine's loop. Source: field pain 6; design D5.
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

__all__ = ["Reservation", "SpendingLimit"]


@dataclass(frozen=True, slots=True)
class _Amount:
    cost: float = 0.0
    tokens: int = 0

    def __add__(self, other: _Amount) -> _Amount:
        return _Amount(self.cost + other.cost, self.tokens + other.tokens)

    def __sub__(self, other: _Amount) -> _Amount:
        return _Amount(self.cost - other.cost, self.tokens - other.tokens)


class SpendingLimit:
    """Implements `engine.requests.Budget`.

    Args:
        max_cost: Most money; None = no limit. Runs without prices cost nothing here, so the caller sees to it that
            there are none.
        currency: Of ``max_cost``.
        max_tokens: Most tokens, input and output; None = no limit.
        on_exhausted: Called once, in the loop, with the reason.

    Attributes:
        exhausted: Why nothing is sent any more; blank while there is something left.
    """

    def __init__(
        self,
        *,
        max_cost: float | None = None,
        currency: str = "",
        max_tokens: int | None = None,
        on_exhausted: Callable[[str], None] = lambda reason: None,
    ) -> None:
        self.exhausted = ""
        self._max_cost = max_cost
        self._currency = currency
        self._max_tokens = max_tokens
        self.on_exhausted = on_exhausted
        self._spent = _Amount()
        self._reserved = _Amount()
        self._in_flight = 0
        self._requests = 0
        # Keyed by identity, because runs hold mappings; the values keep the objects alive, so that ids stay unique.
        self._estimates: dict[int, tuple[Run, TokenEstimate]] = {}
        self._waiting: list[asyncio.Future[None]] = []

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
        while True:
            if self.exhausted:
                raise ProviderError(self.exhausted, transient=False, cause=BUDGET_CAUSE)
            need = self._amount(run, *estimate.tokens(weight))
            if self._fits(need):
                self._reserved += need
                self._in_flight += 1
                return Reservation(self, run, weight, need)
            if not self._in_flight:
                self._exhaust(need)
                continue
            future: asyncio.Future[None] = asyncio.get_running_loop().create_future()
            self._waiting.append(future)
            await future

    @property
    def spent(self) -> str:
        """Return what was spent so far, for people."""
        parts = []
        if self._max_cost is not None:
            parts.append(f"{self._spent.cost:.4f} {self._currency} of {self._max_cost:g} {self._currency}")
        if self._max_tokens is not None:
            parts.append(f"{self._spent.tokens:,} of {self._max_tokens:,} tokens")
        requests = "1 request" if self._requests == 1 else f"{self._requests} requests"
        return f"{' and '.join(parts)} in {requests}"

    def _fits(self, need: _Amount) -> bool:
        total = self._spent + self._reserved + need
        if self._max_cost is not None and total.cost > self._max_cost:
            return False
        return self._max_tokens is None or total.tokens <= self._max_tokens

    def _exhaust(self, need: _Amount) -> None:
        is_cost = self._max_cost is not None and (self._spent + need).cost > self._max_cost
        what = f"about {need.cost:.4f} {self._currency}" if is_cost else f"about {need.tokens:,} tokens"
        name = "--mt-max-cost" if is_cost else "--mt-max-tokens"
        self.exhausted = f"{name} is used up: {self.spent}; the next request would take {what}"
        self._wake()
        self.on_exhausted(self.exhausted)

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
        self._close(reservation)
        self._spent += amount
        self._requests += 1
        self._wake()

    def _release(self, reservation: Reservation) -> None:
        self._close(reservation)
        self._wake()

    def _close(self, reservation: Reservation) -> None:
        self._reserved -= reservation.need
        self._in_flight -= 1
        if not self._in_flight:
            self._reserved = _Amount()  # without the rounding of many sums

    def _wake(self) -> None:
        waiting, self._waiting = self._waiting, []
        for future in waiting:
            if not future.done():
                future.set_result(None)

    def _amount(self, run: Run, into: int, out: int) -> _Amount:
        return _Amount(_dearest(run.pricing, into, out) if self._max_cost is not None else 0.0, into + out)

    def _actual(self, run: Run, usage: Usage, expected: _Amount) -> _Amount:
        """Return what a reply has cost; counters that are not reported count as expected."""
        into, out = usage.effective_input, usage.effective_output
        if into is None or out is None:
            return expected
        cost = 0.0
        if self._max_cost is not None and run.pricing is not None:
            priced = cost_of(usage, run.pricing)
            cost = _dearest(run.pricing, into, out) if isinstance(priced, NoCost) else priced
        return _Amount(cost, into + out)


class Reservation:
    """What is set aside for one request; the first of `settle` and `release` counts."""

    __slots__ = ("_limit", "need", "run", "weight")

    def __init__(self, limit: SpendingLimit, run: Run, weight: int, need: _Amount) -> None:
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
