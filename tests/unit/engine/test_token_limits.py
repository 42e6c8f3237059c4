"""Limits of tokens per minute: the sliding minute holds what was used, whatever was expected."""

from __future__ import annotations

import asyncio
import random
from dataclasses import dataclass

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from pytest_mindtrial.core.clock import FakeClock
from pytest_mindtrial.core.errors import ApiError
from pytest_mindtrial.core.values import Usage
from pytest_mindtrial.engine.estimate import TokenEstimate
from pytest_mindtrial.engine.limits import Limiter
from pytest_mindtrial.engine.requests import Policy
from pytest_mindtrial.engine.token_limits import TokenLimit
from pytest_mindtrial.providers.base import ReplyFacts
from pytest_mindtrial.suite.model import RetryPolicy

MINUTE_S = 60.0


@dataclass
class Reply:
    usage: Usage
    status: int = 200
    request_id: str | None = None
    duration_ns: int = 1
    first_byte_ns: int | None = None


def took(into: int, out: int) -> Reply:
    return Reply(Usage(input_tokens=into, output_tokens=out))


def most_in_a_minute(sent: list[tuple[float, int]]) -> int:
    """Return the most tokens of requests that were sent within any 60 s."""
    return max(sum(size for other, size in sent if 0 <= at - other < MINUTE_S) for at, _ in sent)


class Run:
    """Requests of one run under a limit, one after the other, each answered after a second."""

    def __init__(self, *limits: TokenLimit, clock: FakeClock, retry: RetryPolicy | None = None) -> None:
        self.clock = clock
        self.policy = Policy(clock, limits=limits, retry=retry)
        self.sent: list[tuple[float, int]] = []

    async def ask(self, outcome: Reply | ApiError, weight: int = 400) -> None:
        async def send() -> Reply:
            size = outcome.usage if isinstance(outcome, Reply) else Usage()
            tokens = (size.input_tokens or 0) + (size.output_tokens or 0)
            self.sent.append((self.clock.monotonic_ns() / 1e9, tokens))
            await self.clock.sleep(1)
            if isinstance(outcome, ApiError):
                raise outcome
            return outcome

        await self.policy.execute(
            send, turn=1, purpose="candidate", read=lambda reply: ReplyFacts(reply.usage), weigh=lambda: weight
        )


def limit(per_minute: int, clock: FakeClock, estimate: TokenEstimate | None = None) -> TokenLimit:
    return TokenLimit(Limiter(per_minute, clock), estimate or TokenEstimate())


@settings(max_examples=40, deadline=None)
@given(st.integers(0, 2**32))
def test_no_sliding_minute_holds_more_than_the_limit(seed):
    """Replies of any length up to twice the usual one; what is wrong is the estimate of one request in flight."""
    dice, clock = random.Random(seed), FakeClock()
    run = Run(limit(10_000, clock), clock=clock)
    sizes = [dice.randint(50, 400) for _ in range(120)]

    async def scenario():
        for size in sizes:
            await run.ask(took(100, size))

    asyncio.run(scenario())
    assert most_in_a_minute(run.sent) <= 10_000 + 500


def test_the_limit_is_used_up_once_the_run_is_known():
    clock = FakeClock()
    run = Run(limit(12_000, clock), clock=clock)

    async def scenario():
        for _ in range(400):
            await run.ask(took(100, 100))

    asyncio.run(scenario())
    times = [at for at, _ in run.sent]
    per_minute = 200 * sum(120 <= at < 240 for at in times) / 2
    assert 0.95 * 12_000 <= per_minute <= 12_000


def test_before_anything_is_known_a_request_is_expected_to_be_long():
    clock = FakeClock()
    run = Run(limit(2_300, clock), clock=clock)

    async def scenario():
        await run.ask(took(100, 10), weight=400)  # expected: 100 + 1,000
        await run.ask(took(100, 10), weight=400)
        await run.ask(took(100, 10), weight=400)

    asyncio.run(scenario())
    # What the replies did not take is free again, so that no minute has to pass; only the pace is kept.
    assert run.sent[2][0] < 30


def test_a_request_larger_than_the_limit_is_sent_alone():
    clock = FakeClock()
    run = Run(limit(100, clock), clock=clock)

    async def scenario():
        await run.ask(took(40, 10), weight=100)
        await run.ask(took(4_000, 1_000), weight=16_000)
        await run.ask(took(40, 10), weight=100)

    asyncio.run(asyncio.wait_for(scenario(), 20))
    first, large, last = (at for at, _ in run.sent)
    assert large - first >= 60
    assert last - large >= 60


def test_runs_that_share_a_limit_count_together():
    clock = FakeClock()
    shared = Limiter(1_000, clock)
    one = Run(TokenLimit(shared, TokenEstimate()), clock=clock)
    two = Run(TokenLimit(shared, TokenEstimate()), clock=clock)

    async def scenario():
        for _ in range(20):
            await one.ask(took(100, 100))
            await two.ask(took(100, 100))

    asyncio.run(scenario())
    assert most_in_a_minute(sorted(one.sent + two.sent)) <= 1_000 + 200


def test_a_request_that_failed_keeps_what_was_expected_of_it():
    clock = FakeClock()
    run = Run(limit(1_500, clock), clock=clock, retry=RetryPolicy(3, 1))

    async def scenario():
        with pytest.raises(ApiError):
            await run.ask(ApiError("no", transient=False, status=400))
        await run.ask(took(100, 10))

    asyncio.run(scenario())
    assert run.sent[1][0] >= 40  # 1,100 of 1,500 tokens are taken, and the pace


def test_a_run_that_limits_its_output_is_expected_to_keep_to_it():
    clock = FakeClock()
    run = Run(limit(1_100, clock, TokenEstimate(limit=50)), clock=clock)

    async def scenario():
        for _ in range(4):
            await run.ask(took(100, 50))

    asyncio.run(scenario())
    assert run.sent[-1][0] < 30


def test_a_reply_without_usage_keeps_the_estimate():
    clock = FakeClock()
    run = Run(limit(1_500, clock), clock=clock)

    async def scenario():
        await run.ask(Reply(Usage()))
        await run.ask(Reply(Usage()))

    asyncio.run(scenario())
    assert run.sent[1][0] >= 40
