"""What the engine is doing, as values and lines for people.

Does not print. Source: spec field 2, pains 1 and 41.
"""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from dataclasses import dataclass

from pytest_mindtrial.engine.slots import Slot

__all__ = ["Backoff", "ProviderStatus", "lane_status", "slot_line"]


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
    """

    provider: str
    in_flight: int
    waiting_limit: int
    backing_off: tuple[Backoff, ...]
    queued: int
    done: int
    errors: int


def lane_status(
    provider: str, slots: Sequence[Slot], unfinished: int, counts: Sequence[int], now_ns: int
) -> ProviderStatus:
    """Sum up the slots of one provider entry; ``counts`` is done and errors."""
    states = [(slot.state, slot.cause, slot.until_ns) for slot in slots]
    backing_off = [Backoff(cause, _seconds_left(until, now_ns)) for state, cause, until in states if state == "backoff"]
    return ProviderStatus(
        provider,
        in_flight=_count(states, "running"),
        waiting_limit=_count(states, "limit") + _count(states, "slot"),
        backing_off=tuple(sorted(backing_off, key=lambda backoff: backoff.seconds)),
        queued=max(0, unfinished - len(states)),
        done=counts[0],
        errors=counts[1],
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
