"""Replies of the chat dialect: every example of the contract, and streams that must give the same turn."""

from __future__ import annotations

import json
from collections.abc import Mapping
from dataclasses import replace
from typing import Any

import pytest

from pytest_mindtrial.core.values import StopClass, ToolCall, Usage
from pytest_mindtrial.providers.base import Prompt, Turn
from pytest_mindtrial.providers.dialects.openai_chat import DIALECT
from pytest_mindtrial.providers.profiles import profile_of
from pytest_mindtrial.providers.sse import SseEvent
from pytest_mindtrial.suite.model import Run

PROMPT = Prompt("sum", "What is 2+2?", "one number")
ANSWER = '{"title":"Sum","explanation":"2+2","final_answer":"4"}'
IN, OUT = "cache_tokens_included", "reasoning_tokens_included"


def turn_of(vendor: str, reply: Mapping[str, Any], *, own: bool = True) -> Turn:
    conversation = DIALECT.open(profile_of(vendor), Run("r", vendor, "m"), PROMPT, mode="schema", is_vendor_host=own)
    return conversation.accept(reply)


def reply_of(choice: Mapping[str, Any], usage: Any = None, identity: str = "1") -> dict[str, Any]:
    return {
        "id": identity,
        "object": "chat.completion",
        "created": 1,
        "choices": [{"index": 0, **choice}],
        "usage": usage,
    }


def call(identity: Any, name: str, arguments: Any) -> dict[str, Any]:
    return {"id": identity, "type": "function", "function": {"name": name, "arguments": arguments}}


EXAMPLES: dict[str, tuple[dict[str, Any], Turn]] = {
    "openai": (
        reply_of(
            {"finish_reason": "stop", "message": {"role": "assistant", "refusal": None, "content": ANSWER}},
            {
                "prompt_tokens": 40,
                "completion_tokens": 18,
                "total_tokens": 58,
                "prompt_tokens_details": {"cached_tokens": 0},
                "completion_tokens_details": {"reasoning_tokens": 0},
            },
        ),
        Turn(ANSWER, StopClass.FINAL, "stop", usage=Usage(40, 18, 0, None, 0, IN, OUT), response_id="1"),
    ),
    "deepseek": (
        reply_of(
            {
                "finish_reason": "stop",
                "message": {"role": "assistant", "reasoning_content": "2 and 2 make 4", "content": ANSWER},
            },
            {
                "prompt_tokens": 90,
                "completion_tokens": 30,
                "total_tokens": 120,
                "prompt_cache_hit_tokens": 64,
                "prompt_cache_miss_tokens": 26,
                "completion_tokens_details": {"reasoning_tokens": 10},
            },
        ),
        Turn(ANSWER, StopClass.FINAL, "stop", usage=Usage(90, 30, 10, None, 64, IN, OUT), response_id="1"),
    ),
    "mistralai": (
        reply_of(
            {
                "finish_reason": "tool_calls",
                "message": {
                    "role": "assistant",
                    "content": [
                        {"type": "thinking", "thinking": [{"type": "text", "text": "count first"}]},
                        {"type": "text", "text": ""},
                    ],
                    "tool_calls": [{**call("D681PevKs", "pages", '{"file": "doc"}'), "index": 0}],
                },
            },
            {
                "prompt_tokens": 50,
                "completion_tokens": 20,
                "total_tokens": 70,
                "prompt_tokens_details": {"cached_tokens": 0},
            },
        ),
        Turn(
            None,
            StopClass.TOOLS,
            "tool_calls",
            tool_calls=(ToolCall("D681PevKs", "pages", '{"file": "doc"}'),),
            usage=Usage(50, 20, None, None, 0, IN, OUT),
            response_id="1",
        ),
    ),
    "xai": (
        reply_of(
            {
                "finish_reason": "stop",
                "message": {"role": "assistant", "refusal": None, "reasoning_content": "easy", "content": ANSWER},
            },
            {
                "prompt_tokens": 40,
                "completion_tokens": 20,
                "total_tokens": 75,
                "prompt_tokens_details": {"cached_tokens": 8, "text_tokens": 40},
                "completion_tokens_details": {"reasoning_tokens": 15},
            },
        ),
        Turn(
            ANSWER,
            StopClass.FINAL,
            "stop",
            usage=Usage(40, 20, 15, None, 8, IN, "reasoning_tokens_separate"),
            response_id="1",
        ),
    ),
    "moonshotai": (
        reply_of(
            {
                "finish_reason": "tool_calls",
                "message": {
                    "role": "assistant",
                    "content": "",
                    "reasoning_content": "call add",
                    "tool_calls": [{"index": 0, **call("add:0", "add", '{"a":2,"b":2}')}],
                },
            },
            {"prompt_tokens": 60, "completion_tokens": 25, "total_tokens": 85, "cached_tokens": 32},
        ),
        Turn(
            None,
            StopClass.TOOLS,
            "tool_calls",
            tool_calls=(ToolCall("add:0", "add", '{"a":2,"b":2}'),),
            usage=Usage(60, 25, None, None, 32, IN, OUT),
            response_id="1",
        ),
    ),
    "openrouter": (
        reply_of(
            {
                "finish_reason": "stop",
                "native_finish_reason": "stop",
                "message": {
                    "role": "assistant",
                    "content": None,
                    "reasoning": "add",
                    "reasoning_details": [
                        {"type": "reasoning.text", "text": "add", "format": "unknown", "index": 0},
                        {"type": "reasoning.encrypted", "data": "b3BhcXVl", "id": "rs_1", "index": 1},
                    ],
                    "tool_calls": [call("call_1", "add", '{"a":2,"b":2}')],
                },
            },
            {
                "prompt_tokens": 50,
                "completion_tokens": 25,
                "total_tokens": 75,
                "cost": 0.0003,
                "prompt_tokens_details": {"cached_tokens": 0},
                "completion_tokens_details": {"reasoning_tokens": 5},
            },
        ),
        Turn(
            None,
            StopClass.TOOLS,
            "stop",
            tool_calls=(ToolCall("call_1", "add", '{"a":2,"b":2}'),),
            usage=Usage(50, 25, 5, None, 0, IN, OUT),
            response_id="1",
        ),
    ),
}


