"""Spec docker 5.3: equal values agree, different ones are an error; how scalars look."""

from __future__ import annotations

from typing import Any

import pytest

from pytest_mindtrial.core.errors import SandboxRuntimeError
from pytest_mindtrial.sandbox.environment import Environment, scalar_text


def test_equal_values_agree_and_new_ones_are_added() -> None:
    env = Environment("service 's'", {"A": "1"})
    env.set("A", "1", "input 'a'")
    env.set("B", "2", "input 'b'")
    env.set("B", "2", "input 'c'")
    assert env.values == {"A": "1", "B": "2"}


def test_different_values_name_both_sources_but_no_value() -> None:
    env = Environment("service 's'", {"A": "hidden-1"})
    env.set("B", "hidden-2", "input 'b'")
    with pytest.raises(SandboxRuntimeError) as first:
        env.set("A", "hidden-3", "input 'a'")
    with pytest.raises(SandboxRuntimeError) as second:
        env.set("B", "hidden-3", "input 'c'")
    assert str(first.value) == "service 's': variable A gets different values from env and input 'a'"
    assert str(second.value) == "service 's': variable B gets different values from input 'b' and input 'c'"


@pytest.mark.parametrize(
    "value, text",
    [
        (True, "true"),
        (False, "false"),
        (42, "42"),
        (2**70, str(2**70)),
        (0.5, "0.5"),
        (2.0, "2"),
        (1e21, "1e+21"),
        (1e20, "1" + "0" * 20),
    ],
)
def test_scalars_look_as_in_go(value: Any, text: str) -> None:
    assert scalar_text(value) == text
