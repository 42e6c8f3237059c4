"""The loop in its thread: order, futures that always end, cancels, closing, crashes, status, cost."""

from __future__ import annotations

import asyncio
import concurrent.futures
import gc
import threading
import time

import pytest

from pytest_mindtrial.core.errors import InternalError
from pytest_mindtrial.core.values import Kind
from pytest_mindtrial.engine.loop import EngineLoop
from pytest_mindtrial.engine.slots import current_slot


class Attempts:
    """Makes results by a coroutine function; ends when ``gate`` is opened, if there is one."""

    def __init__(self, make):
        self._make = make
        self.begun = []
        self.cancelled = []
        self.closed = 0
        self.closing = None

    async def run(self, plan):
        self.begun.append(plan.task.name)
        try:
            return await self._make(plan)
        except asyncio.CancelledError:
            self.cancelled.append(plan.task.name)
            raise

    async def close(self):
        self.closed += 1
        if self.closing is not None:
            await self.closing()


@pytest.fixture
def engines():
    """Make engines that are closed at the end, whatever happens."""
    made = []

    def make(attempts, **options):
        engine = EngineLoop(attempts, **options)
        made.append(engine)
        engine.start()
        return engine

    yield make
    for engine in made:
        assert engine.close(2)


@pytest.fixture
def simple(result_of):
    async def make(plan):
        await asyncio.sleep(0)
        return result_of(plan, Kind.ERROR if plan.task.name == "bad" else Kind.PASSED)

    return Attempts(make)


@pytest.fixture
def endless():
    async def make(plan):
        await asyncio.Event().wait()

    return Attempts(make)


def wait_until(condition, timeout=5):
    deadline = time.monotonic() + timeout
    while not condition():
        assert time.monotonic() < deadline, "did not happen in time"
        time.sleep(0.002)


def test_futures_get_their_results_and_observers_hear_first(engines, simple, make_plan):
    heard = []
    threads = set()

    def on_result(result):
        heard.append(result.task)
        threads.add(threading.current_thread().name)

    engine = engines(simple, on_result=on_result)
    futures = engine.submit_many(make_plan(f"t{number}") for number in range(50))
    assert [future.result(5).task for future in futures] == [f"t{number}" for number in range(50)]
    assert sorted(heard) == sorted(f"t{number}" for number in range(50))
    assert threads == {"mindtrial-engine"}
    assert engine.unfinished() == 0
    assert engine.dump() == ""


def test_a_limit_of_one_runs_in_order_one_at_a_time(engines, make_plan, result_of):
    active = []
    most = []

    async def make(plan):
        active.append(plan)
        most.append(len(active))
        await asyncio.sleep(0.001)
        active.remove(plan)
        return result_of(plan)

    attempts = Attempts(make)
    engine = engines(attempts, concurrency=1)
    plans = [make_plan(f"t{number}", run=f"r{number % 3}") for number in range(12)]
    concurrent.futures.wait(engine.submit_many(plans), 5)
    assert attempts.begun == [f"t{number}" for number in range(12)]
    assert max(most) == 1


def test_concurrency_is_per_provider_entry(engines, endless, make_plan):
    engine = engines(endless, concurrency={"a": 2, "": 1})
    plans = [
        make_plan(f"{entry}{index}{number}", provider=entry, index=index)
        for entry, index in (("a", 0), ("a", 1), ("b", 2))
        for number in range(4)
    ]
    engine.submit_many(plans)
    wait_until(lambda: len(endless.begun) == 5)
    assert engine.limit(plans[0].provider) == 2
    assert engine.limit(plans[-1].provider) == 1
    assert engine.unfinished(plans[0].provider) == 4
    assert engine.room(plans[0].provider) == 0
    assert [(status.provider, status.in_flight, status.queued) for status in engine.status()] == [
        ("a", 2, 2),
        ("a", 2, 2),
        ("b", 1, 3),
    ]


def test_room_shrinks_by_unfinished_attempts_and_grows_by_waiting_ones(engines, make_plan):
    async def make(plan):
        current_slot.get().leave("limit")
        await asyncio.Event().wait()

    engine = engines(Attempts(make), concurrency=3)
    plan = make_plan()
    assert engine.room(plan.provider) == 6
    engine.submit_many([plan, plan])
    wait_until(lambda: engine.status() and engine.status()[0].waiting_limit == 2)
    assert engine.room(plan.provider) == 6


