"""A selector that reports few ready sockets at a time.

asyncio runs everything that is ready in turns: first all replies are read, then all attempts go on, then all their
successors start. When two hundred replies come within a moment, the first successor is sent after the last reply was
judged, and the burst stays a burst for the rest of the session. With a few sockets per turn a reply becomes the next
request before the next replies are read, and the burst spreads out. Does not know what the sockets are for.

Source: spec performance 7 (G1); ``docs/performance.md`` has what it gave.
"""

from __future__ import annotations

import asyncio
import contextlib
import select
import selectors
from collections.abc import Mapping
from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from _typeshed import FileDescriptorLike

__all__ = ["new_loop"]

AT_ONCE = 8
"""Sockets per turn: enough to make the turn's own cost small, few enough to go on with each soon."""


def new_loop() -> asyncio.AbstractEventLoop:
    """Return an event loop that reads few sockets per turn; where there is no epoll, an ordinary one."""
    return asyncio.SelectorEventLoop(_FewAtOnce()) if hasattr(select, "epoll") else asyncio.new_event_loop()


class _FewAtOnce(selectors.BaseSelector):
    """epoll with at most `AT_ONCE` events per call. epoll itself takes ready sockets in turn, so none is forgotten."""

    def __init__(self) -> None:
        self._epoll = select.epoll()
        self._keys: dict[int, selectors.SelectorKey] = {}

    def register(self, fileobj: FileDescriptorLike, events: int, data: Any = None) -> selectors.SelectorKey:
        """Watch a file; see `selectors.BaseSelector`."""
        number = _number(fileobj)
        if number in self._keys:
            raise KeyError(f"{fileobj!r} (descriptor {number}) is already registered")
        self._epoll.register(number, _flags(events))
        return self._keep(selectors.SelectorKey(fileobj, number, events, data))

    def unregister(self, fileobj: FileDescriptorLike) -> selectors.SelectorKey:
        """Stop watching a file; one that was closed meanwhile is no error."""
        key = self._keys.pop(_number(fileobj))
        with contextlib.suppress(OSError):
            self._epoll.unregister(key.fd)
        return key

    def modify(self, fileobj: FileDescriptorLike, events: int, data: Any = None) -> selectors.SelectorKey:
        """Watch a file for other events."""
        key = self.get_key(fileobj)
        if events != key.events:
            self._epoll.modify(key.fd, _flags(events))
        return self._keep(key._replace(events=events, data=data))

    def select(self, timeout: float | None = None) -> list[tuple[selectors.SelectorKey, int]]:
        """Wait until something is ready and return a few of what is."""
        ready = []
        for number, flags in self._epoll.poll(-1 if timeout is None else max(timeout, 0), AT_ONCE):
            key = self._keys.get(number)
            if key is not None:
                # An error or a hang-up is something to read and to write, so that whoever waits hears of it.
                events = (flags & ~select.EPOLLIN and selectors.EVENT_WRITE) | (
                    flags & ~select.EPOLLOUT and selectors.EVENT_READ
                )
                ready.append((key, events & key.events))
        return ready

    def get_map(self) -> Mapping[Any, selectors.SelectorKey]:
        """Return the watched files by descriptor."""
        return self._keys

    def get_key(self, fileobj: FileDescriptorLike) -> selectors.SelectorKey:
        """Return what is known of a watched file."""
        number = _number(fileobj)
        try:
            return self._keys[number]
        except KeyError:
            raise KeyError(f"{fileobj!r} is not registered") from None

    def close(self) -> None:
        """Stop watching everything."""
        self._epoll.close()
        self._keys.clear()

    def _keep(self, key: selectors.SelectorKey) -> selectors.SelectorKey:
        self._keys[key.fd] = key
        return key


def _number(fileobj: FileDescriptorLike) -> int:
    return fileobj if isinstance(fileobj, int) else fileobj.fileno()


def _flags(events: int) -> int:
    return (select.EPOLLIN if events & selectors.EVENT_READ else 0) | (
        select.EPOLLOUT if events & selectors.EVENT_WRITE else 0
    )
