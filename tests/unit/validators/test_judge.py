from __future__ import annotations

from collections.abc import Callable
from typing import Any

import pytest

from pytest_mindtrial.core.errors import (
    ApiError,
    MindTrialError,
    ReplyParseError,
    TurnLimitError,
    UnsupportedError,
    ValidationError,
)
from pytest_mindtrial.core.record import RequestRecord, Semantic
from pytest_mindtrial.core.values import Usage
from pytest_mindtrial.suite.gotemplate import TemplateError
from pytest_mindtrial.suite.model import JudgePrompt, Rules
from pytest_mindtrial.validators.base import Candidate, JudgeReply, Validator, Verdict
from pytest_mindtrial.validators.judge import JudgeValidator
from pytest_mindtrial.validators.judge_prompt import DEFAULT_VERDICT_FORMAT

Make = Callable[..., Candidate]
Run = Callable[[Validator, Candidate], Verdict]

USAGE = Usage(input_tokens=10, output_tokens=2)
REQUESTS = (RequestRecord(1, 1, "judge"),)
SCHEMA = "https://json-schema.org/draft/2020-12/schema"
SCORE = {"type": "object", "properties": {"score": {"type": "number"}}, "required": ["score"]}


def reply(verdict: Any) -> JudgeReply:
    return JudgeReply(verdict, "because", USAGE, REQUESTS)


def test_passing_verdict_and_its_record(candidate: Make, judge_answer: Run, scripted_judge: Any) -> None:
    ask = scripted_judge(reply({"correct": True}))
    validator = JudgeValidator(ask, JudgePrompt())
    assert (validator.name, validator.method) == ("fast strict judge", "semantic")
    verdict = judge_answer(validator, candidate(" The Answer ", " one ", "one", "two"))
    assert verdict.passed
    assert (verdict.got, verdict.want) == ("The Answer", ("one", "two"))
    assert verdict.requests == REQUESTS
    record = verdict.record
    assert (record.method, record.title, record.validator) == ("semantic", "Semantic Assessment", "fast strict judge")
    assert record.usage == USAGE
    assert record.semantic == Semantic("strict", "openai", "fast", {"correct": True}, {"Model": "m"})
    first, blank, heading, reasoning = record.explanation.splitlines()
    assert "is semantically equivalent to one of" in first
    assert (blank, heading, reasoning) == ("", "Judge reasoning:", "because")
    ((question, verdict_format),) = ask.asked
    assert " The Answer " in question
    assert verdict_format is DEFAULT_VERDICT_FORMAT


def test_failing_verdict(candidate: Make, judge_answer: Run, scripted_judge: Any) -> None:
    verdict = judge_answer(
        JudgeValidator(scripted_judge(reply({"correct": False})), JudgePrompt()), candidate("a", "b")
    )
    assert not verdict.passed
    assert "is not semantically equivalent to any of" in verdict.record.explanation


@pytest.mark.parametrize(
    "verdict_format, passing, given, passed",
    [
        ("YES or NO", ("YES",), " yes\n", True),
        ("YES or NO", ("YES", "MAYBE"), "maybe", True),
        ("YES or NO", ("YES",), "no", False),
        ("YES or NO", ("a b",), "a  b", False),
        (SCORE, ({"score": 1},), {"score": 1.0}, True),
        (SCORE, ({"score": 1},), {"score": 2}, False),
        ({"type": ["integer", "boolean"]}, (1,), True, False),
        ({"type": ["integer", "boolean"]}, (1,), 1, True),
        (SCORE, ({"$schema": SCHEMA, "properties": {"score": {"minimum": 5}}},), {"score": 7}, True),
        (SCORE, ({"$schema": SCHEMA, "properties": {"score": {"minimum": 5}}},), {"score": 4.5}, False),
        ("word", ({"$schema": SCHEMA, "const": "Good"},), "Good", True),
        ("word", ({"$schema": SCHEMA, "const": "Good"},), "good", False),
        ({"type": "object"}, ({"$schema": " ", "x": 1},), {"$schema": " ", "x": 1}, True),
        ({"type": "object"}, ({"$schema": SCHEMA, "x": 1}, {"x": 2}), {"x": 2}, True),
        ({"type": "object"}, ({"$schema": 1},), {"$schema": 1}, True),
    ],
)
def test_passing_verdicts(
    candidate: Make, judge_answer: Run, scripted_judge: Any, verdict_format: Any, passing: Any, given: Any, passed: bool
) -> None:
    prompt = JudgePrompt(None, verdict_format, passing)
    rules = Rules(case_sensitive=True)
    verdict = judge_answer(JudgeValidator(scripted_judge(reply(given)), prompt), candidate("a", "b", rules=rules))
    assert verdict.passed is passed
    assert verdict.record.semantic is not None
    assert verdict.record.semantic.verdict == given


