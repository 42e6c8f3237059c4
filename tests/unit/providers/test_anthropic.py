"""Anthropic's dialect in detail: stops, calls, replay, answer tool, cache, streams (spec providers 4.4 to 6, 9, 11)."""

from __future__ import annotations

import json
from collections.abc import Mapping
from dataclasses import replace
from typing import Any

import pytest

from pytest_mindtrial.core.errors import ApiError, ConfigError, ReplyError, ReplyParseError, TaskError, TransportError
from pytest_mindtrial.core.values import StopClass, ToolResult, Usage
from pytest_mindtrial.providers.base import Attachment, OutputMode, Prompt, ToolDefinition
from pytest_mindtrial.providers.dialects.anthropic import DIALECT
from pytest_mindtrial.providers.dialects.base import WireConversation
from pytest_mindtrial.providers.profiles import profile_of
from pytest_mindtrial.providers.reading import read_answer
from pytest_mindtrial.providers.sse import SseEvent
from pytest_mindtrial.suite.model import Run

ADD = ToolDefinition("add", "Adds", {"type": "object"})
MULTIPLY = ToolDefinition("multiply", "Multiplies", {"properties": {}})
PROMPT = Prompt("t", "Question?", "text")
CALL = {"type": "tool_use", "id": "c1", "name": "add", "input": {"a": 1}}
WRAPPER = {"title": "t", "explanation": "e", "final_answer": "4"}
SUBMIT = {"type": "tool_use", "id": "s1", "name": "submit_response", "input": WRAPPER}
MARK = {"type": "ephemeral", "ttl": "5m"}
PICTURE = Attachment("pic", "image/png", b"x")


def opened(
    parameters: Mapping[str, Any] | None = None, prompt: Prompt = PROMPT, *, mode: OutputMode = "schema"
) -> WireConversation:
    run = Run("r", "anthropic", "claude", parameters or {})
    return DIALECT.open(profile_of("anthropic"), run, prompt, mode=mode, is_vendor_host=True)


def reply(reason: Any = "end_turn", *blocks: Any, **fields: Any) -> dict[str, Any]:
    return {"id": "m1", "stop_reason": reason, "content": list(blocks), **fields}


def text(value: str) -> dict[str, Any]:
    return {"type": "text", "text": value}


@pytest.mark.parametrize(
    "reason, blocks, stop",
    [
        ("tool_use", [CALL], StopClass.TOOLS),
        (None, [CALL], StopClass.TOOLS),
        ("tool_use", [text("4")], StopClass.FINAL),
        ("pause_turn", [text("4")], StopClass.CONTINUE),
        (None, [text("4")], StopClass.CONTINUE),
        ("end_turn", [text("4")], StopClass.FINAL),
        ("stop_sequence", [text("4")], StopClass.FINAL),
        ("brand_new", [text("4")], StopClass.FINAL),
        ("brand_new", [CALL], StopClass.FINAL),
        ("max_tokens", [text("4"), CALL], StopClass.TRUNCATED),
        ("model_context_window_exceeded", [text("4")], StopClass.TRUNCATED),
        ("refusal", [], StopClass.REFUSED),
    ],
)
def test_stop_classes(reason: Any, blocks: list[Any], stop: StopClass) -> None:
    turn = opened().accept(reply(reason, *blocks))
    assert (turn.stop, turn.stop_reason) == (stop, reason or "")
    assert bool(turn.tool_calls) is (stop is StopClass.TOOLS)
    said = "4" if text("4") in blocks else None
    is_terminal = stop not in (StopClass.TOOLS, StopClass.CONTINUE)
    assert turn.text == (said if is_terminal else None)
    assert turn.commentary == ("" if is_terminal else said or "")


def test_a_refusal_carries_its_details_and_no_answer() -> None:
    details = {"type": "refusal", "category": "cyber", "explanation": None, "codes": [1]}
    turn = opened().accept(reply("refusal", stop_details=details, stop_sequence="END"))
    assert turn.stop_details == {"Category": "cyber", "Codes": "[1]", "Stop Sequence": "END"}
    with pytest.raises(ReplyError) as caught:
        read_answer(turn, response_format="text")
    assert caught.value.cause == "refused"
    assert "Category: cyber" in caught.value.details["Stop Details"]


@pytest.mark.parametrize("value", [{}, {"content": None}, {"content": "text"}])
def test_a_reply_without_blocks_is_an_error(value: dict[str, Any]) -> None:
    with pytest.raises(ReplyError, match="no candidate") as caught:
        opened().accept(value)
    assert caught.value.transient is False