def test_status_and_dump_tell_what_attempts_do(engines, make_plan, result_of):
    async def make(plan):
        slot = current_slot.get()
        match plan.task.name:
            case "limit":
                slot.leave("limit")
            case "backoff":
                slot.leave("backoff", "http-429", slot.started_ns + 60_000_000_000)
            case "turn":
                slot.turn = 3
            case "done" | "bad":
                return result_of(plan, Kind.ERROR if plan.task.name == "bad" else Kind.PASSED)
        await asyncio.Event().wait()

    engine = engines(Attempts(make), concurrency=9)
    engine.submit_many(make_plan(name) for name in ("done", "bad", "limit", "backoff", "turn", "fresh"))
    wait_until(lambda: engine.status() and engine.status()[0].done == 2 and len(engine.dump().splitlines()) == 4)
    (status,) = engine.status()
    assert (status.in_flight, status.waiting_limit, status.queued, status.done, status.errors) == (2, 1, 0, 2, 1)
    (backoff,) = status.backing_off
    assert backoff.cause == "http-429"
    assert 50 < backoff.seconds <= 60
    dump = engine.dump()
    assert "tasks.yaml::limit[mock-run]: 0." in dump
    assert "waiting for the rate limit" in dump
    assert "backing off (http-429, " in dump
    assert "turn 3" in dump
    assert "preparing" in dump


def test_cancel_by_node_id_reaches_queued_and_running_attempts(engines, endless, make_plan):
    engine = engines(endless, concurrency=1)
    first, second, third = (make_plan(name) for name in ("one", "two", "three"))
    futures = engine.submit_many([first, second, third])
    wait_until(lambda: endless.begun == ["one"])
    engine.cancel(first.nodeid, second.nodeid)
    for future in futures[:2]:
        with pytest.raises(concurrent.futures.CancelledError):
            future.result(5)
    wait_until(lambda: endless.begun == ["one", "three"])
    assert endless.cancelled == ["one"]
    assert engine.unfinished() == 1


def test_cancel_pending_leaves_running_attempts_alone(engines, endless, make_plan):
    engine = engines(endless, concurrency=1)
    first, second = engine.submit_many([make_plan("one"), make_plan("two")])
    wait_until(lambda: endless.begun == ["one"])
    engine.cancel_pending()
    with pytest.raises(concurrent.futures.CancelledError):
        second.result(5)
    assert not first.done()
    assert endless.begun == ["one"]


def test_a_future_given_up_before_its_start_is_not_run(engines, endless, make_plan):
    engine = engines(endless, concurrency=1)
    first, second, _third = engine.submit_many(make_plan(name) for name in ("one", "two", "three"))
    wait_until(lambda: endless.begun == ["one"])
    assert second.cancel()
    engine.cancel(make_plan("one").nodeid)
    wait_until(lambda: endless.begun == ["one", "three"])
    assert engine.unfinished() == 1
    assert first.cancelled()


def test_a_future_given_up_during_the_attempt_still_reaches_the_observer(engines, make_plan, result_of):
    opened = threading.Event()
    heard = []

    async def make(plan):
        await asyncio.get_running_loop().run_in_executor(None, opened.wait)
        return result_of(plan)

    attempts = Attempts(make)
    engine = engines(attempts, on_result=heard.append)
    future = engine.submit(make_plan())
    wait_until(lambda: attempts.begun)
    assert future.cancel()
    opened.set()
    wait_until(lambda: heard)


def test_an_observer_that_fails_is_remembered_and_the_result_delivered(engines, simple, make_plan):
    def on_result(result):
        raise OSError(f"disk full at {result.task}")

    engine = engines(simple, on_result=on_result)
    assert engine.submit(make_plan("one")).result(5).task == "one"
    assert engine.submit(make_plan("two")).result(5).task == "two"
    assert str(engine.observer_error) == "disk full at one"


def test_an_observer_may_submit_and_sees_the_room_it_has(engines, simple, make_plan):
    rooms = []

    def on_result(result):
        rooms.append(engine.room(make_plan().provider))
        if len(rooms) < 3:
            engine.submit(make_plan(f"next{len(rooms)}"))

    engine = engines(simple, concurrency=2, on_result=on_result)
    engine.submit(make_plan())
    wait_until(lambda: len(rooms) == 3)
    assert rooms == [4, 4, 4]


def test_a_runner_that_raises_fails_the_future_only(engines, make_plan, result_of):
    async def make(plan):
        if plan.task.name == "bad":
            raise SystemExit(3)
        return result_of(plan)

    engine = engines(Attempts(make))
    bad, good = engine.submit_many([make_plan("bad"), make_plan("good")])
    with pytest.raises(InternalError, match=r"could not be made: SystemExit: 3"):
        bad.result(5)
    assert good.result(5).task == "good"
    assert engine.is_alive


