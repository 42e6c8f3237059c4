from __future__ import annotations

import html

import pytest
from hypothesis import given
from hypothesis import strategies as st

from pytest_mindtrial.core.display import one_line
from pytest_mindtrial.results.markdown_text import code, table


@pytest.mark.parametrize("character", list("&<>\"'`*_[]|~\\:@#$"))
def test_every_order_becomes_an_entity(character: str) -> None:
    assert code(f"a{character}b") == f"<code>a&#{ord(character)};b</code>"


@given(st.text(max_size=150))
def test_nothing_is_lost_and_nothing_escapes(text: str) -> None:
    inner = code(text).removeprefix("<code>").removesuffix("</code>")
    assert html.unescape(inner) == one_line(text)
    assert not set(inner) & set("<>|`*_[]~\\@$\n")


def test_long_texts_are_cut() -> None:
    assert code("x" * 10, 4) == "<code>xxxx…</code>"
    assert code("x" * 4, 4) == "<code>xxxx</code>"


def test_tables() -> None:
    assert table(["a", "b"], [["1", "2"]]) == "| a | b |\n| --- | --- |\n| 1 | 2 |"
