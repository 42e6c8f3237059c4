"""Reader of one HTTP/1.1 reply: bytes in as they come, a complete reply or a precise error out.

Strict where two readers could disagree about where a reply ends, tolerant where real servers are sloppy: a lone LF ends
a line of a head, the reason may be missing, folded lines are joined. Does no input or output, knows no deadlines, and
does not decode bodies. Reads answers to GET and POST only (HEAD and CONNECT have framing rules of their own).
Source: RFC 9112 sections 2.2, 4, 5, 6.3, 7.1 and 9.3; RFC 9110 sections 5.5 and 15.2. The wording of errors is h11's,
which stood here before and is the oracle of the tests.
"""

from __future__ import annotations

import re
from collections.abc import Iterable, Mapping
from functools import lru_cache

from pytest_mindtrial.core.errors import TransportError

__all__ = ["ReplyReader", "closed_early"]

_SECTION_LIMIT = 256 * 1024
"""Longest head, trailer or line of a chunk size in bytes."""

_STATUS_LINE = re.compile(r"HTTP/([0-9]\.[0-9]) ([1-9][0-9]{2})(?: .*)?")
_TOKEN = re.compile(r"[-!#$%&'*+.^_`|~0-9A-Za-z]+")
_CHUNK_SIZE = re.compile(rb"([0-9A-Fa-f]{1,20})[ \t]*(?:;.*)?")
_FOLD = re.compile(r"\n[ \t]+")
_LENGTH_DIGITS = 20
_UNTIL_CLOSE, _CHUNKED = -1, -2
_SHOWN = 200


class ReplyReader:
    """Reads one reply.

    Args:
        body_limit: Largest body in bytes.

    Attributes:
        status: Of the final reply; 0 until its whole head has come.
        headers: Of the final reply by lower-case name; repeated fields are joined by commas.
        body: As it was sent, without chunk framing; empty until `is_complete`.
        is_complete: The whole reply has come.
        is_reusable: The connection may carry another request: both sides know where this reply ended, the server did
            not say that it closes, and nothing came after the reply.
    """

    def __init__(self, body_limit: int) -> None:
        self.status = 0
        self.headers: dict[str, str] = {}
        self.body = b""
        self.is_complete = False
        self.is_reusable = False
        self._body_limit = body_limit
        self._held = b""  # an unfinished head, line or trailer
        self._parts: list[bytes] = []
        self._size = 0
        self._left = 0  # bytes of the body, or of the chunk, to come
        self._is_chunked = False
        self._chunk_end = 0  # length of the line break that must follow a chunk before the next size
        self._is_in_trailer = False
        self._is_last = False  # the server closes after this reply

    def feed(self, data: bytes) -> bool:
        """Take the next bytes.

        Returns:
            True when the reply is complete.

        Raises:
            TransportError: ``bad-http`` (the head is no HTTP, or says two things about the body), ``stream-cut``
                (broken chunks) or ``too-large``. The reader and its connection are of no use then.
        """
        if self.is_complete:
            self.is_reusable = False
            return True
        try:
            if self.status or (data := self._take_heads(data)):
                if self._is_chunked:
                    self._take_chunks(data)
                else:
                    self._take_plain(data)
        except _MalformedError as error:
            raise self._fault(error) from None
        return self.is_complete

    def end(self) -> None:
        """Take the end of the connection; it completes a reply of unknown length.

        Raises:
            TransportError: The reply is incomplete: ``reset`` before the end of its head, ``stream-cut`` after it.
        """
        if self.is_complete:
            self.is_reusable = False
        elif not self.status:
            raise closed_early()
        elif self._is_chunked:
            raise self._fault("peer closed connection without sending complete message body (incomplete chunked read)")
        elif self._left != _UNTIL_CLOSE:
            counts = f"(received {self._size} bytes, expected {self._size + self._left})"
            raise self._fault(f"peer closed connection without sending complete message body {counts}")
        else:
            self._finish(is_last=True)

    def _take_heads(self, data: bytes) -> bytes:
        """Read heads up to that of the final reply; return what follows it."""
        start = max(0, len(self._held) - 2)
        data = self._held + data
        while (end := _section_end(data, start)) > 0:
            lines = _lines(data[:end])
            version, status = _status(lines[0])
            headers = _fields(lines[1:])
            size = _body_size(headers)
            data, start = data[end:], 0
            if status >= 200:
                self._held = b""
                self._begin(version, status, headers, size)
                return data
            if status == 101:
                raise _MalformedError("the server changes the protocol, which was not asked for")
        if data and data[0] <= 0x20:
            raise _MalformedError("illegal status line: " + _shown(data))
        self._held = data
        return b""

    def _begin(self, version: str, status: int, headers: dict[str, str], size: int) -> None:
        self.status, self.headers = status, headers
        connection = headers.get("connection")
        is_ambiguous = size == _CHUNKED and "content-length" in headers  # how replies are smuggled: nothing may follow
        self._is_last = is_ambiguous or version < "1.1" or (connection is not None and "close" in _listed(connection))
        if size == 0 or status in (204, 304):
            self._finish()
        elif size > self._body_limit:
            raise self._too_large()
        elif size == _CHUNKED:
            self._is_chunked = True
        else:
            self._left = size

    def _take_plain(self, data: bytes) -> None:
        """Take bytes of a body of known length, or of one that ends with the connection; surplus is not kept."""
        if self.is_complete:
            self.is_reusable = False
        elif self._left == _UNTIL_CLOSE:
            self._add(data)
        elif len(data) < self._left:
            self._left -= len(data)
            self._add(data)
        else:
            self._add(data[: self._left])
            self._finish(is_last=len(data) > self._left)

    def _take_chunks(self, data: bytes) -> None:
        searched, at = max(0, len(self._held) - 2), 0
        data = self._held + data
        while not self._is_in_trailer:
            if self._left:
                part = data[at : at + self._left]
                self._add(part)
                at += len(part)
                self._left -= len(part)
                if self._left:
                    self._held = b""
                    return
            line = at + self._chunk_end
            if not b"\r\n".startswith(data[at:line]):
                raise _MalformedError(f"malformed chunk footer: {data[at:line]!r} (expected b'\\r\\n')")
            end = data.find(b"\r\n", max(line, searched))
            if (len(data) if end < 0 else end) - at > _SECTION_LIMIT:
                raise _MalformedError("Receive buffer too long")
            if end < 0:
                self._held = data[at:]
                return
            self._left = _chunk_size(data[line:end])
            if self._size + self._left > self._body_limit:
                raise self._too_large()
            self._is_in_trailer, self._chunk_end = not self._left, 2
            at = end + (2 if self._left else 1)  # the trailer is searched from the line break before it
        end = _section_end(data[at:], max(0, searched - at))
        if end < 0:
            self._held = data[at:]
            return
        _fields(_lines(data[at : at + end])[1:])
        self._finish(is_last=at + end < len(data))

    def _add(self, part: bytes) -> None:
        self._size += len(part)
        if self._size > self._body_limit:
            raise self._too_large()
        self._parts.append(part)

    def _finish(self, *, is_last: bool = False) -> None:
        parts = self._parts
        self.body = parts[0] if len(parts) == 1 else b"".join(parts)
        self.is_complete = True
        self.is_reusable = not is_last and not self._is_last
        self._parts, self._held = [], b""

    def _fault(self, reason: object) -> TransportError:
        if self.status:
            return TransportError(f"the reply is incomplete: {reason}", transient=True, cause="stream-cut")
        return TransportError(f"the reply is not HTTP: {reason}", transient=True, cause="bad-http")

    def _too_large(self) -> TransportError:
        message = f"the reply is larger than {self._body_limit:,} bytes"
        return TransportError(message, transient=False, cause="too-large")