def test_close_cancels_everything_and_leaves_nothing(endless, make_plan, recwarn):
    before = set(threading.enumerate())
    engine = EngineLoop(endless, concurrency=3)
    engine.start()
    engine.start()
    futures = engine.submit_many(make_plan(f"t{number}") for number in range(8))
    wait_until(lambda: len(endless.begun) == 3)
    began = time.monotonic()
    assert engine.close(2)
    assert time.monotonic() - began < 1
    assert all(future.cancelled() for future in futures)
    assert len(endless.cancelled) == 3
    assert len(endless.begun) == 3
    assert endless.closed == 1
    assert set(threading.enumerate()) == before
    assert not engine.is_alive
    assert engine.close(2)
    gc.collect()
    assert not recwarn.list


def test_close_waits_for_an_attempt_that_cleans_up(make_plan):
    cleaned = []

    async def make(plan):
        try:
            await asyncio.Event().wait()
        finally:
            await asyncio.sleep(0.05)
            cleaned.append(plan.task.name)

    attempts = Attempts(make)
    engine = EngineLoop(attempts)
    engine.start()
    engine.submit(make_plan("one"))
    wait_until(lambda: attempts.begun)
    assert engine.close(2)
    assert cleaned == ["one"]


def test_close_gives_up_on_what_does_not_end(make_plan, recwarn):
    async def stubborn():
        while True:
            try:
                await asyncio.sleep(30)
            except asyncio.CancelledError:
                continue

    async def make(plan):
        await stubborn()

    attempts = Attempts(make)
    attempts.closing = stubborn
    engine = EngineLoop(attempts)
    engine.start()
    future = engine.submit(make_plan())
    wait_until(lambda: attempts.begun)
    began = time.monotonic()
    engine.close(0.4)
    assert time.monotonic() - began < 1
    assert future.cancelled()
    gc.collect()
    assert not recwarn.list


def test_a_blocked_thread_is_reported(make_plan):
    blocked = threading.Event()

    async def make(plan):
        blocked.wait()

    attempts = Attempts(make)
    engine = EngineLoop(attempts)
    engine.start()
    engine.submit(make_plan())
    wait_until(lambda: attempts.begun)
    assert not engine.close(0.01)
    blocked.set()
    assert engine.close(2)


def test_a_crash_fails_every_waiting_future(endless, make_plan, monkeypatch):
    engine = EngineLoop(endless, concurrency=1)
    engine.start()
    running, queued = engine.submit_many([make_plan("one"), make_plan("two")])
    wait_until(lambda: endless.begun)

    def broken(ticket):
        raise MemoryError("no more lanes")

    monkeypatch.setattr(engine, "_lane", broken)
    late = engine.submit(make_plan("three", provider="other", index=5))
    for future in (running, queued, late):
        with pytest.raises(InternalError, match="the engine has died: MemoryError: no more lanes"):
            future.result(5)
    wait_until(lambda: not engine.is_alive)
    with pytest.raises(InternalError, match="has died"):
        engine.submit(make_plan()).result(0)
    assert engine.close(2)


def test_an_engine_that_does_not_run_refuses(simple, make_plan):
    engine = EngineLoop(simple)
    with pytest.raises(InternalError, match="was not started"):
        engine.submit(make_plan()).result(0)
    engine.cancel("x")
    assert engine.close()
    assert engine.status() == []
    engine.start()
    engine.close()
    for future in (engine.submit(make_plan()), engine.run(lambda: asyncio.sleep(0))):
        with pytest.raises(InternalError, match="is closed"):
            future.result(0)


def test_coroutines_run_in_the_loop(engines, simple):
    async def where():
        return threading.current_thread().name

    assert engines(simple).run(where).result(5) == "mindtrial-engine"


def test_the_engine_itself_is_cheap(engines, make_plan, result_of):
    """Budget: 0.15 ms CPU per attempt; the bound here is wider, because test machines are shared."""

    async def make(plan):
        return result_of(plan)

    engine = engines(Attempts(make), concurrency=50)
    plans = [make_plan(f"t{number}") for number in range(5000)]
    began = time.process_time()
    concurrent.futures.wait(engine.submit_many(plans), 30)
    assert (time.process_time() - began) / len(plans) < 0.5e-3
