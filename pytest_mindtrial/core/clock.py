"""Time as a dependency: everything that waits or stamps takes a `Clock`.

Does not format times. Tests use `FakeClock`, so that no test sleeps.
"""

from __future__ import annotations

import asyncio
import heapq
import itertools
import time
from datetime import UTC, datetime, timedelta
from typing import Protocol

__all__ = ["Clock", "FakeClock", "SystemClock"]


class Clock(Protocol):
    """What waiting and stamping code needs.

    Invariant: `monotonic_ns` never goes back; `now` may (clock jumps) and is used for stamps only.
    """

    def monotonic_ns(self) -> int:
        """Return nanoseconds that never go back."""

    def now(self) -> datetime:
        """Return the wall time with a zone."""

    async def sleep(self, seconds: float) -> None:
        """Wait; zero and negative values yield once."""


class SystemClock:
    """The machine's own clock."""

    def monotonic_ns(self) -> int:
        """Return nanoseconds that never go back."""
        return time.monotonic_ns()

    def now(self) -> datetime:
        """Return the local wall time with its zone."""
        return datetime.now().astimezone()

    async def sleep(self, seconds: float) -> None:
        """Wait in the running loop."""
        await asyncio.sleep(max(0.0, seconds))


class FakeClock:
    """A clock that moves only when told, or by itself as soon as every sleeper waits.

    Args:
        start: First value of `now`; also the zero of the monotonic time.
        auto: When true, a sleep moves the time at once (single-task tests); else `advance` wakes sleepers in order.
    """

    def __init__(self, start: datetime = datetime(2026, 1, 2, 3, 4, 5, tzinfo=UTC), *, auto: bool = True) -> None:
        self._start = start
        self._elapsed_ns = 0
        self._auto = auto
        self._sleepers: list[tuple[int, int, asyncio.Future[None]]] = []
        self._order = itertools.count()
        self.slept: list[float] = []

    def monotonic_ns(self) -> int:
        """Return the nanoseconds moved so far."""
        return self._elapsed_ns

    def now(self) -> datetime:
        """Return start plus the time moved so far."""
        return self._start + timedelta(microseconds=self._elapsed_ns // 1000)

    async def sleep(self, seconds: float) -> None:
        """Record the wait and move (auto) or park until `advance` passes the deadline."""
        self.slept.append(seconds)
        if self._auto or seconds <= 0:
            self._elapsed_ns += max(0, round(seconds * 1e9))
            await asyncio.sleep(0)
            return
        future: asyncio.Future[None] = asyncio.get_running_loop().create_future()
        heapq.heappush(self._sleepers, (self._elapsed_ns + round(seconds * 1e9), next(self._order), future))
        await future

    async def advance(self, seconds: float) -> None:
        """Move the time and wake, in order of their deadlines, all sleepers that are due."""
        target = self._elapsed_ns + round(seconds * 1e9)
        while self._sleepers and self._sleepers[0][0] <= target:
            deadline, _, future = heapq.heappop(self._sleepers)
            self._elapsed_ns = max(self._elapsed_ns, deadline)
            if not future.done():
                future.set_result(None)
            for _ in range(10):
                await asyncio.sleep(0)
        self._elapsed_ns = target
