"""Bodies of the Responses, Anthropic and Google dialects against committed snapshots in ``tests/golden/wire``.

Run with ``MT_UPDATE_GOLDEN=1`` to rewrite the snapshots, then read the diff. In snapshots the wrapper schema and the
sentence that describes it are abbreviated; `test_the_wrapper_is_sent_whole` looks at them. The examples of the contract
are written out below.
"""

from __future__ import annotations

import json
import os
from collections.abc import Mapping
from dataclasses import replace
from pathlib import Path
from typing import Any

import pytest

from pytest_mindtrial.core.values import ToolCall, ToolResult
from pytest_mindtrial.providers.base import Prompt, ToolDefinition
from pytest_mindtrial.providers.dialects.base import HttpCall, WireConversation
from pytest_mindtrial.providers.modes import output_mode
from pytest_mindtrial.providers.profiles import DialectName, profile_of
from pytest_mindtrial.providers.registry import load_dialect
from pytest_mindtrial.providers.schema_adaptation import for_anthropic, for_google
from pytest_mindtrial.providers.structure import SUBMIT_INSTRUCTION, wrapper_schema
from pytest_mindtrial.suite.model import Run
from tests.support.said import Call, Said
from tests.support.vendor_forms import FORMS
from tests.support.wire_cases import (
    ADD,
    ANSWER_SCHEMA,
    LOCAL_ONLY,
    PDF,
    PICTURE,
    PLAIN,
    TEXT_FILE,
    WITH_TOOLS,
    ends,
    readable,
)

GOLDEN = Path(__file__).parents[1] / "golden" / "wire"
DIALECTS: dict[DialectName, tuple[str, str]] = {
    "responses": ("openai", "gpt-5.2"),
    "anthropic": ("anthropic", "claude-opus-5"),
    "google": ("google", "gemini-3.6-flash"),
}
COLUMNS = {"responses": "openai-responses"}


def opened(
    dialect: DialectName,
    prompt: Prompt,
    parameters: Mapping[str, Any] | None = None,
    *,
    off: bool = False,
    own: bool = True,
) -> WireConversation:
    vendor, model = DIALECTS[dialect]
    profile = profile_of(vendor)
    run = Run("r", vendor, model, parameters or {}, disable_structured_output=off)
    mode = output_mode(profile, run, has_tools=bool(prompt.tools))
    return load_dialect(dialect).open(profile, run, prompt, mode=mode, is_vendor_host=own)


def seen(call: HttpCall) -> dict[str, Any]:
    return {"path": call.path, "stream": call.stream, "body": dict(call.body)}


def body(*args: Any, **settings: Any) -> Any:
    return opened(*args, **settings).request().body


def tool_conversation(dialect: DialectName, parameters: Mapping[str, Any]) -> list[Any]:
    """Two parallel calls (one of them fails), then a call with reasoning, then feedback after an answer."""
    form = FORMS[COLUMNS.get(dialect, dialect)]
    wire = opened(dialect, WITH_TOOLS, parameters)
    calls = (Call("c1"), Call("c2", "nothing"))
    turn = wire.accept(form.plain(Said("I will add.", calls, reasoning="first think", end="tools")))
    failed = ToolResult(turn.tool_calls[1], "Tool error: there is no tool named nothing.", is_error=True)
    wire.add_tool_results([ToolResult(turn.tool_calls[0], "4"), failed])
    second = wire.request()
    turn = wire.accept({**form.plain(Said(calls=(Call("c3"),), reasoning="again", end="tools")), "id": "r2"})
    wire.add_tool_results([ToolResult(turn.tool_calls[0], "5")])
    wire.withdraw_tool("add")
    third = wire.request()
    wire.accept({**form.plain(Said("{}", reasoning="so")), "id": "r3"})
    wire.add_feedback("Try again.")
    return [seen(call) for call in (second, third, wire.request())]


VARIANTS: dict[DialectName, dict[str, dict[str, Any]]] = {
    "responses": {"stateless": {"store": False}},
    "anthropic": {
        "effort": {"effort": "xhigh"},
        "budget": {"thinking-budget-tokens": 2048},
        "effort overrules budget": {"effort": "low", "thinking-budget-tokens": 2048},
        "thinking disabled": {"thinking": "disabled"},
        "thinking disabled, effort kept": {"thinking": "disabled", "effort": "high"},
        "thinking between tools, effort kept": {"thinking": "between_tools", "effort": "low"},
        "the longest silent reply": {"max-tokens": 21333},
        "one token more is streamed": {"max-tokens": 21334},
        "cache, breakpoint on the system": {"prompt-cache-ttl": "5m"},
    },
    "google": {},
}
TALKS: dict[DialectName, dict[str, dict[str, Any]]] = {
    "responses": {"": {}, "stateless, ": {"store": False}},
    "anthropic": {"": {"max-tokens": 1000}, "cached, ": {"max-tokens": 1000, "prompt-cache-ttl": "1h"}},
    "google": {"": {}},
}
"""Parameters of the conversations with tools, by how their snapshots are titled."""


