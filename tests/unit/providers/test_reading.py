from __future__ import annotations

import json
from typing import Any

import pytest

from pytest_mindtrial.core.errors import EmptyReplyError, ReplyError, ReplyParseError
from pytest_mindtrial.core.values import StopClass
from pytest_mindtrial.providers.base import OutputMode, Turn
from pytest_mindtrial.providers.reading import ReadAnswer, read_answer

SCHEMA = {"type": "object", "properties": {"n": {"type": "integer"}}, "required": ["n"], "additionalProperties": False}
LIST_SCHEMA = {"type": "array", "items": {"type": "integer"}}


def turn(text: str | None, mode: OutputMode = "schema", stop: StopClass = StopClass.FINAL, **more: Any) -> Turn:
    return Turn(text, stop, mode=mode, **more)


def read(text: str | None, mode: OutputMode = "schema", form: Any = "a word", **more: Any) -> ReadAnswer:
    return read_answer(turn(text, mode, **more), response_format=form)


def reply(answer: str, **more: Any) -> str:
    return json.dumps({"title": "t", "explanation": "e", **more})[:-1] + f', "final_answer": {answer}}}'


def typed(value: Any) -> str:
    return repr(value)


@pytest.mark.parametrize(
    "literal, content",
    [
        ('"text"', "text"),
        ('""', ""),
        ("5", 5),
        ("0", 0),
        ("123456789012345678901234567890", 123456789012345678901234567890),
        ("4.0", 4.0),
        ("1e2", 100.0),
        ("true", True),
        ("false", False),
        ('{"content": {"n": 9007199254740993}}', {"n": 9007199254740993}),
        ('{"Content": [1, 2.0]}', [1, 2.0]),
        ('{"content": false}', False),
        ('{"content": null}', None),
        ("{}", None),
        ("null", None),
    ],
)
def test_final_answer_of_a_schema_task(literal: str, content: Any) -> None:
    answer = read(reply(literal), form={"description": "anything"})
    assert typed(answer.content) == typed(content)
    assert (answer.title, answer.explanation, answer.repaired, answer.coerced) == ("t", "e", False, False)
    assert answer.raw_text == reply(literal)


@pytest.mark.parametrize(
    "literal, content, coerced",
    [
        ('"4"', "4", False),
        ("4", "4", True),
        ("4.0", "4.0", True),
        ("1e2", "1e2", True),
        ("-0.50", "-0.50", True),
        ("123456789012345678901234567890", "123456789012345678901234567890", True),
        ("true", "true", True),
        ("false", "false", True),
        ("0", "0", True),
        ("null", None, False),
        ("{}", None, False),
        ('{"content": "x"}', "x", False),
        ('{"content": 1.50}', "1.50", True),
        ('{"content": [1]}', [1], False),
    ],
)
def test_final_answer_of_a_text_task(literal: str, content: Any, coerced: bool) -> None:
    answer = read(reply(literal))
    assert typed(answer.content) == typed(content)
    assert (answer.coerced, answer.repaired) == (coerced, False)


def test_coercion_keeps_the_literal_of_a_repaired_reply() -> None:
    answer = read("Here: {'title': 't', 'final_answer': 1.50,}")
    assert (answer.content, answer.coerced, answer.repaired) == ("1.50", True, True)


@pytest.mark.parametrize("literal", ["[1]", '{"x": 1}', '{"content": 1, "x": 2}'])
def test_other_shapes_of_final_answer_are_errors_in_text_tasks(literal: str) -> None:
    with pytest.raises(ReplyParseError, match="final_answer must be text, a number"):
        read(reply(literal))


@pytest.mark.parametrize(
    "text, form, content",
    [
        (reply('{"n": 1}'), SCHEMA, {"n": 1}),
        (reply("[1, 2]"), LIST_SCHEMA, [1, 2]),
        ('{"n": 1}', SCHEMA, {"n": 1}),
        ("[1, 2]", LIST_SCHEMA, [1, 2]),
        ("So: {'n': 1,}", SCHEMA, {"n": 1}),
        ("42", {"type": "number"}, 42),
    ],
)
def test_unwrapped_structured_answers_are_accepted_where_they_fit(text: str, form: Any, content: Any) -> None:
    answer = read(text, form=form)
    assert answer.content == content
    assert answer.repaired
    assert not answer.coerced


