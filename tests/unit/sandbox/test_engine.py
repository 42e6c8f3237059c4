"""The loop's view of blocking calls: bounded, translated, never abandoned."""

from __future__ import annotations

import asyncio
import threading
from typing import Any

import pytest

from pytest_mindtrial.sandbox.connection import EngineFailure


def refusing(exception: Exception) -> Any:
    def call() -> None:
        raise exception

    return call


def test_failures_name_the_action(resources: Any, error: Any) -> None:
    engine = resources.engine

    async def work() -> None:
        assert await engine.quick("a", lambda x, y: x + y, 1, y=2) == 3
        assert await engine.gated("a", lambda: 4) == 4
        for start in (engine.quick, engine.gated, engine.begin):
            with pytest.raises(EngineFailure, match="could not do it: no"):
                await start("do it", refusing(error(500)))

    asyncio.run(work())


def test_a_cancelled_call_is_waited_for(resources: Any) -> None:
    entered, go_on, ended = threading.Event(), threading.Event(), threading.Event()

    def call() -> None:
        entered.set()
        go_on.wait(10)
        ended.set()

    async def work() -> None:
        task = asyncio.ensure_future(resources.engine.quick("a", call))
        await asyncio.to_thread(entered.wait, 10)
        task.cancel()
        await asyncio.sleep(0)
        task.cancel()
        await asyncio.sleep(0.01)
        assert not task.done()
        go_on.set()
        with pytest.raises(asyncio.CancelledError):
            await task
        assert ended.is_set()

    asyncio.run(work())


def test_a_cancelled_call_that_fails_is_a_cancellation(resources: Any, error: Any) -> None:
    entered, go_on = threading.Event(), threading.Event()

    def call() -> None:
        entered.set()
        go_on.wait(10)
        raise error(500)

    async def work() -> None:
        task = asyncio.ensure_future(resources.engine.quick("a", call))
        await asyncio.to_thread(entered.wait, 10)
        task.cancel()
        await asyncio.sleep(0)
        go_on.set()
        with pytest.raises(asyncio.CancelledError):
            await task

    asyncio.run(work())


def test_a_call_that_has_not_begun_is_dropped_unless_it_cleans_up(resources: Any) -> None:
    engine, go_on, done = resources.engine, threading.Event(), []

    async def work() -> None:
        for _ in range(8):
            engine._quick.submit(go_on.wait, 10)
        dropped = asyncio.ensure_future(engine.quick("a", done.append, "dropped"))
        kept = asyncio.ensure_future(engine.surely(done.append, "kept"))
        await asyncio.sleep(0)
        dropped.cancel()
        kept.cancel()
        with pytest.raises(asyncio.CancelledError):
            await dropped
        go_on.set()
        with pytest.raises(asyncio.CancelledError):
            await kept

    asyncio.run(work())
    assert done == ["kept"]


def test_removal_never_raises(resources: Any, fake: Any, error: Any) -> None:
    fake.failures["remove_volume"] = [error(500, "broken"), RuntimeError("ours")]

    async def work() -> list[Any]:
        return [await resources.engine.remove("volume", "v") for _ in range(3)]

    assert asyncio.run(work()) == [
        "volume v could not be removed: broken", "volume v could not be removed: ours", None,
    ]  # fmt: skip


def test_nobody_needs_to_look_at_a_run_that_failed(resources: Any, recwarn: pytest.WarningsRecorder) -> None:
    async def work() -> None:
        future = resources.engine.begin("a", refusing(RuntimeError()))
        await asyncio.wait({future})

    asyncio.run(work())
    assert list(recwarn) == []
