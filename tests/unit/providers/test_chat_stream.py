"""Stream assembly of the chat dialect (spec providers 9)."""

from __future__ import annotations

import json
from typing import Any

import pytest

from pytest_mindtrial.core.errors import ApiError, TransportError
from pytest_mindtrial.providers.dialects._chat_stream import assemble_chat
from pytest_mindtrial.providers.sse import SseEvent


def assembled(*items: Any, done: bool = True) -> Any:
    events = [SseEvent("", item if isinstance(item, str) else json.dumps(item)) for item in items]
    return assemble_chat([*events, SseEvent("", " [DONE]")] if done else events)


def delta(reason: str | None = None, **fields: Any) -> dict[str, Any]:
    return {"choices": [{"index": 0, "delta": fields, "finish_reason": reason}]}


def message(*deltas: dict[str, Any]) -> Any:
    return assembled(*(delta(**fields) for fields in deltas))["choices"][0]["message"]


def call(index: int | None = None, **fields: Any) -> dict[str, Any]:
    function = {key: fields.pop(key) for key in ("name", "arguments") if key in fields}
    return ({} if index is None else {"index": index}) | fields | ({"function": function} if function else {})


def test_texts_are_appended() -> None:
    pieces = [{key: text} for text in "ab" for key in ("content", "refusal", "reasoning_content", "reasoning")]
    got = message({"role": "assistant", "content": ""}, *pieces)
    assert got == {
        "role": "assistant",
        "content": "ab",
        "refusal": "ab",
        "reasoning_content": "ab",
        "reasoning": "ab",
    }


def test_content_stays_null_when_none_came() -> None:
    assert message({"role": "assistant", "content": None})["content"] is None
    assert message({"content": ""})["content"] == ""


def test_lists_of_parts_are_appended() -> None:
    thinking = {"type": "thinking", "thinking": [{"type": "text", "text": "hm"}]}
    got = message({"content": [thinking]}, {"content": [{"type": "text", "text": "a"}]}, {"content": "b"})
    assert got["content"] == [thinking, {"type": "text", "text": "ab"}]
    got = message({"content": "a"}, {"content": [{"type": "text", "text": "b"}, thinking]})
    assert got["content"] == [{"type": "text", "text": "ab"}, thinking]
    assert message({"content": []}, {"content": []})["content"] == []


def test_tool_calls_are_merged_by_index() -> None:
    got = message(
        {"tool_calls": [call(1, id="b", type="function", name="two", arguments="")]},
        {"tool_calls": [call(0, id="a", name="one", arguments='{"x"')]},
        {"tool_calls": [call(0, id="other", name="other", arguments=": 1}"), call(1, id="", arguments="{}")]},
        {"tool_calls": [call(0), "odd"]},
    )
    assert got["tool_calls"] == [
        {"id": "a", "type": "function", "function": {"name": "one", "arguments": '{"x": 1}'}},
        {"id": "b", "type": "function", "function": {"name": "two", "arguments": "{}"}},
    ]


def test_without_an_index_the_position_counts() -> None:
    got = message(
        {"tool_calls": [call(id="a", name="one", arguments="{"), call(id="b", name="two", arguments="{")]},
        {"tool_calls": [call(arguments="}"), call(arguments="}")]},
    )
    assert [(item["id"], item["function"]["arguments"]) for item in got["tool_calls"]] == [("a", "{}"), ("b", "{}")]


def test_without_an_index_another_id_is_another_call() -> None:
    got = message(
        {"tool_calls": [call(id="a", name="one", arguments="{}")]},
        {"tool_calls": [call(id="b", name="two", arguments="{")]},
        {"tool_calls": [call(id="b", name="two", arguments="}")]},
    )
    assert [(item["id"], item["function"]) for item in got["tool_calls"]] == [
        ("a", {"name": "one", "arguments": "{}"}),
        ("b", {"name": "two", "arguments": "{}"}),
    ]


def test_arguments_that_come_as_an_object_stay_one() -> None:
    got = message({"tool_calls": [call(0, id="a", name="one", arguments={"x": 1})]})
    assert got["tool_calls"][0]["function"]["arguments"] == {"x": 1}
    got = message({"tool_calls": [call(0, arguments="{}")]}, {"tool_calls": [call(0, arguments={"x": 1})]})
    assert got["tool_calls"][0]["function"]["arguments"] == {"x": 1}


