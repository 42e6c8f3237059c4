"""One limit for several processes: each has its own view of the file, as here each limit has its own descriptor."""

from __future__ import annotations

import asyncio
import multiprocessing
import random

import pytest

from pytest_mindtrial.core.errors import ProviderError
from pytest_mindtrial.core.values import Usage
from pytest_mindtrial.engine import shared_budget
from pytest_mindtrial.engine.budget import Limits
from pytest_mindtrial.engine.ledger import Ledger
from pytest_mindtrial.engine.shared_budget import SharedLimit, spent, used_up
from pytest_mindtrial.suite.model import Pricing, Run

RUN = Run("r", "openai", "m", {"max-tokens": 100}, pricing=Pricing("EUR", 1.0, 10.0))
TOOK = Usage(100, 100)


@pytest.fixture
def path(tmp_path):
    path = tmp_path / "budget"
    path.touch()
    return path


@pytest.fixture
def share(path):
    """Give another process a share; all have the limits of the first one."""
    ledgers = []

    def open_share(**limits):
        ledgers.append(Ledger(path))
        return SharedLimit(Limits(**limits), ledgers[-1], ledgers[0].add())

    yield open_share
    for ledger in ledgers:
        ledger.close()


def pages(path):
    ledger = Ledger(path)
    found = ledger.pages()
    ledger.close()
    return found


def test_what_one_has_spent_is_missing_to_the_other(share, path):
    first, second = share(max_tokens=500), share(max_tokens=500)
    reasons = []
    second.on_exhausted = reasons.append

    async def work():
        (await first.reserve(RUN, 400)).settle(TOOK)
        (await second.reserve(RUN, 400)).settle(TOOK)
        with pytest.raises(ProviderError, match="--mt-max-tokens is used up: 400 of 500 tokens in 2 req") as caught:
            await first.reserve(RUN, 400)
        return caught.value

    error = asyncio.run(work())
    assert (error.transient, error.cause) == (False, "budget")
    assert first.exhausted == second.exhausted == str(error) == used_up(Limits(max_tokens=500), pages(path))
    assert reasons == [str(error)]
    assert first.spent == second.spent == "400 of 500 tokens in 2 requests"
    with pytest.raises(ProviderError, match="used up"):
        asyncio.run(second.reserve(RUN, 0))


def test_the_other_hears_of_it_also_without_asking(share):
    first, second = share(max_tokens=100), share(max_tokens=100)
    reasons = []
    second.on_exhausted = reasons.append
    with pytest.raises(ProviderError):
        asyncio.run(first.reserve(RUN, 400))
    with pytest.raises(ProviderError, match="used up"):
        asyncio.run(second.reserve(RUN, 0))
    assert len(reasons) == 1


def test_a_request_waits_for_those_of_others_and_goes_on_when_they_are_cheaper(share):
    async def work():
        first, second = share(max_tokens=500), share(max_tokens=500)
        held = [await first.reserve(RUN, 400), await first.reserve(RUN, 400)]
        waiting = [asyncio.ensure_future(second.reserve(RUN, 400)) for _ in range(2)]
        await asyncio.sleep(3 * shared_budget._LOOK_S)
        assert not any(future.done() for future in waiting)
        held[0].settle(Usage(10, 10))
        done, _ = await asyncio.wait(waiting, timeout=5, return_when=asyncio.FIRST_COMPLETED)
        assert len(done) == 1
        held[1].release()  # a refused request: the other one has room, too
        for reservation in await asyncio.wait_for(asyncio.gather(*waiting), 5):
            reservation.settle(TOOK)
        return first.spent, second.exhausted

    assert asyncio.run(work()) == ("420 of 500 tokens in 3 requests", "")


def test_requests_that_wait_for_others_are_refused_when_nothing_gets_free(share):
    async def work():
        first, second = share(max_tokens=300), share(max_tokens=300)
        held = await first.reserve(RUN, 400)
        waiting = [asyncio.ensure_future(second.reserve(RUN, 400)) for _ in range(3)]
        await asyncio.sleep(0)
        held.settle(TOOK)
        return await asyncio.wait_for(asyncio.gather(*waiting, return_exceptions=True), 5)

    errors = asyncio.run(work())
    assert {type(error) for error in errors} == {ProviderError}
    assert len(set(map(str, errors))) == 1


