from __future__ import annotations

from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from pytest_mindtrial.suite.model import Rules
from pytest_mindtrial.validators.canonical import STRIPPED, canonical, comparison_key, trimmed, unique

GO_STRIP_SET = [
    *range(0x09, 0x0E),
    0x20,
    0x85,
    0xA0,
    0x1680,
    *range(0x2000, 0x200B),
    0x2028,
    0x2029,
    0x202F,
    0x205F,
    0x3000,
]


def test_strip_set_is_gos() -> None:
    assert sorted(map(ord, STRIPPED)) == GO_STRIP_SET
    for code in GO_STRIP_SET:
        assert canonical(f"{chr(code)}x{chr(code)}", Rules()) == "x"
    for code in (0x1C, 0x1D, 0x1E, 0x1F, 0x200B, 0xFEFF):
        assert canonical(f"{chr(code)}x", Rules()) == f"{chr(code)}x"


@pytest.mark.parametrize(
    "rules, text, expected",
    [
        (Rules(), " A  b\r\nC \n", "a  b\r\nc"),
        (Rules(case_sensitive=True), " Ab ", "Ab"),
        (Rules(trim_lines=True), " a \r\n b \n", "a\nb"),
        (Rules(trim_lines=True), "\n\n a", "a"),
        (Rules(trim_lines=True), "", ""),
        (Rules(trim_lines=True), "a\n\n b", "a\n\nb"),
        (Rules(ignore_whitespace=True), " a\tb\f\r\nc ", "abc"),
        (Rules(ignore_whitespace=True), "\u00a0a\v\u2003b", "\u00a0a\v\u2003b"),
        (Rules(ignore_whitespace=True, trim_lines=True), " a \n \u00a0b ", "a\u00a0b"),
        (Rules(), "İI", "ii"),
        (Rules(), "ΑΣ ΟΔΟΣ", "ας οδος".replace("ς", "σ")),
        (Rules(), "ẞ", "ß"),
        (Rules(), "ς", "ς"),
    ],
)
def test_text(rules: Rules, text: str, expected: str) -> None:
    assert canonical(text, rules) == expected


@pytest.mark.parametrize(
    "value, expected",
    [
        (4.0, 4),
        (-0.0, 0),
        (4.5, 4.5),
        (1e19, 1e19),
        (2**63, 2**63),
        (True, True),
        (None, None),
        ({"A b": " X ", "n": [1.0, (" Y",)]}, {"A b": "x", "n": [1, ["y"]]}),
    ],
)
def test_other_values(value: Any, expected: Any) -> None:
    assert repr(canonical(value, Rules())) == repr(expected)


@pytest.mark.parametrize(
    "one, other, is_equal",
    [
        (1, True, False),
        (0, False, False),
        ([1], [True], False),
        ({"a": 1}, {"a": True}, False),
        ("4", 4, False),
        (1.5, 1.5, True),
        (10**19, 1e19, False),
        ([1, 2], [2, 1], False),
        ([1, 2], (1, 2), True),
        ({"a": 1, "b": 2}, {"b": 2, "a": 1}, True),
        ({"a": 1}, {"a": 1, "b": None}, False),
        ({"a": 1}, {"A": 1}, False),
        ({1: "a"}, {"1": "a"}, False),
        (None, False, False),
        ("", None, False),
        ([], {}, False),
    ],
)
def test_equality(one: Any, other: Any, is_equal: bool) -> None:
    assert (comparison_key(one) == comparison_key(other)) is is_equal


def test_unique_keeps_the_first_of_equals() -> None:
    assert unique(["b", "a", "b", 1, True, [1], [1]]) == ("b", "a", 1, True, [1])


def test_trimmed() -> None:
    assert trimmed(" \u00a0A\x1c\n") == "A\x1c"
    assert trimmed([" a"]) == [" a"]


RULES = st.builds(Rules, st.booleans(), st.booleans(), st.booleans())
TEXT = st.text() | st.text(alphabet=" \t\r\n\x1c\u00a0aAİΣςẞ")
VALUES = st.recursive(
    st.none() | st.booleans() | st.integers() | st.floats(allow_nan=False) | TEXT,
    lambda inner: st.lists(inner, max_size=4) | st.dictionaries(st.text(max_size=3), inner, max_size=4),
    max_leaves=10,
)


@given(VALUES, RULES)
def test_canonical_is_idempotent(value: Any, rules: Rules) -> None:
    once = canonical(value, rules)
    assert repr(canonical(once, rules)) == repr(once)
    assert comparison_key(canonical(once, rules)) == comparison_key(once)


@given(st.text())
def test_lower_case_is_per_character(text: str) -> None:
    lowered = "".join("i" if char == "\u0130" else char.lower() for char in text)
    assert canonical(text, Rules()) == canonical(lowered, Rules(case_sensitive=True))
