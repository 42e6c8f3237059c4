"""Blocking code beside the loop: a daemon thread per call.

Not a pool: a pool's threads outlive the call and are joined at interpreter exit, so that one blocked download or one
user function that never returns would keep the process. Does not limit how many calls run; slots do.
"""

from __future__ import annotations

import asyncio
import contextlib
import contextvars
import threading
from collections.abc import Callable
from typing import Any, TypeVar

__all__ = ["in_thread", "was_cancelled"]

T = TypeVar("T")


def was_cancelled(error: BaseException) -> bool:
    """Tell a cancel of the running task from a `asyncio.CancelledError` that the user's code let escape."""
    task = asyncio.current_task()
    return isinstance(error, asyncio.CancelledError) and (task is None or task.cancelling() > 0)


async def in_thread(function: Callable[[], T]) -> T:
    """Call a function in a thread of its own, with the caller's context variables, and return its value.

    A cancelled caller does not stop the thread; its value is then dropped.
    """
    loop = asyncio.get_running_loop()
    future: asyncio.Future[T] = loop.create_future()
    context = contextvars.copy_context()

    def report(settle: Callable[[Any], None], value: Any) -> None:
        if not future.done():
            settle(value)

    def work() -> None:
        settle: Callable[[Any], None] = future.set_result
        try:
            value: Any = context.run(function)
        except (StopIteration, GeneratorExit) as error:  # a future cannot carry them
            settle, value = future.set_exception, RuntimeError(f"the function raised {error!r}")
        except BaseException as error:
            settle, value = future.set_exception, error
        with contextlib.suppress(RuntimeError):  # the loop is closed; nobody waits
            loop.call_soon_threadsafe(report, settle, value)

    threading.Thread(target=work, name="mindtrial-call", daemon=True).start()
    return await future
