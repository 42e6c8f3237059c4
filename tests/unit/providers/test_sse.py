"""Event stream parser: line ends, fields, comments, and independence of the chunking."""

from __future__ import annotations

import pytest
from hypothesis import given
from hypothesis import strategies as st

from pytest_mindtrial.providers.sse import SseEvent, SseParser


def parse(*chunks: bytes) -> list[SseEvent]:
    parser = SseParser()
    out = []
    for chunk in chunks:
        out += parser.feed(chunk)
    return [*out, *parser.close()]


@pytest.mark.parametrize("end", ["\n", "\r\n", "\r"])
def test_line_ends(end: str) -> None:
    text = end.join(["event: one", "data: a", "data: b", "", "data: c", "", ""])
    assert parse(text.encode()) == [SseEvent("one", "a\nb"), SseEvent("", "c")]


@pytest.mark.parametrize(
    "text, events",
    [
        (": keep-alive\n\n: again\n\ndata: x\n\n", [SseEvent("", "x")]),
        ("data:x\n\n", [SseEvent("", "x")]),
        ("data:  x\n\n", [SseEvent("", " x")]),
        ("data\n\n", [SseEvent("", "")]),
        ("event: ping\n\ndata: x\n\n", [SseEvent("", "x")]),
        ("id: 1\nretry: 5\nunknown: y\ndata: x\n\n", [SseEvent("", "x")]),
        ("data: a:b\n\n", [SseEvent("", "a:b")]),
        ("data: unfinished", [SseEvent("", "unfinished")]),
        ("data: unfinished\n", [SseEvent("", "unfinished")]),
        ("data: unfinished\r", [SseEvent("", "unfinished")]),
        ("\ufeffdata: x\n\n", [SseEvent("", "x")]),
        ("\n\n\n", []),
        ("", []),
        ("data: ü€😀\n\n", [SseEvent("", "ü€😀")]),
        ("data: a\u2028b\n\n", [SseEvent("", "a\u2028b")]),
    ],
)
def test_fields(text: str, events: list[SseEvent]) -> None:
    assert parse(text.encode()) == events


def test_events_come_as_soon_as_they_are_complete() -> None:
    parser = SseParser()
    assert list(parser.feed(b"data: 1\n\nda")) == [SseEvent("", "1")]
    assert list(parser.feed(b"ta: 2\n")) == []
    assert list(parser.feed(b"\n")) == [SseEvent("", "2")]


def test_broken_utf8_is_replaced() -> None:
    assert parse(b"data: \xff\n\n") == [SseEvent("", "\ufffd")]


_lines = st.lists(
    st.sampled_from(["data: x", "data:é€", "data", "event: e", ": note", "", "id: 3", "data: 😀 y"]), max_size=12
)


@given(_lines, st.lists(st.sampled_from(["\n", "\r\n", "\r"]), min_size=12, max_size=12), st.data())
def test_any_chunking_gives_the_same_events(lines: list[str], ends: list[str], data: st.DataObject) -> None:
    body = "".join(line + end for line, end in zip(lines, ends, strict=False)).encode()
    cuts = sorted(data.draw(st.lists(st.integers(0, len(body)), max_size=8)))
    chunks = [body[a:b] for a, b in zip([0, *cuts], [*cuts, len(body)], strict=True)]
    assert parse(*chunks) == parse(body)
