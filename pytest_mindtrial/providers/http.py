"""HTTP requests over kept-alive connections: bytes out, bytes in, deadlines, ceilings, one TLS context.

The only module that knows an HTTP library. Does not know JSON, vendors or retries; a POST is never sent twice here
(``_http_pool.py`` says when it may be sent again). Redirects are not followed.
Source: spec providers 1.2; performance 4; design D5.

Why not one httpx client: its pool walks all connections for every request. Measured on two shared cores, CPython 3.11,
server in another process, zero latency, CPU of the client per request (build, send, read, JSON), at 50 / 200 / 1,000
connections; 4,000 (httpx: bare prototypes) or 6,000 requests (the others: `Transport.send`) per run; medians of five
runs, interleaved, all in one sitting:

=====================================================  =====  =====  =====
httpx transports of 8 connections, used directly        0.57   0.68   0.88 ms
one httpx transport per connection                      0.49   0.53   0.57 ms
asyncio protocol and h11 (what stood here before)       0.18   0.18   0.18 ms
asyncio protocol and ``_http_parser`` (this module)     0.05   0.05   0.06 ms
=====================================================  =====  =====  =====

httpx is used where it is stronger: when ``HTTPS_PROXY``, ``HTTP_PROXY`` or ``ALL_PROXY`` applies to a host and
``NO_PROXY`` does not, the request goes through one-connection httpx transports, which know proxies.
"""

from __future__ import annotations

import asyncio
import os
import ssl
import zlib
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from functools import cached_property
from typing import TYPE_CHECKING, Literal
from urllib.parse import SplitResult, urlsplit

from pytest_mindtrial.core.errors import ConfigError, TransportError
from pytest_mindtrial.providers._http_connection import Deadlines, RawReply
from pytest_mindtrial.providers._http_pool import IDLE_LIMIT_S, Pool
from pytest_mindtrial.suite.keys import is_loopback

if TYPE_CHECKING:
    import httpx

__all__ = ["Deadlines", "Http", "HttpReply", "HttpRequest"]

_BODY_LIMIT = 64 * 1024 * 1024
_CODINGS = frozenset(("gzip", "x-gzip", "deflate"))
_GZIP_OR_ZLIB, _BARE_DEFLATE = 47, -15


@dataclass(frozen=True, slots=True)
class HttpRequest:
    """One request. ``headers`` lack ``host`` and ``content-length``, which are added; a GET has no body."""

    url: str
    headers: Sequence[tuple[str, str]]
    body: bytes = b""
    method: Literal["GET", "POST"] = "POST"


@dataclass(frozen=True, slots=True)
class HttpReply:
    """One complete reply.

    Attributes:
        headers: By lower-case name; repeated fields are joined by commas.
        body: Decoded (gzip, deflate).
        duration_ns: From sending (a new connection included) to the last byte.
        first_byte_ns: From sending to the first byte.
    """

    status: int
    headers: Mapping[str, str]
    body: bytes
    duration_ns: int
    first_byte_ns: int


class Http:
    """All connections of one event loop, shared by all clients.

    Never limits how many there are: the engine's concurrency does.

    Args:
        tls: Context to use instead of the default one.
        deadlines: Longest waits; each request may shorten the total.
        body_limit: Largest reply body in bytes, as received and as decoded.
    """

    def __init__(
        self,
        *,
        tls: ssl.SSLContext | None = None,
        deadlines: Deadlines | None = None,
        body_limit: int = _BODY_LIMIT,
    ) -> None:
        self._given_tls = tls
        self._deadlines = deadlines or Deadlines()
        self._body_limit = body_limit
        self._pool = Pool(lambda: self._tls, body_limit)
        self._proxied: dict[str, list[httpx.AsyncHTTPTransport]] = {}

    async def send(self, request: HttpRequest, *, timeout_s: float | None = None) -> HttpReply:
        """Send one request and return the complete reply, whatever its status.

        Args:
            request: What to send.
            timeout_s: Total deadline, connecting included; None = none.

        Raises:
            TransportError: No complete reply. Causes: ``connect``, ``dns``, ``tls``, ``reset``, ``bad-http``,
                ``timeout-connect``, ``timeout-write``, ``timeout-first-byte``, ``timeout-total``, ``stream-cut``,
                ``too-large``; all transient except certificate errors and ``too-large``.
        """
        loop = asyncio.get_running_loop()
        started = loop.time()
        url = urlsplit(request.url)
        total = self._deadlines.total_s if timeout_s is None else timeout_s
        deadlines = self._deadlines if total == self._deadlines.total_s else _with_total(self._deadlines, total)
        if (proxy := self._proxy_for(url)) is not None:
            raw = await self._send_proxied(proxy, request, deadlines)
        else:
            ends_at = None if total is None else started + total
            raw = await self._pool.send(url, request.headers, request.body, deadlines, ends_at, method=request.method)
        headers, body = raw.headers, raw.body
        if (coding := headers.get("content-encoding")) is not None:
            body = _decoded(coding, body, self._body_limit)
        return HttpReply(
            raw.status,
            headers,
            body,
            round((loop.time() - started) * 1e9),
            round((raw.first_byte_at - started) * 1e9),
        )

    async def close(self) -> None:
        """Close every connection; requests under way fail."""
        await self._pool.close()
        for transports in self._proxied.values():
            for transport in transports:
                await transport.aclose()
        self._proxied.clear()

    @cached_property
    def _tls(self) -> ssl.SSLContext:
        if self._given_tls is not None:
            return self._given_tls
        context = ssl.create_default_context()
        paths = ssl.get_default_verify_paths()
        if paths.cafile is None and paths.capath is None:
            # No store on this machine: the one that comes with httpx.
            import certifi

            context.load_verify_locations(certifi.where())
        context.set_alpn_protocols(["http/1.1"])
        return context

    @cached_property
    def _proxies(self) -> Mapping[str, str]:
        if not any(name.lower().endswith("_proxy") for name in os.environ):
            return {}
        from urllib.request import getproxies

        return getproxies()

    def _proxy_for(self, url: SplitResult) -> str | None:
        proxies = self._proxies
        if not proxies or is_loopback(url.geturl()):
            return None  # a proxy cannot reach this machine's own servers, such as the local model
        from urllib.request import proxy_bypass

        if proxy_bypass(url.netloc.rpartition("@")[2]) or proxy_bypass(url.hostname or ""):
            return None
        proxy = proxies.get(url.scheme) or proxies.get("all")
        return proxy if not proxy or "://" in proxy else f"http://{proxy}"

    async def _send_proxied(self, proxy: str, request: HttpRequest, deadlines: Deadlines) -> RawReply:
        import httpx

        idle = self._proxied.setdefault(proxy, [])
        transport = idle.pop() if idle else _proxy_transport(proxy, self._tls)
        times = {"connect": deadlines.connect_s, "write": deadlines.write_s, "read": deadlines.silence_s, "pool": None}
        message = httpx.Request(
            request.method,
            request.url,
            headers=list(request.headers),
            content=request.body if request.method == "POST" else None,
            extensions={"timeout": times},
        )
        is_complete = False
        try:
            async with asyncio.timeout(deadlines.total_s):
                reply = await transport.handle_async_request(message)
                first_byte_at = asyncio.get_running_loop().time()
                body = await _read_raw(reply, self._body_limit)
            is_complete = True
        except (httpx.HTTPError, TimeoutError) as error:
            raise _translated(error, deadlines) from error
        finally:
            if is_complete:
                idle.append(transport)
            else:
                await transport.aclose()
        return RawReply(reply.status_code, _joined(reply.headers.raw), body, first_byte_at)