@pytest.mark.parametrize(
    "text, content, coerced",
    [("42", "42", True), ("4.50", "4.50", True), ("true", "true", True), ('"Paris"', "Paris", False)],
)
def test_bare_scalar_reply_to_a_text_task(text: str, content: str, coerced: bool) -> None:
    answer = read(text)
    assert (answer.content, answer.coerced, answer.repaired, answer.title) == (content, coerced, True, "")


@pytest.mark.parametrize(
    "text, form, message",
    [
        ("Paris", "a word", "no JSON object"),
        ("[1]", "a word", "found a list"),
        ("null", "a word", "found null"),
        ('"x"', SCHEMA, "found text"),
        ("5", SCHEMA, "found a number"),
        ("true", SCHEMA, "found a bool"),
        ('{"n": "x"}', SCHEMA, "no final_answer"),
        ('{"title": "t", "explanation": "e"}', "a word", "no final_answer"),
        ("{'n': 'x',}", SCHEMA, "no JSON object"),
        (reply('{"n": "x"}'), SCHEMA, "found an object"),
        ('{"title": 5, "final_answer": "x"}', "a word", "title must be text, found a number"),
        ('{"explanation": ["x"], "final_answer": "x"}', "a word", "explanation must be text, found a list"),
    ],
)
def test_unreadable(text: str, form: Any, message: str) -> None:
    with pytest.raises(ReplyParseError, match=message) as caught:
        read(text, form=form, stop_reason="stop")
    assert caught.value.details == {"Stop Reason": "stop", "Raw Response": text}
    assert caught.value.transient is None


def test_keys_in_any_case_last_mention_and_unknown_keys() -> None:
    answer = read('{"TITLE": "a", "Title": "b", "Final_Answer": "x", "final_answer": "y", "more": 1, "title": null}')
    assert (answer.title, answer.explanation, answer.content) == ("", "", "y")


WRAPPED = reply('"x"')


@pytest.mark.parametrize("mode", ["schema", "legacy-schema", "object", "text", "tool"])
@pytest.mark.parametrize(
    "text",
    [
        f"```json\n{WRAPPED}\n```",
        f"\ufeff{WRAPPED}",
        f"Sure:\n{WRAPPED}\nDone.",
        WRAPPED[:-1],
        WRAPPED[:-1] + ",}",
        WRAPPED.replace('"', "'"),
    ],
)
def test_careless_replies_are_repaired_and_marked(text: str, mode: OutputMode) -> None:
    answer = read(text, mode)
    assert (answer.title, answer.explanation, answer.content, answer.repaired) == ("t", "e", "x", True)


@pytest.mark.parametrize("mode", ["schema", "legacy-schema", "object", "text"])
def test_white_space_is_no_repair(mode: OutputMode) -> None:
    assert not read(f" \n{WRAPPED}\n", mode).repaired


def test_a_repaired_structured_answer_must_fit_the_schema_unless_the_mode_is_text() -> None:
    text = reply('{"content": {"n": "x"}}') + " ."
    with pytest.raises(ReplyParseError, match=r"does not fit the response format: \$\.n"):
        read(text, form=SCHEMA)
    answer = read(text, "text", form=SCHEMA)
    assert answer.content == {"n": "x"}
    assert answer.repaired
    assert read(reply('{"content": {"n": 1}}') + " .", form=SCHEMA).content == {"n": 1}


def test_a_readable_answer_that_breaks_the_schema_is_an_answer_with_problems() -> None:
    answer = read(reply('{"content": {"n": "x"}}'), form=SCHEMA)
    assert answer.content == {"n": "x"}
    assert answer.problems == ("$.n: 'x' is not of type 'integer'",)
    assert read(reply('{"content": {"n": 1}}'), form=SCHEMA).problems == ()


