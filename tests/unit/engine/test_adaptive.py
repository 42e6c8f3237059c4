"""Concurrency that follows the service: growth, halving, recovery, and what it does to a lane."""

from __future__ import annotations

import asyncio

import pytest

from pytest_mindtrial.core.clock import FakeClock
from pytest_mindtrial.core.errors import ApiError
from pytest_mindtrial.core.record import RequestRecord
from pytest_mindtrial.engine.adaptive import START, AdaptiveLimit, is_overload
from pytest_mindtrial.engine.concurrency import limit_of, setting_of
from pytest_mindtrial.engine.requests import Policy
from pytest_mindtrial.engine.slots import Lane, Slot, current_slot
from pytest_mindtrial.providers.transport import Reply
from pytest_mindtrial.suite.model import ClientConfig, Provider, RetryPolicy


def round_of(limit: AdaptiveLimit) -> int:
    """Answer as many requests as may be under way at once."""
    under_way = limit.value
    for _ in range(under_way):
        limit.answered(limit.value)
    return limit.value


def test_it_doubles_per_round_until_the_first_refusal_and_then_grows_by_one():
    limit = AdaptiveLimit(start=4)
    assert [round_of(limit) for _ in range(3)] == [8, 16, 32]
    assert limit.refused(32) == 16
    for _ in range(31):  # those that were under way
        limit.answered(16)
    assert limit.value == 16
    assert [round_of(limit) for _ in range(3)] == [17, 18, 19]


def test_refusals_of_one_round_halve_once_and_of_the_next_once_more():
    limit = AdaptiveLimit(start=16)
    for _ in range(16):
        limit.refused(16)
    assert (limit.value, limit.cuts) == (8, 1)
    for _ in range(8):
        limit.refused(8)
    assert (limit.value, limit.cuts) == (4, 2)


def test_it_never_falls_below_one_nor_rises_above_the_largest():
    limit = AdaptiveLimit(start=1, largest=3)
    limit.refused(1)
    assert limit.value == 1
    for _ in range(50):
        limit.answered(limit.value)
    assert limit.value == 3


def test_it_does_not_grow_while_slots_are_free():
    limit = AdaptiveLimit(start=4)
    for _ in range(20):
        limit.answered(3)
    assert limit.value == 4


@pytest.mark.parametrize(
    ("status", "transient", "expected"),
    [(429, True, True), (503, True, True), (529, True, True), (500, True, False), (429, False, False)],
)
def test_what_counts_as_overload(status, transient, expected):
    assert is_overload(ApiError("x", transient=transient, status=status)) is expected


def provider(name):
    return Provider(name, 0, ClientConfig(), ())


@pytest.mark.parametrize(
    ("concurrency", "name", "setting", "limit"),
    [
        (5, "openai", 5, 5),
        (0, "openai", 1, 1),
        ("auto", "openai", "auto", START),
        ({"": 7, "local": 1}, "local", 1, 1),
        ({"": 7, "local": 1}, "openai", 7, 7),
        ({"openai": "auto"}, "openai", "auto", START),
        ({"openai": "auto"}, "google", 10, 10),
    ],
)
def test_setting_of_a_provider(concurrency, name, setting, limit):
    assert setting_of(concurrency, provider(name)) == setting
    assert limit_of(concurrency, provider(name)) == limit


def test_a_lane_starts_more_when_it_grows_and_fewer_when_it_is_cut():
    started = []
    lane = Lane("p", 0, lambda lane, run, item: started.append(Slot(lane, run, item, 0)) or True, AdaptiveLimit(2))
    for number in range(12):
        lane.add("r", f"{number}")
    lane.pump()
    assert len(started) == 2
    started[0].heard(is_overload=False)
    assert (lane.limit, len(started)) == (3, 3)
    started[1].heard(is_overload=True)
    assert lane.limit == 1
    for slot in started[:3]:
        slot.end()
    assert len(started) == 4  # one more, where there were three


def test_an_adaptive_lane_of_one_gives_its_slot_away_while_it_waits():
    started = []
    lane = Lane("p", 0, lambda lane, run, item: started.append(Slot(lane, run, item, 0)) or True, AdaptiveLimit(1))
    for run, item in (("r", "a"), ("r", "b"), ("s", "c")):
        lane.add(run, item)
    lane.pump()
    started[0].leave("backoff")
    assert [slot.label for slot in started] == ["a", "c"]  # of the run that waits no further one


def test_a_policy_tells_the_lane_about_candidates_only(monkeypatch):
    heard = []
    monkeypatch.setattr(Slot, "heard", lambda self, *, is_overload: heard.append(is_overload))
    outcomes = [
        ApiError("slow down", transient=True, status=429),
        ApiError("broken", transient=True, status=500),
        Reply(200, {}, {}, None, 1, 1),
    ]

    async def send():
        outcome = outcomes.pop(0)
        if isinstance(outcome, Exception):
            raise outcome
        return outcome

    async def run(purpose):
        lane = Lane("p", 4, lambda *_: True)
        lane.add("r", "x")
        lane.pump()
        current_slot.set(Slot(lane, "r", "x", 0))
        policy = Policy(FakeClock(auto=True), retry=RetryPolicy(3, 1), purpose=purpose)
        return await policy.execute(send, turn=1, purpose="candidate")

    replies = list(outcomes)
    _, records = asyncio.run(run(""))
    assert heard == [True, False]
    assert [type(record) for record in records] == [RequestRecord] * 3
    heard.clear()
    outcomes.extend(replies)
    asyncio.run(run("judge"))
    assert heard == []
