"""The spending limit: reserved before, settled after, never overshot by more than what is in flight."""

from __future__ import annotations

import asyncio
import random

import pytest

from pytest_mindtrial.core.errors import ProviderError
from pytest_mindtrial.core.values import Usage
from pytest_mindtrial.engine.budget import Limits, SpendingLimit
from pytest_mindtrial.engine.estimate import TokenEstimate, max_output_tokens
from pytest_mindtrial.suite.model import Pricing, Run

PRICED = Run("r", "openai", "m", {"max-tokens": 100}, pricing=Pricing("EUR", 1.0, 10.0))


def limit(on_exhausted=None, **fields):
    budget = SpendingLimit(Limits(**{"currency": "EUR", **fields}))
    budget.on_exhausted = on_exhausted or budget.on_exhausted
    return budget


TOOK = Usage(100, 100)


def spend(budget, run=PRICED, weight=400, usage=TOOK):
    async def work():
        (await budget.reserve(run, weight)).settle(usage)

    asyncio.run(work())


def test_tokens_are_counted_until_the_next_request_does_not_fit():
    reasons = []
    budget = limit(max_tokens=500, on_exhausted=reasons.append)
    spend(budget)
    spend(budget)
    with pytest.raises(ProviderError, match="--mt-max-tokens is used up: 400 of 500 tokens in 2 requests") as caught:
        spend(budget)
    assert (caught.value.transient, caught.value.cause) == (False, "budget")
    assert reasons == [budget.exhausted]
    with pytest.raises(ProviderError):
        spend(budget, weight=0)
    assert len(reasons) == 1


def test_money_is_counted_by_the_runs_prices():
    budget = limit(max_cost=0.0025)
    spend(budget)  # 0.0011
    spend(budget)
    assert budget.spent == "0.0022 EUR of 0.0025 EUR in 2 requests"
    with pytest.raises(ProviderError, match=r"--mt-max-cost is used up: .*; the next request .* 0\.0011 EUR"):
        spend(budget)


def test_a_free_run_costs_nothing_but_its_tokens_count():
    budget = limit(max_cost=0.001, max_tokens=450)
    free = Run("f", "mock", "m", {"max-tokens": 100})
    spend(budget, free)
    spend(budget, free)
    assert budget.spent == "0.0000 EUR of 0.001 EUR and 400 of 450 tokens in 2 requests"


@pytest.mark.parametrize("usage", [None, Usage(), Usage(5, None)])
def test_what_is_not_reported_counts_as_expected(usage):
    budget = limit(max_tokens=10_000)
    spend(budget, usage=usage)
    assert budget.spent == "200 of 10,000 tokens in 1 request"


def test_a_usage_without_a_certain_price_costs_the_dearest_rate():
    run = Run("r", "openai", "m", pricing=Pricing("EUR", 1.0, 10.0, cache_write_per_million=2.0))
    budget = limit(max_cost=1.0)
    usage = Usage(1_000, 100, input_accounting="cache_tokens_included")
    spend(budget, run, usage=usage)
    assert budget.spent.startswith("0.0030 EUR")


def test_a_released_reservation_costs_nothing():
    async def work(budget):
        reservation = await budget.reserve(PRICED, 400)
        reservation.release()
        reservation.settle(Usage(1, 1))
        return budget.spent

    assert asyncio.run(work(limit(max_tokens=300))) == "0 of 300 tokens in 0 requests"


def test_a_request_waits_while_those_in_flight_may_turn_out_cheaper():
    async def work():
        budget = limit(max_tokens=500)
        first = await budget.reserve(PRICED, 400)
        second = await budget.reserve(PRICED, 400)
        third = asyncio.ensure_future(budget.reserve(PRICED, 400))
        fourth = asyncio.ensure_future(budget.reserve(PRICED, 400))
        await asyncio.sleep(0)
        assert not third.done()
        first.settle(Usage(10, 10))
        await asyncio.sleep(0)
        await asyncio.sleep(0)
        assert third.done()
        assert not fourth.done()
        second.settle(Usage(100, 100))
        third.result().settle(Usage(100, 100))
        with pytest.raises(ProviderError):
            await fourth

    asyncio.run(work())


@pytest.mark.parametrize("seed", range(20))
def test_never_overshot_by_more_than_the_requests_in_flight(seed):
    """Requests whose real size is anything: beyond the limit is at most what those in flight took beyond their part."""
    dice = random.Random(seed)
    allowed, spent, open_now, dearest = 20_000, [], set(), 3_000

    async def work(budget, number):
        try:
            reservation = await budget.reserve(PRICED, dice.randrange(4_000))
        except ProviderError:
            return
        assert sum(spent) <= allowed  # nothing is sent once the limit is passed
        open_now.add(number)
        for _ in range(dice.randrange(5)):
            await asyncio.sleep(0)
        took = dice.randrange(dearest)
        spent.append(took)
        open_now.discard(number)
        reservation.settle(Usage(took // 2, took - took // 2))

    async def main():
        budget = limit(max_tokens=allowed)
        gate = asyncio.Semaphore(5)

        async def one(number):
            async with gate:
                await work(budget, number)

        await asyncio.gather(*(one(number) for number in range(200)))
        return budget

    budget = asyncio.run(main())
    assert budget.exhausted
    assert sum(spent) <= allowed + 5 * dearest
    assert sum(spent) >= allowed - dearest - 2_100


def test_estimates_learn_from_the_run():
    estimate = TokenEstimate(limit=None)
    assert estimate.tokens(401) == (101, 1000)
    for out in (10, 20, 30):
        estimate.learn(100, Usage(50, out))
    assert estimate.tokens(200) == (100, 37)
    estimate.learn(100, Usage())
    assert estimate.tokens(200) == (100, 37)
    assert TokenEstimate(limit=40).tokens(0) == (0, 40)


@pytest.mark.parametrize(
    "parameters, expected",
    [
        ({}, None),
        ({"max-tokens": 5}, 5),
        ({"max-completion-tokens": 7, "max-tokens": 9}, 7),
        ({"max-tokens": "x"}, None),
    ],
)
def test_the_runs_own_limit(parameters, expected):
    assert max_output_tokens(parameters) == expected
