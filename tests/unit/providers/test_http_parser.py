"""The reader of HTTP replies: every rule of framing, whatever the pieces, and agreement with h11."""

from __future__ import annotations

import re
from collections.abc import Iterator, Sequence
from typing import Any

import h11
import pytest
from hypothesis import assume, example, given, settings
from hypothesis import strategies as st

from pytest_mindtrial.core.errors import TransportError
from pytest_mindtrial.providers._http_parser import ReplyReader

OK = b"HTTP/1.1 200 OK\r\n"
CHUNKED = OK + b"transfer-encoding: chunked\r\n\r\n"
KIB_256 = 256 * 1024
NO_LIMIT = 10**21


def read(*pieces: bytes, closes: bool = False, body_limit: int = 1000) -> ReplyReader:
    """Feed the pieces, and the end of the connection."""
    reader = ReplyReader(body_limit)
    for piece in pieces:
        reader.feed(piece)
    if closes:
        reader.end()
    return reader


def bytewise(data: bytes) -> list[bytes]:
    return [data[at : at + 1] for at in range(len(data))]


def fault(*pieces: bytes, closes: bool = False, body_limit: int = 1000) -> TransportError:
    with pytest.raises(TransportError) as caught:
        read(*pieces, closes=closes, body_limit=body_limit)
    return caught.value


def chunked(*chunks: bytes, head: bytes = b"", trailer: bytes = b"") -> bytes:
    sized = b"".join(b"%x\r\n%b\r\n" % (len(chunk), chunk) for chunk in chunks)
    return OK + b"transfer-encoding: chunked\r\n" + head + b"\r\n" + sized + b"0\r\n" + trailer + b"\r\n"


def with_length(body: bytes, head: bytes = b"", status: bytes = b"HTTP/1.1 200 OK") -> bytes:
    return status + b"\r\ncontent-length: %d\r\n%b\r\n%b" % (len(body), head, body)


# --- Good replies ------------------------------------------------------------------------------------------------


@pytest.mark.parametrize("split", [lambda data: [data], bytewise])
@pytest.mark.parametrize(
    "data, body",
    [
        (with_length(b"hello"), b"hello"),
        (with_length(b""), b""),
        (with_length(b"a\r\n\r\nb\n\nc"), b"a\r\n\r\nb\n\nc"),
        (chunked(b"he", b"llo"), b"hello"),
        (chunked(), b""),
        (chunked(b"\r\n0\r\n\r\n", b"x" * 300), b"\r\n0\r\n\r\n" + b"x" * 300),
        (chunked(b"x", trailer=b"checksum: 1\r\nother: 2\r\n"), b"x"),
        (
            OK + b'Transfer-Encoding: Chunked\r\n\r\n00A;name="v"\r\n0123456789\r\n1 ; x\r\n!\r\n0;last\r\n\r\n',
            b"0123456789!",
        ),
        (b"HTTP/1.1 204 No Content\r\n\r\n", b""),
        (b"HTTP/1.1 304 Not Modified\r\ncontent-length: 5\r\n\r\n", b""),
        (b"HTTP/1.1 204 No Content\r\ntransfer-encoding: chunked\r\n\r\n", b""),
        (b"HTTP/1.1 100 Continue\r\n\r\nHTTP/1.1 103 Early\r\nlink: x\r\n\r\n" + with_length(b"x"), b"x"),
        (OK + b"content-length: 2\r\ncontent-length: 2\r\n\r\nok", b"ok"),
        (OK + b"content-length: 2, 2\r\n\r\nok", b"ok"),
        (OK.replace(b"\r\n", b"\n") + b"content-length: 2\n\nok", b"ok"),
        (OK + b"content-length: 2\n\r\nok", b"ok"),
        (OK + b"content-length: 2\n\n\r\n", b"\r\n"),
        (CHUNKED + b"0" * 19 + b"2\r\nok\r\n0\r\n\r\n", b"ok"),
        (b"HTTP/1.1 200\r\ncontent-length: 2\r\n\r\nok", b"ok"),
        (b"HTTP/1.1 200 \r\ncontent-length: 2\r\n\r\nok", b"ok"),
    ],
)
def test_complete_replies_that_leave_the_connection_usable(split: Any, data: bytes, body: bytes) -> None:
    reader = read(*split(data))
    assert (reader.is_complete, reader.is_reusable, reader.body) == (True, True, body)
    assert reader.status == int(re.findall(rb"HTTP/1.1 (\d+)", data)[-1])


