"""One HTTP/1.1 connection: an asyncio protocol around h11's state machine.

Sends one request at a time and collects the whole reply. Does not pool, resolve names or decode bodies
(``providers/http.py``). Source: spec providers 1.2; RFC 9112 (framing is h11's).
"""

from __future__ import annotations

import asyncio
from collections.abc import Sequence
from dataclasses import dataclass

import h11

from pytest_mindtrial.core.errors import TransportError

__all__ = ["Connection", "Deadlines", "RawReply"]

_HEAD_LIMIT = 256 * 1024
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
    """Status, header fields (names in lower case) and body as they came; ``first_byte_at`` in loop time."""

    status: int
    headers: Sequence[tuple[bytes, bytes]]
    body: bytes
    first_byte_at: float


class Connection(asyncio.Protocol):
    """A connection to one origin.

    Attributes:
        is_open: False once the peer or we closed it.
        idle_since: Loop time since when it waits for a request.
        lost: Done when the transport is gone.
    """

    def __init__(self, body_limit: int) -> None:
        loop = asyncio.get_running_loop()
        self._loop = loop
        self._body_limit = body_limit
        self._http = h11.Connection(h11.CLIENT, max_incomplete_event_size=_HEAD_LIMIT)
        self._waiter: asyncio.Future[RawReply] | None = None
        self._timer: asyncio.TimerHandle | None = None
        self._deadlines = Deadlines()
        self._ends_at: float | None = None
        self._active_at = 0.0
        self._first_byte_at: float | None = None
        self._unsent = 0
        self._response: h11.Response | None = None
        self._parts: list[bytes] = []
        self._size = 0
        self.is_open = False
        self.idle_since = 0.0
        self.lost: asyncio.Future[None] = loop.create_future()

    @property
    def has_answered(self) -> bool:
        """True when a byte of the reply to the current request has come."""
        return self._first_byte_at is not None

    async def exchange(
        self,
        target: bytes,
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
        self._deadlines, self._ends_at = deadlines, ends_at
        self._first_byte_at, self._response, self._parts, self._size = None, None, [], 0
        self._active_at = self._loop.time()
        self._waiter = self._loop.create_future()
        try:
            request = h11.Request(method=method, target=target, headers=list(headers))
            head = self._http.send(request) or b""
            if body:
                self._http.send_with_data_passthrough(h11.Data(data=body))
            self._http.send(h11.EndOfMessage())
            self._transport.write(head + body if len(body) < _COPIED else head)
            if len(body) >= _COPIED:
                self._transport.write(body)
            self._watch()
            return await self._waiter
        finally:
            if self._timer is not None:
                self._timer.cancel()
                self._timer = None
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

    def data_received(self, data: bytes) -> None:
        self._active_at = self._loop.time()
        if self._waiter is None:
            # Bytes nobody asked for: the server says goodbye, or it is out of step.
            self.abort()
            return
        if self._first_byte_at is None:
            self._first_byte_at = self._active_at
        self._http.receive_data(data)
        self._advance()

    def eof_received(self) -> bool:
        self.is_open = False
        if self._waiter is not None:
            self._http.receive_data(b"")
            self._advance()
        return False

    def connection_lost(self, error: Exception | None) -> None:
        self.is_open = False
        if not self.lost.done():
            self.lost.set_result(None)
        if self.has_answered:
            self._fail("the connection broke in the middle of the reply", "stream-cut")
        else:
            self._fail("the connection was closed before the reply", "reset")

    def _watch(self) -> None:
        """Arm the timer for the nearest deadline."""
        self._unsent = self._transport.get_write_buffer_size()
        limit = self._deadlines.write_s if self._unsent else self._deadlines.silence_s
        due = self._active_at + limit
        if self._ends_at is not None:
            due = min(due, self._ends_at)
        self._timer = self._loop.call_at(due, self._check)

    def _check(self) -> None:
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

    def _advance(self) -> None:
        try:
            while (event := self._http.next_event()) is not h11.NEED_DATA:
                if isinstance(event, h11.Data):
                    self._add(event.data)
                elif isinstance(event, h11.Response):
                    self._response = event
                elif isinstance(event, h11.EndOfMessage):
                    self._complete()
                    return
                elif not isinstance(event, h11.InformationalResponse):
                    return
        except h11.RemoteProtocolError as error:
            if self._response is not None:
                self._fail(f"the reply is incomplete: {error}", "stream-cut")
            elif not self.is_open:
                self._fail("the connection was closed before the reply", "reset")
            else:
                self._fail(f"the reply is not HTTP: {error}", "bad-http")

    def _add(self, data: bytes) -> None:
        self._size += len(data)
        if self._size > self._body_limit:
            message = f"the reply is larger than {self._body_limit:,} bytes"
            self._fail(message, "too-large", is_transient=False)
        else:
            self._parts.append(bytes(data))

    def _complete(self) -> None:
        if self._waiter is not None and not self._waiter.done():
            assert self._response is not None
            assert self._first_byte_at is not None
            body = self._parts[0] if len(self._parts) == 1 else b"".join(self._parts)
            reply = RawReply(self._response.status_code, list(self._response.headers), body, self._first_byte_at)
            self._waiter.set_result(reply)

    def _fail(self, message: str, cause: str, *, is_transient: bool = True) -> None:
        if self._waiter is not None and not self._waiter.done():
            self._waiter.set_exception(TransportError(message, transient=is_transient, cause=cause))

    def _finish(self) -> None:
        """Get ready for another request, or close where that is impossible."""
        self._parts = []
        is_done = self._http.our_state is h11.DONE and self._http.their_state is h11.DONE
        is_in_step = not self._http.trailing_data[0] and not self._transport.get_write_buffer_size()
        if self.is_open and is_done and is_in_step:
            self._http.start_next_cycle()
            self.idle_since = self._loop.time()
        else:
            self.abort()