def test_texts_are_joined_and_thinking_is_not_the_answer() -> None:
    thinking = {"type": "thinking", "thinking": "hm", "signature": "s"}
    assert opened().accept(reply("end_turn", thinking, text("a"), "odd", text("b"), {"type": "text"})).text == "ab"


def test_usage_and_ids() -> None:
    usage = {
        "input_tokens": 50,
        "output_tokens": 40,
        "cache_creation_input_tokens": 3,
        "cache_read_input_tokens": 5,
        "output_tokens_details": {"thinking_tokens": 20},
    }
    turn = opened().accept(reply("end_turn", text("4"), usage=usage))
    counters = turn.usage.without_raw()
    assert counters == Usage(50, 40, 20, 3, 5, "cache_tokens_separate", "reasoning_tokens_included")
    assert (turn.response_id, turn.usage.effective_input) == ("m1", 58)


# --- Replay and results ------------------------------------------------------------------------------------------


def test_all_blocks_go_back_in_order_but_empty_texts() -> None:
    blocks = [
        {"type": "thinking", "thinking": "hm", "signature": "s"},
        text(""),
        {"type": "redacted_thinking", "data": "x"},
        {"type": "brand_new", "extra": [1]},
        text("so"),
        {**CALL, "caller": {"type": "direct"}},
    ]
    wire = opened(prompt=replace(PROMPT, tools=(ADD,)))
    before = json.dumps(blocks)
    turn = wire.accept(reply("tool_use", *blocks))
    wire.add_tool_results([ToolResult(turn.tool_calls[0], "no", is_error=True)])
    *_, assistant, user = wire.request().body["messages"]
    assert assistant == {"role": "assistant", "content": [block for block in blocks if block != text("")]}
    result = {"type": "tool_result", "tool_use_id": "c1", "content": "no", "is_error": True}
    assert user == {"role": "user", "content": [result]}
    assert json.dumps(blocks) == before


def test_parallel_calls_are_answered_in_one_message_in_order() -> None:
    wire = opened(prompt=replace(PROMPT, tools=(ADD,)))
    turn = wire.accept(reply("tool_use", CALL, {**CALL, "id": "c2", "input": {}}))
    assert [call.arguments for call in turn.tool_calls] == ['{"a": 1}', "{}"]
    wire.add_tool_results([ToolResult(call, call.id) for call in turn.tool_calls])
    (*_, user) = wire.request().body["messages"]
    assert [block["tool_use_id"] for block in user["content"]] == ["c1", "c2"]


def test_missing_ids_are_made_and_used_in_the_replay() -> None:
    wire = opened()
    turn = wire.accept(reply("tool_use", {"type": "tool_use", "name": "add", "input": {}}, CALL))
    assert [call.id for call in turn.tool_calls] == ["call_1_1", "c1"]
    assert [block["id"] for block in wire.request().body["messages"][-1]["content"]] == ["call_1_1", "c1"]


def test_a_paused_turn_goes_back_and_nothing_is_added() -> None:
    wire = opened()
    blocks = [{"type": "server_tool_use", "id": "x", "name": "web_search", "input": {}}]
    wire.accept(reply("pause_turn", *blocks))
    assert wire.request().body["messages"][-1] == {"role": "assistant", "content": blocks}


def test_an_empty_reply_is_not_replayed() -> None:
    wire = opened()
    wire.accept(reply("end_turn", text("")))
    wire.add_feedback("Again.")
    assert [message["role"] for message in wire.request().body["messages"]] == ["user", "user"]


def test_feedback_answers_calls_that_were_not_run_first() -> None:
    wire = opened(prompt=replace(PROMPT, tools=(ADD,)))
    wire.accept(reply("max_tokens", CALL))
    wire.add_feedback("Again.")
    result, words = wire.request().body["messages"][-1]["content"]
    assert (result["tool_use_id"], result["is_error"], words) == ("c1", True, text("Again."))
    wire.accept(reply("end_turn", text("4")))
    wire.add_feedback("Sure?")
    assert wire.request().body["messages"][-1]["content"] == [text("Sure?")]


def test_a_request_can_be_repeated_and_does_not_change_later() -> None:
    wire = opened({"prompt-cache-ttl": "5m"})
    first = wire.request()
    assert wire.request() == first
    wire.accept(reply("end_turn", text("x")))
    assert len(first.body["messages"]) == 1