@pytest.mark.parametrize("split", [lambda data: [data], bytewise])
@pytest.mark.parametrize(
    "data, body",
    [
        (with_length(b"1", head=b"connection: close\r\n"), b"1"),
        (with_length(b"1", head=b"Connection: x-one, Close\r\n"), b"1"),
        (with_length(b"1", head=b"connection: x-one\r\nconnection: close\r\n"), b"1"),
        (with_length(b"1", status=b"HTTP/1.0 200 OK"), b"1"),
        (with_length(b"1", head=b"connection: keep-alive\r\n", status=b"HTTP/1.0 200 OK"), b"1"),
        (chunked(b"1", head=b"connection: close\r\n"), b"1"),
        (chunked(b"1", head=b"content-length: 1\r\n"), b"1"),
        (chunked(b"12", head=b"content-length: 1\r\n"), b"12"),
        (with_length(b"1") + b"2", b"1"),
        (with_length(b"1") + with_length(b"2"), b"1"),
        (chunked(b"1") + b"\r\n", b"1"),
        (b"HTTP/1.1 204 No Content\r\n\r\nx", b""),
        (with_length(b"") + b"x", b""),
        (b"HTTP/1.1 304 Not Modified\r\ntransfer-encoding: chunked\r\n\r\n0\r\n\r\n", b""),
    ],
)
def test_complete_replies_after_which_nothing_may_follow(split: Any, data: bytes, body: bytes) -> None:
    reader = read(*split(data))
    assert (reader.is_complete, reader.is_reusable, reader.body) == (True, False, body)


def test_a_reply_without_a_length_ends_with_the_connection() -> None:
    reader = read(OK + b"\r\n", b"until ", b"the end")
    assert not reader.is_complete
    reader.end()
    assert (reader.is_complete, reader.is_reusable, reader.body) == (True, False, b"until the end")
    assert read(OK + b"\r\n", closes=True).body == b""


def test_the_end_of_the_connection_after_a_reply_is_no_error_but_the_end() -> None:
    reader = read(with_length(b"1"), closes=True)
    assert (reader.body, reader.is_reusable) == (b"1", False)


def test_fields_are_lowered_stripped_and_joined() -> None:
    head = b"X-One: \t a b \t\r\nx-one:2\r\nEmpty:\r\nLatin: caf\xe9\x01\xa0\r\n"
    reader = read(with_length(b"", head=head))
    assert reader.headers == {
        "content-length": "0",
        "x-one": "a b, 2",
        "empty": "",
        "latin": "caf\xe9\x01\xa0",
    }


def test_folded_fields_are_one_field() -> None:
    """A user agent must replace the fold by spaces; only a server may refuse it (RFC 9112 section 5.2)."""
    reader = read(with_length(b"", head=b"folded: a\r\n \t b\r\n\tc\r\n \r\nnext: d\r\n"))
    assert (reader.headers["folded"], reader.headers["next"]) == ("a b c", "d")


def test_nothing_of_a_reply_is_there_before_its_head_is() -> None:
    reader = read(OK + b"content-length: 1\r\nx: y\r\n\r")
    assert (reader.status, reader.headers, reader.is_complete) == (0, {}, False)
    assert not reader.feed(b"\n")
    assert (reader.status, reader.headers["x"], reader.body) == (200, "y", b"")
    assert reader.feed(b"1")


# --- No HTTP -----------------------------------------------------------------------------------------------------


