"""The generateContent dialect of Google: contents made of parts, thought signatures beside them.

Does not put streams together (``_google_stream.py``) and does not send anything. Source: spec providers 3 to 7, 9 and
12.
"""

from __future__ import annotations

import base64
from collections.abc import Iterable, Mapping, Sequence
from typing import Any
from urllib.parse import quote

from pytest_mindtrial.core.errors import ProviderError, ReplyError
from pytest_mindtrial.core.values import StopClass, ToolCall, ToolResult
from pytest_mindtrial.providers.base import OutputMode, Prompt, ToolDefinition, Turn
from pytest_mindtrial.providers.body import put_parameters
from pytest_mindtrial.providers.dialects._chat_opening import instructions
from pytest_mindtrial.providers.dialects._google_reply import (
    answer_text,
    blocked_prompt,
    classify,
    first_candidate,
    parts_of,
    read_calls,
    stop_details,
)
from pytest_mindtrial.providers.dialects._google_stream import assemble_google
from pytest_mindtrial.providers.dialects.base import HttpCall
from pytest_mindtrial.providers.errors import error_in_reply
from pytest_mindtrial.providers.profiles import Profile
from pytest_mindtrial.providers.schema_adaptation import for_google
from pytest_mindtrial.providers.sse import SseEvent
from pytest_mindtrial.providers.structure import wrapper_schema
from pytest_mindtrial.providers.usage import read_usage
from pytest_mindtrial.suite.model import Run

__all__ = ["DIALECT", "GoogleDialect"]


class GoogleDialect:
    """The dialect; stateless."""

    name = "google"

    def open(
        self, profile: Profile, run: Run, prompt: Prompt, *, mode: OutputMode, is_vendor_host: bool
    ) -> _GoogleConversation:
        """Begin a conversation; see `providers.dialects.base.Dialect`. Nothing depends on the host."""
        return _GoogleConversation(profile, run, prompt, mode)

    def assemble(self, events: Iterable[SseEvent]) -> Mapping[str, Any]:
        """Put a stream together; see `providers.dialects.base.Dialect`."""
        return assemble_google(events)

    def fault(self, reply: Mapping[str, Any], *, status: int = 200) -> ProviderError | None:
        """Return the error object that came with a good status, if any."""
        return error_in_reply(reply, status=status)


DIALECT = GoogleDialect()


def _user_parts(prompt: Prompt) -> list[dict[str, Any]]:
    parts: list[dict[str, Any]] = []
    for item in prompt.attachments:
        parts.append({"text": f"[file: {item.name}]"})
        if item.data is not None:
            parts.append({"inlineData": {"mimeType": item.mime, "data": base64.b64encode(item.data).decode()}})
    parts.append({"text": prompt.text})
    return parts


def _declarations(tools: Sequence[ToolDefinition]) -> list[dict[str, Any]]:
    return [
        {"name": tool.name, "description": tool.description, "parametersJsonSchema": tool.parameters} for tool in tools
    ]


def _generation_config(prompt: Prompt, mode: OutputMode) -> dict[str, Any]:
    if mode != "schema":
        return {"responseMimeType": "text/plain"}
    schema = for_google(wrapper_schema(prompt.response_format))
    return {"responseMimeType": "application/json", "responseJsonSchema": schema}


def _path(model: str, *, is_stream: bool) -> str:
    name = quote(model.strip().removeprefix("models/"), safe="")
    return f"/models/{name}:" + ("streamGenerateContent?alt=sse" if is_stream else "generateContent")


class _GoogleConversation:
    """Contents of one attempt; see `providers.dialects.base.WireConversation`.

    Attributes:
        _without_id: Ids we made for calls that came without one; their results go back without one as well.
    """

    def __init__(self, profile: Profile, run: Run, prompt: Prompt, mode: OutputMode) -> None:
        self._profile = profile
        self._mode = mode
        self._streams = bool(run.parameters.get("stream"))
        self._path = _path(run.model, is_stream=self._streams)
        self._base: dict[str, Any] = {"generationConfig": _generation_config(prompt, mode)}
        put_parameters(self._base, profile, run, "google")
        if texts := instructions(prompt, mode):
            self._base["systemInstruction"] = {"parts": [{"text": text} for text in texts]}
        self._contents: list[dict[str, Any]] = [{"role": "user", "parts": _user_parts(prompt)}]
        self._tools = _declarations(prompt.tools)
        self._without_id: set[str] = set()
        self._turn = 0

    def request(self) -> HttpCall:
        body = {**self._base, "contents": list(self._contents)}
        if self._tools:
            body["tools"] = [{"functionDeclarations": list(self._tools)}]
            body["toolConfig"] = {"functionCallingConfig": {"mode": "AUTO"}}
        return HttpCall(self._path, body, self._streams)

    def accept(self, reply: Mapping[str, Any]) -> Turn:
        self._turn += 1
        usage = read_usage(self._profile.usage, reply.get("usageMetadata"))
        response_id = reply["responseId"] if isinstance(reply.get("responseId"), str) else None
        candidate = first_candidate(reply)
        if candidate is None:
            return self._without_candidate(reply, usage=usage, response_id=response_id)
        parts = parts_of(candidate)
        calls = self._calls(parts)
        reason = str(candidate.get("finishReason") or "")
        stop = classify(reason, has_calls=bool(calls))
        self._remember(candidate, parts, stop)
        text = answer_text(parts)
        is_terminal = stop not in (StopClass.TOOLS, StopClass.CONTINUE)
        return Turn(
            text=text if is_terminal else None,
            stop=stop,
            stop_reason=reason,
            stop_details=stop_details(candidate),
            commentary="" if is_terminal else text or "",
            tool_calls=calls if stop is StopClass.TOOLS else (),
            usage=usage,
            mode=self._mode,
            response_id=response_id,
        )

    def add_tool_results(self, results: Sequence[ToolResult]) -> None:
        self._contents.append({"role": "user", "parts": [self._result_part(result) for result in results]})

    def add_feedback(self, text: str) -> None:
        self._contents.append({"role": "user", "parts": [{"text": text}]})

    def withdraw_tool(self, name: str) -> None:
        self._tools = [tool for tool in self._tools if tool["name"] != name]

    def _without_candidate(self, reply: Mapping[str, Any], **known: Any) -> Turn:
        blocked = blocked_prompt(reply)
        if blocked is None:
            raise ReplyError("the reply holds no candidate", transient=False, cause="no-candidate")
        reason, details = blocked
        return Turn(None, StopClass.FILTERED, reason, details, mode=self._mode, **known)

    def _calls(self, parts: Sequence[Mapping[str, Any]]) -> tuple[ToolCall, ...]:
        calls = []
        for call, has_id in read_calls(parts, self._turn):
            if not has_id:
                self._without_id.add(call.id)
            calls.append(call)
        return tuple(calls)

    def _result_part(self, result: ToolResult) -> dict[str, Any]:
        response = {"error" if result.is_error else "result": result.content}
        answer: dict[str, Any] = {"name": result.call.name, "response": response}
        if result.call.id not in self._without_id:
            answer = {"id": result.call.id, **answer}
        return {"functionResponse": answer}

    def _remember(self, candidate: Mapping[str, Any], parts: Sequence[Mapping[str, Any]], stop: StopClass) -> None:
        """Keep the content as it came; only calls that will not be answered are left out, the API refuses those."""
        kept = parts if stop is StopClass.TOOLS else [part for part in parts if "functionCall" not in part]
        if kept:
            self._contents.append({"role": "model", **candidate["content"], "parts": list(kept)})
