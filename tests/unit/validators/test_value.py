"""The golden rows of spec mindtrial A.3."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

from pytest_mindtrial.core.errors import ValidationError
from pytest_mindtrial.suite.model import Rules
from pytest_mindtrial.validators.base import Candidate, Validator, Verdict
from pytest_mindtrial.validators.value import ValueValidator

Make = Callable[..., Candidate]
Run = Callable[[Validator, Candidate], Verdict]

DEFAULT = Rules()
NBSP = "\u00a0"


@pytest.mark.parametrize(
    "rules, expected, answer, passed",
    [
        (DEFAULT, ["ANTELOPE, HEDGEHOG"], " antelope, hedgehog\n", True),
        (DEFAULT, ["a b"], "a  b", False),
        (DEFAULT, ["a\nb"], "a\r\nb", False),
        (Rules(trim_lines=True), ["a\nb"], " a \r\n b ", True),
        (Rules(ignore_whitespace=True), ["1: G, 2: F"], "1:G,2:F", True),
        (Rules(ignore_whitespace=True), [f"1{NBSP}G"], "1G", False),
        (Rules(ignore_whitespace=True, trim_lines=True), ["a b\nc"], "a\u00a0b c", False),
        (Rules(ignore_whitespace=True, trim_lines=True), ["a b\nc"], "ab c", True),
        (Rules(case_sensitive=True), ["Tokyo"], "tokyo", False),
        (DEFAULT, ["ΟΔΟΣ"], "οδοσ", True),
        (DEFAULT, ["ΟΔΟΣ"], "οδος", False),
        (DEFAULT, [{"n": 4}], {"n": 4.0}, True),
        (DEFAULT, [{"n": 4}], {"n": "4"}, False),
        (DEFAULT, [{"n": 4}], {"n": 4, "m": None}, False),
        (DEFAULT, [{"n": 4}], {"N": 4}, False),
        (DEFAULT, [{"ok": True}], {"ok": 1}, False),
        (DEFAULT, [["a", "b"]], ["B", "A"], False),
        (DEFAULT, [["a", "b"]], ["A ", " b"], True),
        (DEFAULT, ["x", "y"], "Y", True),
        (DEFAULT, ["4"], 4, False),
        (DEFAULT, [True], 1, False),
        (DEFAULT, [[True]], [1], False),
        (DEFAULT, [0], 0, True),
        (DEFAULT, [False], False, True),
        (DEFAULT, [""], " ", True),
        (DEFAULT, [9007199254740993], 9007199254740992, False),
        (DEFAULT, [9007199254740993], 9007199254740993, True),
        (DEFAULT, [], "x", False),
    ],
)
def test_golden(
    candidate: Make, judge_answer: Run, rules: Rules, expected: list[Any], answer: Any, passed: bool
) -> None:
    verdict = judge_answer(ValueValidator(), candidate(answer, *expected, rules=rules))
    assert verdict.passed is passed


def test_record(candidate: Make, judge_answer: Run) -> None:
    validator = ValueValidator()
    assert (validator.name, validator.method) == ("value match", "exact")
    verdict = judge_answer(validator, candidate(" X ", "A", "a ", "B"))
    assert (verdict.got, verdict.want) == ("x", ("a", "b"))
    assert (verdict.record.method, verdict.record.title) == ("exact", "Response Assessment")
    assert verdict.record.validator == "value match"
    assert "does not match any of the accepted answers" in verdict.record.explanation
    assert "matches one of the accepted" in judge_answer(validator, candidate("a", "A")).record.explanation


def test_endless_nesting_is_no_wrong_answer(candidate: Make, judge_answer: Run) -> None:
    deep: list[Any] = []
    for _ in range(5000):
        deep = [deep]
    with pytest.raises(ValidationError, match="nested too deeply"):
        judge_answer(ValueValidator(), candidate(deep, "x"))


@settings(suppress_health_check=[HealthCheck.function_scoped_fixture], max_examples=50)
@given(st.lists(st.text(alphabet="aAbB ", max_size=3), max_size=4), st.text(alphabet="aAbB ", max_size=3), st.randoms())
def test_order_of_alternatives_does_not_matter(
    candidate: Make, judge_answer: Run, expected: list[str], answer: str, random: Any
) -> None:
    shuffled = list(expected)
    random.shuffle(shuffled)
    first = judge_answer(ValueValidator(), candidate(answer, *expected))
    second = judge_answer(ValueValidator(), candidate(answer, *shuffled))
    assert first.passed is second.passed
    assert sorted(first.want) == sorted(second.want)
