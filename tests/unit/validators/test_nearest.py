from __future__ import annotations

import time
from typing import Any

import pytest
from hypothesis import example, given
from hypothesis import strategies as st

from pytest_mindtrial.validators import nearest
from pytest_mindtrial.validators.canonical import comparison_key
from pytest_mindtrial.validators.nearest import _loose, nearest_accepted


@pytest.mark.parametrize(
    "got, want, index, is_formatting",
    [
        ("grape, peech", ["APPLE", "GRAPE, PEACH"], 1, False),
        ("1:g 2:f", ["x", "1: G, 2: F"], 1, True),
        ("Paris.", ["Paris"], 0, True),
        ("**Paris**", ["London", "paris"], 1, True),
        ("ab\ncd", ["AB CD"], 0, True),
        ("5", ["-5"], 0, False),
        ("1.5", ["15"], 0, False),
        ("1,5", ["15"], 0, False),
        ("+", ["-"], 0, False),
        ("a - b", ["a b"], 0, True),
        ("well-known", ["well known"], 0, True),
        ({"n": "4"}, [{"n": 4}], 0, True),
        ({"n": "5"}, [{"n": 4}], 0, False),
        ({"a": ["X."]}, [{"b": 1}, {"a": ["x"]}], 1, True),
        ({"A": "x"}, [{"a": "x"}], 0, False),
        (None, ["null"], 0, True),
        ("x", ["y", "z"], 0, False),
        ("", ["a"], 0, False),
    ],
)
def test_nearest(got: Any, want: list[Any], index: int, is_formatting: bool) -> None:
    found = nearest_accepted(got, want)
    assert found is not None
    assert (found.value, found.index, found.passes_without_formatting) == (want[index], index, is_formatting)
    assert 0 <= found.ratio <= 1


def test_nothing_accepted() -> None:
    assert nearest_accepted("x", []) is None


def test_texts_that_begin_differently_are_not_looked_at_as_a_whole(monkeypatch: pytest.MonkeyPatch) -> None:
    looked_at: list[Any] = []
    monkeypatch.setattr(nearest, "_loose", lambda value: looked_at.append(value) or value)
    found = nearest_accepted("x" * 1_000_000, ["y" * 1_000_000, "XY"])
    assert found is not None
    assert not found.passes_without_formatting
    assert looked_at == []


@example("1.5", "15", 1)
@example("--", "-", 1)
@given(st.text("aB.-_1 ß", max_size=12), st.text("aB.-_1 ß", max_size=12), st.integers(1, 6))
def test_the_look_at_the_beginning_loses_no_equal_texts(got: str, value: str, characters: int) -> None:
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(nearest, "MAX_CHARS", characters)
        found = nearest_accepted(got, [value])
        assert found is not None
        assert found.passes_without_formatting is (comparison_key(_loose(got)) == comparison_key(_loose(value)))


def test_many_and_long_alternatives_stay_cheap() -> None:
    want = [f"{number} " + "lorem ipsum " * 20 for number in range(400)]
    start = time.perf_counter()
    found = nearest_accepted("399 lorem ipsum", want)
    assert found is not None
    assert found.value.startswith("399 ")
    long = nearest_accepted("x" * 1_000_000, ["y" * 1_000_000, "x" * 999_999])
    assert long is not None
    assert long.index == 1
    assert time.perf_counter() - start < 10
