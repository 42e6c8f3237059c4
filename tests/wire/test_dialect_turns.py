"""Example replies of the contract in the Responses, Anthropic and Google dialects, and replies nobody would expect."""

from __future__ import annotations

import json
from collections.abc import Mapping
from dataclasses import replace
from typing import Any

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from pytest_mindtrial.core.errors import ProviderError
from pytest_mindtrial.core.values import StopClass, ToolCall, Usage
from pytest_mindtrial.providers.base import Turn
from pytest_mindtrial.providers.dialects.base import Dialect, WireConversation
from pytest_mindtrial.providers.profiles import choose_dialect, profile_of
from pytest_mindtrial.providers.reading import read_answer
from pytest_mindtrial.providers.registry import load_dialect
from pytest_mindtrial.providers.sse import SseEvent
from pytest_mindtrial.suite.model import ClientConfig
from tests.support.said import Call, Said, wrapped
from tests.support.vendor_forms import FORMS
from tests.support.wire_bodies import MODELS, opened, vendor_of
from tests.support.wire_cases import WITH_TOOLS

ANSWER = '{"title":"Sum","explanation":"used add","final_answer":"4"}'
INCLUDED = ("cache_tokens_included", "reasoning_tokens_included")
RESPONSES_USAGE = {
    "input_tokens": 60,
    "input_tokens_details": {"cached_tokens": 0, "cache_write_tokens": 0},
    "output_tokens": 30,
    "output_tokens_details": {"reasoning_tokens": 12},
    "total_tokens": 90,
}
RESPONSES_HEAD = {
    "id": "resp_1",
    "object": "response",
    "created_at": 1,
    "status": "completed",
    "model": "gpt-5.2",
    "error": None,
    "incomplete_details": None,
    "parallel_tool_calls": True,
    "tool_choice": "auto",
    "tools": [],
    "usage": RESPONSES_USAGE,
}
ANTHROPIC_HEAD = {
    "id": "msg_1",
    "type": "message",
    "role": "assistant",
    "model": "claude-opus-5",
    "stop_sequence": None,
    "usage": {
        "input_tokens": 50,
        "output_tokens": 40,
        "cache_creation_input_tokens": 0,
        "cache_read_input_tokens": 0,
        "output_tokens_details": {"thinking_tokens": 20},
    },
}
ANTHROPIC_USAGE = Usage(50, 40, 20, 0, 0, "cache_tokens_separate", "reasoning_tokens_included")
GOOGLE_USAGE = Usage(40, 10, 25, None, 0, "cache_tokens_included", "reasoning_tokens_separate")

EXAMPLES: dict[str, tuple[str, dict[str, Any], Turn]] = {
    "responses, a call": (
        "openai-responses",
        {
            **RESPONSES_HEAD,
            "output": [
                {"type": "reasoning", "id": "rs_1", "summary": []},
                {
                    "type": "function_call",
                    "id": "fc_1",
                    "call_id": "call_1",
                    "name": "add",
                    "arguments": '{"a":2,"b":2}',
                    "status": "completed",
                },
            ],
        },
        Turn(
            None,
            StopClass.TOOLS,
            "completed",
            tool_calls=(ToolCall("call_1", "add", '{"a":2,"b":2}'),),
            usage=Usage(60, 30, 12, 0, 0, *INCLUDED),
            response_id="resp_1",
        ),
    ),
    "responses, the answer": (
        "openai-responses",
        {
            **RESPONSES_HEAD,
            "output": [
                {
                    "type": "message",
                    "id": "msg_1",
                    "role": "assistant",
                    "status": "completed",
                    "phase": "final_answer",
                    "content": [{"type": "output_text", "annotations": [], "text": ANSWER}],
                }
            ],
        },
        Turn(ANSWER, StopClass.FINAL, "completed", usage=Usage(60, 30, 12, 0, 0, *INCLUDED), response_id="resp_1"),
    ),
    "anthropic, a call": (
        "anthropic",
        {
            **ANTHROPIC_HEAD,
            "stop_reason": "tool_use",
            "content": [
                {"type": "thinking", "thinking": "I should call add.", "signature": "c2ln"},
                {"type": "text", "text": "Calling add."},
                {"type": "tool_use", "id": "toolu_1", "name": "add", "input": {"a": 2, "b": 2}},
            ],
        },
        Turn(
            None,
            StopClass.TOOLS,
            "tool_use",
            commentary="Calling add.",
            tool_calls=(ToolCall("toolu_1", "add", '{"a": 2, "b": 2}'),),
            usage=ANTHROPIC_USAGE,
            response_id="msg_1",
        ),
    ),
    "anthropic, the answer": (
        "anthropic",
        {**ANTHROPIC_HEAD, "stop_reason": "end_turn", "content": [{"type": "text", "text": ANSWER}]},
        Turn(ANSWER, StopClass.FINAL, "end_turn", usage=ANTHROPIC_USAGE, response_id="msg_1"),
    ),
    "anthropic, a refusal": (
        "anthropic",
        {
            **ANTHROPIC_HEAD,
            "stop_reason": "refusal",
            "stop_details": {"type": "refusal", "category": "cyber", "explanation": None},
            "content": [],
        },
        Turn(None, StopClass.REFUSED, "refusal", {"Category": "cyber"}, usage=ANTHROPIC_USAGE, response_id="msg_1"),
    ),
    "google, two calls": (
        "google",
        {
            "candidates": [
                {
                    "index": 0,
                    "finishReason": "STOP",
                    "content": {
                        "role": "model",
                        "parts": [
                            {
                                "functionCall": {"id": "fc1", "name": "add", "args": {"a": 2, "b": 2}},
                                "thoughtSignature": "c2ln",
                            },
                            {"functionCall": {"id": "fc2", "name": "add", "args": {"a": 1, "b": 1}}},
                        ],
                    },
                }
            ],
            "usageMetadata": {
                "promptTokenCount": 40,
                "candidatesTokenCount": 10,
                "thoughtsTokenCount": 25,
                "cachedContentTokenCount": 0,
                "totalTokenCount": 75,
            },
            "modelVersion": "gemini-3.6-flash",
        },
        Turn(
            None,
            StopClass.TOOLS,
            "STOP",
            tool_calls=(ToolCall("fc1", "add", '{"a": 2, "b": 2}'), ToolCall("fc2", "add", '{"a": 1, "b": 1}')),
            usage=GOOGLE_USAGE,
        ),
    ),
    "google, a blocked prompt": (
        "google",
        {"promptFeedback": {"blockReason": "SAFETY"}, "usageMetadata": {"promptTokenCount": 9}},
        Turn(
            None,
            StopClass.FILTERED,
            "SAFETY",
            usage=Usage(9, None, None, None, None, "cache_tokens_included", "reasoning_tokens_separate"),
        ),
    ),
}


