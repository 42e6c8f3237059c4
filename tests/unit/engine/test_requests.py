"""What surrounds a request: tokens, retries, hints, records, slots, budget, cache."""

from __future__ import annotations

import asyncio
import itertools
import random
from dataclasses import dataclass

import pytest

from pytest_mindtrial.core.clock import FakeClock
from pytest_mindtrial.core.errors import ApiError, ProviderError, ReplyError, TransportError
from pytest_mindtrial.core.values import Usage
from pytest_mindtrial.engine.limits import Limiter
from pytest_mindtrial.engine.requests import Policy, PolicyHooks, current_repeat
from pytest_mindtrial.engine.slots import Lane, Slot, current_slot
from pytest_mindtrial.providers.base import ReplyFacts
from pytest_mindtrial.suite.model import RetryPolicy, Run


@dataclass
class Reply:
    status: int = 200
    request_id: str | None = "req"
    duration_ns: int = 7
    first_byte_ns: int | None = 5


def busy(**fields):
    return ApiError("busy", **{"transient": True, "cause": "http-429", "status": 429, **fields})


class Service:
    """Plays outcomes; remembers when it was asked."""

    def __init__(self, clock, *outcomes, takes=0.0):
        self._clock = clock
        self._outcomes = list(outcomes)
        self._takes = takes
        self.asked = []

    async def send(self):
        self.asked.append(self._clock.monotonic_ns() / 1e9)
        if self._takes:
            await self._clock.sleep(self._takes)
        outcome = self._outcomes.pop(0) if self._outcomes else Reply()
        if isinstance(outcome, BaseException):
            raise outcome
        return outcome


def ask(policy, service, **fields):
    return policy.execute(service.send, **{"turn": 1, "purpose": "candidate", **fields})


def test_a_good_reply_is_recorded():
    clock = FakeClock()
    reply, records = asyncio.run(ask(Policy(clock), Service(clock), turn=3))
    assert reply == Reply()
    (record,) = records
    assert (record.turn, record.attempt, record.purpose, record.status) == (3, 1, "candidate", 200)
    assert (record.duration_ns, record.first_byte_ns, record.request_id, record.cause) == (7, 5, "req", "")
    assert record.waited_ns == 0


def test_delays_double_and_every_try_is_recorded():
    clock = FakeClock()
    service = Service(
        clock, busy(), TransportError("cut", transient=True, cause="reset"), busy(cause="", status=500), takes=2
    )
    policy = Policy(clock, retry=RetryPolicy(5, 30))
    _, records = asyncio.run(ask(policy, service))
    assert service.asked == [0, 32, 94, 216]
    assert [record.cause for record in records] == ["http-429", "reset", "http-500", ""]
    assert [record.waited_ns / 1e9 for record in records] == [0, 30, 60, 120]
    assert [record.duration_ns for record in records[:3]] == [2_000_000_000] * 3
    assert [record.attempt for record in records] == [1, 2, 3, 4]
    assert [record.status for record in records] == [429, None, 500, 200]


def test_when_the_retries_are_used_up_the_last_error_carries_all_tries():
    clock = FakeClock()
    service = Service(clock, busy(), busy(), busy(cause="", status=None))
    with pytest.raises(ApiError, match="busy") as caught:
        asyncio.run(ask(Policy(clock, retry=RetryPolicy(2, 1)), service))
    assert [record.cause for record in caught.value.requests] == ["http-429", "http-429", "error"]
    assert service.asked == [0, 1, 3]


@pytest.mark.parametrize("transient", [False, None])
def test_only_transient_errors_are_tried_again(transient):
    clock = FakeClock()
    service = Service(clock, ApiError("no", transient=transient, status=400))
    with pytest.raises(ApiError):
        asyncio.run(ask(Policy(clock, retry=RetryPolicy(5, 1)), service))
    assert len(service.asked) == 1


def test_without_a_retry_policy_nothing_is_tried_again():
    clock = FakeClock()
    service = Service(clock, busy())
    with pytest.raises(ApiError):
        asyncio.run(ask(Policy(clock), service))
    assert len(service.asked) == 1
    assert clock.slept == []


def test_a_policy_without_a_delay_waits_a_second():
    clock = FakeClock()
    service = Service(clock, busy(), busy())
    asyncio.run(ask(Policy(clock, retry=RetryPolicy(5, 0)), service))
    assert service.asked == [0, 1, 3]


