"""One HTTP/1.1 connection: an asyncio protocol that writes requests and feeds replies to their reader.

Sends one request at a time and collects the whole reply. Does not pool, resolve names or decode bodies
(``providers/http.py``) and does not know how replies are framed (``_http_parser.py``).
Source: spec providers 1.2; RFC 9112 sections 2.2 and 3.
"""

from __future__ import annotations

import asyncio
from collections.abc import Mapping, Sequence
from dataclasses import dataclass

from pytest_mindtrial.core.errors import InternalError, TransportError
from pytest_mindtrial.providers._http_parser import ReplyReader, closed_early

__all__ = ["Connection", "Deadlines", "RawReply"]

_COPIED = 64 * 1024


@dataclass(frozen=True, slots=True)
class Deadlines:
    """Longest waits in seconds; ``total_s`` None = unlimited.

    ``silence_s`` counts from the end of sending to the first byte, then from byte to byte.
    """

    connect_s: float = 10.0
    write_s: float = 60.0
    silence_s: float = 600.0
    total_s: float | None = None


@dataclass(frozen=True, slots=True)
class RawReply:
    """Status, header fields (by lower-case name, repeated ones joined) and body; ``first_byte_at`` in loop time."""

    status: int
    headers: Mapping[str, str]
    body: bytes
    first_byte_at: float


