"""Python functions as models."""

from __future__ import annotations

import asyncio
import functools
import threading

import pytest

from pytest_mindtrial.core.errors import ApiError, EmptyReplyError, ReplyError, ReplyParseError
from pytest_mindtrial.core.values import StopClass, ToolCall, ToolResult
from pytest_mindtrial.engine.callables import as_model_client, wrap_callable
from pytest_mindtrial.engine.turns import read_reply
from pytest_mindtrial.providers.base import Prompt, Turn

TEXT = Prompt("t", "What?", "one word")
SCHEMA = Prompt("t", "What?", {"type": "object", "properties": {"n": {"type": "integer"}}, "required": ["n"]})


def ask(function, prompt=TEXT):
    client = wrap_callable(function)
    client.check(prompt)
    return asyncio.run(client.start(prompt).next_turn())


def content(function, prompt=TEXT):
    return read_reply(ask(function, prompt), prompt.response_format).content


def test_a_plain_function_gets_the_text_in_a_thread_of_its_own():
    def function(text):
        return f"{text} {threading.current_thread().name}"

    turn = ask(function)
    assert turn.text == "What? mindtrial-call"
    assert turn.stop is StopClass.FINAL
    assert turn.duration_ns > 0
    assert turn.requests[0].duration_ns == turn.duration_ns


def test_coroutine_functions_run_in_the_loop():
    class Model:
        async def __call__(self, text):
            return threading.current_thread().name

    async def function(text):
        return threading.current_thread().name

    assert ask(function).text == ask(Model()).text == threading.current_thread().name


def test_a_function_may_return_an_awaitable():
    async def later(text):
        return text.upper()

    assert ask(functools.partial(later)).text == "WHAT?"


def by_prompt(prompt: Prompt):
    return prompt.task


def by_real_prompt(prompt):
    return prompt.task


by_real_prompt.__annotations__["prompt"] = Prompt


@pytest.mark.parametrize("function", [by_prompt, by_real_prompt])
def test_a_function_annotated_with_prompt_gets_the_prompt(function):
    assert ask(function).text == "t"


def test_functions_without_a_signature_get_the_text():
    assert ask(str).text == "What?"
    assert ask(max).text == "t"  # the greatest letter


@pytest.mark.parametrize("value, read", [("yes", "yes"), ("", ""), (4, "4"), (False, "false")])
def test_answers_of_plain_text_tasks(value, read):
    assert content(lambda text: value) == read


@pytest.mark.parametrize("value", [{"n": 4}, '{"n": 4}'])
def test_answers_of_schema_tasks(value):
    assert content(lambda text: value, SCHEMA) == {"n": 4}


def test_text_that_is_no_json_is_a_parsing_error():
    with pytest.raises(ReplyParseError):
        content(lambda text: "four", SCHEMA)


def test_none_is_no_answer():
    with pytest.raises(EmptyReplyError):
        content(lambda text: None)


def test_a_turn_is_taken_as_it_is():
    turn = Turn(None, StopClass.TOOLS, tool_calls=(ToolCall("1", "add", "{}"),))
    assert ask(lambda text: turn) is turn


def test_further_turns_get_the_new_text():
    heard = []

    async def scenario():
        conversation = wrap_callable(lambda text: heard.append(text) or "x").start(TEXT)
        await conversation.next_turn()
        call = ToolCall("1", "add", "{}")
        conversation.add_tool_results([ToolResult(call, "4"), ToolResult(call, "5")])
        conversation.withdraw_tool("add")
        await conversation.next_turn()
        conversation.add_feedback("no")
        await conversation.next_turn()

    asyncio.run(scenario())
    assert heard == ["What?", "4\n5", "no"]


def test_exceptions_become_provider_errors_with_the_traceback():
    def function(text):
        raise KeyError("secret sauce")

    with pytest.raises(ReplyError, match="the model function raised KeyError: 'secret sauce'") as caught:
        ask(function)
    assert "secret sauce" in caught.value.details["Traceback"]


def test_provider_errors_pass_through():
    def function(text):
        raise ApiError("busy", transient=True)

    with pytest.raises(ApiError, match="busy"):
        ask(function)


def test_clients_stay_clients(fake_client):
    client = fake_client()
    assert as_model_client(client) is client
    wrapped = as_model_client(lambda text: text)
    assert wrapped.is_mock is False
    asyncio.run(wrapped.close())
    with pytest.raises(TypeError, match="not int"):
        as_model_client(3)