@pytest.mark.parametrize("hint, waited", [(0.2, 10), (45.5, 45.5), (900, 900)])
def test_a_hint_raises_the_wait(hint, waited):
    clock = FakeClock()
    service = Service(clock, busy(retry_after_s=hint))
    asyncio.run(ask(Policy(clock, retry=RetryPolicy(1, 10)), service))
    assert service.asked == [0, waited]


def stale():
    error = TransportError("closed", transient=True, cause="reset")
    error.may_resend = True
    return error


def test_a_request_on_a_stale_connection_is_sent_again_at_once_with_a_token_of_its_own():
    clock = FakeClock()
    service, limit = Service(clock, stale()), Limiter(100, clock)
    _, records = asyncio.run(ask(Policy(clock, limits=[limit]), service))
    assert service.asked == [0, 0]
    assert [record.cause for record in records] == ["reset", ""]
    assert len(limit._sent) == 2


def test_a_second_stale_connection_is_an_error_that_the_retry_policy_counts_once():
    clock = FakeClock()
    with pytest.raises(TransportError) as caught:
        asyncio.run(ask(Policy(clock), Service(clock, stale(), stale())))
    assert len(caught.value.requests) == 2
    service = Service(clock, stale(), stale(), stale())
    with pytest.raises(TransportError) as caught:
        asyncio.run(ask(Policy(clock, retry=RetryPolicy(1, 5)), service))
    assert len(caught.value.requests) == 3


def test_a_hint_above_15_minutes_ends_it():
    clock = FakeClock()
    service = Service(clock, busy(retry_after_s=86_400))
    with pytest.raises(ApiError, match=r"busy \(not tried again: the service asks to wait 86400 s") as caught:
        asyncio.run(ask(Policy(clock, retry=RetryPolicy(5, 1)), service))
    assert len(service.asked) == 1
    assert caught.value.message == str(caught.value)
    assert caught.value.transient is True


def test_no_wait_exceeds_15_minutes():
    clock = FakeClock()
    service = Service(clock, *(busy() for _ in range(40)))
    asyncio.run(ask(Policy(clock, retry=RetryPolicy(40, 300)), service))
    gaps = [later - earlier for earlier, later in itertools.pairwise(service.asked)]
    assert gaps[:3] == [300, 600, 900]
    assert set(gaps[2:]) == {900}


def test_jitter_stretches_waits_by_at_most_a_tenth_and_never_shortens_a_hint():
    clock = FakeClock()
    service = Service(clock, *(busy(retry_after_s=100) for _ in range(50)))
    asyncio.run(ask(Policy(clock, retry=RetryPolicy(50, 1), jitter=random.Random(1)), service))
    gaps = [later - earlier for earlier, later in itertools.pairwise(service.asked)][:7]
    assert all(100 <= gap <= 110 for gap in gaps)
    assert len(set(gaps)) == 7


def test_other_exceptions_pass_through():
    clock = FakeClock()
    with pytest.raises(ZeroDivisionError):
        asyncio.run(ask(Policy(clock, retry=RetryPolicy(5, 1)), Service(clock, ZeroDivisionError())))


def test_every_try_takes_a_token_of_every_limit():
    clock = FakeClock()
    own, shared = Limiter(1, clock), Limiter(2, clock)
    service = Service(clock, busy(), busy())
    policy = Policy(clock, limits=[own, shared], retry=RetryPolicy(5, 1))
    _, records = asyncio.run(ask(policy, service))
    assert service.asked == [0, 61, 122]
    assert [record.waited_ns / 1e9 for record in records] == [0, 61, 61]


def test_waiting_for_the_runs_limit_keeps_no_shared_token():
    async def scenario():
        clock = FakeClock(auto=False)
        own, shared = Limiter(1, clock), Limiter(600, clock)
        slow = Policy(clock, limits=[own, shared])
        fast = Policy(clock, limits=[shared])
        service = Service(clock)
        waiting = [asyncio.create_task(ask(slow, service)) for _ in range(50)]
        for _ in range(20):
            await asyncio.sleep(0)
        for _ in range(50):
            await ask(fast, service)
        for task in waiting:
            task.cancel()
        await asyncio.gather(*waiting, return_exceptions=True)
        return len(service.asked)

    assert asyncio.run(scenario()) == 51


def test_a_shared_limit_that_is_used_up_takes_no_token_of_the_run():
    async def scenario():
        clock = FakeClock()
        own, shared = Limiter(5, clock), Limiter(1, clock)
        service = Service(clock)
        policy = Policy(clock, limits=[own, shared])
        for _ in range(3):
            await ask(policy, service)
        return service.asked

    assert asyncio.run(scenario()) == [0, 61, 122]