def without_raw(turn: Turn) -> Turn:
    return replace(turn, usage=turn.usage.without_raw())


@pytest.mark.parametrize("vendor", EXAMPLES)
def test_example_replies(vendor: str) -> None:
    reply, turn = EXAMPLES[vendor]
    got = turn_of(vendor, reply)
    assert without_raw(got) == turn
    assert got.usage.raw == (reply["usage"],)


# --- Streams -----------------------------------------------------------------------------------------------------

ALIBABA_STREAM = [
    {"delta": {"role": "assistant", "content": None, "reasoning_content": "add"}, "finish_reason": None},
    {"delta": {"content": ANSWER}, "finish_reason": None},
    {"delta": {}, "finish_reason": "stop"},
]
ALIBABA_USAGE = {
    "prompt_tokens": 90,
    "completion_tokens": 30,
    "total_tokens": 120,
    "prompt_tokens_details": {"cached_tokens": 0, "cache_creation_input_tokens": 0},
    "completion_tokens_details": {"reasoning_tokens": 9},
}


def chunks(deltas: list[dict[str, Any]], usage: Any) -> list[dict[str, Any]]:
    head = {"id": "1", "object": "chat.completion.chunk", "created": 1, "model": "m"}
    out = [{**head, "choices": [{"index": 0, **delta}], "usage": None} for delta in deltas]
    return [*out, {**head, "choices": [], "usage": usage}] if usage else out


def stream(*items: Any, done: bool = True) -> list[SseEvent]:
    events = [SseEvent("", item if isinstance(item, str) else json.dumps(item)) for item in items]
    return [*events, SseEvent("", "[DONE]")] if done else events


def test_alibaba_example_stream() -> None:
    reply = DIALECT.assemble(stream(*chunks(ALIBABA_STREAM, ALIBABA_USAGE)))
    assert reply["choices"][0]["message"] == {"role": "assistant", "content": ANSWER, "reasoning_content": "add"}
    expected = Turn(ANSWER, StopClass.FINAL, "stop", usage=Usage(90, 30, 9, 0, 0, IN, OUT), response_id="1")
    assert without_raw(turn_of("alibaba", reply)) == expected


def as_deltas(reply: Mapping[str, Any], size: int) -> list[dict[str, Any]]:
    """Cut a plain reply into the deltas of a stream, texts into pieces of ``size`` characters."""
    choice = dict(reply["choices"][0])
    message = dict(choice.pop("message"))
    choice.pop("index")
    reason = choice.pop("finish_reason")
    deltas: list[dict[str, Any]] = [{"role": "assistant", "content": message.pop("content") and ""}]
    message.pop("role")
    for number, tool_call in enumerate(message.pop("tool_calls", [])):
        function = tool_call["function"]
        begin = {**tool_call, "index": number, "function": {"name": function["name"], "arguments": ""}}
        deltas.append({"tool_calls": [begin]})
        for piece in pieces(function["arguments"], size):
            deltas.append({"tool_calls": [{"index": number, "function": {"arguments": piece}}]})
    for detail in message.pop("reasoning_details", []):
        deltas.append({"reasoning_details": [detail]})
    for key, text in {**message, "content": reply["choices"][0]["message"]["content"]}.items():
        deltas += [{key: piece} for piece in (pieces(text, size) if isinstance(text, str) else [text])]
    listed = [{"delta": delta, "finish_reason": None} for delta in deltas]
    return [*listed, {"delta": {}, "finish_reason": reason, **choice}]


def pieces(text: str, size: int) -> list[str]:
    return [text[start : start + size] for start in range(0, len(text), size)]


@pytest.mark.parametrize("size", [1, 7, 1000])
@pytest.mark.parametrize("vendor", EXAMPLES)
def test_streams_give_the_same_turn_and_replay_as_plain_replies(vendor: str, size: int) -> None:
    reply, _ = EXAMPLES[vendor]
    assembled = DIALECT.assemble(stream(*chunks(as_deltas(reply, size), reply["usage"])))
    assert turn_of(vendor, assembled) == turn_of(vendor, reply)

    def replay(value: Mapping[str, Any]) -> Any:
        run = Run("r", vendor, "m")
        conversation = DIALECT.open(profile_of(vendor), run, PROMPT, mode="schema", is_vendor_host=True)
        conversation.accept(value)
        last = dict(conversation.request().body["messages"][-1])
        for tool_call in last.get("tool_calls", []):
            tool_call.pop("index", None)
        return {key: item for key, item in last.items() if item is not None}

    assert replay(assembled) == replay(json.loads(json.dumps(reply)))