@pytest.mark.parametrize("split", [lambda data: [data], bytewise])
@pytest.mark.parametrize(
    "head, message",
    [
        (b"good morning\r\n\r\n", "illegal status line: b'good morning'"),
        (b"http/1.1 200 OK\r\n\r\n", "illegal status line"),
        (b"HTTP/1.1  200 OK\r\n\r\n", "illegal status line"),
        (b"HTTP/11 200 OK\r\n\r\n", "illegal status line"),
        (b"HTTP/1.1 20 OK\r\n\r\n", "illegal status line"),
        (b"HTTP/1.1 099 OK\r\n\r\n", "illegal status line"),
        (b"HTTP/1.1 2000 OK\r\n\r\n", "illegal status line"),
        (b"HTTP/1.1 200OK\r\n\r\n", "illegal status line"),
        (b"\r\n" + with_length(b""), "illegal status line"),
        (b"\n" + with_length(b""), "illegal status line"),
        (b" HTTP/1.1 200 OK\r\n\r\n", "illegal status line"),
        (b" ", "illegal status line"),
        (b"\x15\x03\x01", "illegal status line"),
        (OK + b"no colon\r\n\r\n", "illegal header line: b'no colon'"),
        (OK + b"name : v\r\n\r\n", "illegal header line: b'name :'"),
        (OK + b": v\r\n\r\n", "illegal header line"),
        (OK + b"na(me: v\r\n\r\n", "illegal header line"),
        (OK + b"nam\xe9: v\r\n\r\n", "illegal header line"),
        (OK + b" folded: v\r\n\r\n", "continuation line"),
        (OK + b"\tfolded: v\r\n\r\n", "continuation line"),
        (OK + b"name\r\n : v\r\n\r\n", "illegal header line"),
        (OK + b"x: a\0b\r\n\r\n", "illegal control character"),
        (OK + b"x: a\rb\r\n\r\n", "illegal control character"),
        (OK + b"x: a\r\r\n\r\n", "illegal control character"),
        (OK + b"x: \x0b\r\n\r\n", "illegal control character"),
        (OK + b"x: a\x0cb\r\n\r\n", "illegal control character"),
        (b"HTTP/1.1 200 O\rK\r\n\r\n", "illegal control character"),
        (OK + b"content-length: 1\r\ncontent-length: 2\r\n\r\n", "conflicting Content-Length"),
        (OK + b"content-length: 1, 2\r\n\r\n", "conflicting Content-Length"),
        (OK + b"content-length: 1, 1\xa0\r\n\r\n", "conflicting Content-Length"),
        (OK + b"content-length: 1,\r\n\r\n", "conflicting Content-Length"),
        (OK + b"content-length: 1\r\ncontent-length: 01\r\n\r\n", "conflicting Content-Length"),
        (OK + b"content-length: -1\r\n\r\n", "bad Content-Length"),
        (OK + b"content-length: +1\r\n\r\n", "bad Content-Length"),
        (OK + b"content-length: 1_0\r\n\r\n", "bad Content-Length"),
        (OK + b"content-length: 1 0\r\n\r\n", "bad Content-Length"),
        (OK + b"content-length: 0x1\r\n\r\n", "bad Content-Length"),
        (OK + b"content-length: \xb2\r\n\r\n", "bad Content-Length"),
        (OK + b"content-length: 1\xa0\r\n\r\n", "bad Content-Length"),
        (OK + b"content-length:\r\n\r\n", "bad Content-Length"),
        (OK + b"content-length: " + b"1" * 21 + b"\r\n\r\n", "bad Content-Length"),
        (b"HTTP/1.1 204 No\r\ncontent-length: x\r\n\r\n", "bad Content-Length"),
        (OK + b"content-length: x\r\ntransfer-encoding: chunked\r\n\r\n", "bad Content-Length"),
        (OK + b"transfer-encoding: gzip, chunked\r\n\r\n", "Only Transfer-Encoding: chunked"),
        (OK + b"transfer-encoding: identity\r\n\r\n", "Only Transfer-Encoding: chunked"),
        (OK + b"transfer-encoding:\r\ncontent-length: 1\r\n\r\n", "Only Transfer-Encoding: chunked"),
        (OK + b"transfer-encoding: chunked\r\ntransfer-encoding: chunked\r\n\r\n", "Only Transfer-Encoding: chunked"),
        (b"HTTP/1.1 101 Switching\r\nupgrade: h2c\r\n\r\n", "changes the protocol"),
        (b"HTTP/1.1 100 Continue\r\n\r\ngood morning\r\n\r\n", "illegal status line"),
    ],
)
def test_what_is_not_http_is_refused(split: Any, head: bytes, message: str) -> None:
    error = fault(*split(head))
    assert (error.cause, error.transient) == ("bad-http", True)
    assert error.message.startswith("the reply is not HTTP: ")
    assert message in error.message


