"""What xdist's workers are doing, told to the controller over a channel of their own on execnet's connection.

A worker tells the status of its provider entries at most twice a second, and only where the controller shows it; it
tells what each attempt in flight does whenever it is asked, also in the middle of a long test. Both sides use the
threads that are there. Does not draw (``plugin/progress.py``) and carries no results (``plugin/transport.py``).
"""

from __future__ import annotations

import contextlib
import json
import threading
import time
from collections import Counter
from collections.abc import Callable, Mapping
from dataclasses import replace
from typing import Any, Protocol

import pytest

from pytest_mindtrial.core.wire import from_wire, to_wire
from pytest_mindtrial.engine.status import ProviderStatus
from pytest_mindtrial.plugin.status_lines import LaneKey

__all__ = ["StatusSender", "WorkerStatuses"]

_INTERVAL_S = 0.5
_ANSWER_S = 1.0
"""Longest wait for what workers say of their attempts in flight."""

_DUMP = "dump"


class Channel(Protocol):
    """The part of execnet's channels that is used; what is received comes in execnet's own thread."""

    def send(self, item: object) -> None:
        """Send plain data."""

    def setcallback(self, callback: Callable[[Any], object]) -> None:
        """Call this with everything that is received."""


class _Engine(Protocol):
    def status(self) -> list[ProviderStatus]: ...

    def dump(self) -> str: ...


class StatusSender:
    """A worker's side.

    Args:
        channel: To the controller.
        engine: Knows.
        totals: Attempts to make here, by provider entry.
        is_live: The controller shows the status; else it is told only when it asks.
        now: Monotonic seconds.
    """

    def __init__(
        self,
        channel: Channel,
        engine: _Engine,
        totals: Mapping[LaneKey, int],
        *,
        is_live: bool,
        now: Callable[[], float] = time.monotonic,
    ) -> None:
        self._channel = channel
        self._engine = engine
        self._totals = [[*key, count] for key, count in totals.items()]
        self._is_live = is_live
        self._now = now
        self._due_at = now() + _INTERVAL_S
        channel.setcallback(self._asked)

    def tick(self) -> None:
        """Tell the present status when it is time; called while the session waits."""
        if self._is_live and self._now() >= self._due_at:
            self._due_at = self._now() + _INTERVAL_S
            self._send({"totals": self._totals, "statuses": list(map(to_wire, self._engine.status()))})

    @pytest.hookimpl(trylast=True)
    def pytest_runtest_logreport(self) -> None:
        """Tell the present status when it is time."""
        self.tick()

    @pytest.hookimpl(tryfirst=True)
    def pytest_sessionfinish(self) -> None:
        """Tell how it ended, before the engine does."""
        self._due_at = 0.0
        self.tick()

    def _asked(self, question: str) -> None:
        if question == _DUMP:
            self._send({_DUMP: self._engine.dump()})

    def _send(self, message: Mapping[str, Any]) -> None:
        with contextlib.suppress(OSError):  # the controller is gone
            self._channel.send(json.dumps(message))


class WorkerStatuses:
    """The controller's side.

    Attributes:
        totals: Attempts to make in the whole session, by provider entry; grows as workers tell.
    """

    def __init__(self) -> None:
        self.totals: dict[LaneKey, int] = {}
        self._channels: dict[int, tuple[str, Channel]] = {}
        self._last: dict[int, list[ProviderStatus]] = {}
        self._ended: dict[int, list[ProviderStatus]] = {}
        self._slot_totals: dict[int, Counter[LaneKey]] = {}
        self._dumps: dict[int, str] = {}
        self._lock = threading.Condition()  # each worker has a receiving thread

    def listen(self, slot: int, name: str, channel: Channel, wake: Callable[[], object]) -> None:
        """Listen to the worker of a slot, or to its replacement.

        Args:
            slot: Whose provider entries it has.
            name: For people.
            channel: To the worker.
            wake: Called in execnet's thread when the worker has told something new.
        """

        def receive(text: str) -> None:
            message = json.loads(text)
            with self._lock:
                if _DUMP in message:
                    self._dumps[slot] = message[_DUMP]
                    self._lock.notify_all()
                    return
                self._learn(slot, message)
            wake()

        self._channels[slot] = (name, channel)
        channel.setcallback(receive)

    def lost(self, slot: int) -> None:
        """Keep what the worker of a slot has done; nothing of it is in flight any more."""
        with self._lock:
            self._channels.pop(slot, None)
            idle: dict[str, Any] = {"in_flight": 0, "waiting_limit": 0, "backing_off": (), "queued": 0}
            gone = [replace(status, **idle) for status in self._last.pop(slot, ())]
            self._ended[slot] = _merged([*self._ended.get(slot, ()), *gone])

    def statuses(self) -> list[ProviderStatus]:
        """Return a status per provider entry, over all workers."""
        with self._lock:
            slots = sorted({*self._last, *self._ended})
            return _merged([each for at in slots for each in (*self._ended.get(at, ()), *self._last.get(at, ()))])

    def dump(self) -> str:
        """Return one line per attempt in flight, headed by its worker; waits a second for those that do not answer.

        Not for execnet's thread, and not for signal handlers: a signal may come in the middle of another message.
        """
        asked = dict(self._channels)
        self._dumps.clear()
        for _, channel in asked.values():
            with contextlib.suppress(OSError):
                channel.send(_DUMP)
        with self._lock:
            self._lock.wait_for(lambda: self._dumps.keys() >= asked.keys(), _ANSWER_S)
            found = dict(self._dumps)
        named = [(name, found.get(slot, _SILENT)) for slot, (name, _) in sorted(asked.items())]
        return "\n".join(f"[{name}] {line}" for name, lines in named for line in lines.splitlines())

    def _learn(self, slot: int, message: Mapping[str, Any]) -> None:
        known = self._slot_totals.setdefault(slot, Counter())
        ended = {(status.provider, status.index): status for status in self._ended.get(slot, ())}
        for provider, index, count in message["totals"]:
            key = (provider, index)
            if count > known[key]:
                self.totals[key] = self.totals.get(key, 0) + count - known[key]
                known[key] = count
            elif key in ended:  # a replacement knows what its predecessor has left to do
                ended[key] = replace(ended[key], done=known[key] - count)
        if ended:
            self._ended[slot] = list(ended.values())
        self._last[slot] = [from_wire(ProviderStatus, status) for status in message["statuses"]]


_SILENT = "does not answer"


def _merged(statuses: list[ProviderStatus]) -> list[ProviderStatus]:
    """Return one status per provider entry."""
    found: dict[LaneKey, list[ProviderStatus]] = {}
    for status in statuses:
        found.setdefault((status.provider, status.index), []).append(status)
    return [_sum(same) if len(same) > 1 else same[0] for same in found.values()]


def _sum(statuses: list[ProviderStatus]) -> ProviderStatus:
    """Return the status of one provider entry that several workers, or a worker and its replacement, have told of."""
    cost: Counter[str] = Counter()
    for status in statuses:
        cost.update(status.cost)
    waits = sorted((wait for status in statuses for wait in status.backing_off), key=lambda wait: wait.seconds)
    return replace(
        statuses[-1],
        in_flight=sum(status.in_flight for status in statuses),
        waiting_limit=sum(status.waiting_limit for status in statuses),
        backing_off=tuple(waits),
        queued=sum(status.queued for status in statuses),
        done=sum(status.done for status in statuses),
        errors=sum(status.errors for status in statuses),
        cost=dict(cost),
    )
