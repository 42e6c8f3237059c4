"""One call of a dialect to one service: address, credentials, JSON or event stream, errors.

Does not retry, limit or cache (`providers.base.RequestPolicy`) and knows no sockets (``providers/http.py``). No key
ever enters an error: everything an error says passes the redaction. Source: spec providers 1.2, 2, 8, 9.
"""

from __future__ import annotations

import asyncio
import json
import re
from collections.abc import Callable, Mapping
from dataclasses import dataclass
from typing import Any
from urllib.parse import urlsplit

from pytest_mindtrial import __version__
from pytest_mindtrial.core.clock import Clock, SystemClock
from pytest_mindtrial.core.errors import ConfigError, ProviderError, TransportError
from pytest_mindtrial.core.secret import Redactor, Secret
from pytest_mindtrial.providers.dialects.base import Dialect, HttpCall
from pytest_mindtrial.providers.errors import BODY_LIMIT, api_error, request_id_of
from pytest_mindtrial.providers.http import Http, HttpReply, HttpRequest
from pytest_mindtrial.providers.retry_hints import retry_after_s
from pytest_mindtrial.providers.sse import SseEvent, SseParser

__all__ = ["Reply", "Transport", "auth_headers", "check_url"]

_encode = json.JSONEncoder(ensure_ascii=False, separators=(",", ":")).encode
_HEADER_NAME = re.compile(r"[A-Za-z0-9!#$%&'*+.^_`|~-]+")
_FRAMING = frozenset(("host", "content-length", "transfer-encoding", "connection"))
_CREDENTIALS = frozenset(("authorization", "proxy-authorization", "x-api-key", "x-goog-api-key", "api-key", "cookie"))
_COMMON = {
    "content-type": "application/json",
    "accept-encoding": "gzip, deflate",
    "user-agent": f"pytest-mindtrial/{__version__}",
}


@dataclass(frozen=True, slots=True)
class Reply:
    """One good reply.

    Attributes:
        json: The reply object; of a stream, what the dialect put together. Shared with the cache: do not change it.
        request_id: The service's own id of the request.
        duration_ns: From sending to the last byte; a new connection is included.
        first_byte_ns: From sending to the first byte.
    """

    status: int
    headers: Mapping[str, str]
    json: Mapping[str, Any]
    request_id: str | None
    duration_ns: int
    first_byte_ns: int


def auth_headers(auth: str, key: Secret | None) -> dict[str, str]:
    """Return the header that carries the key; without a key none is sent.

    Raises:
        ConfigError: The key cannot be part of a header. The message does not show it.
    """
    if key is None:
        return {}
    text = key.reveal()
    if not _is_header_text(text) or text != text.strip():
        raise ConfigError(
            "the API key holds line breaks, spaces at its ends or other characters no HTTP header can have"
        )
    return {"authorization": f"Bearer {text}"} if auth == "bearer" else {auth: text}


