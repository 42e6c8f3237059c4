"""A selector that reports few ready sockets at a time.

asyncio runs everything that is ready in turns: first all replies are read, then all attempts go on, then all their
successors start. When two hundred replies come within a moment, the first successor is sent after the last reply was
judged, and the burst stays a burst for the rest of the session. With a few sockets per turn a reply becomes the next
request before the next replies are read, and the burst spreads out. Does not know what the sockets are for.

Source: spec performance 7 (G1); ``docs/performance.md`` has what it gave.
"""

from __future__ import annotations

import asyncio
import os
import select
import selectors

__all__ = ["new_loop"]

AT_ONCE = 8
"""Sockets per turn: enough to make the turn's own cost small, few enough to go on with each soon."""


def new_loop() -> asyncio.AbstractEventLoop:
    """Return an event loop that reads few sockets per turn; where there is no epoll, an ordinary one."""
    return asyncio.SelectorEventLoop(_FewAtOnce()) if hasattr(select, "epoll") else asyncio.new_event_loop()


if hasattr(select, "epoll"):

    class _FewAtOnce(selectors.EpollSelector):
        """Python's own with at most `AT_ONCE` events per call; epoll takes ready files in turn and forgets none."""

        def __init__(self) -> None:
            super().__init__()
            # A second descriptor of the same epoll, because Python's object for the first one is private.
            self._epoll = select.epoll.fromfd(os.dup(self.fileno()))
            self._files = self.get_map()

        def select(self, timeout: float | None = None) -> list[tuple[selectors.SelectorKey, int]]:
            """Wait until something is ready and return a few of what is."""
            ready = []
            for number, flags in self._epoll.poll(-1 if timeout is None else max(timeout, 0), AT_ONCE):
                key = self._files.get(number)
                if key is not None:
                    # An error or a hang-up is something to read and to write, so that whoever waits hears of it.
                    events = (flags & ~select.EPOLLIN and selectors.EVENT_WRITE) | (
                        flags & ~select.EPOLLOUT and selectors.EVENT_READ
                    )
                    ready.append((key, events & key.events))
            return ready

        def close(self) -> None:
            """Stop watching everything."""
            self._epoll.close()
            super().close()
