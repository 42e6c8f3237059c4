"""Google's dialect in detail: stops, calls, signatures, blocked prompts, streams (spec providers 5, 6, 9, 12)."""

from __future__ import annotations

import json
from collections.abc import Mapping
from dataclasses import replace
from typing import Any

import pytest

from pytest_mindtrial.core.errors import ApiError, ReplyError, TransportError
from pytest_mindtrial.core.values import StopClass, ToolResult, Usage
from pytest_mindtrial.providers.base import Prompt, ToolDefinition
from pytest_mindtrial.providers.dialects.base import WireConversation
from pytest_mindtrial.providers.dialects.google import DIALECT
from pytest_mindtrial.providers.profiles import profile_of
from pytest_mindtrial.providers.reading import read_answer
from pytest_mindtrial.providers.sse import SseEvent
from pytest_mindtrial.suite.model import Run

ADD = ToolDefinition("add", "Adds", {"type": "object"})
PROMPT = Prompt("t", "Question?", "text", tools=(ADD,))
CALL = {"functionCall": {"id": "c1", "name": "add", "args": {"a": 1}}}


def opened(parameters: Mapping[str, Any] | None = None, *, model: str = "gemini") -> WireConversation:
    run = Run("r", "google", model, parameters or {})
    return DIALECT.open(profile_of("google"), run, PROMPT, mode="schema", is_vendor_host=True)


def reply(reason: Any = "STOP", *parts: Any, **fields: Any) -> dict[str, Any]:
    candidate = {"content": {"role": "model", "parts": list(parts)}, "finishReason": reason, **fields}
    return {"candidates": [candidate], "responseId": "r1"}


def text(value: str, **fields: Any) -> dict[str, Any]:
    return {"text": value, **fields}


FILTERS = ("SAFETY", "RECITATION", "LANGUAGE", "BLOCKLIST", "PROHIBITED_CONTENT", "SPII", "MODEL_ARMOR", "IMAGE_OTHER")
FAILURES = (
    "MALFORMED_FUNCTION_CALL",
    "UNEXPECTED_TOOL_CALL",
    "TOO_MANY_TOOL_CALLS",
    "MISSING_THOUGHT_SIGNATURE",
    "MALFORMED_RESPONSE",
    "OTHER",
)


@pytest.mark.parametrize(
    "reason, parts, stop",
    [
        ("STOP", [CALL], StopClass.TOOLS),
        ("FINISH_REASON_UNSPECIFIED", [CALL], StopClass.TOOLS),
        (None, [CALL, text("4")], StopClass.TOOLS),
        (None, [text("4")], StopClass.CONTINUE),
        ("FINISH_REASON_UNSPECIFIED", [], StopClass.CONTINUE),
        ("STOP", [text("4")], StopClass.FINAL),
        ("BRAND_NEW", [text("4"), CALL], StopClass.FINAL),
        ("MAX_TOKENS", [text("4"), CALL], StopClass.TRUNCATED),
        *((reason, [text("4")], StopClass.FILTERED) for reason in FILTERS),
        *((reason, [CALL], StopClass.FAILED) for reason in FAILURES),
    ],
)
def test_stop_classes(reason: Any, parts: list[Any], stop: StopClass) -> None:
    turn = opened().accept(reply(reason, *parts))
    assert (turn.stop, turn.stop_reason) == (stop, reason or "")
    assert bool(turn.tool_calls) is (stop is StopClass.TOOLS)
    said = "4" if text("4") in parts else None
    is_terminal = stop not in (StopClass.TOOLS, StopClass.CONTINUE)
    assert turn.text == (said if is_terminal else None)
    assert turn.commentary == ("" if is_terminal else said or "")


@pytest.mark.parametrize("reason, cause", [("SAFETY", "filtered"), ("OTHER", "failed-stop")])
def test_filtered_and_failed_replies_are_errors_with_the_reason(reason: str, cause: str) -> None:
    turn = opened().accept(
        reply(reason, finishMessage="because", safetyRatings=[{"category": "C", "blocked": True}, 1])
    )
    with pytest.raises(ReplyError) as caught:
        read_answer(turn, response_format="text")
    assert (caught.value.cause, caught.value.details["Stop Reason"]) == (cause, reason)
    assert turn.stop_details == {"Finish Message": "because", "Blocked Categories": "C"}


def test_a_blocked_prompt_is_filtered_and_its_tokens_count() -> None:
    feedback = {"blockReason": "SAFETY", "blockReasonMessage": "not this"}
    turn = opened().accept({"promptFeedback": feedback, "usageMetadata": {"promptTokenCount": 9}})
    assert (turn.stop, turn.stop_reason, turn.usage.input_tokens) == (StopClass.FILTERED, "SAFETY", 9)
    assert turn.stop_details == {"Block Reason Message": "not this"}
    assert opened().accept({"promptFeedback": {"blockReason": "OTHER"}}).stop_details == {}


