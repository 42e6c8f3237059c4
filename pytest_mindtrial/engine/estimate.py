"""How many tokens a request will take: from its size, then from what the run's requests took before.

Counts no tokens exactly: tokenizers differ by vendor. Inclusions: input is everything sent, cached input too; output is
everything the model writes, reasoning too. Source: field 4 ("bytes/4 with a stated error band, then learn from
history"); field pain 7.
"""

from __future__ import annotations

import math
from collections.abc import Mapping
from typing import Any

from pytest_mindtrial.core.values import Usage

__all__ = ["CHARACTERS_PER_TOKEN", "UNKNOWN_OUTPUT", "TokenEstimate", "max_output_tokens"]

CHARACTERS_PER_TOKEN = 4
"""Rule of thumb for English text and JSON."""

UNKNOWN_OUTPUT = 1000
"""Output tokens that are assumed of a run nothing is known of."""

_LEARNED_FROM = 3
_LIMITS = ("max-completion-tokens", "max-tokens", "max-output-tokens")


def max_output_tokens(parameters: Mapping[str, Any]) -> int | None:
    """Return the limit that a run sets for its output; None when it sets none."""
    limits = [parameters[name] for name in _LIMITS if isinstance(parameters.get(name), int)]
    return min(limits) if limits else None


class TokenEstimate:
    """What is expected of the requests of one run.

    Args:
        limit: The run's own limit of output tokens; None = none.
    """

    def __init__(self, limit: int | None = None) -> None:
        self._limit = limit
        self._count = 0
        self._weight = 0
        self._input = 0
        self._output = 0
        self._output_squares = 0

    def tokens(self, weight: int) -> tuple[int, int]:
        """Return the input and output tokens that a request of this weight will probably take, rounded up.

        Output is the mean plus two standard deviations of what was seen, so that most requests take less.
        """
        if self._count < _LEARNED_FROM:
            return -(-weight // CHARACTERS_PER_TOKEN), self._capped(UNKNOWN_OUTPUT)
        mean = self._output / self._count
        deviation = math.sqrt(max(0.0, self._output_squares / self._count - mean * mean))
        ratio = self._input / self._weight if self._weight else 1 / CHARACTERS_PER_TOKEN
        return math.ceil(weight * ratio), self._capped(math.ceil(mean + 2 * deviation))

    def learn(self, weight: int, usage: Usage) -> None:
        """Take in what a request took; nothing is learned from replies that report no tokens."""
        into, out = usage.effective_input, usage.effective_output
        if into is None or out is None:
            return
        self._count += 1
        self._weight += weight
        self._input += into
        self._output += out
        self._output_squares += out * out

    def _capped(self, tokens: int) -> int:
        return tokens if self._limit is None else min(tokens, self._limit)
