"""The first request of Anthropic's dialect: system and user blocks, tools, thinking, output format, caching.

Does not check values (``suite/parameters.py``) and does not read replies. Source: spec providers 3.3, 4.2 to 4.4, 5 and
11.
"""

from __future__ import annotations

import base64
from collections.abc import Mapping, Sequence
from typing import Any

from pytest_mindtrial.core.errors import ConfigError
from pytest_mindtrial.providers.base import Attachment, OutputMode, Prompt, ToolDefinition
from pytest_mindtrial.providers.body import put_parameters
from pytest_mindtrial.providers.dialects._chat_opening import instructions
from pytest_mindtrial.providers.profiles import Profile
from pytest_mindtrial.providers.schema_adaptation import for_anthropic
from pytest_mindtrial.providers.structure import SUBMIT_INSTRUCTION, wrapper_schema
from pytest_mindtrial.suite.model import Run
from pytest_mindtrial.suite.parameters import ANTHROPIC_DEFAULT_MAX_TOKENS

__all__ = [
    "SUBMIT_TOOL",
    "base_body",
    "cache_control",
    "local_tools",
    "streams",
    "submit_tool",
    "system_blocks",
    "user_blocks",
]

SUBMIT_TOOL = "submit_response"
_LONGEST_SILENT_TOKENS = 21_333
"""Above this many tokens a reply may take over ten minutes, and the vendor's own libraries insist on a stream."""


def base_body(profile: Profile, run: Run, prompt: Prompt, mode: OutputMode) -> dict[str, Any]:
    """Return what all requests of a conversation have in common."""
    body: dict[str, Any] = {"model": run.model, "max_tokens": ANTHROPIC_DEFAULT_MAX_TOKENS}
    put_parameters(body, profile, run, "anthropic")
    output: dict[str, Any] = {}
    if (effort := run.parameters.get("effort")) is not None:
        output["effort"] = effort
    if mode == "schema":
        output["format"] = {"type": "json_schema", "schema": for_anthropic(wrapper_schema(prompt.response_format))}
    if output:
        body["output_config"] = output
    if (thinking := _thinking(run.parameters)) is not None:
        body["thinking"] = thinking
    return body


def _thinking(parameters: Mapping[str, Any]) -> dict[str, Any] | None:
    """Return the thinking field: an explicit mode, else the one that effort or budget asks for; None = leave it out."""
    if (mode := parameters.get("thinking")) is not None:
        return {"type": mode}
    if parameters.get("effort") is not None:
        return {"type": "adaptive"}
    budget = parameters.get("thinking-budget-tokens")
    return None if budget is None else {"type": "enabled", "budget_tokens": budget}


def streams(run: Run, max_tokens: int) -> bool:
    """Tell whether replies come as streams: as the run says, else only where a silent reply could take too long."""
    wish = run.parameters.get("stream")
    return max_tokens > _LONGEST_SILENT_TOKENS if wish is None else bool(wish)


def cache_control(run: Run) -> dict[str, Any] | None:
    """Return the object that switches prompt caching on; None = no caching."""
    ttl = run.parameters.get("prompt-cache-ttl")
    return None if ttl is None else {"type": "ephemeral", "ttl": ttl}


def system_blocks(prompt: Prompt, mode: OutputMode) -> list[dict[str, Any]]:
    """Return the instructions; the one about the answer tool comes last."""
    texts = instructions(prompt, mode)
    if mode == "tool":
        texts.append(SUBMIT_INSTRUCTION)
    return [_text(text) for text in texts]


def user_blocks(prompt: Prompt) -> list[dict[str, Any]]:
    """Return the content of the first user message."""
    blocks: list[dict[str, Any]] = []
    for item in prompt.attachments:
        blocks.append(_text(f"[file: {item.name}]"))
        if item.data is not None:
            blocks.append(_data_block(item, item.data))
    blocks.append(_text(prompt.text))
    return blocks


def _text(text: str) -> dict[str, Any]:
    return {"type": "text", "text": text}


def _data_block(item: Attachment, data: bytes) -> dict[str, Any]:
    kind = "image" if item.mime.startswith("image/") else "document"
    source = {"type": "base64", "media_type": item.mime, "data": ""}
    if item.mime == "text/plain":
        source |= {"type": "text", "data": data.decode("utf-8", "replace")}
    else:
        source["data"] = base64.b64encode(data).decode()
    return {"type": kind, "source": source}


def local_tools(tools: Sequence[ToolDefinition], mode: OutputMode) -> list[dict[str, Any]]:
    """Return the definitions of our tools.

    Raises:
        ConfigError: One has the name of the answer tool while that is in use.
    """
    if mode == "tool" and any(tool.name == SUBMIT_TOOL for tool in tools):
        raise ConfigError(
            f"the tool name {SUBMIT_TOOL!r} is taken while legacy-structured-output is set; rename the tool"
        )
    return [
        {
            "name": tool.name,
            "description": tool.description,
            "input_schema": tool.parameters if "type" in tool.parameters else {"type": "object", **tool.parameters},
        }
        for tool in tools
    ]


def submit_tool(prompt: Prompt) -> dict[str, Any]:
    """Return the definition of the answer tool, whose input is the wrapper."""
    return {
        "name": SUBMIT_TOOL,
        "description": "Delivers the final reply to the task. Call it exactly once, when the answer is ready.",
        "input_schema": wrapper_schema(prompt.response_format),
    }
