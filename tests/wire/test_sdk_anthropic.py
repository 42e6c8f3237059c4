"""Anthropic's SDK as oracle: bodies, headers, types, and what it makes of our fixtures."""

# ruff: noqa: E402 - the SDK may be missing

from __future__ import annotations

import json
from collections.abc import Mapping
from functools import partial
from typing import Any

import pytest

from tests.support.sdk import need_sdk

need_sdk("anthropic")

import anthropic
from anthropic.lib._parse._transform import transform_schema
from anthropic.types import Message, RawMessageStreamEvent
from anthropic.types.message_create_params import MessageCreateParamsNonStreaming, MessageCreateParamsStreaming
from pydantic import TypeAdapter

from pytest_mindtrial.core.secret import Secret
from pytest_mindtrial.providers.base import ModelClient, Turn
from pytest_mindtrial.providers.profiles import profile_of
from pytest_mindtrial.providers.schema_adaptation import for_anthropic
from pytest_mindtrial.providers.structure import wrapper_schema
from pytest_mindtrial.providers.transport import auth_headers
from tests.support.loopback import Loopback
from tests.support.said import Call, Said, wrapped
from tests.support.sdk import asked, check_type, normalised, plain, strict_adapter
from tests.support.vendor_forms import FORMS, speak
from tests.support.wire_bodies import opened, requests_of
from tests.support.wire_cases import PLAIN, WITH_TOOLS
from tests.wire.conftest import Talk

pytestmark = pytest.mark.conformance

FORM = FORMS["anthropic"]
EXTRAS = {"temperature", "top_p", "top_k"}
"""Gone from this SDK and from the newest API version; the version we send has them."""

STRICT = {False: strict_adapter(MessageCreateParamsNonStreaming), True: strict_adapter(MessageCreateParamsStreaming)}
EVENT: TypeAdapter[Any] = TypeAdapter(RawMessageStreamEvent)
SCENARIOS = list(requests_of("anthropic"))


def call_sdk(body: Mapping[str, Any], url: str) -> Any:
    extras = {key: value for key, value in body.items() if key in EXTRAS}
    arguments = {key: value for key, value in body.items() if key not in extras}
    with anthropic.Anthropic(api_key="sk-1", base_url=url, max_retries=0) as client:
        result = client.messages.create(**arguments, extra_body=extras or None)
        return list(result) if body.get("stream") else result


@pytest.mark.parametrize("scenario", SCENARIOS)
def test_the_sdk_sends_what_we_send(scenario: str) -> None:
    ours = requests_of("anthropic")[scenario]
    seen, _ = asked(speak(FORM, Said(wrapped()), stream=ours.stream), partial(call_sdk, plain(ours)))
    assert seen.path == ours.path
    assert normalised(seen.json) == normalised(plain(ours))


@pytest.mark.parametrize("scenario", SCENARIOS)
def test_our_bodies_are_of_the_sdks_types(scenario: str) -> None:
    ours = requests_of("anthropic")[scenario]
    check_type(STRICT[ours.stream], {key: value for key, value in plain(ours).items() if key not in EXTRAS})


def test_headers_differ_as_documented() -> None:
    seen, _ = asked(
        speak(FORM, Said("x"), stream=False), partial(call_sdk, {"model": "m", "max_tokens": 1, "messages": []})
    )
    assert seen.headers["authorization"] == "Bearer sk-1"
    assert seen.headers["anthropic-version"] == "2026-10-21"
    profile = profile_of("anthropic")
    assert profile.headers == {"anthropic-version": "2023-06-01"}
    assert auth_headers(profile.auth, Secret("sk-1")) == {"x-api-key": "sk-1"}