def test_withdrawing_the_last_tool_forbids_it_instead() -> None:
    wire = opened(prompt=replace(PROMPT, tools=(ADD, MULTIPLY)))
    wire.withdraw_tool("unknown")
    wire.withdraw_tool("add")
    body = wire.request().body
    assert [tool["name"] for tool in body["tools"]] == ["multiply"]
    assert body["tools"][0]["input_schema"] == {"type": "object", "properties": {}}
    wire.withdraw_tool("multiply")
    body = wire.request().body
    assert ([tool["name"] for tool in body["tools"]], body["tool_choice"]) == (["multiply"], {"type": "none"})
    without = opened()
    without.withdraw_tool("add")
    assert not {"tools", "tool_choice"} & set(without.request().body)


# --- The answer tool ---------------------------------------------------------------------------------------------


@pytest.mark.parametrize("reason", ["tool_use", "end_turn", "max_tokens", "pause_turn", "refusal", None, "new"])
def test_submitting_ends_the_run_on_any_stop_reason_and_runs_no_other_call(reason: Any) -> None:
    wire = opened(prompt=replace(PROMPT, tools=(ADD,)), mode="tool")
    turn = wire.accept(reply(reason, text("Here."), CALL, SUBMIT))
    assert turn.stop not in (StopClass.TOOLS, StopClass.CONTINUE)
    assert (turn.parsed, turn.tool_calls) == (WRAPPER, ())
    answer = read_answer(turn, response_format="text")
    assert (answer.content, answer.title, answer.truncated) == ("4", "t", reason == "max_tokens")


def test_other_calls_run_as_usual_and_the_answer_tool_comes_last() -> None:
    wire = opened({"prompt-cache-ttl": "5m"}, replace(PROMPT, tools=(ADD,), system_prompt="Be brief."), mode="tool")
    body = wire.request().body
    assert [tool["name"] for tool in body["tools"]] == ["add", "submit_response"]
    assert body["tool_choice"] == {"type": "auto"}
    assert "output_config" not in body
    assert [tool.get("cache_control") for tool in body["tools"]] == [MARK, None]
    assert body["system"][0] == text("Be brief.")
    assert "submit_response" in body["system"][-1]["text"]
    turn = wire.accept(reply("tool_use", CALL))
    assert (turn.stop, turn.parsed) == (StopClass.TOOLS, None)
    wire.withdraw_tool("add")
    assert [tool["name"] for tool in wire.request().body["tools"]] == ["submit_response"]


def test_a_submission_that_is_no_wrapper_cannot_be_read() -> None:
    for given in (None, "4", {"title": "t"}):
        turn = opened(mode="tool").accept(reply("tool_use", {**SUBMIT, "input": given}))
        with pytest.raises(ReplyParseError, match="final_answer"):
            read_answer(turn, response_format="text")


def test_feedback_after_a_submission_answers_it() -> None:
    wire = opened(mode="tool")
    wire.accept(reply("tool_use", SUBMIT))
    wire.add_feedback("Wrong.")
    result, words = wire.request().body["messages"][-1]["content"]
    assert (result["tool_use_id"], result["is_error"], words) == ("s1", False, text("Wrong."))


def test_a_tool_of_that_name_is_a_configuration_error_in_this_mode_only() -> None:
    prompt = replace(PROMPT, tools=(replace(ADD, name="submit_response"),))
    with pytest.raises(ConfigError, match="submit_response"):
        opened(prompt=prompt, mode="tool")
    wire = opened(prompt=prompt)
    assert wire.accept(reply("tool_use", SUBMIT)).stop is StopClass.TOOLS


# --- What is sent ------------------------------------------------------------------------------------------------


def test_a_schema_that_refers_to_itself_is_refused_before_anything_is_sent() -> None:
    tree = {"$ref": "#/$defs/node", "$defs": {"node": {"properties": {"next": {"$ref": "#/$defs/node"}}}}}
    with pytest.raises(TaskError, match=r"#/\$defs/node.*legacy-structured-output"):
        opened(prompt=replace(PROMPT, response_format=tree))
    assert opened(prompt=replace(PROMPT, response_format=tree), mode="tool").request().body["tools"]


