"""Spec docker 6.3 and 7: the strict verdict, and what templates see."""

from __future__ import annotations

import asyncio
import json
from collections.abc import Mapping
from typing import Any

import pytest

from pytest_mindtrial.core.errors import SandboxRuntimeError, UserError, ValidationError
from pytest_mindtrial.suite.model import Rules
from pytest_mindtrial.validators.base import Candidate
from pytest_mindtrial.validators.custom import CustomValidator, read_verdict, template_data

GOOD = '{"correct": true, "title": "T", "explanation": " E "}'
CANDIDATE = Candidate("t", "p", "f", ("a", {"n": 1}), Rules(trim_lines=True), "answer")


class Process:
    def __init__(self, output: str | Exception) -> None:
        self._output = output
        self.data: Mapping[str, Any] = {}

    async def __call__(self, data: Mapping[str, Any]) -> str:
        self.data = data
        if isinstance(self._output, Exception):
            raise self._output
        return self._output


def validate(output: str | Exception) -> Any:
    return asyncio.run(CustomValidator("v", Process(output)).validate(CANDIDATE))


@pytest.mark.parametrize("text", [GOOD, f"\n\t {GOOD}\r\n "])
def test_one_object_with_white_space_around_it_is_a_verdict(text: str) -> None:
    assert read_verdict(text) == (True, "T", " E ")


@pytest.mark.parametrize(
    "text, message",
    [
        ("", "printed nothing"),
        (" \n", "printed nothing"),
        ("yes", "is not JSON"),
        ("{", "is not JSON"),
        ("\ufeff" + GOOD, "is not JSON"),
        ("[" * 100_000, "nested too deeply"),
        ("[]", "must print a JSON object"),
        ("true", "must print a JSON object"),
        (GOOD + GOOD, "printed more after"),
        (GOOD + " done", "printed more after"),
        (GOOD.replace("true", "1"), "correct must be true or false"),
        (GOOD.replace("true", '"true"'), "correct must be true or false"),
        (GOOD.replace("true", "null"), "correct must be true or false"),
        (GOOD.replace("true", "NaN"), "NaN is not a JSON number"),
        (GOOD.replace('"T"', '" \\n"'), "title must be a text that is not blank"),
        (GOOD.replace('"T"', "5"), "title must be a text"),
        (GOOD.replace('" E "', '""'), "explanation must be a text"),
        (GOOD.replace("correct", "Correct"), "lacks correct"),
        ("{}", "lacks correct, title, explanation"),
        (GOOD.replace("}", ', "score": 1}'), "unknown fields score"),
        (GOOD.replace("}", ', "correct": false}'), "a key stands twice"),
    ],
)
def test_anything_else_is_no_verdict(text: str, message: str) -> None:
    with pytest.raises(ValueError, match=message):
        read_verdict(text)
    with pytest.raises(ValidationError, match=f"custom validator v: .*{message}") as caught:
        validate(text)
    assert caught.value.details == ({"Validator stdout": text[:2000]} if text.strip() else {})


@pytest.mark.parametrize("is_correct", [True, False])
def test_a_verdict_is_recorded_as_given(is_correct: bool) -> None:
    verdict = validate(GOOD.replace("true", json.dumps(is_correct)))
    assert (verdict.passed, verdict.got, verdict.want) == (is_correct, "answer", ("a", {"n": 1}))
    record = verdict.record
    assert (record.method, record.title, record.explanation, record.validator) == (
        "custom", "T", " E ", "custom validator v",
    )  # fmt: skip
    assert record.usage.is_empty
    assert record.tool_calls == ()
    assert verdict.requests == ()


def test_a_process_that_failed_is_an_error_with_its_details() -> None:
    with pytest.raises(ValidationError, match="custom validator v: stopped") as caught:
        validate(SandboxRuntimeError("stopped", details={"a": "b"}))
    assert (caught.value.details, caught.value.title) == ({"a": "b"}, "Validation Error")
    with pytest.raises(ValidationError, match="bad template"):
        validate(UserError("bad template"))


def test_templates_see_the_task_the_answer_and_the_rules() -> None:
    assert template_data(CANDIDATE) == {
        "OriginalTask": {"Prompt": "p", "ResponseResultFormat": "f", "ExpectedResults": ["a", {"n": 1}]},
        "Candidate": {"Response": "answer"},
        "Rules": {"CaseSensitive": False, "IgnoreWhitespace": False, "TrimLines": True},
    }


def test_a_schema_is_shown_as_indented_json_and_no_expected_result_is_an_empty_list() -> None:
    data = template_data(Candidate("t", "p", {"type": "object"}, (), Rules(), None))
    assert data["OriginalTask"] == {
        "Prompt": "p", "ResponseResultFormat": '{\n  "type": "object"\n}', "ExpectedResults": [],
    }  # fmt: skip
    assert data["Candidate"] == {"Response": None}


def test_numbers_of_an_answer_are_floats_as_in_go_unless_that_would_change_them() -> None:
    answer = {"n": [1, True, 2**53, 2**53 + 1, 0.5, "1"], "t": (2,)}
    response = template_data(Candidate("t", "p", "f", (), Rules(), answer))["Candidate"]["Response"]
    assert response == {"n": [1.0, True, 2.0**53, 2**53 + 1, 0.5, "1"], "t": [2.0]}
    assert [type(value) for value in response["n"]] == [float, bool, float, int, float, str]
