"""The Responses dialect in detail: stops, phases, calls, state at the service or not, streams (spec 5, 6, 9, 10)."""

from __future__ import annotations

import json
from collections.abc import Mapping
from dataclasses import replace
from typing import Any

import pytest

from pytest_mindtrial.core.errors import ApiError, EmptyReplyError, ReplyError, TransportError
from pytest_mindtrial.core.values import StopClass, ToolResult, Usage
from pytest_mindtrial.providers.base import Attachment, OutputMode, Prompt, ToolDefinition
from pytest_mindtrial.providers.dialects.base import WireConversation
from pytest_mindtrial.providers.dialects.openai_responses import DIALECT
from pytest_mindtrial.providers.profiles import profile_of
from pytest_mindtrial.providers.reading import read_answer
from pytest_mindtrial.providers.sse import SseEvent
from pytest_mindtrial.suite.model import Run

ADD = ToolDefinition("add", "Adds", {"type": "object"})
PROMPT = Prompt("t", "Question?", "text", tools=(ADD,))
CALL = {"type": "function_call", "id": "fc_1", "call_id": "c1", "name": "add", "arguments": '{"a":1}'}
USER = {"role": "user", "content": "Question?"}


def opened(
    parameters: Mapping[str, Any] | None = None,
    prompt: Prompt = PROMPT,
    *,
    own: bool = True,
    mode: OutputMode = "schema",
) -> WireConversation:
    run = Run("r", "openai", "gpt-5.2", parameters or {})
    return DIALECT.open(profile_of("openai"), run, prompt, mode=mode, is_vendor_host=own)


def reply(status: Any = "completed", *output: Any, identity: Any = "r1", **fields: Any) -> dict[str, Any]:
    return {"id": identity, "status": status, "output": list(output), "error": None, **fields}


def message(*texts: str, phase: str | None = None, kind: str = "output_text") -> dict[str, Any]:
    key = "refusal" if kind == "refusal" else "text"
    item: dict[str, Any] = {"type": "message", "content": [{"type": kind, key: text} for text in texts]}
    return item if phase is None else {**item, "phase": phase}


def cut(reason: Any) -> dict[str, Any]:
    return {"incomplete_details": {"reason": reason}}


@pytest.mark.parametrize(
    "value, stop, reason",
    [
        (reply("completed", CALL), StopClass.TOOLS, "completed"),
        (reply("", CALL), StopClass.TOOLS, ""),
        (reply("completed", message("4")), StopClass.FINAL, "completed"),
        (reply("brand_new", message("4")), StopClass.FINAL, "brand_new"),
        (reply("queued", message("4")), StopClass.CONTINUE, "queued"),
        (reply("in_progress"), StopClass.CONTINUE, "in_progress"),
        (reply("incomplete", message("4"), CALL, **cut("max_output_tokens")), StopClass.TRUNCATED, "max_output_tokens"),
        (reply("incomplete", message("4"), incomplete_details=None), StopClass.TRUNCATED, "incomplete"),
        (reply("incomplete", **cut("content_filter")), StopClass.FILTERED, "content_filter"),
        (reply("completed", message("no", kind="refusal")), StopClass.REFUSED, "completed"),
        (reply("failed"), StopClass.FAILED, "failed"),
        ({"status": "failed"}, StopClass.FAILED, "failed"),
    ],
)
def test_stop_classes(value: dict[str, Any], stop: StopClass, reason: str) -> None:
    turn = opened().accept(value)
    assert (turn.stop, turn.stop_reason) == (stop, reason)
    assert bool(turn.tool_calls) is (stop is StopClass.TOOLS)
    said = "4" if message("4") in value.get("output", ()) else None
    is_terminal = stop not in (StopClass.TOOLS, StopClass.CONTINUE)
    assert turn.text == (said if is_terminal else None)
    assert turn.commentary == ("" if is_terminal else said or "")


@pytest.mark.parametrize("value", [{}, {"status": "completed", "output": None}, reply("cancelled", message("4"))])
def test_nothing_to_read_is_an_error(value: dict[str, Any]) -> None:
    with pytest.raises(ReplyError, match="no candidate") as caught:
        opened().accept(value)
    assert (caught.value.transient, caught.value.cause) == (False, "no-candidate")


def test_a_refusal_is_an_error_with_its_words() -> None:
    turn = opened().accept(reply("completed", message("I will not", kind="refusal")))
    assert turn.stop_details == {"Refusal": "I will not"}
    with pytest.raises(ReplyError) as caught:
        read_answer(turn, response_format="text")
    assert caught.value.cause == "refused"


