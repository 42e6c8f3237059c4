"""The Docker engine as the event loop sees it: blocking calls in bounded threads, never abandoned half way.

Short calls share a few threads. Calls that make containers or networks pass a gate of about two per core, because more
at once only make each slower (spec docker 11.3). Calls that last as long as a process get a daemon thread each, so
that a forgotten one cannot keep the interpreter alive. Does not know tools or services. Source: spec docker 10, 12.
"""

from __future__ import annotations

import asyncio
import threading
from collections.abc import Callable
from concurrent.futures import Future, ThreadPoolExecutor
from functools import partial
from typing import Any, ParamSpec, TypeVar

from pytest_mindtrial.sandbox.connection import translated
from pytest_mindtrial.sandbox.removal import remove_one
from pytest_mindtrial.sandbox.settings import SandboxSettings

__all__ = ["Engine", "finished"]

P = ParamSpec("P")
T = TypeVar("T")

_QUICK_THREADS = 8
_RUNNING_PROCESSES = 200


class Engine:
    """A connected engine, shared by all attempts of the process.

    Args:
        client: A low-level docker-py client that may be used from many threads.
        settings: For the removal budget.

    Attributes:
        client: The client.
        cpus: Processors of the engine's machine (not of ours).
        seen_images: Images whose identity was logged already.
        slots: Bounds the processes that run at once; taken by a launch, given back when the process has ended.
    """

    def __init__(self, client: Any, settings: SandboxSettings) -> None:
        self.client = client
        with translated("tell about itself"):
            self.cpus = int(client.info()["NCPU"])
        self.seen_images: set[str] = set()
        self.slots = threading.BoundedSemaphore(_RUNNING_PROCESSES)
        self._budget_s = settings.removal_budget_s
        self._quick = ThreadPoolExecutor(_QUICK_THREADS, "mt-docker")
        self._gate = ThreadPoolExecutor(max(2, 2 * self.cpus), "mt-docker-gate")

    async def quick(self, action: str, call: Callable[P, T], *args: P.args, **kwargs: P.kwargs) -> T:
        """Run a short blocking call; when cancelled, wait for its end first.

        Args:
            action: For the error, as in "the Docker engine could not ACTION".
            call: The blocking function.
            args: Its arguments.
            kwargs: Its keyword arguments.

        Raises:
            EngineFailure: The engine refused or did not answer.
        """
        return await finished(self._quick.submit(partial(_translating, action, call, *args, **kwargs)))

    async def gated(self, action: str, call: Callable[P, T], *args: P.args, **kwargs: P.kwargs) -> T:
        """Run a call that makes a container or network, a few at a time; else as `quick`."""
        return await finished(self._gate.submit(partial(_translating, action, call, *args, **kwargs)))

    def begin(self, action: str, call: Callable[P, T], *args: P.args, **kwargs: P.kwargs) -> asyncio.Future[T]:
        """Start a call that may last as long as a process, in a thread of its own; the caller watches the future."""
        future: Future[T] = Future()

        def work() -> None:
            try:
                result = _translating(action, call, *args, **kwargs)
            except BaseException as error:
                future.set_exception(error)
            else:
                future.set_result(result)

        threading.Thread(target=work, name="mt-docker-run", daemon=True).start()
        watched = asyncio.wrap_future(future)
        # A process that was stopped leaves an exception nobody asks for; asking here keeps asyncio from warning.
        watched.add_done_callback(lambda done: done.cancelled() or done.exception())
        return watched

    async def remove(self, kind: str, name: str) -> str | None:
        """Remove a container (with its anonymous volumes), network or volume.

        Never raises and cannot be cut short by a cancellation; what resists is told in words and left to the end of
        the session.

        Returns:
            None when the object is gone, else the reason.
        """
        try:
            return await self.surely(remove_one, self.client, kind, name, self._budget_s)
        except Exception as error:
            return f"{kind} {name} could not be removed: {error}"

    async def surely(self, call: Callable[P, T], *args: P.args, **kwargs: P.kwargs) -> T:
        """Run a short call of a clean-up: not even dropped when cancelled before it began."""
        return await finished(self._quick.submit(call, *args, **kwargs), may_drop=False)

    def close(self) -> None:
        """Wait for the short calls and close the connection."""
        self._gate.shutdown(cancel_futures=True)
        self._quick.shutdown()
        self.client.close()


async def finished(work: Future[T], *, may_drop: bool = True) -> T:
    """Wait for the end of a call even while being cancelled; the cancellation is raised afterwards.

    A call that has not begun yet is dropped instead if ``may_drop``. This is what makes clean-up
    possible: nobody removes a container while a thread is still about to create it.
    """
    watched = asyncio.wrap_future(work)
    cancelled: asyncio.CancelledError | None = None
    while not watched.done():
        try:
            await asyncio.shield(watched)
        except asyncio.CancelledError as error:
            if watched.cancelled():
                raise
            cancelled = error
            if may_drop and work.cancel():
                raise
        except Exception:
            break
    if cancelled is not None:
        watched.exception()
        raise cancelled
    return watched.result()


def _translating(action: str, call: Callable[P, T], *args: P.args, **kwargs: P.kwargs) -> T:
    with translated(action):
        return call(*args, **kwargs)