def _with_total(deadlines: Deadlines, total_s: float | None) -> Deadlines:
    return Deadlines(deadlines.connect_s, deadlines.write_s, deadlines.silence_s, total_s)


def _joined(headers: Sequence[tuple[bytes, bytes]]) -> dict[str, str]:
    out: dict[str, str] = {}
    for raw_name, raw_value in headers:
        name, value = raw_name.decode("latin-1").lower(), raw_value.decode("latin-1")
        out[name] = f"{out[name]}, {value}" if name in out else value
    return out


def _decoded(coding: str, body: bytes, limit: int) -> bytes:
    """Undo gzip and deflate (zlib and, as some servers send it, bare); other codings were not asked for."""
    if coding.strip().lower() not in _CODINGS or not body:
        return body
    try:
        out, is_whole = _unpacked(body, limit, _GZIP_OR_ZLIB)
    except zlib.error:
        try:
            out, is_whole = _unpacked(body, limit, _BARE_DEFLATE)
        except zlib.error as error:
            message = f"the reply cannot be unpacked: {error}"
            raise TransportError(message, transient=True, cause="stream-cut") from error
    if len(out) > limit:
        raise _too_large(limit)
    if not is_whole:
        raise TransportError("the packed reply ends too early", transient=True, cause="stream-cut")
    return out


def _unpacked(body: bytes, limit: int, bits: int) -> tuple[bytes, bool]:
    decoder = zlib.decompressobj(bits)
    out = decoder.decompress(body, limit + 1)
    return out, decoder.eof


def _too_large(limit: int) -> TransportError:
    return TransportError(f"the reply is larger than {limit:,} bytes", transient=False, cause="too-large")


def _proxy_transport(proxy: str, tls: ssl.SSLContext) -> httpx.AsyncHTTPTransport:
    import httpx

    limits = httpx.Limits(max_connections=1, max_keepalive_connections=1, keepalive_expiry=IDLE_LIMIT_S)
    try:
        return httpx.AsyncHTTPTransport(proxy=httpx.Proxy(proxy), verify=tls, limits=limits)
    except (ImportError, ValueError) as error:
        raise ConfigError(f"the proxy from the environment cannot be used: {error}") from error


async def _read_raw(reply: httpx.Response, limit: int) -> bytes:
    parts, size = [], 0
    async for part in reply.aiter_raw():
        size += len(part)
        if size > limit:
            raise _too_large(limit)
        parts.append(part)
    await reply.aclose()
    return b"".join(parts)


def _translated(error: Exception, deadlines: Deadlines) -> TransportError:
    """Return our error for one of httpx."""
    import httpx

    if isinstance(error, TimeoutError):
        message = f"no complete reply within {deadlines.total_s:g} s"
        return TransportError(message, transient=True, cause="timeout-total")
    if "CERTIFICATE_VERIFY_FAILED" in str(error):
        return TransportError(f"through the proxy: {error}", transient=False, cause="tls")
    causes = (
        (httpx.ConnectTimeout, "timeout-connect"),
        (httpx.ReadTimeout, "timeout-first-byte"),
        (httpx.WriteTimeout, "timeout-write"),
        (httpx.ConnectError, "connect"),
        (httpx.ProxyError, "connect"),
        (httpx.RemoteProtocolError, "stream-cut"),
    )
    cause = next((cause for kind, cause in causes if isinstance(error, kind)), "reset")
    return TransportError(f"through the proxy: {error or type(error).__name__}", transient=True, cause=cause)