class Connection(asyncio.BufferedProtocol):
    """A connection to one origin.

    Args:
        body_limit: Largest reply body in bytes.
        buffer: Where the reads of an event loop go. All its connections share it, because each read is copied out
            before the next one; left alone, asyncio allocates 256 KiB for each.

    Attributes:
        is_open: False once the peer or we closed it.
        idle_since: Loop time since when it waits for a request.
        lost: Done when the transport is gone.
    """

    def __init__(self, body_limit: int, buffer: memoryview) -> None:
        loop = asyncio.get_running_loop()
        self._loop = loop
        self._body_limit = body_limit
        self._buffer = buffer
        self._reader = ReplyReader(body_limit)
        self._waiter: asyncio.Future[RawReply] | None = None
        self._timer: asyncio.TimerHandle | None = None
        self._deadlines = Deadlines()
        self._ends_at: float | None = None
        self._active_at = 0.0
        self._first_byte_at: float | None = None
        self._unsent = 0
        self.is_open = False
        self.idle_since = 0.0
        self.lost: asyncio.Future[None] = loop.create_future()

    @property
    def has_answered(self) -> bool:
        """True when a byte of the reply to the current request has come."""
        return self._first_byte_at is not None

    async def exchange(
        self,
        target: str,
        headers: Sequence[tuple[str, str]],
        body: bytes,
        deadlines: Deadlines,
        ends_at: float | None,
        *,
        method: str = "POST",
    ) -> RawReply:
        """Send one request and return its reply.

        Args:
            target: Path and query.
            headers: Complete, with ``host`` and ``content-length``.
            body: Request body; empty for a GET.
            deadlines: Longest waits.
            ends_at: Loop time of the total deadline.
            method: ``POST`` or ``GET``.

        Raises:
            TransportError: No complete reply; the connection is closed then.
        """
        head = _request_head(method, target, headers)
        self._deadlines, self._ends_at = deadlines, ends_at
        self._first_byte_at = None
        self._active_at = self._loop.time()
        self._waiter = self._loop.create_future()
        try:
            if len(body) < _COPIED:
                self._transport.write(head + body)
            else:
                self._transport.write(head)
                self._transport.write(body)
            self._watch()
            return await self._waiter
        finally:
            self._waiter = None
            self._finish()

    def abort(self) -> None:
        """Close at once."""
        self.is_open = False
        self._transport.abort()

    def connection_made(self, transport: asyncio.BaseTransport) -> None:
        assert isinstance(transport, asyncio.Transport)
        self._transport = transport
        self.is_open = True

    def get_buffer(self, sizehint: int) -> memoryview:
        return self._buffer

    def buffer_updated(self, nbytes: int) -> None:
        self._take(bytes(self._buffer[:nbytes]))

    def eof_received(self) -> bool:
        self.is_open = False
        if self._waiter is not None and not self._waiter.done():
            try:
                self._reader.end()
                self._complete()
            except TransportError as error:
                self._reject(error)
        return False

    def connection_lost(self, error: Exception | None) -> None:
        self.is_open = False
        if not self.lost.done():
            self.lost.set_result(None)
        if self._timer is not None:
            self._timer.cancel()
        if self.has_answered:
            self._fail("the connection broke in the middle of the reply", "stream-cut")
        else:
            self._reject(closed_early())

    def _take(self, data: bytes) -> None:
        self._active_at = self._loop.time()
        if self._waiter is None or self._waiter.done():
            # Bytes nobody asked for: the server says goodbye, or it is out of step.
            self.abort()
            return
        if self._first_byte_at is None:
            self._first_byte_at = self._active_at
        try:
            if self._reader.feed(data):
                self._complete()
        except TransportError as error:
            self._reject(error)

    def _watch(self) -> None:
        """See to it that somebody looks at the nearest deadline.

        A timer that is armed stays, also from one request to the next: it fires too early then, and is armed again.
        That costs one timer per deadline that passes, not one per request.
        """
        self._unsent = self._transport.get_write_buffer_size()
        due = self._active_at + (self._deadlines.write_s if self._unsent else self._deadlines.silence_s)
        if self._ends_at is not None:
            due = min(due, self._ends_at)
        if self._timer is not None:
            if self._timer.when() <= due:
                return
            self._timer.cancel()
        self._timer = self._loop.call_at(due, self._check)

    def _check(self) -> None:
        self._timer = None
        if self._waiter is None:
            return
        now = self._loop.time()
        if self._ends_at is not None and now >= self._ends_at:
            self._fail(f"no complete reply within {self._deadlines.total_s:g} s", "timeout-total")
            return
        unsent = self._transport.get_write_buffer_size()
        if self._unsent and unsent < self._unsent:
            self._active_at = now
        elif self._unsent and now - self._active_at >= self._deadlines.write_s:
            self._fail(f"the request could not be sent: no progress for {self._deadlines.write_s:g} s", "timeout-write")
            return
        if not unsent and now - self._active_at >= self._deadlines.silence_s:
            self._fail_silent()
            return
        self._watch()

    def _fail_silent(self) -> None:
        limit = f"{self._deadlines.silence_s:g} s"
        if self.has_answered:
            self._fail(f"the reply stopped in the middle: no byte for {limit}", "stream-cut")
        else:
            self._fail(f"no byte of a reply within {limit}", "timeout-first-byte")

    def _complete(self) -> None:
        assert self._waiter is not None
        assert self._first_byte_at is not None
        reader = self._reader
        self._waiter.set_result(RawReply(reader.status, reader.headers, reader.body, self._first_byte_at))

    def _fail(self, message: str, cause: str) -> None:
        self._reject(TransportError(message, transient=True, cause=cause))

    def _reject(self, error: TransportError) -> None:
        if self._waiter is not None and not self._waiter.done():
            self._waiter.set_exception(error)

    def _finish(self) -> None:
        """Get ready for another request, or close where that is impossible."""
        is_in_step = self._reader.is_reusable and not self._transport.get_write_buffer_size()
        self._reader = ReplyReader(self._body_limit)  # now, because the old one holds a whole reply
        if self.is_open and is_in_step:
            self.idle_since = self._loop.time()
        else:
            self.abort()


def _request_head(method: str, target: str, headers: Sequence[tuple[str, str]]) -> bytes:
    """Return request line and headers as they are sent.

    Raises:
        InternalError: Something would end a line early, or is no ASCII; whoever made the request should have noticed.
    """
    fields = "".join([f"{name}: {value}\r\n" for name, value in headers])
    head = f"{method} {target} HTTP/1.1\r\n{fields}\r\n"
    breaks = len(headers) + 2
    if head.count("\r") != breaks or head.count("\n") != breaks or "\0" in head or not head.isascii():
        raise InternalError("a request's target or header holds a character that HTTP cannot carry")
    return head.encode("ascii")
