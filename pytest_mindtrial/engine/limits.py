"""Rate limits: never more than N in any sliding 60 seconds, spread evenly.

What is counted are requests, or their tokens (``engine/token_limits.py``). A limiter keeps the times of the last
sendings and a pace. A token is *reserved* first and *stamped* when the request is sent; a reserved token counts as if
it were sent now, so that a delay between the two (waiting for a slot or for another limiter) cannot break the promise.
Does not retry and does not know HTTP.

The windows are a second longer than a minute, because requests do not need equally long to arrive: what counts is the
minute that the service sees. Source: spec mindtrial 6.4, spec providers 8.3, spec performance 7 (G12).
"""

from __future__ import annotations

import asyncio
from collections import deque
from collections.abc import Callable, Hashable
from typing import Protocol

from pytest_mindtrial.core.clock import Clock
from pytest_mindtrial.core.values import Usage

__all__ = ["Limiter", "Limiters", "RequestLimit", "Share", "Token", "Weigh"]

WINDOW_NS = 60_000_000_000
"""The window that users mean by "per minute"."""

MARGIN_NS = 1_000_000_000
"""Added to the window; costs 1.6 % of the throughput."""

BURST_SHARE = 10
"""A tenth of the limit may be sent at once after an idle spell."""

LOOK_AGAIN_NS = 1_000_000_000
"""How often the first in line looks again while tokens are reserved and not yet sent."""

Weigh = Callable[[], int]


class Token(Protocol):
    """One reserved request."""

    def stamp(self) -> None:
        """Say that the request is sent now."""

    def give_back(self) -> None:
        """Say that it will not be sent."""

    def settle(self, usage: Usage) -> None:
        """Say what a request that was sent took; of one that failed nobody knows, so the estimate stays."""


class RequestLimit(Protocol):
    """What a request policy needs of a limit. ``weigh`` returns the size of the request in characters."""

    def try_reserve(self, weigh: Weigh | None = None) -> Token | None:
        """Reserve a token without waiting; None when that is not possible or others wait already."""

    async def reserve(self, weigh: Weigh | None = None) -> Token:
        """Wait in line for a token. A cancelled wait loses none."""

    def pause(self, seconds: float) -> None:
        """Reserve nothing for this long."""


class Limiter:
    """At most ``per_minute`` in any sliding minute; first come, first served.

    A request counts 1 unless its size is given. One that is larger than the whole limit is sent when nothing else was
    for a minute.

    Args:
        per_minute: N, at least 1.
        clock: Time; waiting goes through it, too.
    """

    def __init__(self, per_minute: int, clock: Clock) -> None:
        if per_minute < 1:
            raise ValueError(f"a limit needs at least 1 request per minute, got {per_minute}")
        self.per_minute = per_minute
        self._clock = clock
        self._sent: deque[Share] = deque()
        self._used = 0
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

    def try_reserve(self, weigh: Weigh | None = None, *, size: int = 1) -> Share | None:
        """Reserve a token without waiting; None when that is not possible or others wait already."""
        if self._waiting or self._delay_ns(size) > 0:
            return None
        return self._take(size)

    async def reserve(self, weigh: Weigh | None = None, *, size: int = 1) -> Share:
        """Wait in line for a token. A cancelled wait loses none: it is taken after the last await."""
        self._waiting += 1
        try:
            async with self._line:
                while (delay := self._delay_ns(size)) > 0:
                    # A reserved token may be given back, which nobody is told of; so may what a reply did not take.
                    is_final = not self._reserved and size == 1
                    await self._clock.sleep((delay if is_final else min(delay, LOOK_AGAIN_NS)) / 1e9)
                return self._take(size)
        finally:
            self._waiting -= 1

    def pause(self, seconds: float) -> None:
        """Reserve nothing for this long; a shorter pause does not shorten a longer one."""
        until = self._clock.monotonic_ns() + round(seconds * 1e9)
        self._paused_until_ns = max(self._paused_until_ns, until)

    def _delay_ns(self, size: int) -> int:
        """Return how long the next token has to wait; 0 or less = not at all."""
        now = self._clock.monotonic_ns()
        while self._sent and self._sent[0].sent_ns <= now - self._span_ns:
            self._used -= self._sent.popleft().expire()
        earliest = max(self._next_ns, self._paused_until_ns)
        held = self._used + self._reserved
        if held and held + size > self.per_minute:
            earliest = max(earliest, self._room_ns(held + size - self.per_minute, now))
        return earliest - now

    def _room_ns(self, missing: int, now: int) -> int:
        """Return when enough of what was sent will be a minute old."""
        for token in self._sent:
            missing -= token.size
            if missing <= 0:
                return token.sent_ns + self._span_ns
        return now + LOOK_AGAIN_NS  # what is missing is reserved and not yet sent

    def _take(self, size: int) -> Share:
        now = self._clock.monotonic_ns()
        self._next_ns = max(self._next_ns, now - self._burst_ns) + size * self._pace_ns
        self._reserved += size
        return Share(self, size)

    def _stamped(self, token: Share) -> int:
        self._reserved -= token.size
        self._used += token.size
        self._sent.append(token)
        return self._clock.monotonic_ns()

    def _given_back(self, token: Share) -> None:
        self._reserved -= token.size
        self._next_ns -= token.size * self._pace_ns

    def _resized(self, change: int) -> None:
        self._used += change
        self._next_ns += change * self._pace_ns


class Share:
    """A reserved request of a `Limiter`; the first of `stamp` and `give_back` counts.

    Attributes:
        size: How much of the limit it takes.
        sent_ns: When it was sent; -1 = not yet.
    """

    __slots__ = ("_limiter", "sent_ns", "size")

    def __init__(self, limiter: Limiter, size: int) -> None:
        self._limiter: Limiter | None = limiter
        self.size = size
        self.sent_ns = -1

    def stamp(self) -> None:
        """Say that the request is sent now."""
        if self._limiter is not None and self.sent_ns < 0:
            self.sent_ns = self._limiter._stamped(self)

    def give_back(self) -> None:
        """Say that it will not be sent."""
        if self._limiter is not None and self.sent_ns < 0:
            self._limiter._given_back(self)
            self._limiter = None

    def settle(self, usage: Usage) -> None:
        """Do nothing: a request is a request, whatever it took."""

    def resize(self, size: int) -> None:
        """Say how much of the limit a request that was sent really took."""
        if self._limiter is not None and self.sent_ns >= 0:
            self._limiter._resized(size - self.size)
            self.size = size

    def expire(self) -> int:
        """Return the size of a request that counts no longer."""
        self._limiter = None
        return self.size


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
