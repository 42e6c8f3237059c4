"""The spending limit of a session that runs in several processes of one machine.

As ``engine/budget.py``, with the account in a file (``engine/ledger.py``): a reservation is made on top of what all
processes have spent and set aside, so that the limit is overshot by no more than what the requests in flight, over all
processes, take beyond their estimates. The first process that finds no room while nothing is in flight anywhere ends
the spending for all. Never waits for the file's lock in the event loop. Does not start or stop processes.
"""

from __future__ import annotations

import asyncio
from collections.abc import Sequence
from dataclasses import replace

from pytest_mindtrial.core.values import Usage
from pytest_mindtrial.engine.budget import FALLBACK_CURRENCY, Amount, Limits, Reservation, SpendingLimit
from pytest_mindtrial.engine.ledger import Ledger, Page, total

__all__ = ["SharedLimit", "spent", "used_up"]

_BUSY_S = 0.001
"""Pause before another try to lock the file; the lock is held for some 20 µs."""

_LOOK_S = 0.05
"""How often a process whose requests wait for room looks whether another one has settled something."""


def used_up(limits: Limits, pages: Sequence[Page]) -> str:
    """Return why nothing is sent any more, the same words in every process; blank while something is."""
    page = next((page for page in pages if page.is_exhausted), None)
    return _worded(limits, pages).used_up(total(pages), page.need) if page is not None else ""


def spent(limits: Limits, pages: Sequence[Page]) -> str:
    """Return what all processes have spent, for people."""
    return _worded(limits, pages).spent(total(pages))


def _worded(limits: Limits, pages: Sequence[Page]) -> Limits:
    """Return the limits with a currency: a process whose own runs are free learns it from the others."""
    known = (page.currency for page in pages if page.currency)
    return replace(limits, currency=limits.currency or next(known, FALLBACK_CURRENCY))


class SharedLimit(SpendingLimit):
    """Implements `engine.requests.Budget`.

    Args:
        limits: The same in all processes, the currency blank where the option names none.
        ledger: The session's file.
        number: This process's page; nobody else writes it.

    Attributes:
        on_exhausted: As in `SpendingLimit`, but for any thread, and possibly once in each of two.
    """

    def __init__(self, limits: Limits, ledger: Ledger, number: int) -> None:
        super().__init__(limits)
        self._ledger = ledger
        self._number = number
        self._page = self._account = Page()
        self._is_busy = False
        self._seen = b""
        self._timer: asyncio.TimerHandle | None = None

    def register(self, currency: str) -> set[str]:
        """Note a currency on this process's page; return those on the other pages. Waits for the lock."""
        self._ledger.lock()
        try:
            others = {page.currency for at, page in enumerate(self._ledger.pages()) if at != self._number}
            self._page.currency = currency
            self._write()
        finally:
            self._ledger.unlock()
        return others - {""}

    @property
    def exhausted(self) -> str:
        """Why nothing is sent any more, by any process; blank while there is something left. For any thread."""
        if not self._reason and (reason := used_up(self._limits, self._ledger.pages())):
            self._reason = reason  # requests that wait for room see it when they look next
            self.on_exhausted(reason)
        return self._reason

    @property
    def spent(self) -> str:
        """What all processes have spent so far, for people."""
        return spent(self._limits, self._ledger.pages())

    def stop(self) -> None:
        """Say that an item is left out for want of money; for any thread, once nothing is sent any more."""
        self._page.is_stopped = True
        self._write()

    def _take(self, need: Amount) -> bool:
        self._is_busy = not self._ledger.try_lock()
        if self._is_busy:
            return False
        try:
            return self._take_locked(need)
        finally:
            self._ledger.unlock()

    def _take_locked(self, need: Amount) -> bool:
        seen, pages = self._ledger.read()
        whole = total(pages)
        if reason := used_up(self._limits, pages):
            self._exhaust(reason)
        elif self._limits.has_room(whole, need):
            self._page.reserve(need)
            self._write()
            return True
        elif not whole.in_flight:
            self._page.is_exhausted, self._page.need = True, need
            self._write()
            self._exhaust(used_up(self._limits, self._ledger.pages()))
        elif not self._timer:  # else what the first of those that wait has seen is still to be compared
            self._seen = seen
        return False

    async def _changed(self) -> None:
        if self._is_busy:
            await asyncio.sleep(_BUSY_S)
            return
        self._look_later()
        await super()._changed()

    def _look_later(self) -> None:
        if self._timer is None:
            self._timer = asyncio.get_running_loop().call_later(_LOOK_S, self._look)

    def _look(self) -> None:
        self._timer = None
        if self._waiting and self._ledger.raw() == self._seen:
            self._look_later()
        else:
            self._wake()

    def _settle(self, reservation: Reservation, usage: Usage | None) -> None:
        super()._settle(reservation, usage)
        self._write()

    def _release(self, reservation: Reservation) -> None:
        super()._release(reservation)
        self._write()

    def _write(self) -> None:
        self._ledger.write(self._number, self._page)
