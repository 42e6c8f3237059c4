"""JSON text rules."""

from __future__ import annotations

import json
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from pytest_mindtrial.core.jsontext import (
    MAX_DEPTH,
    compact_json,
    cut_depth,
    is_too_deep,
    pretty_json,
    sorted_keys,
    text_lines,
    value_lines,
    value_text,
    without_markup,
)

# Go writes 2^53 … 1e21 as integers with the shortest digits; as Python integers those differ from the float.
FLOATS = st.floats(-(2**53), 2**53) | st.floats(1e21, allow_infinity=False)

JSON_VALUES = st.recursive(
    st.none() | st.booleans() | st.integers() | FLOATS | st.text(),
    lambda inner: st.lists(inner) | st.dictionaries(st.text(), inner),
    max_leaves=20,
)


def nested(levels: int) -> Any:
    value: Any = 1
    for _ in range(levels):
        value = [value]
    return value


@given(JSON_VALUES)
def test_every_value_reads_back_the_same(value: Any) -> None:
    assert json.loads(pretty_json(value)) == value
    assert json.loads(compact_json(value)) == value


@given(JSON_VALUES)
def test_html_characters_never_appear(value: Any) -> None:
    for text in (pretty_json(value), compact_json(value)):
        assert not set(text) & set("<>&\u2028\u2029")


@pytest.mark.parametrize(
    "value, text",
    [
        ([], "[]"),
        ({}, "{}"),
        ((1, "a"), '[\n  1,\n  "a"\n]'),
        ({"a": {"b": [None]}}, '{\n  "a": {\n    "b": [\n      null\n    ]\n  }\n}'),
        ("<&>\u2028\u2029", r'"\u003c\u0026\u003e\u2028\u2029"'),
        ("\ud800x\udfff", r'"\ud800x\udfff"'),
        ("ü日🍇\x7f", '"ü日🍇\x7f"'),
        ('\b\f\n\r\t\x00\x1f"\\', r'"\b\f\n\r\t\u0000\u001f\"\\"'),
        (True, "true"),
        (4.0, "4"),
        (-0.0, "-0"),
        (1e21, "1e+21"),
        (1e-7, "1e-7"),
        (2**70, "1180591620717411303424"),
        (float("nan"), '"NaN"'),
        (float("inf"), '"+Inf"'),
        (float("-inf"), '"-Inf"'),
        ({1: 2}, '{\n  "1": 2\n}'),
    ],
)
def test_pretty_forms(value: Any, text: str) -> None:
    assert pretty_json(value) == text


def test_compact_has_no_spaces() -> None:
    assert compact_json({"a": [1, {"b": "<"}]}) == r'{"a":[1,{"b":"\u003c"}]}'


def test_unknown_types_are_refused() -> None:
    with pytest.raises(TypeError, match="set"):
        pretty_json({"a": {1}})


@pytest.mark.parametrize("write", [pretty_json, compact_json, value_text])
def test_deep_nesting_is_cut_with_a_mark(write: Any) -> None:
    assert "nested deeper than 100 levels" in write(nested(5000))
    assert "nested deeper" not in write(nested(MAX_DEPTH))


def test_cut_and_sort_stop_at_the_same_depth() -> None:
    assert cut_depth(nested(MAX_DEPTH)) == nested(MAX_DEPTH)
    assert cut_depth(nested(900)) == sorted_keys(nested(900)) != nested(900)


@pytest.mark.parametrize("levels", [0, 1, MAX_DEPTH - 1, MAX_DEPTH, MAX_DEPTH + 1, 900])
def test_too_deep_is_what_would_be_cut(levels: int) -> None:
    for value in (nested(levels), {"a": [1, nested(levels)]}, [[]] * 500):
        assert is_too_deep(value) is (cut_depth(value) != value)


@given(JSON_VALUES, st.integers(0, 5))
def test_indentation_starts_where_the_text_will_stand(value: Any, depth: int) -> None:
    shifted = pretty_json(value, depth)
    assert shifted == pretty_json(value).replace("\n", "\n" + "  " * depth)


@given(JSON_VALUES)
def test_pretty_is_what_python_writes_where_both_escape_alike(value: Any) -> None:
    if not any(isinstance(leaf, float) for leaf in leaves(value)):
        python = json.dumps(value, indent=2, ensure_ascii=False)
        assert pretty_json(value) == without_markup(python)


def leaves(value: Any) -> list[Any]:
    items = value.values() if isinstance(value, dict) else value if isinstance(value, list) else None
    return [value] if items is None else [leaf for item in items for leaf in leaves(item)]


def test_sorting_goes_all_the_way_down_and_keeps_lists() -> None:
    value = {"b": 1, "a": [{"d": 1, "c": 2}, 3]}
    assert list(sorted_keys(value)) == ["a", "b"]
    assert list(sorted_keys(value)["a"][0]) == ["c", "d"]
    assert list(cut_depth(value)) == ["b", "a"]


def test_value_text_is_for_people() -> None:
    assert value_text("as <is>") == "as <is>"
    assert value_text({"b": "<&>", "a": 1.0}) == '{\n  "a": 1,\n  "b": "<&>"\n}'
    assert value_text(None) == "null"
    assert value_text("\ud800") == "\ud800"
    assert value_text(["\ud800"]) == '[\n  "\\ud800"\n]'


@pytest.mark.parametrize(
    "text, lines",
    [
        ("", []),
        ("a", ["a"]),
        ("a\n", ["a", ""]),
        ("a\r\nb\n\nc", ["a", "b", "", "c"]),
        ("a\rb", ["a\rb"]),
        ("a\u2028b", ["a\u2028b"]),
    ],
)
def test_lines(text: str, lines: list[str]) -> None:
    assert text_lines(text) == lines
    assert value_lines(text) == lines


def test_lines_of_a_structure() -> None:
    assert value_lines([1]) == ["[", "  1", "]"]
