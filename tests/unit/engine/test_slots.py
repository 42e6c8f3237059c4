"""Lanes: order, fairness, giving slots back, cancels that lose none."""

from __future__ import annotations

import asyncio

import pytest

from pytest_mindtrial.engine.slots import Lane, Slot


class Stage:
    """A lane whose items are names; started ones wait until they are ended."""

    def __init__(self, limit):
        self.started = []
        self.slots = {}
        self.unwanted = set()
        self.lane = Lane("p", limit, self.begin)

    def begin(self, lane, run, item):
        if item in self.unwanted:
            return False
        self.started.append(item)
        self.slots[item] = Slot(lane, run, item, 0)
        return True

    def add(self, *items):
        for item in items:
            self.lane.add(item.split("/")[0], item)
        self.lane.pump()

    def end(self, item):
        self.slots[item].end()


def test_runs_take_turns_each_in_its_own_order():
    stage = Stage(2)
    stage.add("a/1", "a/2", "a/3", "b/1", "b/2")
    assert stage.started == ["a/1", "b/1"]
    stage.end("a/1")
    stage.end("b/1")
    stage.end("a/2")
    assert stage.started == ["a/1", "b/1", "a/2", "b/2", "a/3"]
    assert stage.lane.queued == 0


def test_a_limit_of_one_keeps_the_order_of_submission():
    stage = Stage(1)
    stage.add("a/1", "a/2", "b/1")
    for item in ("a/1", "a/2", "b/1"):
        assert stage.started[-1] == item
        stage.slots[item].leave("limit")  # keeps the slot
        assert stage.started[-1] == item
        asyncio.run(stage.slots[item].rejoin())
        assert stage.slots[item].state == "running"
        stage.end(item)


def test_a_limit_below_one_is_one():
    assert Lane("p", 0, lambda *_: True).limit == 1


def test_a_waiting_attempt_lends_its_slot_and_returns_before_new_ones():
    async def scenario():
        stage = Stage(2)
        stage.add("a/1", "a/2", "a/3", "a/4", "a/5")
        stage.slots["a/1"].leave("backoff", "http-429", 5)
        assert stage.started == ["a/1", "a/2", "a/3"]
        back = asyncio.create_task(stage.slots["a/1"].rejoin())
        await asyncio.sleep(0)
        assert stage.slots["a/1"].state == "slot"
        stage.end("a/2")
        await back
        assert stage.slots["a/1"].state == "running"
        assert stage.started == ["a/1", "a/2", "a/3"]
        stage.end("a/1")
        assert stage.started[-1] == "a/4"

    asyncio.run(scenario())


def test_a_free_slot_is_taken_back_at_once():
    async def scenario():
        stage = Stage(2)
        stage.add("a/1")
        stage.slots["a/1"].leave("limit")
        await stage.slots["a/1"].rejoin()
        stage.slots["a/1"].leave("limit")
        stage.slots["a/1"].leave("backoff", "reset")  # lent only once
        await stage.slots["a/1"].rejoin()
        stage.end("a/1")
        stage.add("a/2", "a/3", "a/4")
        assert stage.started == ["a/1", "a/2", "a/3"]

    asyncio.run(scenario())


def test_a_run_whose_attempts_all_wait_starts_no_more():
    stage = Stage(2)
    stage.add("a/1", "a/2", "a/3", "b/1")
    for item in ("a/1", "b/1"):
        assert item in stage.started
    stage.slots["a/1"].leave("limit")
    stage.slots["a/2"].leave("limit")
    assert "a/3" not in stage.started
    stage.end("a/1")
    assert "a/3" in stage.started


def test_a_blocked_run_goes_on_when_one_of_its_attempts_returns():
    async def scenario():
        stage = Stage(2)
        stage.add("a/1", "a/2")
        stage.slots["a/1"].leave("limit")
        stage.slots["a/2"].leave("limit")
        stage.add("a/3")
        assert stage.started == ["a/1", "a/2"]
        await stage.slots["a/1"].rejoin()
        assert stage.started[-1] == "a/3"

    asyncio.run(scenario())


@pytest.mark.parametrize("moment", ["waiting", "granted"])
def test_a_cancelled_return_loses_no_slot(moment):
    async def scenario():
        stage = Stage(2)
        stage.add("a/1", "a/2")
        stage.slots["a/1"].leave("limit")
        stage.add("a/3")
        back = asyncio.create_task(stage.slots["a/1"].rejoin())
        await asyncio.sleep(0)
        if moment == "granted":
            stage.end("a/3")
        back.cancel()
        with pytest.raises(asyncio.CancelledError):
            await back
        stage.end("a/1")
        if moment == "waiting":
            stage.end("a/3")
        stage.end("a/2")
        stage.add("a/4", "a/5", "a/6")
        assert stage.started[-2:] == ["a/4", "a/5"]

    asyncio.run(scenario())


def test_unwanted_items_are_passed_over_without_taking_a_slot():
    stage = Stage(1)
    stage.unwanted = {f"a/{number}" for number in range(5000)}
    stage.add(*stage.unwanted, "a/last")
    assert stage.started == ["a/last"]


def test_queued_items_can_be_removed():
    stage = Stage(2)
    stage.add("a/1", "b/1", "a/2", "a/3", "b/2")
    assert stage.lane.remove(lambda item: item in ("a/2", "b/2")) == ["a/2", "b/2"]
    stage.add("b/3")
    stage.end("a/1")
    stage.end("b/1")
    assert stage.started == ["a/1", "b/1", "a/3", "b/3"]