@pytest.mark.parametrize("answer", [5, True, None, ["a"], {"a": 1}])
def test_other_than_text_fails_without_a_call(
    candidate: Make, judge_answer: Run, scripted_judge: Any, answer: Any
) -> None:
    ask = scripted_judge(reply({"correct": True}))
    verdict = judge_answer(JudgeValidator(ask, JudgePrompt()), candidate(answer, " b "))
    assert not verdict.passed
    assert ask.asked == []
    assert (verdict.record.title, verdict.got, verdict.want) == ("Invalid Response Type", answer, ("b",))
    assert verdict.record.usage.is_empty


@pytest.mark.parametrize(
    "verdict_format, given",
    [
        (None, {"correct": 1}),
        (None, {"correct": True, "more": 1}),
        (None, "true"),
        (None, None),
        ("YES or NO", {"x": 1}),
        ("YES or NO", None),
        (SCORE, {"score": "7"}),
    ],
)
def test_a_verdict_of_another_form_decides_nothing(
    candidate: Make, judge_answer: Run, scripted_judge: Any, verdict_format: Any, given: Any
) -> None:
    prompt = JudgePrompt(None, verdict_format, None if verdict_format is None else ("x",))
    with pytest.raises(ValidationError, match="does not fit the verdict format") as caught:
        judge_answer(JudgeValidator(scripted_judge(reply(given)), prompt), candidate("a", "b"))
    error = caught.value
    assert (error.title, error.response_parsing) == ("Validation Response Parsing Error", True)
    assert error.usage == USAGE
    assert error.semantic == Semantic("strict", "openai", "fast", given, {"Model": "m"})
    assert isinstance(error.__cause__, ReplyParseError)
    assert error.__cause__.requests == REQUESTS


@pytest.mark.parametrize(
    "failure, title, transient",
    [
        (
            ApiError("overloaded", transient=True, cause="http-503", details={"HTTP Response": "x"}),
            "Validation Error",
            True,
        ),
        (ReplyParseError("unreadable", details={"Raw Response": "x"}), "Validation Response Parsing Error", None),
        (UnsupportedError("Feature Not Supported", "no"), "Validation Error", None),
        (TurnLimitError("too many"), "Validation Error", None),
    ],
)
def test_a_judge_that_fails_is_an_error_and_never_a_wrong_answer(
    candidate: Make, judge_answer: Run, scripted_judge: Any, failure: MindTrialError, title: str, transient: bool | None
) -> None:
    if isinstance(failure, ApiError):
        failure.usage = USAGE
    with pytest.raises(ValidationError) as caught:
        judge_answer(JudgeValidator(scripted_judge(failure), JudgePrompt()), candidate("a", "b"))
    error = caught.value
    assert (error.title, error.transient, error.message) == (title, transient, str(failure))
    assert error.usage == (USAGE if isinstance(failure, ApiError) else None)
    assert error.semantic == Semantic("strict", "openai", "fast", None, {"Model": "m"})
    assert error.details == getattr(failure, "details", {})
    assert error.response_parsing is isinstance(failure, ReplyParseError)
    assert error.__cause__ is failure


def test_a_prompt_that_cannot_be_rendered_decides_nothing(
    candidate: Make, judge_answer: Run, scripted_judge: Any
) -> None:
    ask = scripted_judge(reply({"correct": True}))
    prompt = JudgePrompt("{{index .OriginalTask.ExpectedResults 9}}")
    with pytest.raises(ValidationError, match="judge prompt cannot be made"):
        judge_answer(JudgeValidator(ask, prompt), candidate("a", "b"))
    assert ask.asked == []


@pytest.mark.parametrize("passing", [({"$schema": SCHEMA, "type": "nope"},), ({"$schema": "x:y"},)])
def test_unusable_passing_schema_decides_nothing(
    candidate: Make, judge_answer: Run, scripted_judge: Any, passing: Any
) -> None:
    prompt = JudgePrompt(None, "word", passing)
    with pytest.raises(ValidationError, match="cannot be used") as caught:
        judge_answer(JudgeValidator(scripted_judge(reply("x")), prompt), candidate("a", "b"))
    assert caught.value.usage == USAGE


def test_a_malformed_template_is_found_when_the_validator_is_made(scripted_judge: Any) -> None:
    with pytest.raises(TemplateError):
        JudgeValidator(scripted_judge(reply("x")), JudgePrompt("{{.Nope}}"))
