"""Reports make room for bursts of replies.

pytest's thread and the engine's share one interpreter lock. A report made while replies arrive would hold up the
requests that follow them, and two threads that take turns cost a quarter more processor time than one after the other;
so a report waits for the gap after a burst, but never long. Does not wait for attempts (``plugin/runner.py``).
"""

from __future__ import annotations

import time
from typing import Protocol

__all__ = ["BURST_S", "give_way", "is_in_burst"]

BURST_S = 0.004
"""Replies that come within this time of each other are one burst."""

_LONGEST_S = 0.05
"""Longest that one report gives way, so that progress stays visible while replies never cease."""


class _Busy(Protocol):
    @property
    def busy_at(self) -> float: ...


def is_in_burst(engine: _Busy) -> bool:
    """Tell whether an attempt has ended a moment ago, so that more are likely to end now."""
    return time.monotonic() - engine.busy_at < BURST_S


def give_way(engine: _Busy) -> None:
    """Return as soon as no attempt has ended for a moment, after 50 ms at the latest.

    Args:
        engine: Tells when an attempt ended last, in seconds of `time.monotonic`.
    """
    ends_at = time.monotonic() + _LONGEST_S
    while time.monotonic() < ends_at and is_in_burst(engine):
        time.sleep(BURST_S / 2)
