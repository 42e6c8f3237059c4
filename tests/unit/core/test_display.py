"""Text that is safe for a terminal."""

from __future__ import annotations

import pytest
from hypothesis import given
from hypothesis import strategies as st

from pytest_mindtrial.core.display import one_line, safe_text


@pytest.mark.parametrize(
    "text, shown",
    [
        ("plain ü 日本 🍇", "plain ü 日本 🍇"),
        ("a\nb\tc", "a\nb\tc"),
        ("a\r\nb\rc", "a\nb\\x0dc"),
        ("\x1b[31mred\x07\x00\x7f\x9b", "\\x1b[31mred\\x07\\x00\\x7f\\x9b"),
        ("\u202eabc\u2066\u200f\ufeff", "\\u202eabc\\u2066\\u200f\\ufeff"),
        ("\ud800", "\\ud800"),
        ("a\u2028b\x85\x0b\x0c", "a\\u2028b\\x85\\x0b\\x0c"),
    ],
)
def test_safe_text(text: str, shown: str) -> None:
    assert safe_text(text) == shown


@given(st.text(st.characters(codec=None)))
def test_result_is_printable_anywhere(text: str) -> None:
    shown = safe_text(text)
    shown.encode("utf-8")
    assert not [c for c in shown if (c < " " and c not in "\n\t") or "\x7f" <= c <= "\x9f"]
    assert safe_text(shown) == shown


def test_one_line() -> None:
    assert one_line("a\r\nb\tc\nd") == "a\\nb c\\nd"