class Transport:
    """The way to one service, shared by all runs of one client.

    Args:
        http: Connections.
        base_url: What the paths of calls are appended to, or a function that finds out; it is called once, in a
            thread, before the first request.
        dialect: Assembles streams and knows errors in good replies.
        headers: Credentials, vendor and user headers, by lower-case name.
        timeout_s: Total deadline of one request; None = none.
        secrets: What must not appear in errors.
        clock: Wall time for hints that are instants.

    Raises:
        ConfigError: The URL or a header cannot be used.
    """

    def __init__(
        self,
        http: Http,
        base_url: str | Callable[[], str],
        dialect: Dialect,
        headers: Mapping[str, str],
        *,
        timeout_s: float | None = None,
        secrets: tuple[Secret, ...] = (),
        clock: Clock | None = None,
    ) -> None:
        self._http = http
        self._base_url = check_url(base_url) if isinstance(base_url, str) else ""
        self._locate = None if isinstance(base_url, str) else base_url
        self._locating: asyncio.Task[str] | None = None
        self._dialect = dialect
        self._headers = _checked({**_COMMON, **headers})
        self._timeout_s = timeout_s
        self._clock = clock or SystemClock()
        self._redact = Redactor()
        for secret in secrets:
            self._redact.add(secret)
            # Causes of errors are words of the service in lower case.
            self._redact.add(Secret(secret.reveal().lower()))

    @property
    def address(self) -> str:
        """The base URL; blank when a function finds it, because such an address says nothing that lasts."""
        return "" if self._locate is not None else self._base_url

    @property
    def public_headers(self) -> dict[str, str]:
        """The headers that belong to a request's identity: none of ours, none that holds a credential."""
        return {
            name: value
            for name, value in self._headers.items()
            if name not in _COMMON and self._redact(value) == value and name not in _CREDENTIALS
        }

    def redact(self, text: str) -> str:
        """Return a text without the secrets of this service."""
        return self._redact(text)

    async def send(self, call: HttpCall) -> Reply:
        """Send one call once.

        Raises:
            TransportError: No complete reply came.
            ApiError: The service answered with an error: by status, in the body, or in the stream.
        """
        url = (self._base_url or await self._located()) + call.path
        body = _encode(call.body).encode("utf-8", "replace")
        headers = [("accept", "text/event-stream" if call.stream else "application/json")]
        headers += {**self._headers, **_lower(call.headers)}.items() if call.headers else self._headers.items()
        try:
            got = await self._http.send(HttpRequest(url, headers, body), timeout_s=self._timeout_s)
            value = self._read(got, is_stream=call.stream)
        except ProviderError as error:
            raise self._redacted(error) from error.__cause__
        request_id = request_id_of(got.headers)
        request_id = request_id and self._redact(request_id)
        return Reply(got.status, got.headers, value, request_id, got.duration_ns, got.first_byte_ns)

    async def _located(self) -> str:
        assert self._locate is not None
        if self._locating is None or (self._locating.done() and self._locating.exception() is not None):
            self._locating = asyncio.create_task(asyncio.to_thread(self._locate))
        self._base_url = check_url(await asyncio.shield(self._locating))
        return self._base_url

    def _read(self, got: HttpReply, *, is_stream: bool) -> Mapping[str, Any]:
        if not 200 <= got.status < 300:
            raise api_error(got.status, got.headers, got.body, redact=self._redact, now=self._clock.now())
        try:
            if is_stream and "json" not in got.headers.get("content-type", ""):
                value: Any = self._dialect.assemble(_events(got.body))
            else:
                value = _json(got)
            fault = self._dialect.fault(value, status=got.status)
            if fault is not None:
                raise fault
        except ProviderError as error:
            self._complete(error, got)
            raise
        return value  # type: ignore[no-any-return]  # both branches give a mapping

    def _complete(self, error: ProviderError, got: HttpReply) -> None:
        """Add what only the HTTP reply knows to an error found in its body."""
        error.status = got.status
        error.request_id = error.request_id or request_id_of(got.headers)
        if error.transient and error.retry_after_s is None:
            error.retry_after_s = retry_after_s(got.status, got.headers, None, self._clock.now())

    def _redacted(self, error: ProviderError) -> ProviderError:
        error.message = self._redact(error.message)
        error.cause = self._redact(error.cause)
        error.request_id = error.request_id and self._redact(error.request_id)
        error.args = (error.message,)
        error.details = {name: self._redact(text) for name, text in error.details.items()}
        return error


def check_url(url: str) -> str:
    """Return a base URL without a trailing slash.

    Raises:
        ConfigError: It is not an absolute http or https URL in ASCII.
    """
    try:
        parts = urlsplit(url)
        is_usable = parts.scheme in ("http", "https") and bool(parts.hostname) and parts.port != 0
    except ValueError:
        is_usable = False
    if not is_usable or not url.isascii() or not url.isprintable() or " " in url or parts.query or parts.fragment:
        raise ConfigError(
            f"endpoint {url!r} cannot be used; give http:// or https://, a host and, if needed, a port and a path "
            "(other characters than ASCII percent-encoded, no query)"
        )
    return url.rstrip("/")


def _checked(headers: Mapping[str, str]) -> dict[str, str]:
    out = {}
    for name, value in headers.items():
        if not _HEADER_NAME.fullmatch(name) or name.lower() in _FRAMING or not _is_header_text(value):
            raise ConfigError(
                f"client-config header {name!r} is not allowed here, or has a value that HTTP cannot carry"
            )
        out[name.lower()] = value.strip()
    return out


def _is_header_text(value: str) -> bool:
    return value.isascii() and value.isprintable()


def _lower(headers: Mapping[str, str]) -> dict[str, str]:
    return {name.lower(): value for name, value in headers.items()}


def _json(got: HttpReply) -> Mapping[str, Any]:
    """Return the reply object; blank lines and a byte order mark before it are fine (spec providers 8.4, DeepSeek)."""
    try:
        value = json.loads(got.body.strip())
    except (ValueError, RecursionError):
        value = None
    if isinstance(value, list) and len(value) == 1:
        value = value[0]
    if isinstance(value, Mapping):
        return value
    text = got.body[:BODY_LIMIT].decode("utf-8", "replace")
    raise TransportError(
        f"the reply (HTTP {got.status}) is not a JSON object",
        transient=True,
        cause="not-json",
        details={"HTTP Response": text} if text.strip() else {},
    )


def _events(body: bytes) -> list[SseEvent]:
    parser = SseParser()
    return [*parser.feed(body), *parser.close()]