@pytest.mark.parametrize("data", [b"", b"HTTP/1.1 200 OK\r\nx", b"HTTP/1.1 100 Continue\r\n\r\n", b"good morning"])
def test_the_end_of_the_connection_before_the_end_of_the_head(data: bytes) -> None:
    error = fault(*[data] * bool(data), closes=True)
    assert (error.cause, error.transient, error.message) == (
        "reset",
        True,
        "the connection was closed before the reply",
    )


@pytest.mark.parametrize("surplus, is_refused", [(0, False), (1, True)])
def test_heads_up_to_256_kib_are_read_whatever_the_pieces(surplus: int, is_refused: bool) -> None:
    start, end = OK + b"content-length: 0\r\nx: ", b"\r\n\r\n"
    head = start + b"y" * (KIB_256 + surplus - len(start) - len(end)) + end
    for pieces in ([head], [head[:9], head[9:]], [head[:-1], head[-1:]]):
        if is_refused:
            assert "too long" in fault(*pieces).message
        else:
            assert read(*pieces).is_complete
    assert fault(b"HTTP/1.1 200 OK\r\nx: ", b"y" * KIB_256).cause == "bad-http"


def test_what_a_server_sent_is_shown_shortened() -> None:
    assert len(fault(b"x" * 10_000 + b"\r\n\r\n").message) < 300
    assert len(fault(OK + b"y" * 10_000 + b"\r\n\r\n").message) < 300


# --- Broken off --------------------------------------------------------------------------------------------------


@pytest.mark.parametrize("split", [lambda data: [data], bytewise])
@pytest.mark.parametrize(
    "rest",
    [
        b"x\r\n",
        b"\r\n",
        b"-1\r\n",
        b"+1\r\n",
        b"0x1\r\n",
        b"1_0\r\n",
        b" 1\r\n",
        b"1 2\r\n",
        b";a\r\n",
        b"f" * 21 + b"\r\n",
        b"1\r\nxy\r\n",
        b"1\r\nx\n0\r\n\r\n",
        b"1\r\nx\r0\r\n\r\n",
        b"1\nx\r\n0\r\n\r\n",
        b"0\r\nno colon\r\n\r\n",
        b"0\r\n folded: v\r\n\r\n",
        b"0\r\nx: \0\r\n\r\n",
    ],
)
def test_broken_chunks_are_refused(split: Any, rest: bytes) -> None:
    error = fault(*split(CHUNKED + rest))
    assert (error.cause, error.transient) == ("stream-cut", True)
    assert error.message.startswith("the reply is incomplete: ")


@pytest.mark.parametrize(
    "rest", [b"", b"5", b"5\r\n", b"5\r\nhel", b"5\r\nhello", b"5\r\nhello\r\n0\r\n", b"0\r\nx: y\r\n"]
)
def test_the_end_of_the_connection_within_chunks(rest: bytes) -> None:
    error = fault(CHUNKED + rest, closes=True)
    assert (error.cause, error.transient) == ("stream-cut", True)
    assert "incomplete chunked read" in error.message


