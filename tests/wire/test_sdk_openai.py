"""OpenAI's SDK as oracle: Chat Completions, Responses, and the four vendors that document this SDK as their client."""

# ruff: noqa: E402 - the SDK may be missing

from __future__ import annotations

import json
from collections.abc import Iterable, Mapping
from functools import partial
from typing import Any

import pytest

from tests.support.sdk import need_sdk

need_sdk("openai")

import openai
from openai.types.chat import ChatCompletion, ChatCompletionChunk
from openai.types.chat.completion_create_params import (
    CompletionCreateParamsNonStreaming,
    CompletionCreateParamsStreaming,
)
from openai.types.responses import Response, ResponseStreamEvent
from openai.types.responses.response_create_params import (
    ResponseCreateParamsNonStreaming,
    ResponseCreateParamsStreaming,
)
from pydantic import TypeAdapter

from tests.support.loopback import Received
from tests.support.said import Call, Said, wrapped
from tests.support.sdk import asked, check_type, normalised, plain, strict_adapter
from tests.support.vendor_forms import FORMS, speak
from tests.support.wire_bodies import MODELS, opened, requests_of
from tests.support.wire_cases import WITH_TOOLS

pytestmark = pytest.mark.conformance

CHAT = ("openai", "deepseek", "xai", "alibaba", "moonshotai")
COLUMNS = (*CHAT, "openai-responses")
EXTRAS = {
    "deepseek": {"thinking"},
    "alibaba": {"enable_thinking", "preserve_thinking", "thinking_budget"},
    "moonshotai": {"thinking"},
}
"""Fields that the vendors document as ``extra_body`` of this SDK."""

STRICT = {
    ("chat", False): strict_adapter(CompletionCreateParamsNonStreaming),
    ("chat", True): strict_adapter(CompletionCreateParamsStreaming),
    ("responses", False): strict_adapter(ResponseCreateParamsNonStreaming),
    ("responses", True): strict_adapter(ResponseCreateParamsStreaming),
}
EVENT = TypeAdapter(ResponseStreamEvent)
CASES = [(column, name) for column in COLUMNS for name in requests_of(column)]


def client(url: str) -> openai.OpenAI:
    return openai.OpenAI(api_key="sk-1", base_url=url, max_retries=0)


def call_sdk(column: str, body: Mapping[str, Any], url: str) -> Any:
    """Make the equivalent call; every field is an argument of the SDK, or one of the vendor's documented extras."""
    extras = {key: value for key, value in body.items() if key in EXTRAS.get(column, ())}
    arguments = {key: value for key, value in body.items() if key not in extras}
    with client(url) as api:
        create: Any = api.responses.create if column == "openai-responses" else api.chat.completions.create
        result = create(**arguments, extra_body=extras or None)
        return list(result) if body.get("stream") else result


@pytest.mark.parametrize("column, scenario", CASES)
def test_the_sdk_sends_what_we_send(column: str, scenario: str) -> None:
    ours = requests_of(column)[scenario]
    reply = speak(FORMS[column], Said(wrapped()), stream=ours.stream)
    seen, _ = asked(reply, partial(call_sdk, column, plain(ours)))
    assert seen.path == ours.path
    assert normalised(seen.json) == normalised(plain(ours))
    assert seen.headers["authorization"] == "Bearer sk-1"


def without_reasoning(body: dict[str, Any]) -> dict[str, Any]:
    """Drop the key that the vendors add to the assistant messages of this SDK's types."""
    for message in body.get("messages", ()):
        if message["role"] == "assistant":
            message.pop("reasoning_content", None)
    return body


@pytest.mark.parametrize("column, scenario", CASES)
def test_our_bodies_are_of_the_sdks_types(column: str, scenario: str) -> None:
    ours = requests_of(column)[scenario]
    api = "responses" if column == "openai-responses" else "chat"
    body = {key: value for key, value in plain(ours).items() if key not in EXTRAS.get(column, ())}
    check_type(STRICT[api, ours.stream], without_reasoning(body))


SAID = {
    "answer": Said(wrapped(), reasoning="think"),
    "calls": Said(None, (Call("c1"), Call("c2", "multiply", {})), reasoning="think", end="tools"),
    "truncated": Said("half", end="truncated"),
    "filtered": Said(end="filtered"),
    "refused": Said(end="refused"),
    "basic counters": Said("x", counts="basic"),
    "no counters": Said("x", counts="none"),
}


