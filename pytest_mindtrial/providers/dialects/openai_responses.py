"""The Responses dialect of OpenAI: items instead of messages, state kept by the service unless the run says otherwise.

With ``store: false`` nothing is kept there: every request then carries all items, reasoning encrypted. Does not choose
between this and the chat dialect (``providers/profiles.py``) and does not send anything. Source: spec providers 3 to 7,
9, 10 and 15.12; design D19.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from typing import Any

from pytest_mindtrial.core.errors import ProviderError, ReplyError
from pytest_mindtrial.core.values import StopClass, ToolResult
from pytest_mindtrial.providers.base import Attachment, OutputMode, Prompt, ToolDefinition, Turn
from pytest_mindtrial.providers.body import prompt_cache_key, put_parameters
from pytest_mindtrial.providers.dialects._chat_opening import data_url, image_detail, instructions
from pytest_mindtrial.providers.dialects._responses_reply import (
    answer_text,
    assemble_responses,
    classify,
    read_calls,
    refusal_text,
)
from pytest_mindtrial.providers.dialects.base import HttpCall
from pytest_mindtrial.providers.errors import error_in_reply
from pytest_mindtrial.providers.profiles import Profile
from pytest_mindtrial.providers.sse import SseEvent
from pytest_mindtrial.providers.structure import wrapper_schema
from pytest_mindtrial.providers.usage import UsagePaths, read_usage
from pytest_mindtrial.suite.model import Run

__all__ = ["DIALECT", "ResponsesDialect"]

_PATH = "/responses"
_USAGE = UsagePaths(
    ("input_tokens",),
    ("output_tokens",),
    (("output_tokens_details", "reasoning_tokens"),),
    (("input_tokens_details", "cached_tokens"),),
    (("input_tokens_details", "cache_write_tokens"),),
)


class ResponsesDialect:
    """The dialect; stateless."""

    name = "responses"

    def open(
        self, profile: Profile, run: Run, prompt: Prompt, *, mode: OutputMode, is_vendor_host: bool
    ) -> _ResponsesConversation:
        """Begin a conversation; see `providers.dialects.base.Dialect`."""
        return _ResponsesConversation(profile, run, prompt, mode, is_vendor_host)

    def assemble(self, events: Iterable[SseEvent]) -> Mapping[str, Any]:
        """Put a stream together; see `providers.dialects.base.Dialect`."""
        return assemble_responses(events)

    def fault(self, reply: Mapping[str, Any], *, status: int = 200) -> ProviderError | None:
        """Return the error inside a good reply; a failed response carries it as an object."""
        return error_in_reply(reply, status=status)


DIALECT = ResponsesDialect()


def _opening_items(prompt: Prompt, mode: OutputMode) -> list[dict[str, Any]]:
    items: list[dict[str, Any]] = [{"role": "developer", "content": text} for text in instructions(prompt, mode)]
    items.append({"role": "user", "content": _user_content(prompt)})
    return items


def _user_content(prompt: Prompt) -> str | list[dict[str, Any]]:
    if not prompt.attachments:
        return prompt.text
    parts: list[dict[str, Any]] = []
    for item in prompt.attachments:
        parts.append({"type": "input_text", "text": f"[file: {item.name}]"})
        if item.data is not None:
            parts.append(_data_part(item))
    parts.append({"type": "input_text", "text": prompt.text})
    return parts


def _data_part(item: Attachment) -> dict[str, Any]:
    detail = image_detail(item.image_detail)
    if item.mime.startswith("image/"):
        return {"type": "input_image", "image_url": data_url(item), "detail": detail}
    return {
        "type": "input_file",
        "filename": item.filename or item.name,
        "file_data": data_url(item),
        # Documents know no original size.
        "detail": "high" if detail == "original" else detail,
    }


def _text_format(prompt: Prompt, mode: OutputMode) -> dict[str, Any]:
    if mode in ("schema", "legacy-schema"):
        schema = wrapper_schema(prompt.response_format)
        return {"type": "json_schema", "name": "response", "schema": schema, "strict": True}
    return {"type": "json_object" if mode == "object" else "text"}


def _function_tools(tools: Sequence[ToolDefinition]) -> list[dict[str, Any]]:
    """Return the tool definitions; without ``strict: false`` the service would take their schemas as strict ones."""
    return [
        {
            "type": "function",
            "name": tool.name,
            "description": tool.description,
            "strict": False,
            "parameters": tool.parameters,
        }
        for tool in tools
    ]


class _ResponsesConversation:
    """Items of one attempt; see `providers.dialects.base.WireConversation`.

    Attributes:
        _items: What the next request carries: what is new, or everything when the service keeps nothing.
        _previous: The response that the service continues; None = none yet, or it keeps nothing.
    """

    def __init__(self, profile: Profile, run: Run, prompt: Prompt, mode: OutputMode, is_vendor_host: bool) -> None:
        self._mode = mode
        self._is_stored = run.parameters.get("store") is not False
        self._items = _opening_items(prompt, mode)
        self._previous: str | None = None
        self._tools = _function_tools(prompt.tools)
        self._streams = bool(run.parameters.get("stream"))
        self._base: dict[str, Any] = {"model": run.model, "text": {"format": _text_format(prompt, mode)}}
        put_parameters(self._base, profile, run, "responses")
        if not self._is_stored:
            self._base |= {"store": False, "include": ["reasoning.encrypted_content"]}
        elif is_vendor_host:
            self._base["store"] = True
        if profile.sends_cache_key and is_vendor_host:
            self._base["prompt_cache_key"] = prompt_cache_key(run)
        if self._streams:
            self._base["stream"] = True
        self._turn = 0

    def request(self) -> HttpCall:
        body = {**self._base, "input": list(self._items)}
        if self._previous is not None:
            body["previous_response_id"] = self._previous
        if self._tools:
            body |= {"tools": list(self._tools), "tool_choice": "auto"}
        return HttpCall(_PATH, body, self._streams)

    def accept(self, reply: Mapping[str, Any]) -> Turn:
        self._turn += 1
        output = reply.get("output")
        status = str(reply.get("status") or "")
        if status == "cancelled" or (not isinstance(output, list) and status != "failed"):
            reason = f" (status {status})" if status else ""
            raise ReplyError(f"the reply holds no candidate{reason}", transient=False, cause="no-candidate")
        items = [item for item in output or () if isinstance(item, Mapping)]
        calls = read_calls(items, self._turn)
        refusal = refusal_text(items)
        reason, stop = classify(reply, has_calls=bool(calls), is_refused=refusal is not None)
        self._remember(reply, items, calls, stop)
        text = answer_text(items)
        is_terminal = stop not in (StopClass.TOOLS, StopClass.CONTINUE)
        return Turn(
            text=text if is_terminal else None,
            stop=stop,
            stop_reason=reason,
            stop_details={"Refusal": refusal} if refusal else {},
            commentary="" if is_terminal else text or "",
            tool_calls=calls if stop is StopClass.TOOLS else (),
            usage=read_usage(_USAGE, reply.get("usage")),
            mode=self._mode,
            response_id=_identity(reply),
        )

    def add_tool_results(self, results: Sequence[ToolResult]) -> None:
        self._items.extend(
            {"type": "function_call_output", "call_id": result.call.id, "output": result.content} for result in results
        )

    def add_feedback(self, text: str) -> None:
        self._items.append({"role": "user", "content": text})

    def withdraw_tool(self, name: str) -> None:
        self._tools = [tool for tool in self._tools if tool["name"] != name]

    def _remember(
        self, reply: Mapping[str, Any], items: Sequence[Mapping[str, Any]], calls: Sequence[Any], stop: StopClass
    ) -> None:
        """Keep what the next request continues from.

        A reply whose calls are not answered cannot be continued: the next request then repeats this one's start.
        """
        is_dropped = bool(calls) and stop is not StopClass.TOOLS
        if not self._is_stored:
            made = iter(calls)
            for item in items:
                if item.get("type") != "function_call":
                    self._items.append(dict(item))
                elif not is_dropped:
                    self._items.append({**item, "call_id": next(made).id})
        elif not is_dropped and (identity := _identity(reply)) is not None:
            self._previous = identity
            self._items = []


def _identity(reply: Mapping[str, Any]) -> str | None:
    return reply["id"] if isinstance(reply.get("id"), str) else None