def test_the_end_of_the_connection_within_a_body_of_known_length_tells_both_lengths() -> None:
    error = fault(OK + b"content-length: 9\r\n\r\n123", b"4", closes=True)
    assert (error.cause, error.transient) == ("stream-cut", True)
    assert error.message == (
        "the reply is incomplete: peer closed connection without sending complete message body "
        "(received 4 bytes, expected 9)"
    )


@pytest.mark.parametrize("start", [b"5;", b"0\r\nx: ", b"1\r\nx\r\n0"])
def test_lines_of_chunks_and_trailers_have_an_end(start: bytes) -> None:
    error = fault(CHUNKED + start, b"y" * KIB_256, b"y")
    assert (error.cause, "too long" in error.message) == ("stream-cut", True)
    assert "too long" in fault(CHUNKED + start + b"y" * KIB_256 + b"\r\n\r\n").message


# --- Too large ---------------------------------------------------------------------------------------------------


@pytest.mark.parametrize("surplus, is_refused", [(0, False), (1, True)])
@pytest.mark.parametrize("pieces", [1, 7])
def test_bodies_up_to_the_limit_are_read(surplus: int, is_refused: bool, pieces: int) -> None:
    body = b"x" * (1000 + surplus)
    step = len(body) // pieces
    parts = [body[at : at + step] for at in range(0, len(body), step)]
    for stream in (
        [with_length(body)],
        [with_length(body)[: -len(body)], *parts],
        [chunked(*parts)],
        [OK + b"\r\n", *parts],
    ):
        if is_refused:
            error = fault(*stream, closes=True)
            assert (error.cause, error.transient) == ("too-large", False)
            assert error.message == "the reply is larger than 1,000 bytes"
        else:
            assert read(*stream, closes=True).body == body


def test_a_declared_size_over_the_limit_is_not_read_at_all() -> None:
    assert fault(OK + b"content-length: 1001\r\n\r\n").cause == "too-large"
    assert fault(CHUNKED + b"3e9\r\n").cause == "too-large"
    assert fault(CHUNKED + b"1\r\nx\r\n3e8\r\n").cause == "too-large"


# --- h11 as the oracle -------------------------------------------------------------------------------------------
#
# What differs on purpose, and is left out or put right below:
# - A reply with both a coding and a length is read alike, but nothing may follow it.
# - Blanks between a chunk's size and its extension are allowed (RFC 9112 section 7.1.1: a recipient must accept them).
# - Trailers may hold framing fields, which mean nothing there (RFC 9110 section 6.5.1).
# - A declared length over the limit is refused at once, and a long head however it is split (tests above).

Outcome = tuple[Any, ...]


def ours(pieces: Sequence[bytes], *, closes: bool) -> Outcome:
    try:
        reader = read(*pieces, closes=closes, body_limit=NO_LIMIT)
    except TransportError as error:
        return ("refused", error.cause)
    if not reader.is_complete:
        return ("waiting", reader.status)
    headers = {name: value for name, value in reader.headers.items() if name not in FRAMING}
    return ("reply", reader.status, headers, reader.body, reader.is_reusable, FRAMING & set(reader.headers))


FRAMING = {"content-length", "transfer-encoding"}


