"""Waiting in pytest's thread for what the engine's thread makes.

The two threads share one interpreter lock. A report made while replies arrive would hold up the requests that follow
them, and two threads that take turns cost a quarter more processor time than one after the other; so reports make room
for bursts of replies, and what can be rendered early is rendered in the gaps. Does not start attempts
(``plugin/runner.py``).
"""

from __future__ import annotations

import concurrent.futures
import time
from collections.abc import Callable
from concurrent.futures import Future
from typing import TYPE_CHECKING, Any, Protocol

import pytest

from pytest_mindtrial.core.errors import InternalError

if TYPE_CHECKING:
    from pytest_mindtrial.plugin.early_reports import EarlyReports

__all__ = ["Waiting"]

_BURST_S = 0.004
"""Replies that come within this time of each other are one burst."""

_LONGEST_S = 0.05
"""Longest that one report gives way, so that progress stays visible while replies never cease."""

_SLICE_S = 0.2
"""How often a wait looks whether the engine is still there."""


class _Engine(Protocol):
    @property
    def is_alive(self) -> bool: ...

    @property
    def busy_at(self) -> float: ...


class Waiting:
    """How pytest's thread waits.

    Args:
        engine: Tells whether attempts are still made, and when one ended last, in seconds of `time.monotonic`.
        early: What to do meanwhile.
        exhausted: Says why the budget lets nothing more run; blank while it does.

    Attributes:
        on_tick: Called now and then during a wait.
    """

    def __init__(self, engine: _Engine, early: EarlyReports, exhausted: Callable[[], str]) -> None:
        self._engine = engine
        self._early = early
        self._exhausted = exhausted
        self.on_tick: Callable[[], None] = lambda: None

    def result(self, future: Future[Any]) -> Any:
        """Wait for a future.

        Raises:
            InternalError: The engine's thread has ended without a result.
            BaseException: What the future ended with. A future that the budget has cancelled skips the item.
        """
        while True:
            self._early.work(lambda: future.done() or self._is_in_burst())
            try:
                # Not result(timeout): its TimeoutError could not be told from one that a validator raised. And not
                # concurrent.futures.wait, which does not end for a future that was cancelled before it began.
                error = future.exception(_BURST_S if self._early.has_work else _SLICE_S)
            except concurrent.futures.CancelledError:
                if not self._exhausted():
                    raise
                # An item with fixtures of its own, which was let begin before the budget was used up.
                pytest.skip(f"not run: {self._exhausted()}")
            except TimeoutError:
                self.on_tick()
                if not self._engine.is_alive and not future.done():
                    raise InternalError("the engine's thread has ended; this attempt has no result") from None
            else:
                if error is not None:
                    raise error
                return future.result()

    def until_done(self, future: Future[Any]) -> None:
        """Wait for a future, whatever it ends with, or for the end of the engine."""
        while not future.done() and self._engine.is_alive:
            concurrent.futures.wait([future], _SLICE_S)
            self.on_tick()

    def give_way(self) -> None:
        """Return as soon as no attempt has ended for a moment, after 50 ms at the latest."""
        ends_at = time.monotonic() + _LONGEST_S
        while time.monotonic() < ends_at and self._is_in_burst():
            time.sleep(_BURST_S / 2)

    def _is_in_burst(self) -> bool:
        return time.monotonic() - self._engine.busy_at < _BURST_S