def scenarios(dialect: DialectName) -> dict[str, Any]:
    profile = profile_of(DIALECTS[dialect][0])
    model = DIALECTS[dialect][1]
    accepted = [item for item in (PICTURE, PDF, TEXT_FILE) if profile.accepts(model, item.mime)]
    calls = {
        "plain": opened(dialect, PLAIN),
        "structured task": opened(dialect, replace(PLAIN, response_format=ANSWER_SCHEMA, system_prompt=None)),
        "unstructured": opened(dialect, PLAIN, off=True),
        "files": opened(dialect, replace(PLAIN, attachments=(*accepted, LOCAL_ONLY))),
        "local file only": opened(dialect, replace(PLAIN, attachments=(LOCAL_ONLY,))),
        "tools": opened(dialect, WITH_TOOLS),
        "custom endpoint": opened(dialect, replace(PLAIN, attachments=tuple(accepted), tools=(ADD,)), own=False),
        "parameters at the low end": opened(dialect, PLAIN, ends(profile.parameters, high=False)),
        "parameters at the high end": opened(dialect, PLAIN, ends(profile.parameters, high=True)),
        "stream": opened(dialect, PLAIN, {"stream": True}),
        "stream off": opened(dialect, PLAIN, {"stream": False}),
    }
    for switch in sorted(profile.mode_switches):
        calls[f"{switch}: true"] = opened(dialect, PLAIN, {switch: True})
        calls[f"{switch}: true, with tools"] = opened(dialect, WITH_TOOLS, {switch: True})
    for name, parameters in VARIANTS[dialect].items():
        calls[name] = opened(dialect, PLAIN, parameters)
    out = {name: seen(wire.request()) for name, wire in calls.items()}
    for title, parameters in TALKS[dialect].items():
        names = ("second request: tool results", "third request: a tool withdrawn", "fourth request: feedback")
        out |= {title + name: item for name, item in zip(names, tool_conversation(dialect, parameters), strict=True)}
    return out


def legible(value: Any) -> Any:
    """Abbreviate adapted wrappers as well."""
    for form in ("text", ANSWER_SCHEMA):
        for adapt in (for_anthropic, for_google):
            if value == adapt(wrapper_schema(form)):
                return readable(wrapper_schema(form))
    if value == SUBMIT_INSTRUCTION:
        return "…submit instruction…"
    if isinstance(value, Mapping):
        return {key: legible(item) for key, item in value.items()}
    return [legible(item) for item in value] if isinstance(value, list) else readable(value)


@pytest.mark.parametrize("dialect", DIALECTS)
def test_bodies_equal_their_snapshot(dialect: DialectName) -> None:
    path = GOLDEN / f"{dialect}.json"
    text = json.dumps(legible(scenarios(dialect)), indent=1, ensure_ascii=False) + "\n"
    if os.environ.get("MT_UPDATE_GOLDEN"):
        path.write_text(text, encoding="utf-8")
    assert json.loads(text) == json.loads(path.read_text(encoding="utf-8"))


# --- The examples of the contract, written out -------------------------------------------------------------------

WRAPPER = wrapper_schema("text")
SUM_SCHEMA = {"type": "object", "properties": {"a": {"type": "integer"}, "b": {"type": "integer"}}}
SUM = ToolDefinition("add", "Adds", SUM_SCHEMA)
USE_ADD = replace(PLAIN, text="Use add on 2 and 2.", tools=(SUM,))
SYSTEM_TEXT = {"type": "text", "text": "Answer with one number."}


def test_responses_example_of_two_turns() -> None:
    parameters = {"reasoning-effort": "high", "verbosity": "low", "max-completion-tokens": 4096}
    wire = opened("responses", USE_ADD, parameters)
    first = dict(wire.request().body)
    assert first.pop("prompt_cache_key").startswith("mt-")
    format_ = {"type": "json_schema", "name": "response", "strict": True, "schema": WRAPPER}
    assert first == {
        "model": "gpt-5.2",
        "store": True,
        "input": [
            {"role": "developer", "content": "Answer with one number."},
            {"role": "user", "content": "Use add on 2 and 2."},
        ],
        "text": {"format": format_, "verbosity": "low"},
        "reasoning": {"effort": "high"},
        "tools": [
            {"type": "function", "name": "add", "description": "Adds", "strict": False, "parameters": SUM_SCHEMA}
        ],
        "tool_choice": "auto",
        "max_output_tokens": 4096,
    }
    call = {"type": "function_call", "id": "fc_1", "call_id": "call_1", "name": "add", "arguments": '{"a":2,"b":2}'}
    reasoning = {"type": "reasoning", "id": "rs_1", "summary": []}
    wire.accept({"id": "resp_1", "status": "completed", "output": [reasoning, {**call, "status": "completed"}]})
    wire.add_tool_results([ToolResult(ToolCall("call_1", "add", "{}"), "4")])
    second = dict(wire.request().body)
    assert second.pop("previous_response_id") == "resp_1"
    assert second.pop("input") == [{"type": "function_call_output", "call_id": "call_1", "output": "4"}]
    del first["input"], second["prompt_cache_key"]
    assert second == first