@pytest.mark.parametrize("name", EXAMPLES)
def test_example_replies(name: str) -> None:
    column, reply, turn = EXAMPLES[name]
    got = opened(column, WITH_TOOLS).accept(reply)
    assert replace(got, usage=got.usage.without_raw()) == turn
    assert got.usage.raw == (reply.get("usage") or reply["usageMetadata"],)


# --- Replies nobody would expect ---------------------------------------------------------------------------------


def dialect_of(column: str) -> Dialect:
    return load_dialect(choose_dialect(profile_of(vendor_of(column)), ClientConfig(), MODELS[column]))


def take(wire: WireConversation, reply: Mapping[str, Any]) -> None:
    """Accept a reply and read it; only errors of the provider family may come out."""
    try:
        turn = wire.accept(reply)
        wire.request()
        if turn.stop not in (StopClass.TOOLS, StopClass.CONTINUE):
            read_answer(turn, response_format="text")
    except ProviderError:
        pass


JSON = st.recursive(
    st.none() | st.booleans() | st.integers(-3, 3) | st.sampled_from(["", "x", "text", "STOP", "tool_use"]),
    lambda inner: (
        st.lists(inner, max_size=3)
        | st.dictionaries(st.sampled_from(["type", "text", "id", "index", "content", "x"]), inner, max_size=3)
    ),
    max_leaves=6,
)


def places(value: Any, path: tuple[Any, ...] = ()) -> list[tuple[Any, ...]]:
    """Return the path of every value in a reply."""
    found = [path]
    items = value.items() if isinstance(value, dict) else enumerate(value) if isinstance(value, list) else ()
    for key, item in items:
        found += places(item, (*path, key))
    return found


def changed(value: Any, path: tuple[Any, ...], new: Any) -> Any:
    """Return a reply with another value at a path."""
    if not path:
        return new
    copy = dict(value) if isinstance(value, dict) else list(value)
    copy[path[0]] = changed(copy[path[0]], path[1:], new)
    return copy


WHOLE = Said(wrapped(), (Call("c1"), Call("c2", "multiply", {})), reasoning="think", end="tools")


@pytest.mark.parametrize("column", ["openai", "openrouter", "mistralai", "openai-responses", "anthropic", "google"])
@settings(max_examples=150, deadline=None)
@given(data=st.data())
def test_replies_with_anything_anywhere_are_read_or_refused(column: str, data: st.DataObject) -> None:
    said = data.draw(st.sampled_from([WHOLE, Said(wrapped()), Said(end="refused"), Said("x", end="truncated")]))
    reply = FORMS[column].plain(said)
    path = data.draw(st.sampled_from(places(reply)[1:]))
    broken = changed(reply, path, data.draw(JSON))
    dialect_of(column).fault(broken)
    take(opened(column, WITH_TOOLS), broken)


@pytest.mark.parametrize("column", ["openai", "openrouter", "mistralai", "openai-responses", "anthropic", "google"])
@settings(max_examples=150, deadline=None)
@given(data=st.data())
def test_streams_with_anything_anywhere_are_put_together_or_refused(column: str, data: st.DataObject) -> None:
    texts = FORMS[column].events(WHOLE)
    found = [line.removeprefix("data: ").strip() for text in texts for line in text.splitlines() if "data: " in line]
    number = data.draw(st.integers(0, len(found) - 1))
    if found[number] != "[DONE]":
        value = json.loads(found[number])
        found[number] = json.dumps(changed(value, data.draw(st.sampled_from(places(value))), data.draw(JSON)))
    try:
        reply = dialect_of(column).assemble([SseEvent("", text) for text in found])
    except ProviderError:
        return
    take(opened(column, WITH_TOOLS), reply)