def test_a_429_with_a_hint_pauses_the_limits():
    async def scenario():
        clock = FakeClock()
        shared = Limiter(600, clock)
        with pytest.raises(ApiError):
            await ask(Policy(clock, limits=[shared]), Service(clock, busy(retry_after_s=5)))
        first = Service(clock, busy(retry_after_s=5))
        await ask(Policy(clock, limits=[shared], retry=RetryPolicy(1, 1)), first)
        return first.asked, shared

    asked, _ = asyncio.run(scenario())
    assert asked == [0, 5]


def test_a_429_with_a_hint_holds_back_other_requests_of_the_same_limit():
    async def scenario():
        clock = FakeClock(auto=False)
        shared = Limiter(600, clock)
        policy = Policy(clock, limits=[shared], retry=RetryPolicy(1, 1))
        first, second = Service(clock, busy(retry_after_s=5)), Service(clock)
        failing = asyncio.create_task(ask(policy, first))
        await asyncio.sleep(0.01)
        other = asyncio.create_task(ask(policy, second))
        for _ in range(12):
            await clock.advance(1)
        await asyncio.gather(failing, other)
        return first.asked[1], second.asked[0]

    again, other = asyncio.run(scenario())
    assert again >= 5
    assert other >= 5


def slot_of(lane_limit=2):
    lane = Lane("p", lane_limit, lambda lane, run, item: True)
    lane.add("r", "x")
    lane.pump()
    return lane, Slot(lane, "r", "x", 0)


def test_a_request_that_waits_or_backs_off_holds_no_slot():
    async def scenario():
        clock = FakeClock(auto=False)
        lane, slot = slot_of()
        current_slot.set(slot)
        limit = Limiter(1, clock)
        policy = Policy(clock, limits=[limit], retry=RetryPolicy(1, 10))
        service = Service(clock, busy())
        seen = []
        task = asyncio.create_task(ask(policy, service))
        for _ in range(9):
            await asyncio.sleep(0)
        seen.append((slot.state, slot.cause, slot.until_ns / 1e9, lane.parked["r"]))
        await clock.advance(10)
        seen.append((slot.state, lane.parked["r"]))
        await clock.advance(51)
        await task
        seen.append((slot.state, slot.cause, lane.parked["r"]))
        return seen

    assert asyncio.run(scenario()) == [("backoff", "http-429", 10.0, 1), ("limit", 1), ("running", "", 0)]


def test_a_cancelled_wait_gives_its_tokens_back():
    async def scenario():
        clock = FakeClock(auto=False)
        first, second = Limiter(1, clock), Limiter(1, clock)
        (await second.reserve()).stamp()
        task = asyncio.create_task(ask(Policy(clock, limits=[first, second]), Service(clock)))
        for _ in range(5):
            await asyncio.sleep(0)
        assert first.try_reserve() is None
        task.cancel()
        with pytest.raises(asyncio.CancelledError):
            await task
        assert first.try_reserve() is not None

    asyncio.run(scenario())


def test_a_gate_bounds_requests_in_flight():
    async def scenario():
        clock = FakeClock(auto=False)
        gate = asyncio.Semaphore(2)
        policy = Policy(clock, gate=gate, purpose="judge")
        service = Service(clock, takes=1)
        tasks = [asyncio.create_task(ask(policy, service)) for _ in range(5)]
        for _ in range(4):
            await asyncio.sleep(0.001)
            await clock.advance(1)
        done = await asyncio.gather(*tasks)
        assert {record.purpose for _, records in done for record in records} == {"judge"}
        return service.asked

    assert asyncio.run(scenario()) == [0, 0, 1, 1, 2]


class Spending:
    def __init__(self, log):
        self._log = log

    def settle(self, usage):
        self._log.append(("settled", usage))

    def release(self):
        self._log.append(("released", None))


class Budget:
    """Lets a number of tries pass."""

    def __init__(self, left):
        self._left = left
        self.asked = []
        self.log = []

    async def reserve(self, run, weight):
        self.asked.append((run.name, weight))
        if not self._left:
            raise ProviderError("the budget is spent", transient=False, cause="budget")
        self._left -= 1
        return Spending(self.log)


RUN = Run("r", "p", "m")


