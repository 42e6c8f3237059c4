"""Bodies of the chat dialect for every vendor, against committed snapshots in ``tests/golden/wire``.

Run with ``MT_UPDATE_GOLDEN=1`` to rewrite the snapshots, then read the diff. In snapshots the wrapper schema and the
sentence that describes it are abbreviated; `test_the_wrapper_is_sent_whole` looks at them.
"""

from __future__ import annotations

import json
import os
from collections.abc import Mapping
from dataclasses import replace
from pathlib import Path
from typing import Any

import pytest

from pytest_mindtrial.core.values import ToolResult
from pytest_mindtrial.providers.base import Attachment, Prompt, ToolDefinition
from pytest_mindtrial.providers.dialects.base import WireConversation
from pytest_mindtrial.providers.dialects.openai_chat import DIALECT
from pytest_mindtrial.providers.modes import output_mode
from pytest_mindtrial.providers.profiles import profile_of
from pytest_mindtrial.providers.structure import UNSTRUCTURED_INSTRUCTION, schema_instruction, wrapper_schema
from pytest_mindtrial.suite.model import Run
from pytest_mindtrial.suite.parameter_types import ParameterTable, Row

GOLDEN = Path(__file__).parents[1] / "golden" / "wire"
MODELS = {
    "openai": "gpt-4.1-mini",
    "deepseek": "deepseek-flash",
    "mistralai": "mistral-medium-3-5",
    "xai": "grok-4.6",
    "alibaba": "qwen3.7-plus",
    "moonshotai": "kimi-k2.6",
    "openrouter": "openai/gpt-5.2",
    "local": "smollm2",
}
ANSWER_SCHEMA = {"type": "array", "items": {"type": "integer"}}
ADD = ToolDefinition("add", "Adds", {"type": "object", "properties": {"a": {"type": "integer"}}})
MULTIPLY = ToolDefinition("multiply", "Multiplies", {"type": "object"})
PLAIN = Prompt("sum", "What is 2+2?", "one number", system_prompt="Answer with one number.")
WITH_TOOLS = Prompt("sum", "Use add on 2 and 2.", "one number", tools=(ADD, MULTIPLY))
PICTURE = Attachment("pic", "image/png", b"\x89PNG\r\n\x1a\n", "pic.png", image_detail="medium")
PDF = Attachment("doc", "application/pdf", b"%PDF-", "doc.pdf")
LOCAL_ONLY = Attachment("table", "text/csv", None, "table.csv")


def opened(
    vendor: str, prompt: Prompt, parameters: Mapping[str, Any] | None = None, *, off: bool = False, own: bool = True
) -> WireConversation:
    profile = profile_of(vendor)
    run = Run("r", vendor, MODELS[vendor], parameters or {}, disable_structured_output=off)
    mode = output_mode(profile, run, has_tools=bool(prompt.tools))
    return DIALECT.open(profile, run, prompt, mode=mode, is_vendor_host=own and not profile.is_local)


def body(*args: Any, **settings: Any) -> Any:
    return opened(*args, **settings).request().body


def called(*calls: tuple[str, str], **message: Any) -> dict[str, Any]:
    """Return a reply that calls tools: pairs of id and name."""
    listed = [
        {"id": identity, "type": "function", "function": {"name": name, "arguments": '{"a": 2}'}}
        for identity, name in calls
    ]
    content = {"role": "assistant", "content": None, "tool_calls": listed, **message}
    return {"id": "1", "choices": [{"index": 0, "finish_reason": "tool_calls", "message": content}]}


def tool_conversation(vendor: str) -> list[Any]:
    """Two parallel calls (one of them fails), then a call with reasoning, then feedback after an answer."""
    wire = opened(vendor, WITH_TOOLS, {"preserve-thinking": True} if vendor == "alibaba" else {})
    turn = wire.accept(called(("c1", "add"), ("c2", "nothing"), reasoning_content="first think"))
    failed = ToolResult(turn.tool_calls[1], "Tool error: there is no tool named nothing.", is_error=True)
    wire.add_tool_results([ToolResult(turn.tool_calls[0], "4"), failed])
    second = wire.request().body
    turn = wire.accept(called(("c3", "add"), reasoning_content="again", content=""))
    wire.add_tool_results([ToolResult(turn.tool_calls[0], "5")])
    wire.withdraw_tool("add")
    third = wire.request().body
    answer = {"role": "assistant", "content": "{}", "reasoning_content": "so"}
    wire.accept({"choices": [{"finish_reason": "stop", "message": answer}]})
    wire.add_feedback("Try again.")
    return [second, third, wire.request().body]


