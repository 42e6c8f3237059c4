"""One connection without a socket: what gets out, when it may be used again, and its one timer."""

from __future__ import annotations

import asyncio
from collections.abc import Awaitable, Callable
from typing import Any

import pytest

from pytest_mindtrial.core.errors import InternalError, TransportError
from pytest_mindtrial.providers._http_connection import Connection, Deadlines, RawReply
from pytest_mindtrial.providers.http import Http, HttpRequest

REPLY = b"HTTP/1.1 200 OK\r\ncontent-length: 2\r\n\r\nok"
HEADERS = (("host", "x"), ("content-length", "2"))


class Wire(asyncio.Transport):
    """A transport that keeps what is written."""

    def __init__(self) -> None:
        super().__init__()
        self.sent: list[bytes] = []
        self.is_aborted = False

    def write(self, data: Any) -> None:
        self.sent.append(bytes(data))

    def get_write_buffer_size(self) -> int:
        return 0

    def abort(self) -> None:
        self.is_aborted = True


def run(work: Callable[[Connection, Wire], Awaitable[None]], *, body_limit: int = 1000) -> None:
    async def main() -> None:
        connection, wire = Connection(body_limit, memoryview(bytearray(64))), Wire()
        connection.connection_made(wire)
        await work(connection, wire)

    asyncio.run(main())


async def begin(connection: Connection, **deadlines: float) -> asyncio.Task[RawReply]:
    """Send a request and return when it waits for its reply."""
    total = deadlines.get("total_s")
    ends_at = None if total is None else asyncio.get_running_loop().time() + total
    task = asyncio.create_task(connection.exchange("/p", HEADERS, b"{}", Deadlines(**deadlines), ends_at))
    await asyncio.sleep(0)
    return task


def receive(connection: Connection, data: bytes) -> None:
    """Hand bytes over as asyncio does."""
    buffer = connection.get_buffer(-1)
    while data:
        piece, data = data[: len(buffer)], data[len(buffer) :]
        buffer[: len(piece)] = piece
        connection.buffer_updated(len(piece))


def test_a_request_is_written_as_one_piece() -> None:
    async def work(connection: Connection, wire: Wire) -> None:
        task = await begin(connection)
        receive(connection, REPLY)
        assert (await task).body == b"ok"
        assert wire.sent == [b"POST /p HTTP/1.1\r\nhost: x\r\ncontent-length: 2\r\n\r\n{}"]

    run(work)


@pytest.mark.parametrize(
    "target, headers",
    [
        ("/", [("a", "b\r\nc: d")]),
        ("/", [("a", "b\nc: d")]),
        ("/", [("a", "b\rc: d")]),
        ("/", [("a", "b\0")]),
        ("/", [("a\r\nb", "c")]),
        ("/", [("a", "\xe9")]),
        ("/ HTTP/1.1\r\nx: y\r\n", []),
        ("/\xe9", []),
    ],
)
def test_no_line_can_be_smuggled_into_a_request(target: str, headers: list[tuple[str, str]]) -> None:
    async def work(connection: Connection, wire: Wire) -> None:
        with pytest.raises(InternalError, match="cannot carry"):
            await connection.exchange(target, headers, b"", Deadlines(), None)
        assert wire.sent == []
        assert connection.is_open

    run(work)


@pytest.mark.parametrize("path", ["/a b", "/\xe9", "/a?b c", "/\x7f"])
def test_urls_that_would_break_the_request_line_are_refused(path: str) -> None:
    async def main() -> None:
        http = Http()
        with pytest.raises(InternalError, match="cannot carry"):
            await http.send(HttpRequest("http://127.0.0.1:9" + path, []))
        await http.close()

    asyncio.run(main())


def test_bytes_after_a_fault_are_ignored() -> None:
    async def work(connection: Connection, wire: Wire) -> None:
        task = await begin(connection)
        receive(connection, b"good morning\r\n\r\n")
        receive(connection, REPLY)
        connection.eof_received()
        connection.connection_lost(None)
        with pytest.raises(TransportError) as caught:
            await task
        assert caught.value.cause == "bad-http"
        assert wire.is_aborted

    run(work)


@pytest.mark.parametrize("surplus", [b"", b"H"])
def test_bytes_after_a_reply_close_the_connection(surplus: bytes) -> None:
    async def work(connection: Connection, wire: Wire) -> None:
        task = await begin(connection)
        receive(connection, REPLY)
        receive(connection, surplus)
        assert (await task).body == b"ok"
        assert (connection.is_open, wire.is_aborted) == (not surplus, bool(surplus))

    run(work)


def test_a_reply_that_broke_off_leaves_no_usable_connection() -> None:
    async def work(connection: Connection, wire: Wire) -> None:
        task = await begin(connection)
        receive(connection, REPLY[:-1])
        task.cancel()
        with pytest.raises(asyncio.CancelledError):
            await task
        assert (connection.is_open, wire.is_aborted) == (False, True)

    run(work)


def test_an_idle_connection_does_not_keep_the_last_reply() -> None:
    async def work(connection: Connection, wire: Wire) -> None:
        task = await begin(connection)
        receive(connection, REPLY)
        await task
        assert connection.is_open
        assert (connection._reader.body, connection._reader.is_complete) == (b"", False)

    run(work)


def test_one_timer_serves_many_requests() -> None:
    async def work(connection: Connection, wire: Wire) -> None:
        timers = set()
        for _ in range(3):
            task = await begin(connection, total_s=50.0)
            timers.add(connection._timer)
            receive(connection, REPLY)
            await task
        assert len(timers) == 1
        (timer,) = timers
        assert timer is not None
        connection._check()
        assert connection.is_open
        connection.connection_lost(None)

    run(work)


def test_a_nearer_deadline_is_kept_to_on_a_connection_with_a_timer() -> None:
    async def work(connection: Connection, wire: Wire) -> None:
        task = await begin(connection, total_s=500.0)
        receive(connection, REPLY)
        await task
        far = connection._timer
        task = await begin(connection, total_s=0.02)
        assert far is not None
        assert far.cancelled()
        with pytest.raises(TransportError) as caught:
            await task
        assert caught.value.cause == "timeout-total"

    run(work)


def test_the_timer_of_an_earlier_request_does_not_end_a_later_one() -> None:
    async def work(connection: Connection, wire: Wire) -> None:
        task = await begin(connection, total_s=0.02)
        receive(connection, REPLY)
        await task
        early = connection._timer
        task = await begin(connection, total_s=500.0)
        assert early is not None
        assert connection._timer is early
        while connection._timer is early:
            await asyncio.sleep(0.005)
        assert connection._timer is not None
        assert connection._timer.when() > early.when() + 100
        receive(connection, REPLY)
        assert (await task).body == b"ok"

    run(work)


def test_a_lost_connection_leaves_no_timer() -> None:
    async def work(connection: Connection, wire: Wire) -> None:
        task = await begin(connection)
        connection.connection_lost(None)
        with pytest.raises(TransportError) as caught:
            await task
        assert caught.value.cause == "reset"
        assert connection._timer is not None
        assert connection._timer.cancelled()

    run(work)