def test_submitted_wrapper() -> None:
    answer = read(None, "tool", parsed={"title": "t", "explanation": "e", "final_answer": 1.5})
    assert (answer.content, answer.coerced, answer.repaired, answer.raw_text) == ("1.5", True, False, "")
    with pytest.raises(ReplyParseError):
        read(None, "tool", parsed={"final_answer": [1]})
    with pytest.raises(ReplyParseError, match="no final_answer"):
        read(None, "tool", parsed={"title": "t"})


def test_unstructured() -> None:
    answer = read(" the\nanswer {} ", "off")
    assert answer.content == " the\nanswer {} "
    assert answer.title == "Unstructured Response"
    assert answer.explanation
    assert not answer.truncated
    assert read("cut of", "off", stop=StopClass.TRUNCATED).truncated


@pytest.mark.parametrize("mode", ["schema", "off"])
def test_one_leading_thought_is_dropped(mode: OutputMode) -> None:
    text = WRAPPED if mode == "schema" else "x"
    answer = read(f"\n<think>{{\n}}</think>\n{text}", mode)
    assert answer.content == "x"
    assert answer.raw_text.startswith("\n<think>")
    assert not answer.repaired
    assert read("<think>a</think><think>b</think>", "off").content == "<think>b</think>"


@pytest.mark.parametrize("text", [None, "", " \n", "<think>still going", "<think>a</think> "])
@pytest.mark.parametrize("mode", ["schema", "text", "off", "tool"])
def test_no_text_is_no_answer(text: str | None, mode: OutputMode) -> None:
    with pytest.raises(EmptyReplyError, match="model response contained no actionable content") as caught:
        read(text, mode, stop_reason="end_turn", stop_details={"category": "c", "why": "w"})
    assert caught.value.details == {"Stop Reason": "end_turn", "Stop Details": "category: c\nwhy: w"}


@pytest.mark.parametrize(
    "stop, cause",
    [(StopClass.FILTERED, "filtered"), (StopClass.REFUSED, "refused"), (StopClass.FAILED, "failed-stop")],
)
@pytest.mark.parametrize(
    "text, mode",
    [(None, "schema"), ("I cannot", "schema"), ("I cannot", "off"), (WRAPPED[:-1], "text"), ("42", "schema")],
)
def test_stopped_replies(stop: StopClass, cause: str, text: str | None, mode: OutputMode) -> None:
    with pytest.raises(ReplyError, match="SAFETY") as caught:
        read(text, mode, stop=stop, stop_reason="SAFETY")
    assert caught.value.cause == cause
    assert caught.value.transient is None
    assert caught.value.details == {"Stop Reason": "SAFETY", "Raw Response": text or ""}


def test_a_complete_wrapper_counts_whatever_the_stop() -> None:
    for stop in (StopClass.FILTERED, StopClass.REFUSED, StopClass.FAILED, StopClass.TRUNCATED):
        assert read(WRAPPED, stop=stop).content == "x"
    assert read(WRAPPED, stop=StopClass.TRUNCATED).truncated


def test_an_overloaded_service_is_transient() -> None:
    with pytest.raises(ReplyError) as caught:
        read("", stop=StopClass.FAILED, stop_reason="insufficient_system_resource")
    assert caught.value.transient is True
    with pytest.raises(ReplyError, match=r"failure$"):
        read("", stop=StopClass.FAILED)


@pytest.mark.parametrize(
    "text, form, content",
    [
        (WRAPPED[:-1], "a word", "x"),
        (reply('"x'), "a word", None),
        (reply("12")[:-1], "a word", None),
        (reply('{"content": {"n": 1}')[:-1], SCHEMA, None),
        (reply('{"content": [1, 2')[:-1], LIST_SCHEMA, None),
    ],
)
def test_a_cut_off_answer_is_not_completed(text: str, form: Any, content: Any) -> None:
    if content is not None:
        answer = read(text, form=form, stop=StopClass.TRUNCATED)
        assert (answer.content, answer.truncated, answer.repaired) == (content, True, True)
        return
    with pytest.raises(ReplyParseError, match="cut off inside the answer"):
        read(text, form=form, stop=StopClass.TRUNCATED)