def test_a_busy_lock_never_holds_up_the_loop(share, path):
    async def work():
        budget, other = share(max_tokens=500), Ledger(path)
        other.lock()
        waiting = asyncio.ensure_future(budget.reserve(RUN, 400))
        await asyncio.sleep(0.02)
        assert not waiting.done()
        other.unlock()
        reservation = await asyncio.wait_for(waiting, 5)
        other.lock()
        reservation.settle(TOOK)  # needs no lock
        other.close()
        return budget.spent

    assert asyncio.run(work()) == "200 of 500 tokens in 1 request"


def test_what_a_crashed_process_had_in_flight_counts_as_spent_and_frees_those_that_wait(share, path):
    async def work():
        first, second = share(max_tokens=300), share(max_tokens=300)
        await first.reserve(RUN, 400)  # never settled
        waiting = asyncio.ensure_future(second.reserve(RUN, 400))
        await asyncio.sleep(0)
        ledger = Ledger(path)
        page = ledger.pages()[0]
        page.close()
        ledger.write(0, page)
        ledger.close()
        with pytest.raises(ProviderError, match="200 of 300 tokens in 1 request"):
            await asyncio.wait_for(waiting, 5)

    asyncio.run(work())


def test_money_has_the_currency_that_any_process_knows(share, path):
    first, second = share(max_cost=0.001), share(max_cost=0.001)
    assert second.register("") == set()
    assert spent(Limits(max_cost=0.001), pages(path)) == "0.0000 USD of 0.001 USD in 0 requests"
    assert first.register("EUR") == set()
    assert second.register("USD") == {"EUR"}
    assert second.register("") == {"EUR"}
    with pytest.raises(ProviderError, match=r"0\.0000 EUR of 0\.001 EUR in 0 requests; .* about 0\.0011 EUR"):
        asyncio.run(second.reserve(RUN, 400))


def test_an_item_that_is_left_out_is_noted(share, path):
    first, second = share(max_tokens=1), share(max_tokens=1)
    second.stop()
    assert [page.is_stopped for page in pages(path)] == [False, True]
    assert not first.exhausted


ALLOWED = 20_000
DEAREST = 3_000


def spend(path, number, seed):
    """Play one process: many requests, five at a time, whose real size is anything; return what each took."""
    dice = random.Random(seed)
    spent = []

    async def main():
        budget = SharedLimit(Limits(max_tokens=ALLOWED), Ledger(path), number)
        gate = asyncio.Semaphore(5)

        async def one():
            async with gate:
                try:
                    reservation = await budget.reserve(RUN, dice.randrange(4_000))
                except ProviderError:
                    return
                await asyncio.sleep(dice.random() * 0.002)
                took = dice.randrange(DEAREST)
                spent.append(took)
                reservation.settle(Usage(took // 2, took - took // 2))

        await asyncio.gather(*(one() for _ in range(100)))
        assert budget.exhausted

    asyncio.run(main())
    return spent


@pytest.mark.parametrize("seed", range(3))
def test_real_processes_overshoot_by_no_more_than_what_is_in_flight(path, seed):
    ledger = Ledger(path)
    shares = [(path, ledger.add(), seed * 10 + number) for number in range(3)]
    with multiprocessing.get_context("spawn").Pool(3) as pool:
        taken = [took for part in pool.starmap(spend, shares) for took in part]
    assert sum(taken) <= ALLOWED + 3 * 5 * DEAREST
    assert sum(taken) >= ALLOWED - DEAREST - 2_100
    whole = pages(path)
    assert sum(page.spent.tokens for page in whole) == sum(taken)
    assert sum(page.requests for page in whole) == len(taken)
    assert all(page.in_flight == page.reserved.tokens == 0 for page in whole)
    ledger.close()