def closed_early() -> TransportError:
    """Return the error for a connection that ends before a reply has begun."""
    return TransportError("the connection was closed before the reply", transient=True, cause="reset")


class _MalformedError(Exception):
    """The server broke the protocol."""


def _section_end(data: bytes, start: int) -> int:
    """Return where a head or trailer ends, its blank line included; -1 when it is not complete.

    Raises:
        _MalformedError: It is too long.
    """
    strict = data.find(b"\n\r\n", start)
    lone = data.find(b"\n\n", start, len(data) if strict < 0 else strict + 1)
    end = lone + 2 if lone >= 0 else strict + 3 if strict >= 0 else -1
    if (len(data) if end < 0 else end) > _SECTION_LIMIT:
        raise _MalformedError("Receive buffer too long")
    return end


def _lines(section: bytes) -> list[str]:
    """Return the lines of a section without its blank line, folded ones joined."""
    text = section.decode("latin-1").replace("\r\n", "\n")[:-2]
    if "\r" in text or "\0" in text or "\v" in text or "\f" in text:
        raise _MalformedError("illegal control character in: " + _shown(section))
    if "\n " in text or "\n\t" in text:
        if text[text.index("\n") + 1] in " \t":
            raise _MalformedError("continuation line at start of headers")
        text = _FOLD.sub(" ", text)
    return text.split("\n")


@lru_cache(maxsize=64)
def _status(line: str) -> tuple[str, int]:
    match = _STATUS_LINE.fullmatch(line)
    if match is None:
        raise _MalformedError("illegal status line: " + _shown(line.encode("latin-1")))
    return match[1], int(match[2])


def _fields(lines: Iterable[str]) -> dict[str, str]:
    fields: dict[str, str] = {}
    for line in lines:
        name, colon, value = line.partition(":")
        if not colon:
            raise _MalformedError("illegal header line: " + _shown(line.encode("latin-1")))
        name, value = _field_name(name), value.strip(" \t")
        fields[name] = f"{fields[name]}, {value}" if name in fields else value
    return fields


@lru_cache(maxsize=256)
def _field_name(name: str) -> str:
    """Return a name in lower case; servers repeat the same few, so that each is checked once."""
    if not _TOKEN.fullmatch(name):
        raise _MalformedError("illegal header line: " + _shown(name.encode("latin-1") + b":"))
    return name.lower()


def _body_size(headers: Mapping[str, str]) -> int:
    """Return how many bytes follow a head, `_CHUNKED` or `_UNTIL_CLOSE`. Source: RFC 9112 section 6.3."""
    length, coding = headers.get("content-length"), headers.get("transfer-encoding")
    if length is not None:
        if "," in length:
            length, *others = _listed(length)
            if any(other != length for other in others):
                raise _MalformedError("conflicting Content-Length headers")
        if not length.isdecimal() or len(length) > _LENGTH_DIGITS:
            raise _MalformedError("bad Content-Length")
    if coding is not None:
        if coding.lower() != "chunked":
            raise _MalformedError("Only Transfer-Encoding: chunked is supported")
        return _CHUNKED
    return _UNTIL_CLOSE if length is None else int(length)


def _listed(value: str) -> list[str]:
    return [item.strip(" \t") for item in value.lower().split(",")]


def _chunk_size(line: bytes) -> int:
    match = _CHUNK_SIZE.fullmatch(line)
    if match is None:
        raise _MalformedError("illegal chunk header: " + _shown(line))
    return int(match[1], 16)


def _shown(data: bytes) -> str:
    return repr(data if len(data) <= _SHOWN else data[:_SHOWN] + b"...")
