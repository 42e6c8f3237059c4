"""OpenRouter's SDK as oracle: bodies, types, server tools, and what it makes of our fixtures."""

# ruff: noqa: E402 - the SDK may be missing

from __future__ import annotations

import json
from collections.abc import Mapping
from functools import partial
from typing import Any

import pytest

from tests.support.sdk import need_sdk

need_sdk("openrouter")

from openrouter import OpenRouter
from openrouter.components import ChatRequest, ChatResult, ChatStreamChunk

from tests.support.said import Call, Said, wrapped
from tests.support.sdk import asked, normalised, plain
from tests.support.vendor_forms import FORMS, speak
from tests.support.wire_bodies import opened, requests_of
from tests.support.wire_cases import WITH_TOOLS

pytestmark = pytest.mark.conformance

FORM = FORMS["openrouter"]
UNKNOWN = {"verbosity"}
"""Documented by the service, absent from this version of its SDK."""

SCENARIOS = list(requests_of("openrouter"))


def call_sdk(body: Mapping[str, Any], url: str) -> Any:
    with OpenRouter(api_key="sk-1", server_url=url) as client:
        result = client.chat.send(**body)
        return list(result) if body.get("stream") else result


@pytest.mark.parametrize("scenario", SCENARIOS)
def test_the_sdk_sends_what_we_send(scenario: str) -> None:
    ours = requests_of("openrouter")[scenario]
    body = {key: value for key, value in plain(ours).items() if key not in UNKNOWN}
    seen, _ = asked(speak(FORM, Said(wrapped()), stream=ours.stream), partial(call_sdk, body))
    assert seen.path == ours.path
    assert normalised(seen.json) == normalised(body)
    assert seen.headers["authorization"] == "Bearer sk-1"


@pytest.mark.parametrize("scenario", SCENARIOS)
def test_our_bodies_are_of_the_sdks_types(scenario: str) -> None:
    ChatRequest.model_validate(plain(requests_of("openrouter")[scenario]))


SAID = {
    "answer": Said(wrapped(), reasoning="think"),
    "calls": Said(None, (Call("c1"), Call("c2", "multiply", {})), reasoning="think", end="tools"),
    "truncated": Said("half", end="truncated"),
    "basic counters": Said("x", counts="basic"),
    "no counters": Said("x", counts="none"),
}


@pytest.mark.parametrize("name", SAID)
def test_our_fixtures_are_of_the_sdks_types(name: str) -> None:
    ChatResult.model_validate(FORM.plain(SAID[name]))
    for text in FORM.events(SAID[name]):
        if "[DONE]" not in text:
            ChatStreamChunk.model_validate(json.loads(text.removeprefix("data: ")))


@pytest.mark.parametrize("name", SAID)
def test_the_sdk_reads_what_we_read(name: str) -> None:
    said = SAID[name]
    wire = opened("openrouter", WITH_TOOLS)
    _, got = asked(speak(FORM, said, stream=False), partial(call_sdk, plain(wire.request())))
    turn = wire.accept(FORM.plain(said))
    message = got.choices[0].message
    assert (message.content or "") == (turn.text or "")
    calls = [(call.id, call.function.name, call.function.arguments) for call in message.tool_calls or ()]
    assert calls == [(call.id, call.name, call.arguments) for call in turn.tool_calls]
