"""Mistral's SDK as oracle: bodies without its written-out defaults, types, and what it makes of our fixtures."""

# ruff: noqa: E402 - the SDK may be missing

from __future__ import annotations

import json
from collections.abc import Mapping
from functools import partial
from typing import Any

import pytest

from tests.support.sdk import need_sdk

need_sdk("mistralai.client")

from mistralai.client import Mistral
from mistralai.client.models import ChatCompletionRequest, ChatCompletionResponse, CompletionChunk

from tests.support.said import Call, Said, wrapped
from tests.support.sdk import DEFAULTS, asked, normalised, plain
from tests.support.vendor_forms import FORMS, speak
from tests.support.wire_bodies import opened, requests_of
from tests.support.wire_cases import WITH_TOOLS

pytestmark = pytest.mark.conformance

FORM = FORMS["mistralai"]
WRITTEN_OUT = {**DEFAULTS, "index": 0}
SCENARIOS = [name for name, call in requests_of("mistralai").items() if not call.stream]


def call_sdk(body: Mapping[str, Any], url: str) -> Any:
    with Mistral(api_key="sk-1", server_url=url) as client:
        return client.chat.complete(**body)


@pytest.mark.parametrize("scenario", SCENARIOS)
def test_the_sdk_sends_what_we_send(scenario: str) -> None:
    ours = requests_of("mistralai")[scenario]
    seen, _ = asked(speak(FORM, Said(wrapped()), stream=False), partial(call_sdk, plain(ours)))
    assert seen.path == "/v1" + ours.path
    assert normalised(seen.json, defaults=WRITTEN_OUT) == normalised(plain(ours), defaults=WRITTEN_OUT)
    assert seen.headers["authorization"] == "Bearer sk-1"


@pytest.mark.parametrize("scenario", SCENARIOS)
def test_our_bodies_are_of_the_sdks_types(scenario: str) -> None:
    ChatCompletionRequest.model_validate(plain(requests_of("mistralai")[scenario]))


SAID = {
    "answer": Said(wrapped(), reasoning="think"),
    "calls": Said(None, (Call("callid001"), Call("callid002", "multiply", {})), reasoning="think", end="tools"),
    "truncated": Said("half", end="truncated"),
    "no reasoning": Said("x"),
}


@pytest.mark.parametrize("name", SAID)
def test_our_fixtures_are_of_the_sdks_types(name: str) -> None:
    ChatCompletionResponse.model_validate(FORM.plain(SAID[name]))
    for text in FORM.events(SAID[name]):
        if "[DONE]" not in text:
            CompletionChunk.model_validate(json.loads(text.removeprefix("data: ")))


@pytest.mark.parametrize("name", SAID)
def test_the_sdk_reads_what_we_read(name: str) -> None:
    said = SAID[name]
    wire = opened("mistralai", WITH_TOOLS)
    _, got = asked(speak(FORM, said, stream=False), partial(call_sdk, plain(wire.request())))
    turn = wire.accept(FORM.plain(said))
    message = got.choices[0].message
    content = message.content if isinstance(message.content, list) else [message.content]
    texts = [
        part if isinstance(part, str) else part.text for part in content if getattr(part, "type", "text") == "text"
    ]
    assert "".join(text for text in texts if isinstance(text, str)) == (turn.text or "")
    calls = [(call.id, call.function.name, call.function.arguments) for call in message.tool_calls or ()]
    assert calls == [(call.id, call.name, call.arguments) for call in turn.tool_calls]
    assert (got.usage.prompt_tokens, got.usage.completion_tokens) == (40, 20)
