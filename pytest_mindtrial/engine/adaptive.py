"""Concurrency that finds its own level (``--mt-concurrency auto``).

Starts with a few attempts at once and takes one more after every good reply while all slots are in use, which doubles
the concurrency in each round, until the service says for the first time that it is too much. Then, and every time it
says so again, the concurrency is halved, and from there on it grows by one per round. Replies to requests that were
under way when it was halved do not halve it again: they speak of the time before.

Does not wait and does not send; one object belongs to one provider entry and to the engine's thread. Source: spec field
2, pains 7 and 16; the rule is TCP's (RFC 5681, section 3.1).
"""

from __future__ import annotations

from typing import Final, Literal

from pytest_mindtrial.core.errors import ProviderError

__all__ = ["AUTO", "LARGEST", "START", "AdaptiveLimit", "is_overload"]

AUTO: Final = "auto"

START = 8
"""Attempts at once before anything is known."""

LARGEST = 256
"""Never more than this without the user's word."""

_OVERLOADED = frozenset((429, 503, 529))

Auto = Literal["auto"]


def is_overload(error: ProviderError) -> bool:
    """Tell whether an error means that the service has had too much."""
    return error.status in _OVERLOADED and error.transient is True


class AdaptiveLimit:
    """The concurrency of one provider entry.

    Args:
        start: First value.
        largest: Upper end.

    Attributes:
        value: How many attempts may run now; from 1 to ``largest``.
        cuts: How often it was halved.
    """

    def __init__(self, start: int = START, largest: int = LARGEST) -> None:
        self.value = max(1, min(start, largest))
        self.cuts = 0
        self._largest = largest
        self._credit = 0
        self._speaks_of_before = 0

    def answered(self, running: int) -> int:
        """Learn of a good reply.

        Args:
            running: Attempts that run; growth needs proof that the present limit is used.

        Returns:
            The new value.
        """
        self._one_less_of_before()
        if running >= self.value and self._speaks_of_before == 0:
            self._credit += 1
            needed = self.value if self.cuts else 1
            if self._credit >= needed and self.value < self._largest:
                self.value += 1
                self._credit = 0
        return self.value

    def refused(self, running: int) -> int:
        """Learn that the service has had too much; return the new value."""
        if self._speaks_of_before:
            self._one_less_of_before()
            return self.value
        self.cuts += 1
        self.value = max(1, min(self.value, running) // 2)
        self._credit = 0
        self._speaks_of_before = max(0, running - 1)
        return self.value

    def _one_less_of_before(self) -> None:
        self._speaks_of_before = max(0, self._speaks_of_before - 1)