def ends(table: ParameterTable, *, high: bool) -> dict[str, Any]:
    """Return every parameter at one end of its range; of two that exclude each other, the first."""
    values = {row.name: _end(row, high=high) for row in table.rows if row.kind != "server-tools"}
    for exclusion in table.exclusions:
        if exclusion.first in values:
            values.pop(exclusion.second, None)
    return values


def _end(row: Row, *, high: bool) -> Any:
    if row.kind == "bool":
        return high
    if row.kind == "choice":
        return row.choices[-1 if high else 0]
    value = row.maximum if high else row.minimum
    if value is None:
        value = 2**31 if high else 0
    return int(value) if row.kind == "int" else value


def scenarios(vendor: str) -> dict[str, Any]:
    profile = profile_of(vendor)
    table = profile.parameters
    accepted = [item for item in (PICTURE, PDF) if profile.accepts(MODELS[vendor], item.mime)]
    out = {
        "plain": body(vendor, PLAIN),
        "structured task": body(vendor, replace(PLAIN, response_format=ANSWER_SCHEMA, system_prompt=None)),
        "unstructured": body(vendor, PLAIN, off=True),
        "files": body(vendor, replace(PLAIN, attachments=(*accepted, LOCAL_ONLY))),
        "local file only": body(vendor, replace(PLAIN, attachments=(LOCAL_ONLY,))),
        "tools": body(vendor, WITH_TOOLS),
        "custom endpoint": body(vendor, replace(PLAIN, attachments=tuple(accepted), tools=(ADD,)), own=False),
        "parameters at the low end": body(vendor, PLAIN, ends(table, high=False)),
        "parameters at the high end": body(vendor, PLAIN, ends(table, high=True)),
    }
    for switch in sorted(profile.mode_switches):
        row = table.by_name[switch]
        for value in row.choices or (True,):
            out[f"{switch}: {value}"] = body(vendor, PLAIN, {switch: value})
    if "stream" in table.by_name or table.passes_unknown:
        out["stream"] = body(vendor, PLAIN, {"stream": True})
        out["stream off"] = body(vendor, PLAIN, {"stream": False})
    names = ("second request: tool results", "third request: a tool withdrawn", "fourth request: feedback")
    return out | dict(zip(names, tool_conversation(vendor), strict=True))


def readable(value: Any) -> Any:
    """Abbreviate the wrapper schemas and the instructions that hold them."""
    for name, form in (("wrapper", "text"), ("wrapper of the task's schema", ANSWER_SCHEMA)):
        schema = wrapper_schema(form)
        if value == schema:
            return {"…": name}
        if value == schema_instruction(schema):
            return f"…JSON schema instruction, {name}…"
    if value == UNSTRUCTURED_INSTRUCTION:
        return "…unstructured instruction…"
    if isinstance(value, Mapping):
        return {key: readable(item) for key, item in value.items()}
    return [readable(item) for item in value] if isinstance(value, list) else value


@pytest.mark.parametrize("vendor", MODELS)
def test_bodies_equal_their_snapshot(vendor: str) -> None:
    path = GOLDEN / f"chat-{vendor}.json"
    text = json.dumps(readable(scenarios(vendor)), indent=1, ensure_ascii=False) + "\n"
    if os.environ.get("MT_UPDATE_GOLDEN"):
        path.parent.mkdir(parents=True, exist_ok=True)
        path.write_text(text, encoding="utf-8")
    assert json.loads(text) == json.loads(path.read_text(encoding="utf-8"))


# --- The examples of the contract, written out -------------------------------------------------------------------

WRAPPER = wrapper_schema("text")
STRICT = {"type": "json_schema", "json_schema": {"name": "response", "strict": True, "schema": WRAPPER}}
WORDS = schema_instruction(WRAPPER)


def said(role: str, content: Any) -> dict[str, Any]:
    return {"role": role, "content": content}


def without_key(got: Mapping[str, Any]) -> dict[str, Any]:
    """Return the body without its cache key, whose form is checked."""
    out = dict(got)
    key = out.pop("prompt_cache_key")
    assert key.startswith("mt-")
    assert len(bytes.fromhex(key.removeprefix("mt-"))) == 16
    return out


