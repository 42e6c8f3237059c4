"""Google's SDK as oracle: bodies after its snake case is undone, types, and what it makes of our fixtures."""

# ruff: noqa: E402 - the SDK may be missing

from __future__ import annotations

import base64
import json
from collections.abc import Mapping
from functools import partial
from typing import Any

import pytest

from tests.support.sdk import need_sdk

need_sdk("google.genai")

from google import genai
from google.genai import types

from tests.support.said import Call, Said, wrapped
from tests.support.sdk import asked, normalised, plain, snake_case
from tests.support.vendor_forms import FORMS, speak
from tests.support.wire_bodies import MODELS, opened, requests_of
from tests.support.wire_cases import WITH_TOOLS

pytestmark = pytest.mark.conformance

FORM = FORMS["google"]
SCENARIOS = list(requests_of("google"))


def config_of(body: Mapping[str, Any]) -> dict[str, Any]:
    """Return what the SDK calls ``config``: everything but the contents, in its own names."""
    config = {snake_case(key): value for key, value in body["generationConfig"].items()}
    for key in ("systemInstruction", "tools", "toolConfig"):
        if key in body:
            config[snake_case(key)] = body[key]
    return config


def call_sdk(body: Mapping[str, Any], stream: bool, url: str) -> Any:
    arguments = {"model": MODELS["google"], "contents": with_bytes(body["contents"]), "config": config_of(body)}
    with genai.Client(api_key="sk-1", http_options={"base_url": url, "api_version": "v1beta"}) as client:
        if stream:
            return list(client.models.generate_content_stream(**arguments))
        return client.models.generate_content(**arguments)


def with_bytes(contents: Any) -> Any:
    """Return contents with binary data as bytes, as the SDK's users give it."""
    copy = json.loads(json.dumps(contents))
    for part in (part for content in copy for part in content["parts"]):
        if "inlineData" in part:
            part["inlineData"]["data"] = base64.b64decode(part["inlineData"]["data"])
    return copy


def compared(body: Any) -> Any:
    out = normalised(body, camel=True)
    # The SDK writes a role where we write none; both mean the same.
    out.get("systemInstruction", {}).pop("role", None)
    return out


@pytest.mark.filterwarnings("ignore::DeprecationWarning")
@pytest.mark.parametrize("scenario", SCENARIOS)
def test_the_sdk_sends_what_we_send(scenario: str) -> None:
    ours = requests_of("google")[scenario]
    reply = speak(FORM, Said(wrapped()), stream=ours.stream)
    seen, _ = asked(reply, partial(call_sdk, plain(ours), ours.stream))
    assert seen.path == "/v1beta" + ours.path
    assert compared(seen.json) == compared(plain(ours))
    assert seen.headers["x-goog-api-key"] == "sk-1"


@pytest.mark.parametrize("scenario", SCENARIOS)
def test_our_bodies_are_of_the_sdks_types(scenario: str) -> None:
    body = plain(requests_of("google")[scenario])
    types.GenerateContentConfig.model_validate(config_of(body))
    for content in body["contents"]:
        types.Content.model_validate(content)


SAID = {
    "answer": Said(wrapped(), reasoning="think"),
    "calls": Said("Calling.", (Call("c1"), Call("c2", "multiply", {})), reasoning="think", end="tools"),
    "truncated": Said("half", end="truncated"),
    "filtered": Said(end="filtered"),
    "basic counters": Said("x", counts="basic"),
    "no counters": Said("x", counts="none"),
}


@pytest.mark.parametrize("name", SAID)
def test_our_fixtures_are_of_the_sdks_types(name: str) -> None:
    types.GenerateContentResponse.model_validate(FORM.plain(SAID[name]))
    for text in FORM.events(SAID[name]):
        types.GenerateContentResponse.model_validate(json.loads(text.removeprefix("data: ")))


@pytest.mark.filterwarnings("ignore::DeprecationWarning")
@pytest.mark.parametrize("stream", [False, True])
@pytest.mark.parametrize("name", SAID)
def test_the_sdk_reads_what_we_read(name: str, stream: bool) -> None:
    said = SAID[name]
    body = plain(opened("google", WITH_TOOLS).request())
    _, got = asked(speak(FORM, said, stream=stream), partial(call_sdk, body, stream))
    replies = got if stream else [got]
    turn = opened("google", WITH_TOOLS).accept(FORM.plain(said))
    parts = [part for reply in replies for part in (reply.parts or ())]
    text = "".join(part.text for part in parts if part.text and not part.thought)
    assert text == (turn.text or turn.commentary or "")
    calls = [
        (part.function_call.id, part.function_call.name, part.function_call.args)
        for part in parts
        if part.function_call
    ]
    assert calls == [(call.id, call.name, json.loads(call.arguments)) for call in turn.tool_calls]
    assert replies[-1].candidates[0].finish_reason.value == turn.stop_reason
    usage = replies[-1].usage_metadata
    if usage is not None:
        assert (usage.prompt_token_count, usage.candidates_token_count) == (40, 20)
        assert usage.thoughts_token_count == turn.usage.reasoning_tokens
        assert usage.cached_content_token_count == turn.usage.cache_read_tokens


def test_unknown_keys_are_refused_by_the_sdks_types() -> None:
    with pytest.raises(ValueError, match="Extra inputs"):
        types.GenerateContentConfig.model_validate({"response_schema_json": {}})
