"""What the live status says: one line per provider entry, from the engine's status.

Pure text; does not draw (``plugin/progress.py``). Source: spec field 2, pains 1 and 41.
"""

from __future__ import annotations

from collections import deque
from collections.abc import Mapping, Sequence

from pytest_mindtrial.core.display import one_line
from pytest_mindtrial.engine.status import ProviderStatus

__all__ = ["LaneKey", "Pace", "provider_line", "status_lines"]

LaneKey = tuple[str, int]

_WINDOW_S = 30.0
_MOST_LINES = 4


class Pace:
    """How fast attempts end, over the last half minute.

    Args:
        now: Monotonic seconds.
    """

    def __init__(self, now: float) -> None:
        self._samples: deque[tuple[float, int]] = deque([(now, 0)])

    def seen(self, now: float, done: int) -> None:
        """Take note of how many attempts have ended."""
        self._samples.append((now, done))
        while len(self._samples) > 2 and self._samples[1][0] <= now - _WINDOW_S:
            self._samples.popleft()

    def seconds_left(self, remaining: int) -> float | None:
        """Return how long the rest takes at this pace; None while nobody can tell."""
        (first, before), (last, after) = self._samples[0], self._samples[-1]
        if after <= before or last <= first:
            return None
        return remaining * (last - first) / (after - before)


def status_lines(
    statuses: Sequence[ProviderStatus], totals: Mapping[LaneKey, int], paces: Mapping[LaneKey, Pace], width: int
) -> list[str]:
    """Return the lines, busiest providers first where there are too many.

    Args:
        statuses: The engine's.
        totals: Attempts to make, by provider entry.
        paces: By provider entry.
        width: Columns of the terminal; longer lines are cut.
    """
    busy = [status for status in statuses if status.done < totals.get(_key(status), 0)]
    hidden = max(0, len(busy) - _MOST_LINES)
    if hidden:
        busy = sorted(busy, key=lambda status: status.in_flight, reverse=True)[:_MOST_LINES]
    lines = [provider_line(status, totals[_key(status)], paces.get(_key(status))) for status in busy]
    if hidden:
        lines[-1] += f" · and {hidden} more {'provider' if hidden == 1 else 'providers'}"
    return [_cut(line, width) for line in lines]


def provider_line(status: ProviderStatus, total: int, pace: Pace | None = None) -> str:
    """Return the line of one provider entry."""
    parts = [f"{one_line(status.provider)}: {status.done} of {total} done"]
    parts.append(f"{status.in_flight} in flight" + (f" of {status.limit} (auto)" if status.is_adaptive else ""))
    if status.waiting_limit:
        parts.append(f"{status.waiting_limit} waiting for the rate limit")
    if status.backing_off:
        first = status.backing_off[0]
        parts.append(f"{len(status.backing_off)} backing off ({one_line(first.cause)}, {first.seconds:.0f} s left)")
    if status.errors:
        parts.append(f"{status.errors} {'error' if status.errors == 1 else 'errors'}")
    left = pace.seconds_left(total - status.done) if pace is not None else None
    if left is not None:
        parts.append(f"about {_span(left)} left")
    parts += [f"{amount:.4f} {one_line(currency)}".rstrip() for currency, amount in sorted(status.cost.items())]
    return " · ".join(parts)


def _key(status: ProviderStatus) -> LaneKey:
    return status.provider, status.index


def _span(seconds: float) -> str:
    whole = round(seconds)
    if whole < 60:
        return f"{whole} s"
    minutes, seconds_left = divmod(whole, 60)
    hours, minutes_left = divmod(minutes, 60)
    return f"{hours} h {minutes_left:02} min" if hours else f"{minutes} min {seconds_left:02} s"


def _cut(line: str, width: int) -> str:
    return line if len(line) <= width else line[: max(0, width - 1)] + "…"