def test_last_reason_usage_and_top_level_fields() -> None:
    reply = assembled(
        {"id": "1", "object": "chat.completion.chunk", "provider": "p", **delta(content="x")},
        delta("length"),
        {**delta(None), "usage": {"prompt_tokens": 1}},
        {"id": "2", "choices": [], "usage": None, "service_tier": "s"},
    )
    assert reply["choices"][0]["finish_reason"] == "length"
    assert reply["usage"] == {"prompt_tokens": 1}
    assert (reply["id"], reply["object"], reply["provider"]) == ("1", "chat.completion", "p")
    assert reply["service_tier"] == "s"


def test_usage_inside_the_choice_counts() -> None:
    reply = assembled({"choices": [{"index": 0, "delta": {}, "finish_reason": "stop", "usage": {"prompt_tokens": 2}}]})
    assert reply["usage"] == {"prompt_tokens": 2}
    assert "usage" not in reply["choices"][0]


def test_without_usage_and_choices() -> None:
    assert assembled() == {"object": "chat.completion", "choices": []}


def test_other_candidates_and_odd_shapes_are_ignored() -> None:
    odd = {"choices": [{"index": 1, "delta": {"content": "other"}}, "odd", {"index": 0, "delta": None}]}
    reply = assembled(odd, {"choices": None}, delta(tool_calls=None, content="x", reasoning_details="odd"))
    assert reply["choices"][0]["message"] == {"role": "assistant", "content": "x", "reasoning_details": []}
    assert message({"tool_calls": "odd"}) == {"role": "assistant", "content": None}


TEXT, SUMMARY, SECRET = "reasoning.text", "reasoning.summary", "reasoning.encrypted"


@pytest.mark.parametrize(
    "arriving, kept",
    [
        ([[]], []),
        (
            [[{"type": TEXT, "text": "a"}], [{"type": TEXT, "text": "b", "signature": "s"}]],
            [{"type": TEXT, "text": "ab", "signature": "s"}],
        ),
        (
            [[{"type": SUMMARY, "summary": "a", "index": 0}], [{"type": SUMMARY, "summary": "b", "index": 9}]],
            [{"type": SUMMARY, "summary": "ab", "index": 0}],
        ),
        (
            [[{"type": TEXT, "text": None, "format": None}], [{"type": TEXT, "text": "b", "format": "f"}]],
            [{"type": TEXT, "text": "b", "format": "f"}],
        ),
        (
            [[{"type": SECRET, "data": "1"}], [{"type": SECRET, "data": "2"}]],
            [{"type": SECRET, "data": "1"}, {"type": SECRET, "data": "2"}],
        ),
        (
            [[{"type": TEXT, "text": "a"}, {"type": SECRET, "data": "1"}, {"type": TEXT, "text": "b"}]],
            [{"type": TEXT, "text": "a"}, {"type": SECRET, "data": "1"}, {"type": TEXT, "text": "b"}],
        ),
        ([[{"type": "new"}], [{"type": "new"}], ["odd"]], [{"type": "new"}, {"type": "new"}, "odd"]),
        ([[{"type": TEXT, "text": "a"}], [{"type": SUMMARY, "summary": "b"}]], None),
    ],
)
def test_reasoning_details(arriving: list[Any], kept: list[Any] | None) -> None:
    got = message(*({"reasoning_details": details} for details in arriving))
    assert got["reasoning_details"] == ([entry for part in arriving for entry in part] if kept is None else kept)


@pytest.mark.parametrize(
    "items, done",
    [([], False), ([delta("stop", content="x")], False), (['{"choices": ['], True), (["5"], True), (["[]"], True)],
)
def test_broken_streams_are_transient(items: list[Any], done: bool) -> None:
    with pytest.raises(TransportError) as caught:
        assembled(*items, done=done)
    assert (caught.value.transient, caught.value.cause) == (True, "stream-cut")


def test_error_events_end_the_stream() -> None:
    with pytest.raises(ApiError) as caught:
        assembled(delta(content="x"), {"error": {"code": 429, "message": "slow down"}, "choices": []}, done=False)
    assert (caught.value.transient, caught.value.cause) == (True, "http-429")
    with pytest.raises(ApiError) as caught:
        assemble_chat([SseEvent("error", json.dumps({"message": "m", "type": "server_error"}))])
    assert (caught.value.transient, caught.value.cause) == (True, "server_error")


def test_reasoning_details_of_odd_types_stay_apart_and_odd_texts_count_as_nothing() -> None:
    odd, text = {"type": ["x"], "text": "a"}, {"type": "reasoning.text", "text": 5}
    got = message(
        {"reasoning_details": [odd]}, {"reasoning_details": [text]}, {"reasoning_details": [{**text, "text": "b"}]}
    )
    assert got["reasoning_details"] == [odd, {"type": "reasoning.text", "text": "b"}]