def test_an_empty_answer_is_an_error() -> None:
    with pytest.raises(EmptyReplyError):
        read_answer(opened().accept(reply("completed", {"type": "reasoning"})), response_format="text")


@pytest.mark.parametrize(
    "items, text",
    [
        ([message("a", "b"), message("c")], "abc"),
        ([message("wait", phase="commentary"), message("4", phase="final_answer")], "4"),
        ([message("wait", phase="commentary"), message("", phase="final_answer")], None),
        ([message("only", phase="commentary")], "only"),
        (
            [{"type": "message", "content": None}, {"type": "message", "content": ["odd", {"type": "output_text"}]}],
            None,
        ),
        (["odd", {"type": "reasoning", "content": [{"type": "reasoning_text", "text": "hm"}]}, message("4")], "4"),
    ],
)
def test_the_answer_is_the_final_phase(items: list[Any], text: str | None) -> None:
    assert opened().accept(reply("completed", *items)).text == text


def test_usage() -> None:
    usage = {
        "input_tokens": 60,
        "input_tokens_details": {"cached_tokens": 5, "cache_write_tokens": 7},
        "output_tokens": 30,
        "output_tokens_details": {"reasoning_tokens": 12},
        "total_tokens": 90,
    }
    turn = opened().accept(reply("completed", message("4"), usage=usage))
    expected = Usage(60, 30, 12, 7, 5, "cache_tokens_included", "reasoning_tokens_included")
    assert (turn.usage.without_raw(), turn.usage.raw, turn.response_id) == (expected, (usage,), "r1")


# --- State -------------------------------------------------------------------------------------------------------


def test_the_service_keeps_the_state_and_only_news_are_sent() -> None:
    wire = opened()
    assert wire.request().body["store"] is True
    turn = wire.accept(reply("completed", {"type": "reasoning", "id": "rs"}, CALL))
    wire.add_tool_results([ToolResult(turn.tool_calls[0], "4")])
    body = wire.request().body
    assert body["previous_response_id"] == "r1"
    assert body["input"] == [{"type": "function_call_output", "call_id": "c1", "output": "4"}]
    wire.accept(reply("completed", message("4"), identity="r2"))
    wire.add_feedback("Sure?")
    body = wire.request().body
    assert (body["previous_response_id"], body["input"]) == ("r2", [{"role": "user", "content": "Sure?"}])


def test_a_response_to_be_continued_is_continued_with_nothing_new() -> None:
    wire = opened()
    wire.accept(reply("in_progress"))
    body = wire.request().body
    assert (body["previous_response_id"], body["input"]) == ("r1", [])


def test_a_response_whose_calls_are_not_answered_is_not_continued() -> None:
    wire = opened()
    wire.accept(reply("incomplete", CALL, **cut("max_output_tokens")))
    wire.add_feedback("Again.")
    body = wire.request().body
    assert "previous_response_id" not in body
    assert body["input"] == [USER, {"role": "user", "content": "Again."}]


def test_without_an_id_everything_is_sent_again() -> None:
    wire = opened()
    wire.accept(reply("completed", message("4"), identity=None))
    wire.add_feedback("Sure?")
    assert wire.request().body["input"] == [USER, {"role": "user", "content": "Sure?"}]


def test_without_storage_all_items_travel() -> None:
    wire = opened({"store": False})
    body = wire.request().body
    assert (body["store"], body["include"]) == (False, ["reasoning.encrypted_content"])
    hidden = {"type": "reasoning", "id": "rs", "encrypted_content": "x"}
    turn = wire.accept(reply("completed", hidden, {**CALL, "call_id": ""}, CALL))
    assert [call.id for call in turn.tool_calls] == ["call_1_1", "c1"]
    wire.add_tool_results([ToolResult(call, "4") for call in turn.tool_calls])
    body = wire.request().body
    assert "previous_response_id" not in body
    outputs = [{"type": "function_call_output", "call_id": call.id, "output": "4"} for call in turn.tool_calls]
    assert body["input"] == [USER, hidden, {**CALL, "call_id": "call_1_1"}, CALL, *outputs]
    wire.accept(reply("incomplete", hidden, CALL, **cut("max_output_tokens")))
    assert wire.request().body["input"][-1] == hidden


