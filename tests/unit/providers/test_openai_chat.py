"""Chat dialect in detail: stop classes, calls, replay, quirks of local servers (spec providers 5, 6, 13)."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

import pytest

from pytest_mindtrial.core.errors import ApiError, ConfigError, ReplyError
from pytest_mindtrial.core.values import StopClass, ToolResult
from pytest_mindtrial.providers.base import Prompt, ToolDefinition
from pytest_mindtrial.providers.dialects._chat_opening import image_detail
from pytest_mindtrial.providers.dialects.base import WireConversation
from pytest_mindtrial.providers.dialects.openai_chat import DIALECT
from pytest_mindtrial.providers.profiles import profile_of
from pytest_mindtrial.suite.model import Run

CALL = {"id": "c1", "type": "function", "function": {"name": "add", "arguments": "{}"}}
ADD = ToolDefinition("add", "Adds", {"type": "object"})


def opened(
    vendor: str = "openai", parameters: Mapping[str, Any] | None = None, *, own: bool = True, tools: Any = ()
) -> WireConversation:
    run = Run("r", vendor, "m", parameters or {})
    prompt = Prompt("t", "Question?", "text", tools=tools)
    return DIALECT.open(profile_of(vendor), run, prompt, mode="schema", is_vendor_host=own)


def reply(reason: Any = "stop", **message: Any) -> dict[str, Any]:
    return {"choices": [{"finish_reason": reason, "message": {"role": "assistant", **message}}]}


def replay(conversation: WireConversation, value: Mapping[str, Any]) -> Any:
    conversation.accept(value)
    return conversation.request().body["messages"][-1]


@pytest.mark.parametrize(
    "reason, message, stop",
    [
        ("tool_calls", {"tool_calls": [CALL]}, StopClass.TOOLS),
        ("stop", {"tool_calls": [CALL]}, StopClass.TOOLS),
        (None, {"tool_calls": [CALL]}, StopClass.TOOLS),
        ("", {"tool_calls": [CALL], "content": "so"}, StopClass.TOOLS),
        (None, {"content": "so"}, StopClass.CONTINUE),
        ("", {}, StopClass.CONTINUE),
        ("stop", {"content": "4"}, StopClass.FINAL),
        ("stop", {"tool_calls": []}, StopClass.FINAL),
        ("stop", {"tool_calls": None}, StopClass.FINAL),
        ("tool_calls", {"content": "4"}, StopClass.FINAL),
        ("brand_new", {"content": "4"}, StopClass.FINAL),
        ("brand_new", {"tool_calls": [CALL]}, StopClass.FINAL),
        ("length", {"content": "4"}, StopClass.TRUNCATED),
        ("length", {"tool_calls": [CALL]}, StopClass.TRUNCATED),
        ("model_length", {"content": "4"}, StopClass.TRUNCATED),
        ("content_filter", {}, StopClass.FILTERED),
        ("error", {}, StopClass.FAILED),
        ("insufficient_system_resource", {}, StopClass.FAILED),
        ("stop", {"refusal": "no", "content": None}, StopClass.REFUSED),
        ("stop", {"refusal": "no", "content": "4"}, StopClass.FINAL),
        (None, {"refusal": "no"}, StopClass.REFUSED),
    ],
)
def test_stop_classes(reason: Any, message: dict[str, Any], stop: StopClass) -> None:
    turn = opened().accept(reply(reason, **message))
    assert turn.stop is stop
    assert turn.stop_reason == (reason or "")
    assert bool(turn.tool_calls) is (stop is StopClass.TOOLS)
    is_terminal = stop not in (StopClass.TOOLS, StopClass.CONTINUE)
    assert turn.text == (message.get("content") if is_terminal else None)
    assert turn.commentary == ("" if is_terminal else message.get("content", ""))


@pytest.mark.parametrize("value", [{}, {"choices": []}, {"choices": None}, {"choices": ["x"]}])
def test_no_choices_is_an_error(value: dict[str, Any]) -> None:
    with pytest.raises(ReplyError, match="no candidate") as caught:
        opened().accept(value)
    assert caught.value.transient is False


def test_a_choice_without_a_message_has_no_text() -> None:
    turn = opened().accept({"choices": [{"finish_reason": "stop", "message": None}]})
    assert (turn.text, turn.stop) == (None, StopClass.FINAL)


def test_refusal_and_native_reason_are_kept_as_details() -> None:
    value = reply(refusal="I will not")
    value["choices"][0]["native_finish_reason"] = "SAFETY"
    assert opened().accept(value).stop_details == {"Refusal": "I will not", "Native Stop Reason": "SAFETY"}


@pytest.mark.parametrize(
    "content, text",
    [
        ("4", "4"),
        ("", None),
        (None, None),
        ([{"type": "thinking", "thinking": []}, {"type": "text", "text": "a"}, {"type": "text", "text": "b"}], "ab"),
        ([{"type": "text"}, "odd", {"type": "reference"}], None),
        ({"odd": 1}, None),
    ],
)
def test_content_forms(content: Any, text: str | None) -> None:
    assert opened().accept(reply(content=content)).text == text


@pytest.mark.parametrize(
    "content, text",
    [
        ("<think>hm</think>\n4", "4"),
        ("\n <think>hm</think>4", "4"),
        ("<think>a</think><think>b</think>", "<think>b</think>"),
        ("<think>never closed", "<think>never closed"),
        ("4 <think>later</think>", "4 <think>later</think>"),
        ("<think>only</think>", None),
    ],
)
def test_inline_thinking_of_local_servers_is_stripped(content: str, text: str | None) -> None:
    assert opened(own=False).accept(reply(content=content)).text == text
    assert opened(own=True).accept(reply(content=content)).text == content


@pytest.mark.parametrize(
    "given, sent",
    [
        ('{"a": 1}', '{"a": 1}'),
        ({"a": "ü"}, '{"a": "ü"}'),
        ("", "{}"),
        (" ", "{}"),
        (None, "{}"),
        ("{broken", "{broken"),
        ([], "[]"),
    ],
)
def test_argument_forms(given: Any, sent: str) -> None:
    call = {"id": "c1", "function": {"name": "add", "arguments": given}}
    assert opened().accept(reply("tool_calls", tool_calls=[call])).tool_calls[0].arguments == sent


def test_missing_ids_are_made_and_used_in_replay_and_result() -> None:
    conversation = opened(own=False)
    calls = [{"function": {"name": "add", "arguments": "{}"}}, "odd", {"id": "", "function": {"name": "add"}}]
    first = conversation.accept(reply("stop", tool_calls=calls))
    assert [call.id for call in first.tool_calls] == ["call_1_1", "call_1_2"]
    conversation.add_tool_results([ToolResult(call, "4") for call in first.tool_calls])
    *_, assistant, one, two = conversation.request().body["messages"]
    assert [call["id"] for call in assistant["tool_calls"]] == ["call_1_1", "call_1_2"]
    assert assistant["tool_calls"][0] == {**calls[0], "id": "call_1_1", "type": "function"}  # type: ignore[dict-item]
    assert (one["tool_call_id"], two["tool_call_id"]) == ("call_1_1", "call_1_2")
    second = conversation.accept(reply("stop", tool_calls=[{"function": {"name": "add"}}, {"function": "odd"}]))
    assert [(call.id, call.name) for call in second.tool_calls] == [("call_2_1", "add"), ("call_2_2", "")]


REASONING = {"reasoning_content": "hidden"}


@pytest.mark.parametrize(
    "vendor, parameters, has_calls, is_kept",
    [
        ("openai", {}, True, True),
        ("deepseek", {}, True, True),
        ("deepseek", {}, False, False),
        ("moonshotai", {}, True, True),
        ("moonshotai", {}, False, True),
        ("alibaba", {}, True, False),
        ("alibaba", {"preserve-thinking": False}, True, False),
        ("alibaba", {"preserve-thinking": True}, True, True),
        ("xai", {}, True, True),
        ("mistralai", {}, True, True),
    ],
)
def test_replay_of_reasoning(vendor: str, parameters: dict[str, Any], has_calls: bool, is_kept: bool) -> None:
    message = {"content": "x", **REASONING, **({"tool_calls": [CALL]} if has_calls else {})}
    got = replay(opened(vendor, parameters), reply("stop", **message))
    assert (
        got == {"role": "assistant", **message}
        if is_kept
        else {"role": "assistant", "content": "x"} | ({"tool_calls": [CALL]} if has_calls else {})
    )


@pytest.mark.parametrize(
    "fields, kept",
    [
        ({"reasoning_details": [], "reasoning": "a", "reasoning_content": "b"}, {"reasoning_details": []}),
        ({"reasoning_details": None, "reasoning": "a", "reasoning_content": "b"}, {"reasoning": "a"}),
        ({"reasoning": "a", "reasoning_content": "b"}, {"reasoning": "a"}),
        ({"reasoning_content": "b"}, {"reasoning_content": "b"}),
        ({"reasoning": None}, {}),
        ({}, {}),
    ],
)
def test_openrouter_replays_one_form_of_reasoning(fields: dict[str, Any], kept: dict[str, Any]) -> None:
    got = replay(opened("openrouter"), reply("stop", tool_calls=[CALL], **fields))
    assert got == {"role": "assistant", "tool_calls": [CALL], **kept}


def test_replay_keeps_what_it_does_not_know_and_does_not_touch_the_reply() -> None:
    value = reply("tool_calls", content=None, tool_calls=[{**CALL, "extra": 1}], refusal=None, annotations=[])
    before = repr(value)
    assert replay(opened(), value) == value["choices"][0]["message"]
    assert repr(value) == before


def test_unanswered_calls_of_a_cut_reply_are_not_replayed() -> None:
    assert "tool_calls" not in replay(opened(), reply("length", content="half", tool_calls=[CALL]))


def test_a_message_without_a_role_gets_one() -> None:
    value = {"choices": [{"finish_reason": "stop", "message": {"content": "x"}}]}
    assert replay(opened(), value) == {"role": "assistant", "content": "x"}


def test_request_can_be_asked_again_and_old_calls_do_not_change() -> None:
    conversation = opened()
    first = conversation.request()
    assert conversation.request() == first
    conversation.accept(reply(content="x"))
    conversation.add_feedback("again")
    assert len(first.body["messages"]) == 1
    assert len(conversation.request().body["messages"]) == 3


def test_withdrawing_the_last_tool_leaves_no_tool_fields() -> None:
    conversation = opened(tools=(ADD,))
    conversation.withdraw_tool("unknown")
    assert conversation.request().body["tool_choice"] == "auto"
    conversation.withdraw_tool("add")
    assert not {"tools", "tool_choice"} & set(conversation.request().body)


def test_openrouter_raw_fields_win_and_replace_whole_keys() -> None:
    parameters = {
        "temperature": 0.5,
        "reasoning": {"effort": "high"},
        "reasoning-effort": "low",
        "response_format": {"type": "json_object"},
        "provider": {"order": ["x"]},
    }
    body = opened("openrouter", parameters).request().body
    assert body["response_format"] == {"type": "json_object"}
    assert (body["reasoning"], body["reasoning_effort"]) == ({"effort": "high"}, "low")
    assert body["provider"] == {"order": ["x"]}


@pytest.mark.parametrize("name", ["model", "messages"])
def test_openrouter_raw_fields_of_the_builder_are_refused(name: str) -> None:
    with pytest.raises(ConfigError, match=name):
        opened("openrouter", {name: "x"})


def test_streaming_is_a_switch_of_the_call() -> None:
    assert opened("alibaba", {"stream": True}).request().stream is True
    assert opened("openrouter", {"stream": True}).request().stream is True
    call = opened("openrouter", {"stream": False}).request()
    assert call.stream is False
    assert "stream" not in call.body


@pytest.mark.parametrize(
    "written, word",
    [
        ("", "auto"),
        ("auto", "auto"),
        ("low", "low"),
        ("medium", "high"),
        ("high", "high"),
        ("original", "original"),
        ("odd", "auto"),
    ],
)
def test_image_detail(written: str, word: str) -> None:
    assert image_detail(written) == word


# --- Errors in good replies --------------------------------------------------------------------------------------


def test_good_replies_have_no_fault() -> None:
    assert DIALECT.fault(reply(content="x")) is None
    assert DIALECT.fault({}) is None


def test_lack_of_resources_is_a_transient_fault() -> None:
    fault = DIALECT.fault(reply("insufficient_system_resource"))
    assert isinstance(fault, ApiError)
    assert (fault.transient, fault.cause) == (True, "insufficient_system_resource")


def test_error_objects_are_faults_at_the_top_and_in_the_choice() -> None:
    error = {"code": 502, "message": "provider down", "metadata": {"error_type": "provider_unavailable"}}
    for value in ({"error": error}, {"choices": [{"finish_reason": "error", "error": error, "message": {}}]}):
        fault = DIALECT.fault(value)
        assert fault is not None
        assert (fault.transient, fault.cause) == (True, "provider_unavailable")
