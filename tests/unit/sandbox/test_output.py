"""Spec docker 4.5: counting, cutting, replacing."""

from __future__ import annotations

import pytest

from pytest_mindtrial.core.record import OutputRecord
from pytest_mindtrial.sandbox.output import Capture, Captured, tail_text


@pytest.mark.parametrize(
    "data, preview_size, is_cut",
    [
        (b"", 0, False),
        (b"a" * 2048, 2048, False),
        (b"a" * 2049, 2048, True),
        (b"a" * 2047 + "ä".encode(), 2047, True),
        (b"a" * 2046 + "ä".encode(), 2047, False),
        (b"a" * 2045 + "😀".encode(), 2045, True),
        (b"a" * 2046 + "ä".encode() + b"b", 2047, True),
    ],
)
def test_previews_are_cut_between_characters(data: bytes, preview_size: int, is_cut: bool) -> None:
    captured = Captured(10_000)
    captured.add(data)
    record = captured.record()
    assert record.preview is not None
    assert (record.bytes, len(record.preview), record.truncated) == (len(data), preview_size, is_cut)
    assert "\ufffd" not in record.preview


def test_bytes_that_only_look_like_the_rest_of_a_character_are_cut_at_the_limit() -> None:
    captured = Captured(10_000)
    captured.add(b"\x80" * 3000)
    assert captured.record() == OutputRecord(3000, "\ufffd" * 2048, True)


def test_a_record_without_preview_keeps_the_size() -> None:
    captured = Captured(10)
    captured.add(b"abc")
    assert captured.record(with_preview=False) == OutputRecord(3, None, False)


def test_nothing_is_kept_beyond_the_ceiling_and_reading_stops() -> None:
    capture = Capture(4)
    frames = iter([(2, b"e"), (1, b"abc"), (1, b"def"), (1, b"never read")])
    capture.read(frames)
    assert (capture.stdout.text, capture.stdout.size_bytes, capture.is_over) == ("abcd", 6, True)
    assert capture.stderr.text == "e"
    assert next(frames) == (1, b"never read")
    capture.stdout.add(b"more")
    assert capture.stdout.text == "abcd"


def test_the_tail_is_the_last_8192_bytes() -> None:
    assert tail_text(b"x" + b"a" * 8192) == "a" * 8192