def theirs(pieces: Sequence[bytes], *, closes: bool) -> Outcome:
    """Return what h11 makes of it, with the causes that connections gave its errors."""
    client = h11.Connection(h11.CLIENT)
    client.send(h11.Request(method="POST", target="/", headers=[("host", "x"), ("content-length", "0")]))
    client.send(h11.EndOfMessage())
    response: h11.Response | None = None
    body = b""
    is_complete = False
    try:
        for piece in [*pieces, b""] if closes else pieces:
            client.receive_data(piece)
            for event in _events(client):
                if isinstance(event, h11.Response):
                    response = event
                elif isinstance(event, h11.Data):
                    body += bytes(event.data)
                is_complete = is_complete or isinstance(event, h11.EndOfMessage)
    except h11.RemoteProtocolError:
        if not is_complete:
            is_reset = response is None and closes and not piece
            return ("refused", "stream-cut" if response is not None else "reset" if is_reset else "bad-http")
    if not is_complete:
        return ("waiting", response.status_code if response else 0)
    assert response is not None
    headers: dict[str, str] = {}
    for raw_name, raw_value in response.headers:
        name, value = raw_name.decode("latin-1"), raw_value.decode("latin-1")
        headers[name] = f"{headers[name]}, {value}" if name in headers else value
    framing = FRAMING & set(headers)
    is_in_step = client.their_state is h11.DONE and not client.trailing_data[0] and not closes
    kept = {name: value for name, value in headers.items() if name not in FRAMING}
    is_ambiguous = framing == FRAMING
    return ("reply", response.status_code, kept, body, is_in_step and not is_ambiguous, framing)


def _events(client: h11.Connection) -> Iterator[Any]:
    while (event := client.next_event()) not in (h11.NEED_DATA, h11.PAUSED):
        yield event
        if isinstance(event, h11.ConnectionClosed):
            return


NAMES = st.sampled_from([b"Content-Type", b"x-a", b"X-A", b"date", b"connection"])
VALUES = st.sampled_from([b"close", b"keep-alive, x", b"", b"a:b", b" \ta \t b ", b"\xe9\x01", b"a\r\n b"])
STATUS_LINES = st.builds(
    lambda version, status, reason: b"HTTP/%b %d%b" % (version, status, reason),
    st.sampled_from([b"1.1", b"1.1", b"1.1", b"1.0", b"2.0"]),
    st.sampled_from([200, 200, 200, 204, 304, 418, 503, 999]),
    st.sampled_from([b" OK", b"", b" ", b" \xe9t\xe9\t!"]),
)
BAD_STATUS_LINES = st.sampled_from([b"HTTP/1.1 099 x", b"HTTP/1.1 1000", b"HTTP 200 OK", b"", b"SSH-2.0-x"])
BAD_LINES = st.sampled_from([b"na me: v", b": v", b"x\xff: v", b"x: a\0", b"x: \x0b", b"x", b"Transfer-Encoding: gzip"])
LENGTHS = st.sampled_from([b"0", b"1", b"3", b"3", b"3, 3", b"3,4", b"03", b"-1", b""])
GOOD_LINES = st.builds(lambda name, value: name + b": " + value, NAMES, VALUES)
FRAMING_LINES = st.one_of(
    st.builds(lambda value: b"Content-Length: " + value, LENGTHS),
    st.builds(lambda value: b"Transfer-Encoding:" + value, st.sampled_from([b"chunked", b" CHUNKED "])),
)
HEADER_LINES = st.one_of(GOOD_LINES, GOOD_LINES, FRAMING_LINES)
BREAKS = st.sampled_from([b"\r\n", b"\r\n", b"\r\n", b"\r\n", b"\n"])
TEXTS = st.binary(max_size=6)
ALPHABET = b"\r\n\r\n \t:;,0123aAfFxX-_\0\x0b\x0c\xff"


@st.composite
def heads(draw: Any, status_lines: Any = STATUS_LINES) -> bytes:
    """Heads that mean many things; one in ten has a line that is wrong by itself."""
    lines = [draw(status_lines), *draw(st.lists(HEADER_LINES, max_size=4))]
    if draw(st.integers(0, 9)) == 9:
        at = draw(st.integers(0, len(lines) - 1))
        lines[at] = draw(BAD_LINES if at else BAD_STATUS_LINES)
    return b"".join(line + draw(BREAKS) for line in [*lines, b""])


TRAILERS = (b"", b"", b"x: y\r\n", b"x: y\r\n z\r\n", b"x: y\n")


