"""Kept-alive direct connections: one list of idle ones per origin, names resolved once, one TLS context.

Does not limit the number of connections, knows no proxies (``providers/http.py``) and never sends a POST twice by
itself: a POST on a kept connection that the server closed before any byte of a reply raises an error that says so
(``may_resend``), because sending it again is another request for whoever counts them. A GET is sent once more.
Source: spec providers 1.2; RFC 9110 section 9.2.2, RFC 9112 section 9.3.1.
"""

from __future__ import annotations

import asyncio
import contextlib
import socket
import ssl
from collections.abc import Callable, Sequence
from functools import lru_cache
from urllib.parse import SplitResult

from pytest_mindtrial.core.errors import InternalError, TransportError
from pytest_mindtrial.providers._http_connection import Connection, Deadlines, RawReply

__all__ = ["IDLE_LIMIT_S", "Pool"]

IDLE_LIMIT_S = 55.0
"""Shorter than the minute after which common servers close; connections idle for longer are not used again."""

_ADDRESS_LIFE_S = 60.0
_READ_SIZE = 256 * 1024

Origin = tuple[str, str, int]


class Pool:
    """The connections of one event loop.

    Args:
        tls: Returns the context for https; called once, on first use.
        body_limit: Largest reply body in bytes.
    """

    def __init__(self, tls: Callable[[], ssl.SSLContext], body_limit: int) -> None:
        self._tls = tls
        self._body_limit = body_limit
        self._buffer = memoryview(bytearray(_READ_SIZE))
        self._idle: dict[Origin, list[Connection]] = {}
        self._open: set[Connection] = set()
        self._addresses: dict[tuple[str, int], asyncio.Task[list[str]]] = {}

    async def send(
        self,
        url: SplitResult,
        headers: Sequence[tuple[str, str]],
        body: bytes,
        deadlines: Deadlines,
        ends_at: float | None,
        *,
        method: str = "POST",
    ) -> RawReply:
        """Send one request; see `Connection.exchange`."""
        origin, host, target = _place(url)
        if method == "POST":
            head = [("host", host), ("content-length", str(len(body))), *headers]
        else:
            head = [("host", host), *headers]
        connection = self._take_idle(origin)
        if connection is not None:
            try:
                return await self._exchange(origin, connection, target, head, body, deadlines, ends_at, method)
            except TransportError as error:
                if error.cause != "reset" or connection.has_answered:
                    raise
                self._drop_idle(origin)  # they have gone idle together with this one
                if method != "GET":
                    error.may_resend = True
                    raise
        connection = await self._connect(origin, deadlines, ends_at)
        return await self._exchange(origin, connection, target, head, body, deadlines, ends_at, method)

    async def close(self) -> None:
        """Close every connection; requests under way fail."""
        connections = list(self._open)
        for connection in connections:
            connection.abort()
        for connection in connections:
            await connection.lost
        self._idle.clear()
        tasks = list(self._addresses.values())
        self._addresses.clear()
        for task in tasks:
            task.cancel()
            with contextlib.suppress(asyncio.CancelledError, OSError):
                await task

    async def _exchange(
        self,
        origin: Origin,
        connection: Connection,
        target: str,
        headers: Sequence[tuple[str, str]],
        body: bytes,
        deadlines: Deadlines,
        ends_at: float | None,
        method: str,
    ) -> RawReply:
        try:
            return await connection.exchange(target, headers, body, deadlines, ends_at, method=method)
        finally:
            if connection.is_open:
                self._idle.setdefault(origin, []).append(connection)

    def _take_idle(self, origin: Origin) -> Connection | None:
        """Return the connection used last, so that surplus ones grow old and are closed."""
        idle = self._idle.get(origin)
        now = asyncio.get_running_loop().time()
        while idle:
            connection = idle.pop()
            if connection.is_open and now - connection.idle_since < IDLE_LIMIT_S:
                return connection
            connection.abort()
        return None

    def _drop_idle(self, origin: Origin) -> None:
        for connection in self._idle.pop(origin, []):
            connection.abort()

    async def _connect(self, origin: Origin, deadlines: Deadlines, ends_at: float | None) -> Connection:
        loop = asyncio.get_running_loop()
        limit, cause = deadlines.connect_s, "timeout-connect"
        if ends_at is not None and ends_at - loop.time() < limit:
            limit, cause = ends_at - loop.time(), "timeout-total"
        _, host, port = origin
        try:
            async with asyncio.timeout(limit):
                connection = await self._open_connection(origin)
        except TimeoutError as error:
            raise TransportError(f"no connection to {host}:{port} in time", transient=True, cause=cause) from error
        except socket.gaierror as error:
            raise TransportError(f"cannot resolve {host}: {error.strerror}", transient=True, cause="dns") from error
        except ssl.SSLCertVerificationError as error:
            message = f"the certificate of {host} is not trusted: {error.verify_message}"
            raise TransportError(message, transient=False, cause="tls") from error
        except ssl.SSLError as error:
            raise TransportError(f"TLS with {host} failed: {error.reason}", transient=True, cause="tls") from error
        except OSError as error:
            message = f"cannot connect to {host}:{port}: {error.strerror or error}"
            raise TransportError(message, transient=True, cause="connect") from error
        self._open.add(connection)
        connection.lost.add_done_callback(lambda _: self._open.discard(connection))
        return connection

    async def _open_connection(self, origin: Origin) -> Connection:
        scheme, host, port = origin
        tls = self._tls() if scheme == "https" else None
        loop = asyncio.get_running_loop()
        addresses = await self._resolve(host, port)
        for address in (candidates := tuple(addresses)):
            try:
                _, connection = await loop.create_connection(
                    lambda: Connection(self._body_limit, self._buffer),
                    address,
                    port,
                    ssl=tls,
                    server_hostname=host if tls else None,
                )
            except ssl.SSLError:
                raise
            except OSError:
                if address == candidates[-1]:
                    raise
                # An unreachable address goes last, so that the next connection does not try it first again.
                if address == addresses[0]:
                    addresses.append(addresses.pop(0))
                continue
            return connection
        raise OSError(f"{host} has no address")

    async def _resolve(self, host: str, port: int) -> list[str]:
        """Return the addresses of a host; a thousand connections at the start ask once."""
        task = self._addresses.get((host, port))
        if task is None or (task.done() and (task.cancelled() or task.exception() is not None)):
            task = asyncio.create_task(_addresses(host, port))
            self._addresses[host, port] = task
            asyncio.get_running_loop().call_later(_ADDRESS_LIFE_S, self._addresses.pop, (host, port), None)
        return await asyncio.shield(task)


@lru_cache(maxsize=256)
def _place(url: SplitResult) -> tuple[Origin, str, str]:
    """Return where a URL leads: the origin, the ``host`` header and the request's target.

    Raises:
        InternalError: The target is not visible ASCII; whoever made the URL should have escaped it.
    """
    origin = url.scheme, url.hostname or "", url.port or (443 if url.scheme == "https" else 80)
    path = url.path or "/"
    target = f"{path}?{url.query}" if url.query else path
    if not target.isascii() or not target.isprintable() or " " in target:
        raise InternalError(f"the path of a URL holds a character that HTTP cannot carry: {target!r}")
    return origin, url.netloc.rpartition("@")[2], target


async def _addresses(host: str, port: int) -> list[str]:
    if _is_address(host):
        return [host]  # to look it up would start a thread
    found = await asyncio.get_running_loop().getaddrinfo(host, port, type=socket.SOCK_STREAM)
    return list(dict.fromkeys(str(entry[4][0]) for entry in found))


def _is_address(host: str) -> bool:
    for family in (socket.AF_INET, socket.AF_INET6):
        with contextlib.suppress(OSError):
            return bool(socket.inet_pton(family, host))
    return False
