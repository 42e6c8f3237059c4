"""What the engine is doing, as values and lines for people.

Does not print. Source: spec field 2, pains 1 and 41.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, field
from typing import Any

from pytest_mindtrial.core.record import Result
from pytest_mindtrial.core.values import Kind
from pytest_mindtrial.engine.slots import Lane, Slot

__all__ = ["Backoff", "LaneCounts", "ProviderStatus", "lane_status", "slot_line"]


@dataclass(frozen=True, slots=True)
class Backoff:
    """An attempt that waits before a retry: why, and for how many more seconds."""

    cause: str
    seconds: float


@dataclass(frozen=True, slots=True)
class ProviderStatus:
    """One provider entry in one moment.

    Attributes:
        provider: Provider name.
        in_flight: Attempts at work (requests, tools, validation), waiting ones not counted.
        waiting_limit: Attempts waiting for a rate limit or for their slot after such a wait.
        backing_off: Attempts waiting before a retry, shortest wait first.
        queued: Submitted attempts that have not started.
        done: Attempts that ended with a result, errors included.
        errors: Results of kind Error.
        limit: Attempts that may run at once at this moment.
        is_adaptive: True when that follows the service (``auto``).
        index: The entry's place in ``providers``.
        cost: Money of the results so far by currency, judges excluded; empty where nothing is priced.
    """

    provider: str
    in_flight: int
    waiting_limit: int
    backing_off: tuple[Backoff, ...]
    queued: int
    done: int
    errors: int
    limit: int = 0
    is_adaptive: bool = False
    index: int = 0
    cost: Mapping[str, float] = field(default_factory=dict)


class LaneCounts:
    """What has become of a provider entry's attempts."""

    def __init__(self) -> None:
        self.done = 0
        self.errors = 0
        self.cost: dict[str, float] = {}

    def add(self, result: Result) -> None:
        """Count a result."""
        self.done += 1
        self.errors += result.kind is Kind.ERROR
        if result.cost is not None:
            self.cost[result.currency] = self.cost.get(result.currency, 0.0) + result.cost


def lane_status(
    lane: Lane[Any], index: int, slots: Sequence[Slot], unfinished: int, counts: LaneCounts, now_ns: int
) -> ProviderStatus:
    """Sum up the slots and counts of one provider entry."""
    states = [(slot.state, slot.cause, slot.until_ns) for slot in slots]
    backing_off = [Backoff(cause, _seconds_left(until, now_ns)) for state, cause, until in states if state == "backoff"]
    return ProviderStatus(
        lane.name,
        in_flight=_count(states, "running"),
        waiting_limit=_count(states, "limit") + _count(states, "slot"),
        backing_off=tuple(sorted(backing_off, key=lambda backoff: backoff.seconds)),
        queued=max(0, unfinished - len(states)),
        done=counts.done,
        errors=counts.errors,
        limit=lane.limit,
        is_adaptive=lane.adaptive is not None,
        index=index,
        cost=dict(counts.cost),
    )


def slot_line(slot: Slot, now_ns: int) -> str:
    """Return one line: label, age, what it does."""
    age = (now_ns - slot.started_ns) / 1e9
    doing = {
        "running": f"turn {slot.turn}" if slot.turn else "preparing",
        "limit": "waiting for the rate limit",
        "backoff": f"backing off ({slot.cause}, {_seconds_left(slot.until_ns, now_ns):.1f} s left)",
        "slot": "waiting for its turn",
    }[slot.state]
    return f"{slot.label}: {age:.1f} s, {doing}"


def _count(states: Iterable[tuple[str, str, int]], wanted: str) -> int:
    return sum(state == wanted for state, _, _ in states)


def _seconds_left(until_ns: int, now_ns: int) -> float:
    return max(0.0, (until_ns - now_ns) / 1e9)
