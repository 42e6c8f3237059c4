"""What the processes of one session have spent and set aside: a small file with a page for each.

A page is written by its own process alone, in one system call. Who sets something aside reads all pages and writes its
own while it holds the file's lock; who settles holds no lock, because that makes no room that was not there. The system
frees the lock of a process that dies. Does not decide what may be spent (``engine/shared_budget.py``).
"""

from __future__ import annotations

import fcntl
import os
import struct
import zlib
from collections.abc import Iterable
from dataclasses import dataclass
from pathlib import Path

from pytest_mindtrial.core.errors import InternalError
from pytest_mindtrial.engine.budget import NOTHING, Account, Amount

__all__ = ["Ledger", "Page", "total"]

_FIELDS = struct.Struct("<dqdqqq??dq3s")
_SUM = struct.Struct("<I")
_PAGE_BYTES = 128
_BLANK = bytes(_PAGE_BYTES)
_FIRST_READ_BYTES = 32 * _PAGE_BYTES
_READS = 1000


@dataclass(slots=True)
class Page(Account):
    """The account of one process.

    Attributes:
        is_exhausted: This process has found that there is no more room.
        is_stopped: It has left an item out.
        need: What the request would have taken that found no room.
        currency: Of the prices that it knows; blank = none is known.
    """

    is_exhausted: bool = False
    is_stopped: bool = False
    need: Amount = NOTHING
    currency: str = ""

    def pack(self) -> bytes:
        """Return the page as it stands in the file."""
        data = _FIELDS.pack(
            self.spent.cost,
            self.spent.tokens,
            self.reserved.cost,
            self.reserved.tokens,
            self.in_flight,
            self.requests,
            self.is_exhausted,
            self.is_stopped,
            self.need.cost,
            self.need.tokens,
            self.currency.encode("ascii", "replace"),
        )
        return (data + _SUM.pack(zlib.crc32(data))).ljust(_PAGE_BYTES, b"\0")

    @classmethod
    def unpack(cls, raw: bytes) -> Page | None:
        """Return the page; None while it is being written."""
        if raw == _BLANK:
            return cls()
        (checksum,) = _SUM.unpack_from(raw, _FIELDS.size)
        if checksum != zlib.crc32(raw[: _FIELDS.size]):
            return None
        cost, tokens, kept_cost, kept, in_flight, requests, exhausted, stopped, need_cost, need, currency = (
            _FIELDS.unpack_from(raw)
        )
        return cls(
            Amount(cost, tokens),
            Amount(kept_cost, kept),
            in_flight,
            requests,
            exhausted,
            stopped,
            Amount(need_cost, need),
            currency.rstrip(b"\0").decode("ascii"),
        )

    def close(self) -> None:
        """Count what is in flight as spent: its process has ended, and its requests may be billed."""
        self.spent += self.reserved
        self.requests += self.in_flight
        self.reserved, self.in_flight = NOTHING, 0


class Ledger:
    """One process's view of the file.

    Args:
        path: The file.

    Raises:
        OSError: It cannot be opened.
    """

    def __init__(self, path: Path) -> None:
        self._descriptor = os.open(path, os.O_RDWR | os.O_CLOEXEC)
        self._size = _FIRST_READ_BYTES

    def close(self) -> None:
        """Close the file; a second call does nothing."""
        descriptor, self._descriptor = self._descriptor, -1
        if descriptor >= 0:
            os.close(descriptor)

    def try_lock(self) -> bool:
        """Take the lock, unless another process holds it; never waits."""
        try:
            fcntl.flock(self._descriptor, fcntl.LOCK_EX | fcntl.LOCK_NB)
        except BlockingIOError:
            return False
        return True

    def lock(self) -> None:
        """Take the lock, waiting for it; not for event loops."""
        fcntl.flock(self._descriptor, fcntl.LOCK_EX)

    def unlock(self) -> None:
        """Give the lock back."""
        fcntl.flock(self._descriptor, fcntl.LOCK_UN)

    def raw(self) -> bytes:
        """Return the file as it is; equal texts mean that nothing has happened."""
        while len(raw := os.pread(self._descriptor, self._size, 0)) == self._size:
            self._size *= 2
        return raw

    def pages(self) -> list[Page]:
        """Return all pages; see `read`."""
        return self.read()[1]

    def read(self) -> tuple[bytes, list[Page]]:
        """Return the file as it is, and all pages.

        Raises:
            InternalError: The file is damaged.
        """
        for _ in range(_READS):  # a page that is written in this moment is whole in the next
            raw = self.raw()
            found = [Page.unpack(raw[at : at + _PAGE_BYTES]) for at in range(0, len(raw), _PAGE_BYTES)]
            pages = [page for page in found if page is not None]
            if len(pages) == len(found):
                return raw, pages
        raise InternalError("the file that the workers share their budget in is damaged")

    def write(self, number: int, page: Page) -> None:
        """Write one page; `add` has made it."""
        os.pwrite(self._descriptor, page.pack(), number * _PAGE_BYTES)

    def add(self) -> int:
        """Make a blank page for another process; return its number. Only one process may make pages."""
        end = os.fstat(self._descriptor).st_size
        os.pwrite(self._descriptor, _BLANK, end)
        return end // _PAGE_BYTES


def total(pages: Iterable[Account]) -> Account:
    """Return the account of all processes together."""
    whole = Account()
    for page in pages:
        whole.spent += page.spent
        whole.reserved += page.reserved
        whole.in_flight += page.in_flight
        whole.requests += page.requests
    return whole
