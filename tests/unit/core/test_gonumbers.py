from __future__ import annotations

import json
import math
from decimal import Decimal

import pytest
from hypothesis import given
from hypothesis import strategies as st

from pytest_mindtrial.core.gonumbers import go_float, go_json, json_float


@pytest.mark.parametrize(
    "value, text",
    [
        (1.0, "1"),
        (999999.0, "999999"),
        (1234567.0, "1.234567e+06"),
        (100000.5, "100000.5"),
        (0.0001, "0.0001"),
        (0.00012345, "0.00012345"),
        (1e20, "1e+20"),
        (100000.0, "100000"),
        (1000000.0, "1e+06"),
        (2097152.0, "2.097152e+06"),
        (1234567.5, "1.2345675e+06"),
        (0.00001, "1e-05"),
        (-1000000.0, "-1e+06"),
        (123456789012345680000.0, "1.2345678901234568e+20"),
        (0.1, "0.1"),
        (10.0, "10"),
        (1e-7, "1e-07"),
        (-0.5, "-0.5"),
        (1e21, "1e+21"),
        (5e-324, "5e-324"),
        (1.7976931348623157e308, "1.7976931348623157e+308"),
        (0.0, "0"),
        (-0.0, "-0"),
        (float("inf"), "+Inf"),
        (float("-inf"), "-Inf"),
        (float("nan"), "NaN"),
    ],
)
def test_go_float(value: float, text: str) -> None:
    assert go_float(value) == text


@pytest.mark.parametrize(
    "value, text",
    [
        (1e6, "1000000"),
        (1e20, "100000000000000000000"),
        (1e21, "1e+21"),
        (-1.5e21, "-1.5e+21"),
        (1e-6, "0.000001"),
        (1e-7, "1e-7"),
        (1.25e-10, "1.25e-10"),
        (123456789.0, "123456789"),
        (0.1, "0.1"),
        (-0.5, "-0.5"),
        (0.0, "0"),
        (-0.0, "-0"),
    ],
)
def test_json_float(value: float, text: str) -> None:
    assert json_float(value) == text


@pytest.mark.parametrize("value", [float("inf"), float("nan")])
def test_json_float_refuses_what_json_cannot_hold(value: float) -> None:
    with pytest.raises(ValueError, match="cannot be written as JSON"):
        json_float(value)


@given(st.floats(allow_nan=False, allow_infinity=False))
def test_both_forms_read_back_the_same(value: float) -> None:
    for text in (go_float(value), json_float(value)):
        assert math.copysign(1, float(text)) == math.copysign(1, value)
        assert float(text) == value
        assert Decimal(text) == Decimal(repr(value))
    exponent = go_float(value).partition("e")[2]
    assert not exponent or len(exponent) >= 3


@pytest.mark.parametrize(
    "value, text",
    [
        ({"b": [1.0, "x", None, True], "a": {}}, '{"a":{},"b":[1,"x",null,true]}'),
        ([], "[]"),
        ((), "[]"),
        (2**70, "1180591620717411303424"),
        ("<&>", '"<&>"'),
        ("\u2028\u2029", '"\\u2028\\u2029"'),
        ("\b\f\n\r\t\x01\x7f", '"\\b\\f\\n\\r\\t\\u0001\x7f"'),
        ("\ud800", '"\\ufffd"'),
        ({"é": 'ü\\"'}, '{"é":"ü\\\\\\""}'),
    ],
)
def test_go_json(value: object, text: str) -> None:
    assert go_json(value) == text


def test_go_json_pretty_and_html_safe() -> None:
    value = {"type": "object", "required": ["a<b"], "properties": {}, "enum": []}
    assert go_json(value, indent=2, escape_html=True) == (
        '{\n  "enum": [],\n  "properties": {},\n  "required": [\n    "a\\u003cb"\n  ],\n  "type": "object"\n}'
    )


@pytest.mark.parametrize(
    "value, error, message",
    [
        ({1: 2}, TypeError, "keys are text"),
        (object(), TypeError, "type object"),
        (float("nan"), ValueError, "NaN"),
    ],
)
def test_go_json_refuses(value: object, error: type[Exception], message: str) -> None:
    with pytest.raises(error, match=message):
        go_json(value)


def test_go_json_is_bounded() -> None:
    deep: list[object] = []
    for _ in range(300):
        deep = [deep]
    with pytest.raises(ValueError, match="deeper than 200"):
        go_json(deep)
    with pytest.raises(ValueError, match="too long"):
        go_json(["x" * 50] * 3, max_chars=100)


@given(
    st.recursive(
        st.none()
        | st.booleans()
        | st.integers(-(2**60), 2**60)
        | st.floats(allow_nan=False, allow_infinity=False)
        | st.text(),
        lambda inner: st.lists(inner) | st.dictionaries(st.text(), inner),
    )
)
def test_go_json_reads_back_the_same(value: object) -> None:
    for text in (go_json(value), go_json(value, indent=2, escape_html=True)):
        # A positional float has no point, so both sides read whole numbers as floats.
        assert json.loads(text, parse_int=float) == json.loads(json.dumps(value), parse_int=float)