@pytest.mark.parametrize(
    "column, name",
    # The details of Responses counters are obligatory; only servers other than OpenAI's leave them out.
    [(column, name) for column in COLUMNS for name in SAID if (column, name) != ("openai-responses", "basic counters")],
)
def test_our_fixtures_are_of_the_sdks_types(column: str, name: str) -> None:
    form, said = FORMS[column], SAID[name]
    kind = Response if column == "openai-responses" else ChatCompletion
    kind.model_validate(form.plain(said))
    for event in events(form.events(said)):
        EVENT.validate_python(event) if kind is Response else ChatCompletionChunk.model_validate(event)


def events(texts: Iterable[str]) -> list[Any]:
    data = [line.removeprefix("data: ") for text in texts for line in text.splitlines() if line.startswith("data: ")]
    return [json.loads(item) for item in data if item != "[DONE]"]


@pytest.mark.parametrize("stream", [False, True])
@pytest.mark.parametrize("name", SAID)
@pytest.mark.parametrize("column", COLUMNS)
def test_the_sdk_reads_what_we_read(column: str, name: str, stream: bool) -> None:
    form, said = FORMS[column], SAID[name]
    body = plain(opened(column, WITH_TOOLS, {"stream": stream}).request())
    _, got = asked(speak(form, said, stream=stream), partial(call_sdk, column, body))
    turn = opened(column, WITH_TOOLS).accept(form.plain(said))
    text, calls, counters = (responses_facts if column == "openai-responses" else chat_facts)(got, stream=stream)
    assert text == (turn.text or turn.commentary)
    if turn.tool_calls:
        assert calls == [(call.id, call.name, call.arguments) for call in turn.tool_calls]
    if counters is not None:
        assert counters[:2] == (turn.usage.input_tokens, turn.usage.output_tokens)
        assert counters[2] in (turn.usage.reasoning_tokens, None)


def chat_facts(got: Any, *, stream: bool) -> tuple[str, list[tuple[str, str, str]], Any]:
    if not stream:
        message, usage = got.choices[0].message, got.usage
        calls = [(call.id, call.function.name, call.function.arguments) for call in message.tool_calls or ()]
        return message.content or "", calls, chat_counters(usage)
    text, found, usage = "", {}, None
    for chunk in got:
        usage = chunk.usage or usage
        for choice in chunk.choices:
            text += choice.delta.content or ""
            for call in choice.delta.tool_calls or ():
                known = found.setdefault(call.index, ["", "", ""])
                known[0] += call.id or ""
                known[1] += call.function.name or ""
                known[2] += call.function.arguments or ""
    return text, [tuple(found[index]) for index in sorted(found)], chat_counters(usage)


def chat_counters(usage: Any) -> Any:
    details = getattr(usage, "completion_tokens_details", None)
    return usage and (usage.prompt_tokens, usage.completion_tokens, details and details.reasoning_tokens)


def responses_facts(got: Any, *, stream: bool) -> tuple[str, list[tuple[str, str, str]], Any]:
    response = got[-1].response if stream else got
    calls = [(item.call_id, item.name, item.arguments) for item in response.output if item.type == "function_call"]
    usage = response.usage
    details = usage and usage.output_tokens_details
    return (
        response.output_text,
        calls,
        usage and (usage.input_tokens, usage.output_tokens, details and details.reasoning_tokens),
    )


def test_the_sdk_keeps_reasoning_when_its_own_message_is_sent_back() -> None:
    form = FORMS["deepseek"]
    said = Said("", (Call("c1"),), reasoning="think", end="tools")
    wire = opened("deepseek", WITH_TOOLS)
    body = plain(wire.request())
    _, got = asked(speak(form, said, stream=False), partial(call_sdk, "deepseek", body))

    def again(url: str) -> Any:
        messages = [*body["messages"], got.choices[0].message]
        with client(url) as api:
            return api.chat.completions.create(**{**body, "messages": messages})

    seen: Received
    seen, _ = asked(speak(form, Said("x"), stream=False), again)
    wire.accept(form.plain(said))
    assert seen.json["messages"][-1] == plain(wire.request())["messages"][-1]


def test_models_are_those_of_the_matrix() -> None:
    assert set(COLUMNS) <= set(MODELS)
