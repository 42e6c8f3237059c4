"""Sizes of requests."""

from __future__ import annotations

import pytest

from pytest_mindtrial.core.weight import MEDIA_WEIGHT, text_weight


@pytest.mark.parametrize(
    "value, expected",
    [
        ("", 0),
        ("four", 4),
        ("word " * 1000, 5000),
        ("QUJD" * 1000, MEDIA_WEIGHT),
        ({"a": "bc"}, 7),
        (["ab", "c"], 5),
        (12.5, 4),
        (None, 4),
    ],
)
def test_weights(value, expected):
    assert text_weight(value) == expected