def test_a_budget_is_asked_before_every_try():
    clock = FakeClock()
    budget = Budget(1)
    service = Service(clock, busy())
    policy = Policy(clock, retry=RetryPolicy(3, 1), hooks=PolicyHooks(budget=budget), run=RUN)
    with pytest.raises(ProviderError, match="the budget is spent") as caught:
        asyncio.run(ask(policy, service, weigh=lambda: 99))
    assert len(service.asked) == 1
    assert budget.asked == [("r", 99), ("r", 99)]
    assert budget.log == [("released", None)]  # a 429 is not billed
    assert [record.cause for record in caught.value.requests] == ["http-429"]  # the refused try was never sent


@pytest.mark.parametrize(
    "outcome, is_settled",
    [
        (TransportError("cut", transient=False, cause="stream-cut"), True),
        (TransportError("slow", transient=False, cause="timeout-first-byte"), True),
        (asyncio.CancelledError(), True),
        (TransportError("down", transient=False, cause="connect"), False),
        (ApiError("no", transient=False, status=400), False),
    ],
)
def test_a_try_that_may_have_been_billed_counts_as_expected(outcome, is_settled):
    clock = FakeClock()
    budget = Budget(1)
    with pytest.raises((ProviderError, asyncio.CancelledError)):
        asyncio.run(ask(Policy(clock, hooks=PolicyHooks(budget=budget), run=RUN), Service(clock, outcome)))
    assert budget.log == [("settled", None) if is_settled else ("released", None)]


def test_a_reply_is_settled_by_what_it_took_also_when_it_cannot_be_read():
    clock = FakeClock()
    budget = Budget(3)
    policy = Policy(clock, hooks=PolicyHooks(budget=budget), run=RUN)
    asyncio.run(ask(policy, Service(clock), read=lambda reply: ReplyFacts(Usage(3, 4))))
    asyncio.run(ask(policy, Service(clock)))

    def fail(reply):
        raise ReplyError("no choices")

    with pytest.raises(ReplyError) as caught:
        asyncio.run(ask(policy, Service(clock), read=fail))
    assert budget.log == [("settled", Usage(3, 4)), ("settled", None), ("settled", None)]
    assert len(caught.value.requests) == 1
    assert caught.value.request_id == "req"


class Cache:
    is_read_only = False

    def __init__(self):
        self.kept = {}

    async def get(self, key):
        return self.kept.get(str(key))

    async def put(self, key, reply):
        self.kept[str(key)] = reply


def test_a_cached_reply_sends_nothing():
    clock = FakeClock()
    service, budget = Service(clock), Budget(2)
    policy = Policy(
        clock, limits=[Limiter(1, clock)], hooks=PolicyHooks(budget=budget, cache=Cache()), run=RUN, purpose="judge"
    )
    _, (first,) = asyncio.run(ask(policy, service, cache_key={"body": 1}))
    reply, (second,) = asyncio.run(ask(policy, service, cache_key={"body": 1}, turn=4))
    assert reply == Reply()
    assert (first.cached, second.cached) == (False, True)
    assert (second.turn, second.purpose, second.status, second.duration_ns, second.waited_ns) == (4, "judge", 200, 7, 0)
    asyncio.run(ask(policy, service))  # without a key nothing is looked up
    assert len(service.asked) == len(budget.asked) == 2


def test_repeats_never_share_a_reply():
    clock = FakeClock()
    service = Service(clock)
    policy = Policy(clock, hooks=PolicyHooks(cache=Cache()))

    async def repeat(index):
        current_repeat.set(index)
        return await ask(policy, service, cache_key={"body": 1})

    for index in (None, 1, 2, 1):
        asyncio.run(repeat(index))
    assert len(service.asked) == 3


@pytest.mark.parametrize(
    "purpose, misfits, is_kept",
    [
        ("candidate", (), True),
        ("candidate", ("wrong type",), True),
        ("judge", ("wrong type",), False),
        ("judge", (), True),
        ("candidate", ReplyError("refused"), False),
    ],
)
def test_only_replies_that_are_answers_are_kept(purpose, misfits, is_kept):
    clock, cache = FakeClock(), Cache()

    def look():
        if isinstance(misfits, Exception):
            raise misfits
        return misfits

    policy = Policy(clock, hooks=PolicyHooks(cache=cache))
    asyncio.run(
        ask(policy, Service(clock), purpose=purpose, cache_key={"b": 1}, read=lambda reply: ReplyFacts(misfits=look))
    )
    assert bool(cache.kept) is is_kept
