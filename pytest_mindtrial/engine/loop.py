"""One asyncio loop in one daemon thread that makes attempts ahead of whoever waits for them.

Takes plans from any thread, keeps the order and the concurrency of each provider entry, and gives every plan a future
that always ends: with a result, cancelled, or with `InternalError`. Does not know what an attempt is made of
(``engine/attempt.py``), writes nothing and imports no pytest. Source: design D3, spec pytest 3.
"""

from __future__ import annotations

import asyncio
import concurrent.futures
import contextlib
import threading
import time
from collections import deque
from collections.abc import Callable, Coroutine, Iterable
from typing import Any, Protocol, TypeVar

from pytest_mindtrial.core.clock import Clock, SystemClock
from pytest_mindtrial.core.errors import InternalError
from pytest_mindtrial.core.record import Result
from pytest_mindtrial.engine.adaptive import AUTO, AdaptiveLimit
from pytest_mindtrial.engine.concurrency import DEFAULT_CONCURRENCY, Concurrency, limit_of, setting_of
from pytest_mindtrial.engine.plan import AttemptPlan
from pytest_mindtrial.engine.selector import new_loop
from pytest_mindtrial.engine.slots import Lane, Slot, current_slot
from pytest_mindtrial.engine.status import LaneCounts, ProviderStatus, lane_status, slot_line
from pytest_mindtrial.engine.tickets import LaneKey, Ticket, fail_future
from pytest_mindtrial.suite.model import Provider

__all__ = ["AttemptRunner", "EngineLoop"]

LOOK_AHEAD = 2
"""Unfinished attempts that keep a provider entry busy, as a multiple of its concurrency. Source: spec pytest 3.3."""

T = TypeVar("T")


class AttemptRunner(Protocol):
    """Makes attempts inside the engine's loop (`engine.attempts.Attempts`)."""

    async def run(self, plan: AttemptPlan) -> Result:
        """Make one attempt; only `asyncio.CancelledError` may escape."""

    async def close(self) -> None:
        """Release clients and connections."""