@pytest.mark.parametrize("store, sent", [(None, {}), (True, {}), (False, {"store": False})])
def test_other_hosts_get_no_vendor_fields_but_a_wish_is_kept(store: Any, sent: dict[str, Any]) -> None:
    body = opened({} if store is None else {"store": store}, own=False).request().body
    assert {key: body[key] for key in ("store", "prompt_cache_key") if key in body} == sent
    assert body["tools"][0]["strict"] is False


def test_requests_can_be_repeated_and_do_not_change_later() -> None:
    wire = opened()
    first = wire.request()
    assert wire.request() == first
    wire.add_feedback("x")
    wire.withdraw_tool("add")
    assert (len(first.body["input"]), len(first.body["tools"])) == (1, 1)
    assert not {"tools", "tool_choice"} & set(wire.request().body)


# --- What is sent ------------------------------------------------------------------------------------------------


@pytest.mark.parametrize(
    "mode, form",
    [
        ("schema", "json_schema"),
        ("legacy-schema", "json_schema"),
        ("object", "json_object"),
        ("text", "text"),
        ("off", "text"),
    ],
)
def test_text_formats(mode: OutputMode, form: str) -> None:
    body = opened({"verbosity": "low"}, mode=mode).request().body
    assert (body["text"]["format"]["type"], body["text"]["verbosity"]) == (form, "low")


@pytest.mark.parametrize(
    "written, image, document",
    [
        ("", "auto", "auto"),
        ("low", "low", "low"),
        ("medium", "high", "high"),
        ("high", "high", "high"),
        ("original", "original", "high"),
        ("odd", "auto", "auto"),
    ],
)
def test_detail_of_files(written: str, image: str, document: str) -> None:
    files = (
        Attachment("pic", "image/png", b"x", image_detail=written),
        Attachment("doc", "application/pdf", b"x", image_detail=written),
    )
    content = opened(prompt=replace(PROMPT, attachments=files)).request().body["input"][-1]["content"]
    assert [part["detail"] for part in content if "detail" in part] == [image, document]
    assert content[3]["filename"] == "doc"


# --- Streams -----------------------------------------------------------------------------------------------------


def assembled(*events: Any) -> Any:
    listed = [item if isinstance(item, SseEvent) else SseEvent(item["type"], json.dumps(item)) for item in events]
    return DIALECT.assemble(listed)


@pytest.mark.parametrize("kind", ["completed", "incomplete", "failed"])
def test_the_terminal_event_carries_the_response(kind: str) -> None:
    value = reply(kind, message("4"))
    created = {"type": "response.created", "response": reply("in_progress")}
    delta = {"type": "response.output_text.delta", "delta": "4"}
    assert assembled(created, delta, {"type": f"response.{kind}", "response": value}) == value


def test_a_stream_without_its_terminal_event_is_cut() -> None:
    created = {"type": "response.created", "response": reply("in_progress")}
    odd = SseEvent("", '{"type": ["response.completed"], "response": {}}')
    for events in (
        [created],
        [created, SseEvent("", "[DONE]")],
        [],
        [SseEvent("x", "{bro")],
        [SseEvent("x", "[]")],
        [odd],
    ):
        with pytest.raises(TransportError) as caught:
            assembled(*events)
        assert (caught.value.transient, caught.value.cause) == (True, "stream-cut")


@pytest.mark.parametrize(
    "event, is_transient, cause",
    [
        ({"type": "error", "code": "server_error", "message": "busy", "param": None}, True, "server_error"),
        ({"type": "error", "code": "invalid_prompt", "message": "busy", "param": None}, False, "invalid_prompt"),
        ({"type": "error", "error": {"type": "rate_limit_error", "message": "busy"}}, True, "rate_limit_error"),
    ],
)
def test_error_events(event: dict[str, Any], is_transient: bool, cause: str) -> None:
    with pytest.raises(ApiError, match="busy") as caught:
        assembled(event)
    assert (caught.value.transient, caught.value.cause) == (is_transient, cause)


@pytest.mark.parametrize(
    "code, is_transient",
    [
        ("server_error", True),
        ("rate_limit_exceeded", True),
        ("vector_store_timeout", True),
        ("invalid_prompt", False),
        ("image_parse_error", False),
    ],
)
def test_failed_responses_are_faults(code: str, is_transient: bool) -> None:
    fault = DIALECT.fault(reply("failed", error={"code": code, "message": "said"}))
    assert fault is not None
    assert (fault.transient, fault.cause) == (is_transient, code)
    assert DIALECT.fault(reply("completed")) is None