def test_openai_example() -> None:
    assert without_key(body("openai", PLAIN, {"temperature": 0})) == {
        "model": "gpt-4.1-mini",
        "messages": [said("user", "Answer with one number."), said("user", "What is 2+2?")],
        "response_format": STRICT,
        "temperature": 0,
    }


def test_deepseek_example() -> None:
    assert body("deepseek", PLAIN, {"thinking": "enabled", "reasoning-effort": "max"}) == {
        "model": "deepseek-flash",
        "messages": [
            said("system", WORDS),
            said("system", "Answer with one number."),
            said("user", "What is 2+2?"),
        ],
        "response_format": {"type": "json_object"},
        "thinking": {"type": "enabled"},
        "reasoning_effort": "max",
    }


def test_mistral_example() -> None:
    prompt = replace(PLAIN, text="How many pages?", attachments=(PDF,))
    assert without_key(body("mistralai", prompt, {"reasoning-effort": "high"})) == {
        "model": "mistral-medium-3-5",
        "messages": [
            said("system", "Answer with one number."),
            said(
                "user",
                [
                    {"type": "text", "text": "[file: doc]"},
                    {
                        "type": "document_url",
                        "document_url": "data:application/pdf;base64,JVBERi0=",
                        "document_name": "doc.pdf",
                    },
                    {"type": "text", "text": "How many pages?"},
                ],
            ),
        ],
        "response_format": {"type": "json_schema", "json_schema": {"name": "response", "schema": WRAPPER}},
        "reasoning_effort": "high",
    }


def test_xai_example() -> None:
    assert without_key(body("xai", PLAIN, {"reasoning-effort": "xhigh"})) == {
        "model": "grok-4.6",
        "messages": [
            said("system", "Answer with one number."),
            said("user", [{"type": "text", "text": "What is 2+2?"}]),
        ],
        "response_format": STRICT,
        "reasoning_effort": "xhigh",
    }


def test_alibaba_example() -> None:
    parameters = {"enable-thinking": True, "preserve-thinking": True, "max-tokens": 65536, "stream": True}
    assert body("alibaba", PLAIN, parameters) == {
        "model": "qwen3.7-plus",
        "messages": [said("user", WORDS), said("user", "Answer with one number."), said("user", "What is 2+2?")],
        "response_format": STRICT,
        "enable_thinking": True,
        "preserve_thinking": True,
        "max_tokens": 65536,
        "stream": True,
        "stream_options": {"include_usage": True},
    }


def test_moonshot_example() -> None:
    parameters = {"max-tokens": 32000, "thinking": "enabled", "preserve-thinking": "all"}
    prompt = replace(PLAIN, system_prompt=None)
    assert without_key(body("moonshotai", prompt, parameters)) == {
        "model": "kimi-k2.6",
        "messages": [said("user", WORDS), said("user", "What is 2+2?")],
        "response_format": {"type": "json_object"},
        "max_tokens": 32000,
        "thinking": {"type": "enabled", "keep": "all"},
    }


def test_openrouter_example() -> None:
    parameters = {
        "server-tools": [
            {"type": "openrouter:fusion", "parameters": {"max_tool_calls": 16}},
            {"type": "x", "parameters": {}},
        ],
        "tool_choice": "required",
        "verbosity": "medium",
        "reasoning-effort": "xhigh",
        "top-k": 40,
    }
    prompt = replace(PLAIN, system_prompt=None)
    assert body("openrouter", prompt, parameters) == {
        "model": "openai/gpt-5.2",
        "messages": [said("user", "What is 2+2?")],
        "response_format": STRICT,
        "tools": [{"type": "openrouter:fusion", "parameters": {"max_tool_calls": 16}}, {"type": "x"}],
        "tool_choice": "required",
        "verbosity": "medium",
        "reasoning_effort": "xhigh",
        "top_k": 40,
    }


def test_the_wrapper_is_sent_whole() -> None:
    sent = body("openai", replace(PLAIN, response_format=ANSWER_SCHEMA))["response_format"]["json_schema"]["schema"]
    assert sent["required"] == ["title", "explanation", "final_answer"]
    assert sent["properties"]["final_answer"]["properties"]["content"] == ANSWER_SCHEMA
