"""Opening messages, files, response format and tools of the chat dialect.

Does not read replies. Source: spec providers 1.1, 3, 4.2, 5.
"""

from __future__ import annotations

import base64
from collections.abc import Mapping, Sequence
from typing import Any

from pytest_mindtrial.providers.base import Attachment, OutputMode, Prompt, ToolDefinition
from pytest_mindtrial.providers.profiles import Profile
from pytest_mindtrial.providers.structure import UNSTRUCTURED_INSTRUCTION, schema_instruction, wrapper_schema

__all__ = ["data_url", "function_tools", "image_detail", "instructions", "opening_messages", "response_format"]

_DESCRIBED: frozenset[OutputMode] = frozenset(("legacy-schema", "object", "text"))
_DETAILS = {"low": "low", "medium": "high", "high": "high", "original": "original"}


def image_detail(written: str) -> str:
    """Return OpenAI's word for ``image-detail``; medium becomes the next higher word, unknown words ``auto``."""
    return _DETAILS.get(written, "auto")


def data_url(attachment: Attachment) -> str:
    """Return the content as a data URL: standard base64, padded, without line breaks."""
    return f"data:{attachment.mime};base64,{base64.b64encode(attachment.data or b'').decode()}"


def instructions(prompt: Prompt, mode: OutputMode) -> list[str]:
    """Return what is said before the prompt: format instruction, then answer-format instruction."""
    texts = []
    if mode == "off":
        texts.append(UNSTRUCTURED_INSTRUCTION)
    elif mode in _DESCRIBED:
        texts.append(schema_instruction(wrapper_schema(prompt.response_format)))
    if prompt.system_prompt is not None:
        texts.append(prompt.system_prompt)
    return texts


def opening_messages(
    profile: Profile, prompt: Prompt, mode: OutputMode, *, is_vendor_host: bool
) -> list[dict[str, Any]]:
    """Return the messages of the first request."""
    role = profile.instruction_role
    messages: list[dict[str, Any]] = [{"role": role, "content": text} for text in instructions(prompt, mode)]
    content = _user_content(profile, prompt, with_detail=profile.sends_image_detail and is_vendor_host)
    messages.append({"role": "user", "content": content})
    return messages


def _user_content(profile: Profile, prompt: Prompt, *, with_detail: bool) -> str | list[dict[str, Any]]:
    if not prompt.attachments and not profile.is_content_list:
        return prompt.text
    if profile.joins_announcements and all(item.data is None for item in prompt.attachments):
        return "\n".join((*(_announcement(item) for item in prompt.attachments), prompt.text))
    parts: list[dict[str, Any]] = []
    for item in prompt.attachments:
        parts.append(_text(_announcement(item)))
        if item.data is not None:
            parts.append(_data_part(profile, item, with_detail=with_detail))
    parts.append(_text(prompt.text))
    return parts


def _announcement(item: Attachment) -> str:
    return f"[file: {item.name}]"


def _text(text: str) -> dict[str, Any]:
    return {"type": "text", "text": text}


def _data_part(profile: Profile, item: Attachment, *, with_detail: bool) -> dict[str, Any]:
    url = data_url(item)
    name = item.filename or item.name
    if item.mime.startswith("image/"):
        image: dict[str, Any] = {"url": url}
        if with_detail:
            image["detail"] = image_detail(item.image_detail)
        return {"type": "image_url", "image_url": image}
    if profile.document_part == "document_url":
        return {"type": "document_url", "document_url": url, "document_name": name}
    return {"type": "file", "file": {"filename": name, "file_data": url}}


def response_format(profile: Profile, prompt: Prompt, mode: OutputMode) -> dict[str, Any] | None:
    """Return the ``response_format`` field; None = leave it out."""
    if mode in ("schema", "legacy-schema"):
        schema: dict[str, Any] = {"name": "response", "schema": wrapper_schema(prompt.response_format)}
        if profile.has_strict_schema:
            schema["strict"] = True
        return {"type": "json_schema", "json_schema": schema}
    if mode == "object":
        return {"type": "json_object"}
    return {"type": "text"} if profile.names_text_format else None


def function_tools(tools: Sequence[ToolDefinition], *, say_not_strict: bool) -> list[dict[str, Any]]:
    """Return the tool definitions in the given, stable order; their schemas are sent verbatim."""
    out = []
    for tool in tools:
        function: dict[str, Any] = {
            "name": tool.name,
            "description": tool.description,
            "parameters": tool.parameters,
        }
        if say_not_strict:
            function["strict"] = False
        out.append({"type": "function", "function": function})
    return out


def server_tools(entries: Sequence[Mapping[str, Any]]) -> list[dict[str, Any]]:
    """Return the tools that the service itself runs; empty parameters are left out."""
    out = []
    for entry in entries:
        tool: dict[str, Any] = {"type": entry["type"]}
        if entry.get("parameters"):
            tool["parameters"] = entry["parameters"]
        out.append(tool)
    return out