def test_the_sdk_refuses_the_long_silent_requests_that_we_stream() -> None:
    body = {"model": "m", "messages": [{"role": "user", "content": "x"}]}
    client = anthropic.Anthropic(api_key="sk-1", base_url="http://127.0.0.1:9", max_retries=0)
    with pytest.raises(ValueError, match="Streaming"):
        client.messages.create(**body, max_tokens=21_334)
    asked(speak(FORM, Said("x"), stream=False), partial(call_sdk, {**body, "max_tokens": 21_333}))


SAID = {
    "answer": Said(wrapped(), reasoning="think"),
    "calls": Said("Calling.", (Call("c1"), Call("c2", "multiply", {})), reasoning="think", end="tools"),
    "truncated": Said("half", end="truncated"),
    "refused": Said(end="refused"),
    "paused": Said("wait", end="continue"),
    "basic counters": Said("x", counts="basic"),
}


def events(said: Said) -> list[Any]:
    lines = [line for text in FORM.events(said) for line in text.splitlines()]
    return [json.loads(line.removeprefix("data: ")) for line in lines if line.startswith("data: ")]


@pytest.mark.parametrize("name", SAID)
def test_our_fixtures_are_of_the_sdks_types(name: str) -> None:
    Message.model_validate(FORM.plain(SAID[name]))
    for event in events(SAID[name]):
        if event["type"] != "ping":
            EVENT.validate_python(event)


@pytest.mark.parametrize("name", SAID)
def test_the_sdk_reads_streams_as_we_do(name: str) -> None:
    said = SAID[name]

    def follow(url: str) -> Message:
        message = {"role": "user", "content": "x"}
        with (
            anthropic.Anthropic(api_key="sk-1", base_url=url, max_retries=0) as client,
            client.messages.stream(model="m", max_tokens=100, messages=[message]) as stream,
        ):
            return stream.get_final_message()

    _, message = asked(speak(FORM, said, stream=True), follow)
    turn = opened("anthropic", WITH_TOOLS).accept(FORM.plain(said))
    assert message.stop_reason == turn.stop_reason
    texts = [block.text for block in message.content if block.type == "text"]
    assert "".join(texts) == (turn.text or turn.commentary or "")
    calls = [(block.id, block.name, block.input) for block in message.content if block.type == "tool_use"]
    assert calls == [(call.id, call.name, json.loads(call.arguments)) for call in turn.tool_calls]
    assert (message.usage.input_tokens, message.usage.output_tokens) == (40, 20)
    details = message.usage.output_tokens_details
    assert (details and details.thinking_tokens) == turn.usage.reasoning_tokens


SCHEMAS: dict[str, Any] = {
    "bounds": {"type": "integer", "minimum": 1, "maximum": 9, "description": "Count"},
    "object": {"type": "object", "properties": {"a": {"type": "string", "format": "date"}}, "required": ["a"]},
    "variants": {"oneOf": [{"type": "integer"}, {"type": "null"}]},
    "list": {"type": "array", "items": {"type": "object", "properties": {}}, "minItems": 1},
    "definitions": {"$ref": "#/$defs/a", "$defs": {"a": {"type": "object", "properties": {"x": {"type": "null"}}}}},
    "wrapper": wrapper_schema("text"),
}


@pytest.mark.parametrize("name", SCHEMAS)
def test_schemas_are_adapted_as_the_sdk_does(name: str) -> None:
    assert for_anthropic(SCHEMAS[name]) == transform_schema(SCHEMAS[name])


def test_the_version_and_the_credentials_can_be_those_of_the_sdk(server: Loopback, talk: Talk) -> None:
    server.script(speak(FORM, Said(wrapped()), stream=True))

    async def work(client: ModelClient) -> Turn:
        return await client.start(PLAIN).next_turn()

    headers = {"anthropic-version": "2026-10-21", "Authorization": "Bearer sk-1"}
    assert talk("anthropic", work, key=None, headers=headers).text == wrapped()
    (seen,) = server.requests
    assert seen.headers["anthropic-version"] == "2026-10-21"
    assert seen.headers["authorization"] == "Bearer sk-1"
    assert "x-api-key" not in seen.headers