@pytest.mark.parametrize(
    "value", [{}, {"candidates": []}, {"candidates": ["x"]}, {"promptFeedback": {}}, {"promptFeedback": "odd"}]
)
def test_no_candidates_is_an_error(value: dict[str, Any]) -> None:
    with pytest.raises(ReplyError, match="no candidate") as caught:
        opened().accept(value)
    assert caught.value.transient is False


def test_texts_are_joined_without_thoughts() -> None:
    parts = [text("hm", thought=True), text("a"), {"text": 1}, "odd", text("b", thoughtSignature="s")]
    assert opened().accept(reply("STOP", *parts)).text == "ab"
    assert opened().accept({"candidates": [{"finishReason": "STOP", "content": {"parts": None}}]}).text is None


def test_usage_counts_reasoning_apart() -> None:
    counters = {
        "promptTokenCount": 40,
        "candidatesTokenCount": 10,
        "thoughtsTokenCount": 25,
        "cachedContentTokenCount": 8,
        "totalTokenCount": 75,
    }
    turn = opened().accept({**reply("STOP", text("4")), "usageMetadata": counters})
    expected = Usage(40, 10, 25, None, 8, "cache_tokens_included", "reasoning_tokens_separate")
    assert turn.usage.without_raw() == expected
    assert (turn.usage.effective_output, turn.response_id) == (35, "r1")


# --- Replay and results ------------------------------------------------------------------------------------------


def test_the_content_goes_back_as_it_came() -> None:
    parts = [text("hm", thought=True, thoughtSignature="s1"), {**CALL, "thoughtSignature": "s2"}, {"brandNew": 1}]
    wire = opened()
    value = reply("STOP", *parts)
    before = json.dumps(value)
    wire.accept(value)
    assert wire.request().body["contents"][-1] == {"role": "model", "parts": parts}
    assert json.dumps(value) == before


def test_parallel_calls_are_answered_in_one_content_in_order() -> None:
    wire = opened()
    turn = wire.accept(reply("STOP", CALL, {"functionCall": {"id": "c2", "name": "nothing"}}))
    assert [call.arguments for call in turn.tool_calls] == ['{"a": 1}', "{}"]
    results = [ToolResult(turn.tool_calls[0], "4"), ToolResult(turn.tool_calls[1], "no such tool", is_error=True)]
    wire.add_tool_results(results)
    assert wire.request().body["contents"][-1] == {
        "role": "user",
        "parts": [
            {"functionResponse": {"id": "c1", "name": "add", "response": {"result": "4"}}},
            {"functionResponse": {"id": "c2", "name": "nothing", "response": {"error": "no such tool"}}},
        ],
    }


def test_calls_without_ids_are_answered_without_ids() -> None:
    wire = opened()
    call = {"functionCall": {"name": "add", "args": {}}}
    turn = wire.accept(reply("STOP", call, call))
    assert [made.id for made in turn.tool_calls] == ["call_1_1", "call_1_2"]
    wire.add_tool_results([ToolResult(made, "4") for made in turn.tool_calls])
    model, user = wire.request().body["contents"][-2:]
    assert model["parts"] == [call, call]
    assert user["parts"] == [{"functionResponse": {"name": "add", "response": {"result": "4"}}}] * 2
    second = wire.accept(reply("STOP", call))
    assert second.tool_calls[0].id == "call_2_1"


def test_calls_that_will_not_be_answered_are_not_replayed() -> None:
    wire = opened()
    wire.accept(reply("MAX_TOKENS", text("half"), CALL))
    wire.add_feedback("Again.")
    assert wire.request().body["contents"][1:] == [
        {"role": "model", "parts": [text("half")]},
        {"role": "user", "parts": [text("Again.")]},
    ]


def test_a_candidate_without_parts_is_not_replayed_and_a_role_is_added() -> None:
    wire = opened()
    wire.accept({"candidates": [{"finishReason": "STOP"}]})
    assert len(wire.request().body["contents"]) == 1
    wire.accept({"candidates": [{"finishReason": "STOP", "content": {"parts": [text("4")]}}]})
    assert wire.request().body["contents"][-1] == {"role": "model", "parts": [text("4")]}


def test_withdrawing_the_last_tool_leaves_no_tool_fields() -> None:
    wire = opened()
    wire.withdraw_tool("unknown")
    assert len(wire.request().body["tools"]) == 1
    wire.withdraw_tool("add")
    assert not {"tools", "toolConfig"} & set(wire.request().body)


