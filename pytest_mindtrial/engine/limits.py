"""Request rate limits: never more than N requests in any sliding 60 seconds, spread evenly.

A limiter keeps the times of the last N sendings and a pace. A token is *reserved* first and *stamped* when the request
is sent; a reserved token counts as if it were sent now, so that a delay between the two (waiting for a slot or for
another limiter) cannot break the promise. Does not retry and does not know HTTP.

The windows are a second longer than a minute, because requests do not need equally long to arrive: what counts is the
minute that the service sees. Source: spec mindtrial 6.4, spec providers 8.3, spec performance 7 (G12).
"""

from __future__ import annotations

import asyncio
from collections import deque
from collections.abc import Hashable
from typing import Protocol

from pytest_mindtrial.core.clock import Clock

__all__ = ["Limiter", "Limiters", "RequestLimit", "Token"]

WINDOW_NS = 60_000_000_000
"""The window that users mean by "per minute"."""

MARGIN_NS = 1_000_000_000
"""Added to the window; costs 1.6 % of the throughput."""

BURST_SHARE = 10
"""A tenth of the limit may be sent at once after an idle spell."""

LOOK_AGAIN_NS = 1_000_000_000
"""How often the first in line looks again while tokens are reserved and not yet sent."""


class Token(Protocol):
    """One reserved request."""

    def stamp(self) -> None:
        """Say that the request is sent now."""

    def give_back(self) -> None:
        """Say that it will not be sent."""


class RequestLimit(Protocol):
    """What a request policy needs of a limit."""

    def try_reserve(self) -> Token | None:
        """Reserve a token without waiting; None when that is not possible or others wait already."""

    async def reserve(self) -> Token:
        """Wait in line for a token. A cancelled wait loses none."""

    def pause(self, seconds: float) -> None:
        """Reserve nothing for this long."""


class Limiter:
    """At most ``per_minute`` requests in any sliding minute; first come, first served; constant work per request.

    Args:
        per_minute: N, at least 1.
        clock: Time; waiting goes through it, too.
    """

    def __init__(self, per_minute: int, clock: Clock) -> None:
        if per_minute < 1:
            raise ValueError(f"a limit needs at least 1 request per minute, got {per_minute}")
        self.per_minute = per_minute
        self._clock = clock
        self._sent: deque[int] = deque()
        self._reserved = 0
        self._span_ns = WINDOW_NS + MARGIN_NS
        self._pace_ns = self._span_ns // per_minute
        self._burst_ns = (max(1, per_minute // BURST_SHARE) - 1) * self._pace_ns
        self._next_ns = clock.monotonic_ns() - self._burst_ns
        self._paused_until_ns = 0
        self._line = asyncio.Lock()
        self._waiting = 0

    @property
    def waiting(self) -> int:
        """Requests that stand in line."""
        return self._waiting

    def try_reserve(self) -> _Token | None:
        """Reserve a token without waiting; None when that is not possible or others wait already."""
        if self._waiting or self._delay_ns() > 0:
            return None
        return self._take()

    async def reserve(self) -> _Token:
        """Wait in line for a token. A cancelled wait loses none: it is taken after the last await."""
        self._waiting += 1
        try:
            async with self._line:
                while (delay := self._delay_ns()) > 0:
                    # A reserved token may be given back, which nobody is told of.
                    await self._clock.sleep((min(delay, LOOK_AGAIN_NS) if self._reserved else delay) / 1e9)
                return self._take()
        finally:
            self._waiting -= 1

    def pause(self, seconds: float) -> None:
        """Reserve nothing for this long; a shorter pause does not shorten a longer one."""
        until = self._clock.monotonic_ns() + round(seconds * 1e9)
        self._paused_until_ns = max(self._paused_until_ns, until)

    def _delay_ns(self) -> int:
        """Return how long the next token has to wait; 0 or less = not at all."""
        now = self._clock.monotonic_ns()
        while self._sent and self._sent[0] <= now - self._span_ns:
            self._sent.popleft()
        earliest = max(self._next_ns, self._paused_until_ns)
        if len(self._sent) + self._reserved >= self.per_minute:
            earliest = max(earliest, self._sent[0] + self._span_ns if self._sent else now + LOOK_AGAIN_NS)
        return earliest - now

    def _take(self) -> _Token:
        now = self._clock.monotonic_ns()
        self._next_ns = max(self._next_ns, now - self._burst_ns) + self._pace_ns
        self._reserved += 1
        return _Token(self)

    def _settled(self, *, is_sent: bool) -> None:
        self._reserved -= 1
        if is_sent:
            self._sent.append(self._clock.monotonic_ns())
        else:
            self._next_ns -= self._pace_ns


class _Token:
    """A reserved request of a `Limiter`; the first of `stamp` and `give_back` counts."""

    __slots__ = ("_limiter",)

    def __init__(self, limiter: Limiter) -> None:
        self._limiter: Limiter | None = limiter

    def stamp(self) -> None:
        """Say that the request is sent now."""
        self._settle(is_sent=True)

    def give_back(self) -> None:
        """Say that it will not be sent."""
        self._settle(is_sent=False)

    def _settle(self, *, is_sent: bool) -> None:
        limiter, self._limiter = self._limiter, None
        if limiter is not None:
            limiter._settled(is_sent=is_sent)


class Limiters:
    """The limiters of one engine by what they limit, so that the same limit is never counted twice.

    Args:
        clock: Given to every limiter.
    """

    def __init__(self, clock: Clock) -> None:
        self._clock = clock
        self._limiters: dict[Hashable, Limiter] = {}

    def get(self, key: Hashable, per_minute: int) -> Limiter | None:
        """Return the one limiter of a key; None when ``per_minute`` is 0 (unlimited)."""
        if per_minute < 1:
            return None
        limiter = self._limiters.get(key)
        if limiter is None:
            limiter = self._limiters[key] = Limiter(per_minute, self._clock)
        return limiter
