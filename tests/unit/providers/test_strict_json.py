from __future__ import annotations

from typing import Any

import pytest

from pytest_mindtrial.core.errors import ReplyParseError
from pytest_mindtrial.providers.strict_json import read_strict


@pytest.mark.parametrize(
    "text, value",
    [
        (" 1 ", 1),
        ("1.0", 1.0),
        ('"\\ud800"', "\ufffd"),
        ('{"\\ud800":["\\uDC00"]}', {"\ufffd": ["\ufffd"]}),
        ("null", None),
    ],
)
def test_strict(text: str, value: Any) -> None:
    assert read_strict(text) == value
    assert type(read_strict(text)) is type(value)


@pytest.mark.parametrize("text", ["", "{'a': 1}", '{"a": 1} x', "\ufeff1", "NaN", "-Infinity", "1e999", "9" * 5000])
def test_strict_refuses(text: str) -> None:
    with pytest.raises(ReplyParseError):
        read_strict(text)


def test_strict_refuses_endless_nesting() -> None:
    with pytest.raises(ReplyParseError, match="nested too deeply"):
        read_strict("[" * 100_000)


def test_keys_stand_in_the_order_of_their_last_mention() -> None:
    assert list(read_strict('{"a":1,"A":2,"a":3}').items()) == [("A", 2), ("a", 3)]