class EngineLoop:
    """Runs attempts concurrently in a thread of its own.

    Args:
        attempts: Makes the attempts; used from the engine's thread only.
        concurrency: Attempts per provider entry that run at once; 1 = strict order of submission.
        on_result: Called in the engine's thread with every result in the moment its attempt ends, before the future
            is set, also for attempts whose future was given up. Must not block for long. If it raises, the result is
            delivered nevertheless and the exception is kept in `observer_error`.
        clock: For ages in `status` and `dump`.
        close_timeout_s: Longest that `close` waits by default; the sandbox needs longer than HTTP clients.

    Attributes:
        busy_at: When an attempt ended last, in seconds of `time.monotonic`.
        observer_error: The first exception that ``on_result`` raised.
    """

    def __init__(
        self,
        attempts: AttemptRunner,
        *,
        concurrency: Concurrency = DEFAULT_CONCURRENCY,
        on_result: Callable[[Result], None] | None = None,
        clock: Clock | None = None,
        close_timeout_s: float = 2.0,
    ) -> None:
        self.observer_error: BaseException | None = None
        self.busy_at = 0.0
        self._attempts = attempts
        self._concurrency = concurrency
        self._on_result = on_result
        self._clock = clock or SystemClock()
        self._close_timeout_s = close_timeout_s
        self._lock = threading.Lock()
        self._inbox: deque[Ticket] = deque()
        self._is_waking = False
        self._tickets: dict[int, Ticket] = {}
        self._unfinished: dict[LaneKey, int] = {}
        self._lanes: dict[LaneKey, Lane[Ticket]] = {}
        self._running: dict[int, Ticket] = {}
        self._counts: dict[LaneKey, LaneCounts] = {}
        self._loop: asyncio.AbstractEventLoop | None = None
        self._stop: asyncio.Future[None] | None = None
        self._thread: threading.Thread | None = None
        self._end: BaseException | str = ""
        self._crash_cause: BaseException | None = None

    # Any thread ------------------------------------------------------------------------------------------------------

    def start(self) -> None:
        """Start the thread; returns when its loop runs."""
        if self._thread is not None:
            return
        ready = threading.Event()
        self._thread = threading.Thread(target=self._main, args=(ready,), name="mindtrial-engine", daemon=True)
        self._thread.start()
        ready.wait()

    @property
    def is_alive(self) -> bool:
        """True while attempts are being made."""
        return self._thread is not None and self._thread.is_alive() and not self._end

    def submit(self, plan: AttemptPlan) -> concurrent.futures.Future[Result]:
        """Queue one attempt; see `submit_many`."""
        return self.submit_many((plan,))[0]

    def submit_many(self, plans: Iterable[AttemptPlan]) -> list[concurrent.futures.Future[Result]]:
        """Queue attempts in order and wake the loop once.

        Returns:
            One future per plan, in order. Each ends with the result, or cancelled, or with `InternalError` when the
            engine is not running or dies. Cancelling a future does not stop an attempt that has started: use `cancel`.
        """
        tickets = [Ticket(plan) for plan in plans]
        with self._lock:
            if self.is_alive:
                for ticket in tickets:
                    self._tickets[id(ticket)] = ticket
                    self._unfinished[ticket.lane_key] = self._unfinished.get(ticket.lane_key, 0) + 1
                self._inbox.extend(tickets)
                self._wake()
                return [ticket.future for ticket in tickets]
        for ticket in tickets:
            ticket.future.set_exception(self._death())
        return [ticket.future for ticket in tickets]

    def run(self, make: Callable[[], Coroutine[Any, Any, T]]) -> concurrent.futures.Future[T]:
        """Run a coroutine function in the loop, outside all limits of concurrency."""
        if not self.is_alive or self._loop is None:
            failed: concurrent.futures.Future[T] = concurrent.futures.Future()
            failed.set_exception(self._death())
            return failed
        return asyncio.run_coroutine_threadsafe(make(), self._loop)

    def limit(self, provider: Provider) -> int:
        """Return the concurrency of a provider entry at this moment."""
        lane = self._lanes.get((provider.name, provider.index))
        return lane.limit if lane is not None else limit_of(self._concurrency, provider)

    def unfinished(self, provider: Provider | None = None) -> int:
        """Return how many submitted attempts have not ended, of one provider entry or of all."""
        if provider is None:
            return len(self._tickets)
        return self._unfinished.get((provider.name, provider.index), 0)

    def room(self, provider: Provider) -> int:
        """Return how many further attempts the look-ahead should submit for a provider entry.

        Attempts that wait for a rate limit or back off do not count as work in hand, so that others can use the time.
        """
        lane = self._lanes.get((provider.name, provider.index))
        parked = sum(lane.parked.values()) if lane else 0
        return max(0, LOOK_AHEAD * self.limit(provider) + parked - self.unfinished(provider))

    def cancel(self, *nodeids: str) -> None:
        """Cancel the attempts of these items, queued or in flight; their futures end cancelled, without a result."""
        wanted = frozenset(nodeids)
        self._call(lambda: self._cancel(lambda ticket: ticket.plan.nodeid in wanted, in_flight=True))

    def cancel_pending(self) -> None:
        """Cancel every attempt that has not started; those in flight go on."""
        self._call(lambda: self._cancel(lambda ticket: True, in_flight=False))

    def status(self) -> list[ProviderStatus]:
        """Return a snapshot per provider entry, in order of first use."""
        now = self._clock.monotonic_ns()
        slots: dict[LaneKey, list[Slot]] = {}
        for ticket in list(self._running.values()):
            if ticket.slot is not None:
                slots.setdefault(ticket.lane_key, []).append(ticket.slot)
        return [
            lane_status(lane, key[1], slots.get(key, ()), self._unfinished.get(key, 0), self._counts[key], now)
            for key, lane in list(self._lanes.items())
        ]

    def dump(self) -> str:
        """Return one line per attempt in flight with its age and what it does; blank when there is none."""
        now = self._clock.monotonic_ns()
        slots = [ticket.slot for ticket in list(self._running.values()) if ticket.slot is not None]
        return "\n".join(slot_line(slot, now) for slot in sorted(slots, key=lambda slot: slot.started_ns))

    def close(self, timeout: float | None = None) -> bool:
        """Cancel everything, release clients, end the thread; safe to call twice.

        Args:
            timeout: Longest wait in seconds; None = ``close_timeout_s``.

        Returns:
            True when the thread has ended; False when something in it blocks (it ends with the process).
        """
        thread = self._thread
        if thread is None:
            return True
        limit = self._close_timeout_s if timeout is None else timeout
        self._call(lambda: self._request_stop(limit))
        if thread is not threading.current_thread():
            thread.join(limit + 0.25)
        return not thread.is_alive()

    # Engine thread ---------------------------------------------------------------------------------------------------

    def _main(self, ready: threading.Event) -> None:
        loop = new_loop()
        loop.set_exception_handler(lambda _loop, _context: None)  # what matters is caught and ends in a future
        cause: BaseException | None = None
        try:
            loop.run_until_complete(self._serve(ready))
        except BaseException as error:
            cause = error
        finally:
            self._bury(cause)
            ready.set()
            with contextlib.suppress(Exception):
                loop.run_until_complete(loop.shutdown_asyncgens())
            loop.close()

    async def _serve(self, ready: threading.Event) -> None:
        loop = asyncio.get_running_loop()
        self._stop = loop.create_future()
        self._loop = loop
        ready.set()
        try:
            await self._stop
        finally:
            await self._shut_down()

    async def _shut_down(self) -> None:
        """Cancel all work and close the clients within the time given; nothing may survive, nothing may hang."""
        budget = self._close_timeout_s
        with self._lock:
            self._end = self._crash_cause or "closed"
        self._cancel(lambda ticket: True, in_flight=True)
        attempts = [ticket.task for ticket in self._running.values() if ticket.task is not None]
        if attempts:  # first alone, so that their own cleaning up is not cancelled with them
            await asyncio.wait(attempts, timeout=budget * 0.5)
        others = asyncio.all_tasks() - {asyncio.current_task()}
        for task in others:
            task.cancel()
        if others:
            await asyncio.wait(others, timeout=budget * 0.15)
        await asyncio.wait([asyncio.create_task(self._attempts.close())], timeout=budget * 0.3)

    def _request_stop(self, limit: float) -> None:
        self._close_timeout_s = limit
        if self._stop is not None and not self._stop.done():
            self._stop.set_result(None)

    def _bury(self, cause: BaseException | None) -> None:
        """End every future that is still open."""
        with self._lock:
            self._end = cause or self._end or "closed"
            tickets = list(self._tickets.values())
            self._tickets.clear()
            self._unfinished.clear()
        for ticket in tickets:
            self._give_up(ticket)

    def _give_up(self, ticket: Ticket) -> None:
        """End a future without a result: failed when the engine has died, else cancelled."""
        if isinstance(self._end, BaseException):
            fail_future(ticket.future, self._death())
        else:
            ticket.future.cancel()

    def _death(self) -> InternalError:
        if isinstance(self._end, BaseException):
            error = InternalError(f"the engine has died: {type(self._end).__name__}: {self._end}")
            error.__cause__ = self._end
            return error
        return InternalError("the engine is closed" if self._end else "the engine was not started")

    def _wake(self) -> None:
        """Ask the loop to look at the inbox, once for all that is in it. The lock is held."""
        if not self._is_waking and self._loop is not None:
            self._is_waking = True
            # The look-ahead submits from the engine's own thread, which needs no waking: two system calls fewer.
            is_own = threading.current_thread() is self._thread
            soon = self._loop.call_soon if is_own else self._loop.call_soon_threadsafe
            soon(self._guard, self._drain_inbox)

    def _call(self, action: Callable[[], None]) -> None:
        """Run an action in the loop; without a loop there is nothing to act on."""
        if self._loop is not None:
            with contextlib.suppress(RuntimeError):  # the loop closed in this moment
                self._loop.call_soon_threadsafe(self._guard, action)

    def _guard(self, action: Callable[[], None]) -> None:
        """Run a callback of the loop; a defect in it must end the engine loudly, not leave futures waiting."""
        try:
            action()
        except BaseException as error:
            self._crash(error)

    def _crash(self, error: BaseException) -> None:
        self._crash_cause = self._crash_cause or error
        if self._stop is not None and not self._stop.done():
            self._stop.set_exception(error)

    def _drain_inbox(self) -> None:
        for lane in self._take_inbox():
            lane.pump()

    def _take_inbox(self) -> list[Lane[Ticket]]:
        """Move what was submitted into the lanes; return the lanes that got something."""
        with self._lock:
            tickets = list(self._inbox)
            self._inbox.clear()
            self._is_waking = False
        touched: dict[LaneKey, Lane[Ticket]] = {}
        for ticket in tickets:
            lane = touched.get(ticket.lane_key) or self._lane(ticket)
            touched[ticket.lane_key] = lane
            lane.add(ticket.plan.run.name, ticket)
        return list(touched.values())

    def _lane(self, ticket: Ticket) -> Lane[Ticket]:
        lane = self._lanes.get(ticket.lane_key)
        if lane is None:
            provider = ticket.plan.provider
            self._counts[ticket.lane_key] = LaneCounts()
            adaptive = AdaptiveLimit() if setting_of(self._concurrency, provider) == AUTO else None
            limit = limit_of(self._concurrency, provider)
            lane = self._lanes[ticket.lane_key] = Lane(provider.name, limit, self._begin, adaptive)
        return lane

    def _begin(self, lane: Lane[Ticket], run: str, ticket: Ticket) -> bool:
        if ticket.future.cancelled():
            self._forget(ticket)
            return False
        ticket.slot = Slot(lane, run, ticket.plan.label, self._clock.monotonic_ns())
        self._running[id(ticket)] = ticket
        ticket.task = asyncio.get_running_loop().create_task(self._work(ticket, ticket.slot))
        ticket.task.add_done_callback(lambda _task: self._guard(lambda: self._finish(ticket)))
        return True

    async def _work(self, ticket: Ticket, slot: Slot) -> None:
        current_slot.set(slot)
        try:
            result = await self._attempts.run(ticket.plan)
        except asyncio.CancelledError:
            raise
        except BaseException as error:
            failure = InternalError(f"the attempt could not be made: {type(error).__name__}: {error}")
            failure.__cause__ = error
            self._forget(ticket)
            fail_future(ticket.future, failure)
        else:
            self._deliver(ticket, result)

    def _finish(self, ticket: Ticket) -> None:
        """Give the slot back; runs for every task, also for one that was cancelled before its first step."""
        self._running.pop(id(ticket), None)
        if not ticket.future.done():
            self._forget(ticket)
            self._give_up(ticket)
        if ticket.slot is not None:
            ticket.slot.end()

    def _deliver(self, ticket: Ticket, result: Result) -> None:
        self.busy_at = time.monotonic()
        self._counts[ticket.lane_key].add(result)
        self._forget(ticket)
        if self._on_result is not None:
            try:
                self._on_result(result)
            except BaseException as error:
                self.observer_error = self.observer_error or error
        with contextlib.suppress(concurrent.futures.InvalidStateError):  # given up by whoever waited
            ticket.future.set_result(result)

    def _forget(self, ticket: Ticket) -> None:
        """Stop counting a ticket; before anyone hears of its end, so that they see the room it has left."""
        self._running.pop(id(ticket), None)
        with self._lock:
            if self._tickets.pop(id(ticket), None) is not None:
                self._unfinished[ticket.lane_key] -= 1

    def _cancel(self, wanted: Callable[[Ticket], bool], *, in_flight: bool) -> None:
        self._take_inbox()
        for lane in self._lanes.values():
            for ticket in lane.remove(wanted):
                self._forget(ticket)
                self._give_up(ticket)
        if in_flight:
            for ticket in list(self._running.values()):
                if ticket.task is not None and wanted(ticket):
                    ticket.task.cancel()
        for lane in self._lanes.values():
            lane.pump()