ANTHROPIC_CALL = [
    {"type": "thinking", "thinking": "I should call add.", "signature": "c2ln"},
    {"type": "text", "text": "Calling add."},
    {"type": "tool_use", "id": "toolu_1", "name": "add", "input": {"a": 2, "b": 2}},
]


def test_anthropic_example_of_two_turns() -> None:
    schema = {**SUM_SCHEMA, "required": ["a", "b"]}
    prompt = replace(USE_ADD, attachments=(PICTURE,), tools=(ToolDefinition("add", "Adds", schema),))
    wire = opened("anthropic", prompt, {"effort": "high", "stream": False})
    picture = {"type": "base64", "media_type": "image/png", "data": "iVBORw0KGgo="}
    user = [
        {"type": "text", "text": "[file: pic]"},
        {"type": "image", "source": picture},
        {"type": "text", "text": "Use add on 2 and 2."},
    ]
    first = {
        "model": "claude-opus-5",
        "max_tokens": 32768,
        "system": [SYSTEM_TEXT],
        "thinking": {"type": "adaptive"},
        "output_config": {"effort": "high", "format": {"type": "json_schema", "schema": for_anthropic(WRAPPER)}},
        "tools": [{"name": "add", "description": "Adds", "input_schema": schema}],
        "tool_choice": {"type": "auto"},
        "messages": [{"role": "user", "content": user}],
    }
    assert wire.request().body == first
    turn = wire.accept({"id": "msg_1", "stop_reason": "tool_use", "content": ANTHROPIC_CALL})
    assert (turn.commentary, turn.text) == ("Calling add.", None)
    wire.add_tool_results([ToolResult(turn.tool_calls[0], "4")])
    result = {"type": "tool_result", "tool_use_id": "toolu_1", "content": "4", "is_error": False}
    appended = [{"role": "assistant", "content": ANTHROPIC_CALL}, {"role": "user", "content": [result]}]
    assert wire.request().body == {**first, "messages": [{"role": "user", "content": user}, *appended]}


def test_google_example_of_two_turns() -> None:
    wire = opened("google", USE_ADD, {"thinking-level": "high", "temperature": 1.0})
    contents = [{"role": "user", "parts": [{"text": "Use add on 2 and 2."}]}]
    first = {
        "systemInstruction": {"parts": [{"text": "Answer with one number."}]},
        "contents": contents,
        "tools": [
            {"functionDeclarations": [{"name": "add", "description": "Adds", "parametersJsonSchema": SUM_SCHEMA}]}
        ],
        "toolConfig": {"functionCallingConfig": {"mode": "AUTO"}},
        "generationConfig": {
            "responseMimeType": "application/json",
            "responseJsonSchema": WRAPPER,
            "thinkingConfig": {"thinkingLevel": "HIGH"},
            "temperature": 1.0,
        },
    }
    call = wire.request()
    assert (call.path, call.body) == ("/models/gemini-3.6-flash:generateContent", first)
    parts = [
        {"functionCall": {"id": "fc1", "name": "add", "args": {"a": 2, "b": 2}}, "thoughtSignature": "c2ln"},
        {"functionCall": {"id": "fc2", "name": "add", "args": {"a": 1, "b": 1}}},
    ]
    content = {"role": "model", "parts": parts}
    turn = wire.accept({"candidates": [{"index": 0, "finishReason": "STOP", "content": content}]})
    wire.add_tool_results([ToolResult(call, text) for call, text in zip(turn.tool_calls, "42", strict=True)])
    answers = [
        {"functionResponse": {"id": "fc1", "name": "add", "response": {"result": "4"}}},
        {"functionResponse": {"id": "fc2", "name": "add", "response": {"result": "2"}}},
    ]
    sent = [*contents, content, {"role": "user", "parts": answers}]
    assert wire.request().body == {**first, "contents": sent}


def test_the_wrapper_is_sent_whole() -> None:
    prompt = replace(PLAIN, response_format=ANSWER_SCHEMA)
    schemas = (
        body("responses", prompt)["text"]["format"]["schema"],
        body("anthropic", prompt)["output_config"]["format"]["schema"],
        body("google", prompt)["generationConfig"]["responseJsonSchema"],
    )
    for schema in schemas:
        assert schema["required"] == ["title", "explanation", "final_answer"]
        assert schema["properties"]["final_answer"]["properties"]["content"] == ANSWER_SCHEMA