@pytest.mark.parametrize(
    "model, path",
    [
        ("gemini-3.6-flash", "/models/gemini-3.6-flash:generateContent"),
        ("models/gemini-3.6-flash", "/models/gemini-3.6-flash:generateContent"),
        (" tuned/a b?c ", "/models/tuned%2Fa%20b%3Fc:generateContent"),
    ],
)
def test_the_model_is_part_of_the_path(model: str, path: str) -> None:
    assert opened(model=model).request().path == path
    streamed = opened({"stream": True}, model=model).request()
    assert streamed.path == path.replace(":generateContent", ":streamGenerateContent?alt=sse")
    assert streamed.stream
    assert "stream" not in streamed.body


def test_requests_can_be_repeated_and_do_not_change_later() -> None:
    wire = opened()
    first = wire.request()
    assert wire.request() == first
    wire.add_feedback("x")
    wire.withdraw_tool("add")
    assert (len(first.body["contents"]), len(first.body["tools"])) == (1, 1)


# --- Streams -----------------------------------------------------------------------------------------------------


def chunk(*parts: Any, **candidate: Any) -> dict[str, Any]:
    return {"candidates": [{"content": {"role": "model", "parts": list(parts)}, **candidate}]}


def assembled(*chunks: Any) -> Any:
    return DIALECT.assemble([SseEvent("", item if isinstance(item, str) else json.dumps(item)) for item in chunks])


def parts(*chunks: Any) -> Any:
    return assembled(*chunks, {"candidates": [{"finishReason": "STOP"}]})["candidates"][0]["content"]["parts"]


def test_adjacent_plain_texts_are_one_part() -> None:
    assert parts(chunk(text("a")), chunk(text("b"), text("c"))) == [text("abc")]
    thoughts = chunk(text("h", thought=True)), chunk(text("m", thought=True)), chunk(text("a"))
    assert parts(*thoughts) == [text("hm", thought=True), text("a")]


def test_signatures_and_calls_keep_their_own_parts() -> None:
    signed = text("b", thoughtSignature="s")
    assert parts(chunk(text("a")), chunk(signed), chunk(text("c"))) == [text("a"), signed, text("c")]
    assert parts(chunk(CALL), chunk(CALL)) == [CALL, CALL]
    assert parts(chunk(text("a")), chunk({"text": 1})) == [text("a"), {"text": 1}]


def test_the_last_reason_and_the_last_counters_count() -> None:
    got = assembled(
        {**chunk(text("a"), index=0), "usageMetadata": {"promptTokenCount": 1}, "responseId": "r1"},
        {**chunk(finishReason="STOP"), "usageMetadata": {"promptTokenCount": 2}},
        {"usageMetadata": {"promptTokenCount": 3}, "modelVersion": "g"},
    )
    assert got["candidates"] == [
        {"index": 0, "finishReason": "STOP", "content": {"role": "model", "parts": [text("a")]}}
    ]
    assert (got["usageMetadata"], got["responseId"], got["modelVersion"]) == ({"promptTokenCount": 3}, "r1", "g")


def test_a_stream_without_a_reason_is_cut() -> None:
    for chunks in ([chunk(text("a"))], [], [{"usageMetadata": {}}], ['{"candi']):
        with pytest.raises(TransportError) as caught:
            assembled(*chunks)
        assert (caught.value.transient, caught.value.cause) == (True, "stream-cut")


def test_a_stream_may_end_without_content_or_with_a_blocked_prompt() -> None:
    assert assembled({"candidates": [{"finishReason": "SAFETY"}]}) == {"candidates": [{"finishReason": "SAFETY"}]}
    blocked = {"promptFeedback": {"blockReason": "SAFETY"}}
    assert opened().accept(assembled(blocked)).stop is StopClass.FILTERED


@pytest.mark.parametrize("status, is_transient", [("UNAVAILABLE", True), ("INVALID_ARGUMENT", False)])
def test_errors_in_a_stream_and_in_a_good_reply(status: str, is_transient: bool) -> None:
    body = {"error": {"code": 503 if is_transient else 400, "status": status, "message": "said"}}
    with pytest.raises(ApiError) as caught:
        assembled(chunk(text("a")), body)
    assert (caught.value.transient, caught.value.cause) == (is_transient, status.lower())
    fault = DIALECT.fault(body)
    assert fault is not None
    assert fault.transient is is_transient
    assert DIALECT.fault(reply()) is None


def test_unstructured_runs_ask_for_plain_text() -> None:
    run = Run("r", "google", "g", disable_structured_output=True)
    prompt = replace(PROMPT, tools=(), system_prompt=None)
    wire = DIALECT.open(profile_of("google"), run, prompt, mode="off", is_vendor_host=True)
    body = wire.request().body
    assert body["generationConfig"] == {"responseMimeType": "text/plain"}
    assert len(body["systemInstruction"]["parts"]) == 1
