"""A scripted HTTP server on 127.0.0.1: records what it is asked and answers by script, faults included.

Stdlib and threads only, port 0, no sleeping: delays are events (`Reply.gate`). Used as::

    with Loopback() as server:
        server.script(json_reply({"ok": True}), json_reply({"error": {}}, status=429, headers={"retry-after": "2"}))
        ...                               # talk to server.url
        assert server.requests[0].json["model"] == "m"

Replies are taken in order; when the script is empty, ``server.respond(function)`` decides (``Received -> Reply``), and
without one the answer is a 599 that names the mistake. Connections are kept alive; `Received.connection` numbers them.
Does not measure anything: for throughput use a server in its own process.
"""

from __future__ import annotations

import contextlib
import gzip
import json
import socket
import ssl
import struct
import threading
from collections import deque
from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import dataclass, field
from types import TracebackType
from typing import Any

__all__ = ["Loopback", "Received", "Reply", "json_reply", "sse_reply"]


@dataclass(frozen=True)
class Received:
    """One request; header names are lower case."""

    method: str
    path: str
    headers: Mapping[str, str]
    body: bytes
    connection: int

    @property
    def json(self) -> Any:
        """The body as JSON."""
        return json.loads(self.body)


@dataclass(frozen=True)
class Reply:
    """What to answer.

    Attributes:
        chunks: When given, the body is sent chunked, one HTTP chunk each.
        gate: Wait for this event before the first byte; closing the server sets it.
        cut_after: Close the connection after this many body bytes (of what the head promised).
        reset: Close with RST instead of answering; with `cut_after`, RST after these bytes.
        raw: Send these bytes instead of a reply and close.
        close: Close the connection after the reply; ``announce_close`` says so in the head.
        compress: Send the body gzip-coded.
    """

    body: bytes = b""
    status: int = 200
    headers: Mapping[str, str] = field(default_factory=dict)
    chunks: Sequence[bytes] | None = None
    gate: threading.Event | None = None
    cut_after: int | None = None
    reset: bool = False
    raw: bytes | None = None
    close: bool = False
    announce_close: bool = True
    compress: bool = False


def json_reply(value: Any, *, status: int = 200, headers: Mapping[str, str] | None = None, **rest: Any) -> Reply:
    """Return a reply with a JSON body."""
    head = {"content-type": "application/json", **(headers or {})}
    return Reply(json.dumps(value).encode(), status, head, **rest)


def sse_reply(events: Iterable[Any], *, done: bool = True, **rest: Any) -> Reply:
    """Return a chunked event stream: one ``data:`` event per item (text as it is, else JSON), then ``[DONE]``."""
    texts = [item if isinstance(item, str) else f"data: {json.dumps(item)}\n\n" for item in events]
    if done:
        texts.append("data: [DONE]\n\n")
    head = {"content-type": "text/event-stream", **rest.pop("headers", {})}
    return Reply(headers=head, chunks=[text.encode() for text in texts], **rest)