@pytest.mark.parametrize(
    "parameters, thinking, effort",
    [
        ({}, None, None),
        ({"effort": "max"}, {"type": "adaptive"}, "max"),
        ({"thinking-budget-tokens": 1024}, {"type": "enabled", "budget_tokens": 1024}, None),
        ({"thinking-budget-tokens": 1024, "effort": "low"}, {"type": "adaptive"}, "low"),
        ({"thinking": "disabled"}, {"type": "disabled"}, None),
        ({"thinking": "disabled", "effort": "high"}, {"type": "disabled"}, "high"),
        ({"thinking": "between_tools", "effort": "medium"}, {"type": "between_tools"}, "medium"),
    ],
)
def test_thinking_and_effort(parameters: dict[str, Any], thinking: Any, effort: Any) -> None:
    body = opened(parameters).request().body
    assert body.get("thinking") == thinking
    assert body["output_config"].get("effort") == effort
    assert body["output_config"]["format"]["type"] == "json_schema"


@pytest.mark.parametrize(
    "parameters, is_streamed",
    [
        ({}, True),
        ({"max-tokens": 21_333}, False),
        ({"max-tokens": 21_334}, True),
        ({"max-tokens": 99_999, "stream": False}, False),
        ({"max-tokens": 10, "stream": True}, True),
    ],
)
def test_long_replies_are_streamed_unless_the_run_says_otherwise(parameters: Any, is_streamed: bool) -> None:
    call = opened(parameters).request()
    assert (call.stream, call.body.get("stream", False)) == (is_streamed, is_streamed)


def marks(body: Mapping[str, Any]) -> list[str]:
    """Return where breakpoints stand."""
    places = [f"tools {n}" for n, tool in enumerate(body.get("tools", ())) if "cache_control" in tool]
    places += [f"system {n}" for n, block in enumerate(body.get("system", ())) if "cache_control" in block]
    for number, message in enumerate(body["messages"]):
        places += [f"message {number}.{n}" for n, block in enumerate(message["content"]) if "cache_control" in block]
    return places


@pytest.mark.parametrize(
    "prompt, place",
    [
        (replace(PROMPT, tools=(ADD, MULTIPLY), system_prompt="s"), "tools 1"),
        (replace(PROMPT, system_prompt="s"), "system 0"),
        (PROMPT, "message 0.0"),
        (replace(PROMPT, attachments=(PICTURE,)), "message 0.2"),
    ],
)
def test_one_cache_breakpoint_on_the_longest_stable_part(prompt: Prompt, place: str) -> None:
    body = opened({"prompt-cache-ttl": "5m"}, prompt).request().body
    assert (body["cache_control"], marks(body)) == (MARK, [place])
    plain = opened({}, prompt).request().body
    assert "cache_control" not in plain
    assert marks(plain) == []


# --- Streams -----------------------------------------------------------------------------------------------------


def assembled(*events: dict[str, Any], end: bool = True) -> Any:
    listed = [*events, {"type": "message_stop"}] if end else [*events]
    return DIALECT.assemble([SseEvent(str(item.get("type", "")), json.dumps(item)) for item in listed])


def start(**message: Any) -> dict[str, Any]:
    return {"type": "message_start", "message": {"id": "m1", "role": "assistant", "content": [], **message}}


def block(index: int, content: Any, *deltas: Any) -> list[dict[str, Any]]:
    return [
        {"type": "content_block_start", "index": index, "content_block": content},
        *({"type": "content_block_delta", "index": index, "delta": delta} for delta in deltas),
        {"type": "content_block_stop", "index": index},
    ]


def partial(piece: str) -> dict[str, Any]:
    return {"type": "input_json_delta", "partial_json": piece}


def test_blocks_are_put_together_by_index() -> None:
    got = assembled(
        start(usage={"input_tokens": 5, "output_tokens": 1}),
        {"type": "ping"},
        *block(1, text(""), {"type": "text_delta", "text": "a"}, {"type": "text_delta", "text": "b"}),
        *block(
            0,
            {"type": "thinking", "thinking": "", "signature": ""},
            {"type": "thinking_delta", "thinking": "h"},
            {"type": "thinking_delta", "thinking": "m"},
            {"type": "signature_delta", "signature": "old"},
            {"type": "signature_delta", "signature": "s"},
        ),
        *block(2, {**CALL, "input": {}}, partial(""), partial('{"a"'), partial(": 1}")),
        *block(3, {**CALL, "id": "c2", "input": {}}, partial("")),
        *block(4, {**CALL, "id": "c3", "input": {}}),
        {"type": "brand_new", "index": 9},
        {"type": "message_delta", "delta": {"stop_reason": "tool_use"}, "usage": {"output_tokens": 9}},
    )
    assert got["content"] == [
        {"type": "thinking", "thinking": "hm", "signature": "s"},
        text("ab"),
        CALL,
        {**CALL, "id": "c2", "input": {}},
        {**CALL, "id": "c3", "input": {}},
    ]
    assert (got["id"], got["stop_reason"]) == ("m1", "tool_use")
    assert got["usage"] == {"input_tokens": 5, "output_tokens": 9}


