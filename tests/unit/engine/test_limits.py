"""Rate limits: the promise of the sliding minute under every schedule, order, cancels, pauses."""

from __future__ import annotations

import asyncio
import itertools
import time

import pytest
from hypothesis import Phase, given, settings
from hypothesis import strategies as st

from pytest_mindtrial.core.clock import FakeClock
from pytest_mindtrial.engine.limits import Limiter, Limiters

MINUTE_NS = 60_000_000_000
PHASES = (Phase.explicit, Phase.reuse, Phase.generate)
"""No shrinking: it takes minutes here, and a schedule is as readable as a shorter one."""


def most_in_a_minute(stamps: list[int]) -> int:
    """Return the largest number of stamps within any 60 s; a window is closed on its left only."""
    most = first = 0
    for last, stamp in enumerate(stamps):
        while stamp - stamps[first] >= MINUTE_NS:
            first += 1
        most = max(most, last - first + 1)
    return most


async def send_all(limiter: Limiter, clock: FakeClock, count: int) -> list[int]:
    """Send ``count`` requests as fast as the limiter lets them."""
    stamps = []
    for _ in range(count):
        token = await limiter.reserve()
        token.stamp()
        stamps.append(clock.monotonic_ns())
    return stamps


@settings(max_examples=60, deadline=None, phases=PHASES)
@given(
    per_minute=st.integers(1, 60),
    visits=st.lists(st.tuples(st.floats(0, 90, allow_nan=False), st.integers(1, 80)), min_size=1, max_size=6),
)
def test_no_sliding_minute_holds_more_than_the_limit(per_minute, visits):
    """Work comes in batches after spells of any length."""

    async def scenario():
        clock = FakeClock()
        limiter = Limiter(per_minute, clock)
        stamps = []
        for idle, batch in visits:
            await clock.sleep(idle)
            stamps += await send_all(limiter, clock, batch)
        return stamps

    assert most_in_a_minute(asyncio.run(scenario())) <= per_minute


@settings(max_examples=40, deadline=None, phases=PHASES)
@given(
    per_minute=st.integers(1, 20),
    delays=st.lists(st.floats(0, 50, allow_nan=False), min_size=30, max_size=60),
)
def test_a_late_stamp_does_not_break_the_promise(per_minute, delays):
    """A request may wait for its slot between reserving and sending."""

    async def one(limiter, clock, delay, stamps):
        token = await limiter.reserve()
        await clock.sleep(delay)
        token.stamp()
        stamps.append(clock.monotonic_ns())

    async def scenario():
        clock = FakeClock(auto=False)
        limiter = Limiter(per_minute, clock)
        stamps: list[int] = []
        tasks = [asyncio.create_task(one(limiter, clock, delay, stamps)) for delay in delays]
        while not all(task.done() for task in tasks):
            await asyncio.sleep(0)
            await clock.advance(7)
        return stamps

    assert most_in_a_minute(asyncio.run(scenario())) <= per_minute


@pytest.mark.parametrize("per_minute", [1, 7, 60, 600])
def test_waiting_work_gets_at_least_95_percent(per_minute):
    async def scenario():
        clock = FakeClock()
        stamps = await send_all(Limiter(per_minute, clock), clock, per_minute * 10 + 1)
        return stamps[-1] / MINUTE_NS

    minutes = asyncio.run(scenario())
    assert per_minute * 10 / minutes >= 0.95 * per_minute


def test_requests_are_spread_and_the_first_burst_is_small():
    async def scenario():
        clock = FakeClock()
        return await send_all(Limiter(60, clock), clock, 60)

    stamps = asyncio.run(scenario())
    assert sum(stamp == 0 for stamp in stamps) == 6
    gaps = [later - earlier for earlier, later in itertools.pairwise(stamps[6:])]
    assert max(gaps) - min(gaps) <= 2
    assert min(gaps) >= 1e9


def test_first_come_first_served():
    async def scenario():
        clock = FakeClock()
        limiter = Limiter(2, clock)
        order = []

        async def one(number):
            (await limiter.reserve()).stamp()
            order.append(number)

        await asyncio.gather(*(one(number) for number in range(12)))
        return order

    assert asyncio.run(scenario()) == list(range(12))


def test_nobody_overtakes_the_line():
    async def scenario():
        clock = FakeClock(auto=False)
        limiter = Limiter(10, clock)
        (await limiter.reserve()).stamp()
        waiter = asyncio.create_task(limiter.reserve())
        await asyncio.sleep(0)
        assert limiter.waiting == 1
        assert limiter.try_reserve() is None
        await clock.advance(10)
        assert waiter.done()
        assert limiter.try_reserve() is None  # the pace
        await clock.advance(10)
        assert limiter.try_reserve() is not None

    asyncio.run(scenario())


def test_a_cancelled_wait_loses_no_token():
    async def scenario():
        clock = FakeClock(auto=False)
        limiter = Limiter(1, clock)
        (await limiter.reserve()).stamp()
        first, second = (asyncio.create_task(limiter.reserve()) for _ in range(2))
        await asyncio.sleep(0)
        first.cancel()
        await asyncio.sleep(0)
        await clock.advance(61)
        await asyncio.sleep(0)
        assert second.done()
        assert limiter.waiting == 0
        with pytest.raises(asyncio.CancelledError):
            await first

    asyncio.run(scenario())


def test_a_token_given_back_can_be_used_at_once():
    async def scenario():
        clock = FakeClock()
        limiter = Limiter(1, clock)
        token = limiter.try_reserve()
        assert token is not None
        assert limiter.try_reserve() is None
        token.give_back()
        again = limiter.try_reserve()
        assert again is not None
        again.stamp()
        again.give_back()  # a stamped token stays spent
        assert limiter.try_reserve() is None

    asyncio.run(scenario())


def test_waiters_look_again_while_every_token_is_reserved():
    async def scenario():
        clock = FakeClock(auto=False)
        limiter = Limiter(1, clock)
        token = await limiter.reserve()
        waiter = asyncio.create_task(limiter.reserve())
        await asyncio.sleep(0)
        token.give_back()
        await clock.advance(1)
        assert waiter.done()

    asyncio.run(scenario())


def test_pause_stops_everybody_and_a_shorter_one_does_not_shorten_it():
    async def scenario():
        clock = FakeClock()
        limiter = Limiter(600, clock)
        limiter.pause(30)
        limiter.pause(5)
        return await send_all(limiter, clock, 1)

    assert asyncio.run(scenario()) == [30_000_000_000]


def test_work_per_request_does_not_grow_with_the_limit():
    async def cost(per_minute):
        clock = FakeClock()
        limiter = Limiter(per_minute, clock)
        began = time.process_time()
        await send_all(limiter, clock, 4000)
        return time.process_time() - began

    small = min(asyncio.run(cost(100)) for _ in range(3))
    large = min(asyncio.run(cost(100_000)) for _ in range(3))
    assert large < small * 4


def test_no_limit_is_smaller_than_one():
    with pytest.raises(ValueError, match="at least 1"):
        Limiter(0, FakeClock())


def test_one_limiter_per_key_and_none_for_unlimited():
    limiters = Limiters(FakeClock())
    assert limiters.get("a", 0) is None
    assert limiters.get("a", 5) is limiters.get("a", 5)
    assert limiters.get("a", 5) is not limiters.get("b", 5)