class Loopback:
    """The server; a context manager. Attributes: ``url``, ``requests`` (in order), ``connections`` (count)."""

    def __init__(self, tls: ssl.SSLContext | None = None) -> None:
        self.requests: list[Received] = []
        self.connections = 0
        self._tls = tls
        self._script: deque[Reply] = deque()
        self._respond: Callable[[Received], Reply] | None = None
        self._changed = threading.Condition()
        self._sockets: set[socket.socket] = set()
        self._closing = False
        self._gates: set[threading.Event] = set()
        self._listener = socket.create_server(("127.0.0.1", 0), backlog=1024)
        self.port: int = self._listener.getsockname()[1]
        self.url = f"{'https' if tls else 'http'}://127.0.0.1:{self.port}"
        self._threads: list[threading.Thread] = []
        self._run(self._accept)

    def script(self, *replies: Reply) -> None:
        """Append replies to the script."""
        with self._changed:
            self._script.extend(replies)

    def respond(self, function: Callable[[Received], Reply]) -> None:
        """Let ``function`` answer whatever the script does not; called from several threads."""
        self._respond = function

    def wait_for(self, count: int, timeout_s: float = 10.0) -> None:
        """Block until ``count`` requests have been received completely."""
        with self._changed:
            if not self._changed.wait_for(lambda: len(self.requests) >= count, timeout_s):
                raise AssertionError(f"{len(self.requests)} requests after {timeout_s} s, expected {count}")

    def close(self) -> None:
        """Stop listening, open all gates and drop all connections."""
        self._closing = True
        with self._changed:
            for gate in self._gates:
                gate.set()
        _shut(self._listener)
        with self._changed:
            sockets = list(self._sockets)
        for item in sockets:
            _shut(item)
        for thread in self._threads:
            thread.join(5)

    def drop_idle(self) -> None:
        """Close every open connection now, as a server does with idle ones."""
        with self._changed:
            sockets = list(self._sockets)
        for item in sockets:
            _shut(item)

    def __enter__(self) -> Loopback:
        return self

    def __exit__(self, kind: type[BaseException] | None, error: BaseException | None, tb: TracebackType | None) -> None:
        self.close()

    def _wait_at(self, gate: threading.Event | None) -> None:
        if gate is None:
            return
        with self._changed:
            self._gates.add(gate)
            if self._closing:
                gate.set()
        gate.wait(30)

    def _run(self, target: Callable[..., None], *args: Any) -> None:
        thread = threading.Thread(target=target, args=args, daemon=True, name="loopback")
        self._threads.append(thread)
        thread.start()

    def _accept(self) -> None:
        while True:
            try:
                connection, _ = self._listener.accept()
            except OSError:
                return
            with self._changed:
                self.connections += 1
                number = self.connections
            self._run(self._serve, connection, number)

    def _serve(self, connection: socket.socket, number: int) -> None:
        try:
            if self._tls is not None:
                connection = self._tls.wrap_socket(connection, server_side=True)
            connection.setsockopt(socket.IPPROTO_TCP, socket.TCP_NODELAY, 1)
            with self._changed:
                self._sockets.add(connection)
            with connection, connection.makefile("rb") as stream:
                while not self._closing:
                    received = _receive(stream, number)
                    if received is None:
                        return
                    with self._changed:
                        self.requests.append(received)
                        reply = self._script.popleft() if self._script else None
                        self._changed.notify_all()
                    if reply is None:
                        reply = self._respond(received) if self._respond else Reply(b"script exhausted", 599)
                    self._wait_at(reply.gate)
                    if not _answer(connection, reply):
                        return
        except OSError:
            return
        finally:
            with self._changed:
                self._sockets.discard(connection)
            connection.close()


def _shut(item: socket.socket) -> None:
    with contextlib.suppress(OSError):
        item.shutdown(socket.SHUT_RDWR)
    item.close()


def _receive(stream: Any, number: int) -> Received | None:
    line = stream.readline()
    if not line.strip():
        return None
    words = line.decode("latin-1").split(" ")
    if len(words) != 3:
        return None
    method, path, _ = words
    headers: dict[str, str] = {}
    while (line := stream.readline()) not in (b"\r\n", b"\n", b""):
        name, _, value = line.decode("latin-1").partition(":")
        headers[name.strip().lower()] = value.strip()
    body = stream.read(int(headers.get("content-length", "0")))
    return Received(method, path, headers, body, number)


def _answer(connection: socket.socket, reply: Reply) -> bool:
    """Send one reply; False when the connection must be closed."""
    if reply.raw is not None:
        connection.sendall(reply.raw)
        return False
    if reply.reset and reply.cut_after is None:
        return _reset(connection)
    head, body = _render(reply)
    if reply.cut_after is not None:
        connection.sendall(head + body[: reply.cut_after])
        return _reset(connection) if reply.reset else False
    connection.sendall(head + body)
    return not reply.close


def _render(reply: Reply) -> tuple[bytes, bytes]:
    headers = dict(reply.headers)
    body = reply.body
    if reply.compress:
        body = gzip.compress(body)
        headers["content-encoding"] = "gzip"
    if reply.chunks is not None:
        headers["transfer-encoding"] = "chunked"
        body = b"".join(b"%x\r\n%b\r\n" % (len(chunk), chunk) for chunk in reply.chunks if chunk) + b"0\r\n\r\n"
    else:
        headers["content-length"] = str(len(body))
    if reply.close and reply.announce_close:
        headers["connection"] = "close"
    lines = "".join(f"{name}: {value}\r\n" for name, value in headers.items())
    return f"HTTP/1.1 {reply.status} Scripted\r\n{lines}\r\n".encode(), body


def _reset(connection: socket.socket) -> bool:
    connection.setsockopt(socket.SOL_SOCKET, socket.SO_LINGER, struct.pack("ii", 1, 0))
    return False