@st.composite
def chunk_bodies(draw: Any, trailers: Sequence[bytes] = TRAILERS) -> bytes:
    out = b""
    for chunk in draw(st.lists(st.binary(min_size=1, max_size=20), max_size=3)):
        extension = draw(st.sampled_from([b"", b"", b";a", b';a="b"', b" "]))
        out += b"%x%b\r\n%b\r\n" % (len(chunk), extension, chunk)
    trailer = draw(st.sampled_from(trailers))
    return out + b"0\r\n" + trailer + draw(BREAKS)


@st.composite
def good_replies(draw: Any) -> bytes:
    """Well-formed final heads with a body that fits."""
    fields = draw(
        st.lists(st.sampled_from([b"Content-Type: a/b\r\n", b"X-A: 1\r\n", b"x-a: 2\r\n", b"Connection: Close\r\n"]))
    )
    head = draw(st.sampled_from([OK, OK, b"HTTP/1.0 200 OK\r\n", b"HTTP/1.1 503 No\r\n"])) + b"".join(fields)
    body = draw(st.binary(max_size=30))
    framed = [
        head + b"Content-Length: %d\r\n\r\n%b" % (len(body), body),
        head + b"\r\n" + body,
        head + b"Transfer-Encoding: chunked\r\n\r\n" + draw(chunk_bodies()),
    ]
    return bytes(draw(st.sampled_from(framed)))


@st.composite
def streams(draw: Any) -> bytes:
    """Replies of all kinds, some damaged in a few places, some with more behind them."""
    informational = draw(
        st.lists(heads(st.sampled_from([b"HTTP/1.1 100 Continue", b"HTTP/1.1 103", b"HTTP/1.1 101 x"])), max_size=1)
    )
    wild = st.builds(lambda head, body: head + body, heads(), st.one_of(TEXTS, chunk_bodies((*TRAILERS, b"x\r\n"))))
    data = bytearray(b"".join(informational) + draw(st.one_of(good_replies(), good_replies(), wild)))
    for _ in range(draw(st.sampled_from([0, 0, 0, 1, 1, 2]))):
        at = draw(st.integers(0, len(data)))
        end = at + draw(st.integers(0, 2))
        data[at:end] = bytes([draw(st.sampled_from(ALPHABET))] * draw(st.integers(0, 2)))
    return bytes(data) + draw(st.sampled_from([b"", b"", b"", b"x", b"\r\n", b"HTTP/1.1 200 OK\r\n\r\n"]))


@st.composite
def splits(draw: Any) -> list[bytes]:
    data = draw(streams())
    places = sorted(draw(st.lists(st.integers(0, len(data)), max_size=5)))
    return [data[a:b] for a, b in zip([0, *places], [*places, len(data)], strict=True) if a < b]


@settings(max_examples=300, deadline=None)
@given(pieces=splits(), closes=st.booleans())
@example(pieces=[with_length(b"ok")], closes=False)
@example(pieces=bytewise(chunked(b"ok", b"!", trailer=b"x: y\r\n")), closes=False)
@example(pieces=[OK + b"\r\n", b"x"], closes=True)
def test_reads_what_h11_reads_and_refuses_what_h11_refuses(pieces: list[bytes], closes: bool) -> None:
    data = b"".join(pieces)
    assume(not re.search(rb"(?:^|\n)[0-9A-Fa-f]+[ \t]+;", data))
    assume(not re.search(rb"\n0[^\n]*\n(?:.+\n)*(?:content-length|transfer-encoding):", data, re.IGNORECASE))
    assert ours(pieces, closes=closes) == theirs(pieces, closes=closes)


@settings(max_examples=100, deadline=None)
@given(data=streams(), closes=st.booleans())
def test_how_a_reply_is_split_changes_nothing(data: bytes, closes: bool) -> None:
    pieces = bytewise(data)
    assert ours(pieces, closes=closes) == ours([data] if data else [], closes=closes)


@settings(max_examples=100, deadline=None)
@given(reply=good_replies())
def test_the_generated_good_replies_are_good(reply: bytes) -> None:
    """Otherwise the agreement above would mean little."""
    assert ours([reply], closes=True)[0] == "reply"
