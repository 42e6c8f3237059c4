"""The patch text form, checked by a small independent reader that applies patches."""

from __future__ import annotations

import re
from urllib.parse import unquote

import pytest
from hypothesis import given
from hypothesis import strategies as st

from pytest_mindtrial.results.patch_text import patch_text

_HEAD = re.compile(r"@@ -(\d+)(?:,(\d+))? \+(\d+)(?:,(\d+))? @@")


def apply_exactly(patches: str, text: str) -> str:
    """Apply patches at the places they name; the context and the sizes must agree."""
    lines = patches.splitlines() if patches else []
    while lines:
        head = _HEAD.fullmatch(lines.pop(0))
        assert head
        old_size = 1 if head[2] is None else int(head[2])
        new_size = 1 if head[4] is None else int(head[4])
        start = int(head[1]) - (old_size != 0)
        old = new = ""
        while lines and not lines[0].startswith("@@"):
            line = lines.pop(0)
            part = unquote(line[1:])
            old += part if line[0] in " -" else ""
            new += part if line[0] in " +" else ""
        assert (len(old), len(new)) == (old_size, new_size)
        assert text[start : start + old_size] == old
        text = text[:start] + new + text[start + old_size :]
    return text


@given(st.text("abc \n%+", max_size=80), st.text("abc \n%+", max_size=80))
def test_applying_gives_the_new_text(old: str, new: str) -> None:
    assert apply_exactly(patch_text(old, new), old) == new


@pytest.mark.parametrize(
    "old, new, text",
    [
        ("", "", ""),
        ("same", "same", ""),
        (
            "The quick brown fox jumps over the lazy dog.",
            "That quick brown fox jumped over a lazy dog.",
            "@@ -1,11 +1,12 @@\n Th\n-e\n+at\n  quick b\n"
            "@@ -22,18 +22,17 @@\n jump\n-s\n+ed\n  over \n-the\n+a\n  laz\n",
        ),
        ("grape, peach", "grape, peech", "@@ -2,11 +2,11 @@\n rape, pe\n-a\n+e\n ch\n"),
        ("", "a\n%b", "@@ -0,0 +1,4 @@\n+a%0A%25b\n"),
        ("x", "", "@@ -1 +0,0 @@\n-x\n"),
        (
            "Nihil reprehenderit enim voluptatum dolore nisi neque quia aut qui.",
            "Ipsam ea et optio explicabo eius et.",
            "@@ -1,67 +1,36 @@\n-Nihil reprehenderit enim voluptatum dolore nisi neque quia aut qui\n"
            "+Ipsam ea et optio explicabo eius et\n .\n",
        ),
        ("[a]", '"ü"', "@@ -1,3 +1,3 @@\n-%5Ba%5D\n+%22%C3%BC%22\n"),
    ],
)
def test_golden(old: str, new: str, text: str) -> None:
    assert patch_text(old, new) == text


def test_repeating_text_gets_enough_context_to_be_unique() -> None:
    old = "abc " * 20 + "END"
    patch = patch_text(old, old.replace("END", "FIN"))
    assert apply_exactly(patch, old) == old.replace("END", "FIN")
    middle = "ab" * 30
    changed = middle[:30] + "X" + middle[31:]
    assert apply_exactly(patch_text(middle, changed), middle) == changed


def test_lone_surrogates_do_not_crash() -> None:
    assert "?" in patch_text("a", "\ud800b")
