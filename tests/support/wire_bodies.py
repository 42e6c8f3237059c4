"""The requests we make for every scenario and vendor, for comparison with the vendors' own SDKs."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import replace
from typing import Any

from pytest_mindtrial.core.values import ToolResult
from pytest_mindtrial.providers.base import Prompt
from pytest_mindtrial.providers.dialects.base import HttpCall, WireConversation
from pytest_mindtrial.providers.modes import output_mode
from pytest_mindtrial.providers.profiles import choose_dialect, profile_of
from pytest_mindtrial.providers.registry import load_dialect
from pytest_mindtrial.suite.model import ClientConfig, Run
from tests.support.said import Call, Said, wrapped
from tests.support.vendor_forms import FORMS
from tests.support.wire_cases import ANSWER_SCHEMA, LOCAL_ONLY, PDF, PICTURE, PLAIN, TEXT_FILE, WITH_TOOLS, ends

__all__ = ["MODELS", "opened", "requests_of", "vendor_of"]

MODELS = {
    "openai": "gpt-4.1-mini",
    "openai-responses": "gpt-5.2",
    "google": "gemini-3.6-flash",
    "anthropic": "claude-opus-5",
    "deepseek": "deepseek-flash",
    "mistralai": "mistral-medium-3-5",
    "xai": "grok-4.6",
    "alibaba": "qwen3.7-plus",
    "moonshotai": "kimi-k2.6",
    "openrouter": "openai/gpt-5.2",
}
"""Column of the scenario matrix → the model it asks."""


def vendor_of(column: str) -> str:
    """Return the provider name of a column."""
    return column.removesuffix("-responses")


def opened(
    column: str, prompt: Prompt, parameters: Mapping[str, Any] | None = None, *, off: bool = False
) -> WireConversation:
    """Begin a conversation with the vendor itself."""
    profile = profile_of(vendor_of(column))
    run = Run("r", profile.name, MODELS[column], parameters or {}, disable_structured_output=off)
    mode = output_mode(profile, run, has_tools=bool(prompt.tools))
    dialect = load_dialect(choose_dialect(profile, ClientConfig(), run.model))
    return dialect.open(profile, run, prompt, mode=mode, is_vendor_host=True)


def requests_of(column: str) -> dict[str, HttpCall]:
    """Return one request per scenario, and the later ones of a conversation with tools."""
    profile = profile_of(vendor_of(column))
    taken = [item for item in (PICTURE, PDF, TEXT_FILE) if profile.accepts(MODELS[column], item.mime)]
    begun = {
        "plain": opened(column, PLAIN),
        "structured task": opened(column, replace(PLAIN, response_format=ANSWER_SCHEMA)),
        "unstructured": opened(column, PLAIN, off=True),
        "files": opened(column, replace(PLAIN, attachments=(*taken, LOCAL_ONLY))),
        "tools": opened(column, WITH_TOOLS),
        "low end": opened(column, PLAIN, ends(profile.parameters, high=False)),
        "high end": opened(column, PLAIN, _without_huge(ends(profile.parameters, high=True))),
        "stream": opened(column, PLAIN, {"stream": True}),
    }
    for switch in sorted(profile.mode_switches):
        for value in profile.parameters.by_name[switch].choices or (True,):
            begun[f"{switch}: {value}"] = opened(column, WITH_TOOLS, {switch: value})
    if column == "openrouter":
        tools = [{"type": "openrouter:fusion", "parameters": {"max_tool_calls": 16}}]
        begun["server tools"] = opened(column, WITH_TOOLS, {"server-tools": tools, "tool_choice": "required"})
    if column == "anthropic":
        begun["budget"] = opened(column, PLAIN, {"thinking-budget-tokens": 2048})
    found = {name: wire.request() for name, wire in begun.items()}
    return found | _later_requests(column)


def _without_huge(parameters: dict[str, Any]) -> dict[str, Any]:
    """Replace the stand-in for "no upper bound" by a number that every SDK takes."""
    return {name: 4096 if value == 2**31 else value for name, value in parameters.items()}


def _later_requests(column: str) -> dict[str, HttpCall]:
    parameters = {"preserve-thinking": True} if column == "alibaba" else {}
    wire = opened(column, WITH_TOOLS, parameters)
    form = FORMS[column]
    calls = (Call("callid001"), Call("callid002", "nothing"))
    turn = wire.accept(form.plain(Said("I will add.", calls, reasoning="first think", end="tools")))
    results = [ToolResult(turn.tool_calls[0], "4"), ToolResult(turn.tool_calls[1], "no such tool", is_error=True)]
    wire.add_tool_results(results)
    second = wire.request()
    wire.accept(form.plain(Said(wrapped())))
    wire.add_feedback("Try again.")
    return {"second turn": second, "feedback": wire.request()}
