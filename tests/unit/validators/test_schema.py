from __future__ import annotations

from collections.abc import Callable
from typing import Any

import pytest

from pytest_mindtrial.core.errors import ValidationError
from pytest_mindtrial.validators.base import Candidate, Validator, Verdict
from pytest_mindtrial.validators.schema import SchemaValidator

Make = Callable[..., Candidate]
Run = Callable[[Validator, Candidate], Verdict]

SCHEMA = {
    "type": "object",
    "properties": {"n": {"type": "number", "minimum": 3}, "s": {"const": "A"}},
    "required": ["n"],
}


@pytest.mark.parametrize(
    "answer, passed, reason",
    [
        ({"n": 3}, True, "conforms to the expected schema"),
        ({"n": 3.5, "s": "A"}, True, "conforms"),
        ({"n": 2}, False, "$.n: 2 is less than the minimum of 3"),
        ({"n": True}, False, "$.n: True is not of type 'number'"),
        ({"n": "3"}, False, "$.n"),
        ({"n": 3, "s": " a "}, False, "$.s: 'A' was expected"),
        ("x", False, "$: 'x' is not of type 'object'"),
        (None, False, "$"),
    ],
)
def test_verdicts(candidate: Make, judge_answer: Run, answer: Any, passed: bool, reason: str) -> None:
    verdict = judge_answer(SchemaValidator(), candidate(answer, SCHEMA))
    assert verdict.passed is passed
    assert reason in verdict.record.explanation
    assert (verdict.got, verdict.want) == (answer, (SCHEMA,))
    assert (verdict.record.method, verdict.record.title) == ("schema", "Schema Assessment")
    assert verdict.record.validator == "schema match"


@pytest.mark.parametrize("expected", [[], ["x"], [SCHEMA, SCHEMA], [{"type": "nope"}], [{"$ref": "#"}]])
def test_an_unusable_schema_decides_nothing(candidate: Make, judge_answer: Run, expected: list[Any]) -> None:
    with pytest.raises(ValidationError):
        judge_answer(SchemaValidator(), candidate({"n": 3}, *expected))