def test_later_counters_are_totals_and_empty_ones_do_not_count() -> None:
    got = assembled(
        start(usage={"input_tokens": 5, "cache_read_input_tokens": 2}),
        {"type": "message_delta", "delta": {}, "usage": {"input_tokens": None, "output_tokens": 7}},
        {"type": "message_delta", "delta": {"stop_reason": "end_turn"}, "usage": {"output_tokens": 9}},
    )
    assert got["usage"] == {"input_tokens": 5, "cache_read_input_tokens": 2, "output_tokens": 9}
    assert "usage" not in assembled(start())


def test_citations_are_collected_and_a_block_without_a_start_is_kept() -> None:
    cited = {"type": "citations_delta", "citation": {"n": 1}}
    got = assembled(
        start(),
        *block(0, text(""), {"type": "text_delta", "text": "a"}, cited, {**cited, "citation": {"n": 2}}),
        {"type": "content_block_delta", "index": 1, "delta": {"type": "text_delta", "text": "late"}},
        {"type": "content_block_delta", "delta": {"type": "unheard_of"}},
    )
    assert got["content"] == [{**text("a"), "citations": [{"n": 1}, {"n": 2}]}, text("late")]


@pytest.mark.parametrize("broken", ['{"a": ', "[1]", "4"])
def test_broken_arguments_become_an_object_that_can_be_replayed(broken: str) -> None:
    got = assembled(start(), *block(0, {**CALL, "input": {}}, partial(broken)))
    assert got["content"][0]["input"] == {"INVALID_JSON": broken}


def test_stop_details_arrive_with_the_last_delta() -> None:
    details = {"type": "refusal", "category": "cyber"}
    got = assembled(start(), {"type": "message_delta", "delta": {"stop_reason": "refusal", "stop_details": details}})
    assert opened().accept(got).stop_details == {"Category": "cyber"}


def test_a_stream_without_its_end_is_cut() -> None:
    with pytest.raises(TransportError) as caught:
        assembled(start(), *block(0, text("4")), end=False)
    assert (caught.value.transient, caught.value.cause) == (True, "stream-cut")
    with pytest.raises(TransportError) as caught:
        DIALECT.assemble([SseEvent("message_start", '{"type": "mess')])
    assert caught.value.cause == "stream-cut"


@pytest.mark.parametrize(
    "word, is_transient", [("overloaded_error", True), ("api_error", True), ("invalid_request_error", False)]
)
def test_error_events(word: str, is_transient: bool) -> None:
    with pytest.raises(ApiError) as caught:
        assembled(start(), {"type": "error", "error": {"type": word, "message": "busy"}})
    assert (caught.value.transient, caught.value.cause) == (is_transient, word)


def test_an_event_is_known_by_its_name_where_its_data_has_no_type() -> None:
    message = {"message": {"id": "m1", "stop_reason": "end_turn"}}
    got = DIALECT.assemble([SseEvent("message_start", json.dumps(message)), SseEvent("message_stop", "{}")])
    assert got == {"id": "m1", "stop_reason": "end_turn", "content": []}
    with pytest.raises(ApiError, match="busy"):
        DIALECT.assemble([SseEvent("error", json.dumps({"error": {"type": "api_error", "message": "busy"}}))])


def test_error_objects_in_a_good_reply_are_faults() -> None:
    fault = DIALECT.fault({"type": "error", "error": {"type": "overloaded_error", "message": "busy"}})
    assert fault is not None
    assert fault.transient is True
    assert DIALECT.fault(reply()) is None


def test_odd_values_in_a_stream_count_as_nothing() -> None:
    cited = {"type": "citations_delta", "citation": {"n": 1}}
    odd = block(0, {"type": "text", "text": True, "citations": 5}, {"type": "text_delta", "text": "a"}, cited)
    got = assembled(start(), *odd, {"type": ["odd"]}, {"type": "message_delta", "delta": 5, "usage": "x"})
    assert got["content"] == [{**text("a"), "citations": [{"n": 1}]}]
