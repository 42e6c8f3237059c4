"""Limits of tokens per minute: what a request will take is estimated, and corrected when its reply says what it took.

Services count the tokens of a request when it comes in. Until the reply is there nobody knows its output, so a request
reserves what the run's requests took before; the sliding minute then holds what was really used, and no more than the
estimates of the requests in flight can be wrong. Source: issue 5; field pain 7.
"""

from __future__ import annotations

from pytest_mindtrial.core.values import Usage
from pytest_mindtrial.engine.estimate import TokenEstimate
from pytest_mindtrial.engine.limits import Limiter, Share, Token, Weigh

__all__ = ["TokenLimit"]


class TokenLimit:
    """Implements `engine.limits.RequestLimit` for the requests of one run.

    Args:
        limiter: Counts tokens, input and output; may be shared with other runs.
        estimate: Learns from the run's replies.
    """

    def __init__(self, limiter: Limiter, estimate: TokenEstimate) -> None:
        self._limiter = limiter
        self._estimate = estimate

    def try_reserve(self, weigh: Weigh | None = None) -> Token | None:
        """Reserve the tokens of a request without waiting; None when that is not possible."""
        weight, size = self._size(weigh)
        token = self._limiter.try_reserve(size=size)
        return None if token is None else _Charge(token, self._estimate, weight)

    async def reserve(self, weigh: Weigh | None = None) -> Token:
        """Wait in line for the tokens of a request."""
        weight, size = self._size(weigh)
        return _Charge(await self._limiter.reserve(size=size), self._estimate, weight)

    def pause(self, seconds: float) -> None:
        """Reserve nothing for this long."""
        self._limiter.pause(seconds)

    def _size(self, weigh: Weigh | None) -> tuple[int, int]:
        weight = weigh() if weigh is not None else 0
        return weight, max(1, sum(self._estimate.tokens(weight)))


class _Charge:
    """What one request has reserved."""

    __slots__ = ("_estimate", "_token", "_weight")

    def __init__(self, token: Share, estimate: TokenEstimate, weight: int) -> None:
        self._token = token
        self._estimate = estimate
        self._weight = weight

    def stamp(self) -> None:
        """Say that the request is sent now."""
        self._token.stamp()

    def give_back(self) -> None:
        """Say that it will not be sent."""
        self._token.give_back()

    def settle(self, usage: Usage) -> None:
        """Say what it took; a reply that reports no tokens changes nothing."""
        into, out = usage.effective_input, usage.effective_output
        if into is not None and out is not None:
            self._estimate.learn(self._weight, usage)
            self._token.resize(into + out)
