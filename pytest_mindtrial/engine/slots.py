"""Concurrency slots: who may run now, per provider entry, in fair order.

A lane holds the queue of one provider entry and at most ``limit`` running attempts. An attempt that waits for a rate
limit or backs off gives its slot back and asks for it again afterwards, ahead of attempts that have not started. Does
not run attempts and does not count requests (``engine/limits.py``). All of it belongs to the engine's loop thread.

Source: design D3 and D5; spec performance 7 (G13).
"""

from __future__ import annotations

import asyncio
from collections import Counter, deque
from collections.abc import Callable
from contextvars import ContextVar
from typing import Generic, Literal, TypeVar

from pytest_mindtrial.engine.adaptive import AdaptiveLimit

__all__ = ["Lane", "Slot", "SlotState", "current_slot"]

SlotState = Literal["running", "limit", "backoff", "slot"]
"""What an attempt does: works, waits for a rate limit, backs off before a retry, waits to get its slot back."""

T = TypeVar("T")


class Slot:
    """An attempt's right to run. Requests in child tasks of the attempt share it.

    Attributes:
        label: Names the attempt for people.
        started_ns: Monotonic start.
        state: What the attempt does now.
        cause: Why it backs off.
        until_ns: Monotonic end of the back-off.
        turn: 1-based turn of the conversation; 0 before the first.
    """

    __slots__ = ("_held", "_key", "_lane", "cause", "label", "started_ns", "state", "turn", "until_ns")

    def __init__(self, lane: Lane[T], key: str, label: str, started_ns: int) -> None:
        self._lane = lane
        self._key = key
        self._held = True
        self.label = label
        self.started_ns = started_ns
        self.state: SlotState = "running"
        self.cause = ""
        self.until_ns = 0
        self.turn = 0

    def leave(self, state: SlotState, cause: str = "", until_ns: int = 0) -> None:
        """Say what the attempt waits for and give the slot to the next in line.

        With a limit of 1 the slot is kept, because a user who asks for 1 wants one attempt after the other.
        """
        self.state, self.cause, self.until_ns = state, cause, until_ns
        if self._held and not self._lane.is_ordered:
            self._held = False
            self._lane.parked[self._key] += 1
            self._lane.release()

    async def rejoin(self) -> None:
        """Wait until the attempt may run again."""
        if not self._held:
            self.state = "slot"
            await self._lane.reacquire(self._mark_held)
        self.state, self.cause = "running", ""

    def heard(self, *, is_overload: bool) -> None:
        """Say that a request of the attempt was answered, or refused because the service has had too much."""
        self._lane.heard(is_overload=is_overload)

    def end(self) -> None:
        """Give everything back; the attempt is over."""
        if self._held:
            self._lane.release()
        else:
            self._lane.parked[self._key] -= 1
            self._lane.pump()

    def _mark_held(self) -> None:
        self._held = True
        self._lane.parked[self._key] -= 1


current_slot: ContextVar[Slot | None] = ContextVar("mindtrial_slot", default=None)
"""Slot of the attempt whose task is running; None outside the engine."""


class Lane(Generic[T]):
    """Queue and slots of one provider entry.

    Order: attempts that want their slot back, then new ones, taking the entry's runs in turn, each run in order of
    submission. With a limit of 1 the order of submission alone counts. A run of which ``limit`` attempts already wait
    for its rate limit starts no further ones, so that waiting attempts do not pile up with files and services in hand.

    Args:
        name: Provider name.
        limit: Most attempts that may run at once, at least 1.
        start: Called with a queued item and its run's name when it may run; it creates the `Slot` and returns True, or
            returns False when the item is no longer wanted.
        adaptive: Changes the limit by what the service says; None = it stays. An adaptive lane is never in order of
            submission, even while its limit is 1.
    """

    def __init__(
        self,
        name: str,
        limit: int,
        start: Callable[[Lane[T], str, T], bool],
        adaptive: AdaptiveLimit | None = None,
    ) -> None:
        self.name = name
        self.limit = adaptive.value if adaptive is not None else max(1, limit)
        self.is_ordered = self.limit == 1 and adaptive is None
        self.adaptive = adaptive
        self.parked: Counter[str] = Counter()
        self._start = start
        self._running = 0
        self._queues: dict[str, deque[T]] = {}
        self._turn_order: deque[str] = deque()
        self._returning: deque[tuple[asyncio.Future[None], Callable[[], None]]] = deque()

    @property
    def queued(self) -> int:
        """Attempts that have not started."""
        return sum(map(len, self._queues.values()))

    def add(self, run: str, item: T) -> None:
        """Queue an item; call `pump` afterwards."""
        key = "" if self.is_ordered else run
        queue = self._queues.get(key)
        if queue is None:
            queue = self._queues[key] = deque()
        if not queue:
            self._turn_order.append(key)
        queue.append(item)

    def remove(self, unwanted: Callable[[T], bool]) -> list[T]:
        """Remove and return the queued items for which ``unwanted`` says so."""
        removed = []
        for queue in self._queues.values():
            kept = [item for item in queue if not unwanted(item)]
            if len(kept) < len(queue):
                removed += [item for item in queue if unwanted(item)]
                queue.clear()
                queue.extend(kept)
        self._turn_order = deque(key for key in self._turn_order if self._queues[key])
        return removed

    def pump(self) -> None:
        """Hand out free slots."""
        while self._running < self.limit:
            if self._returning:
                future, mark_held = self._returning.popleft()
                if not future.done():
                    self._running += 1
                    mark_held()
                    future.set_result(None)
                continue
            key = self._next_run()
            if key is None:
                return
            self._running += 1
            if not self._start(self, key, self._queues[key].popleft()):
                self._running -= 1

    def heard(self, *, is_overload: bool) -> None:
        """Adapt the limit to what the service said to a request."""
        if self.adaptive is not None:
            learn = self.adaptive.refused if is_overload else self.adaptive.answered
            self.limit = learn(self._running)
            self.pump()

    def release(self) -> None:
        """Take a slot back and hand it on."""
        self._running -= 1
        self.pump()

    async def reacquire(self, mark_held: Callable[[], None]) -> None:
        """Wait for a slot; ``mark_held`` is called in the moment it is given, so that a cancel cannot lose it."""
        if self._running < self.limit and not self._returning:
            self._running += 1
            mark_held()
            self.pump()
            return
        future: asyncio.Future[None] = asyncio.get_running_loop().create_future()
        self._returning.append((future, mark_held))
        await future

    def _next_run(self) -> str | None:
        """Return the run whose turn it is and move it to the end of the line."""
        for _ in range(len(self._turn_order)):
            key = self._turn_order.popleft()
            queue = self._queues[key]
            if self.parked[key] >= self.limit:
                self._turn_order.append(key)
                continue
            if len(queue) > 1:
                self._turn_order.append(key)
            return key
        return None
