"""Blocking code beside the loop."""

from __future__ import annotations

import asyncio
import contextvars
import threading

import pytest

from pytest_mindtrial.engine.threads import in_thread

WHO = contextvars.ContextVar("who", default="nobody")


def test_values_and_context_cross_over():
    async def scenario():
        WHO.set("caller")
        return await in_thread(lambda: (WHO.get(), threading.current_thread().daemon))

    assert asyncio.run(scenario()) == ("caller", True)


@pytest.mark.parametrize(
    "raised, seen", [(ValueError("no"), ValueError), (SystemExit(2), SystemExit), (StopIteration(3), RuntimeError)]
)
def test_exceptions_cross_over(raised, seen):
    def function():
        raise raised

    async def scenario():
        try:
            await in_thread(function)
        except BaseException as error:
            return error

    assert type(asyncio.run(scenario())) is seen


def test_a_cancelled_caller_does_not_wait_and_a_late_value_is_dropped():
    blocked, left = threading.Event(), threading.Event()

    def function():
        blocked.wait(5)
        left.set()

    async def scenario():
        task = asyncio.create_task(in_thread(function))
        await asyncio.sleep(0.01)
        task.cancel()
        with pytest.raises(asyncio.CancelledError):
            await task
        blocked.set()
        while not left.is_set():
            await asyncio.sleep(0.001)
        await asyncio.sleep(0.01)

    asyncio.run(scenario())


def test_a_value_after_the_loop_has_closed_is_dropped():
    blocked = threading.Event()
    threads, tasks = [], []

    def function():
        threads.append(threading.current_thread())
        blocked.wait(5)

    async def scenario():
        tasks.append(asyncio.ensure_future(in_thread(function)))
        while not threads:
            await asyncio.sleep(0.001)

    asyncio.run(scenario())
    blocked.set()
    threads[0].join(5)
    assert not threads[0].is_alive()
