"""The chat-completions dialect, spoken by seven vendors, by local servers and by most gateways.

Differences between the vendors are `Profile` data; there is no vendor name in this module. Does not send anything.
Source: spec providers 3 to 7, 9, 10.3 and 13.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from typing import Any

from pytest_mindtrial.core.errors import ApiError, ConfigError, ProviderError, ReplyError
from pytest_mindtrial.core.values import StopClass, ToolResult
from pytest_mindtrial.providers.base import OutputMode, Prompt, Turn
from pytest_mindtrial.providers.body import prompt_cache_key, put_parameters
from pytest_mindtrial.providers.dialects._chat_opening import (
    function_tools,
    opening_messages,
    response_format,
    server_tools,
)
from pytest_mindtrial.providers.dialects._chat_reply import (
    answer_text,
    classify,
    read_calls,
    replayed,
    strip_thinking,
)
from pytest_mindtrial.providers.dialects._chat_stream import assemble_chat
from pytest_mindtrial.providers.dialects.base import HttpCall
from pytest_mindtrial.providers.errors import error_in_reply
from pytest_mindtrial.providers.profiles import Profile
from pytest_mindtrial.providers.sse import SseEvent
from pytest_mindtrial.providers.usage import read_usage
from pytest_mindtrial.suite.model import Run

__all__ = ["DIALECT", "ChatDialect"]

_PATH = "/chat/completions"


class ChatDialect:
    """The dialect; stateless."""

    name = "chat"

    def open(
        self, profile: Profile, run: Run, prompt: Prompt, *, mode: OutputMode, is_vendor_host: bool
    ) -> _ChatConversation:
        """Begin a conversation; see `providers.dialects.base.Dialect`."""
        return _ChatConversation(profile, run, prompt, mode, is_vendor_host)

    def assemble(self, events: Iterable[SseEvent]) -> Mapping[str, Any]:
        """Put a stream together; see `providers.dialects.base.Dialect`."""
        return assemble_chat(events)

    def fault(self, reply: Mapping[str, Any], *, status: int = 200) -> ProviderError | None:
        """Return the error inside a good reply: an error object, or a stop that a later request may cure."""
        error = error_in_reply(reply, status=status)
        choice = None if error is not None else _first_choice(reply)
        if choice is None:
            return error
        if choice.get("finish_reason") == "insufficient_system_resource":
            return ApiError(
                "the service stopped the reply for lack of resources",
                transient=True,
                cause="insufficient_system_resource",
                status=status,
            )
        return error_in_reply(choice, status=status)


DIALECT = ChatDialect()


def _first_choice(reply: Mapping[str, Any]) -> Mapping[str, Any] | None:
    choices = reply.get("choices")
    if isinstance(choices, list) and choices and isinstance(choices[0], Mapping):
        return choices[0]
    return None


class _ChatConversation:
    """Messages of one attempt; see `providers.dialects.base.WireConversation`."""

    def __init__(self, profile: Profile, run: Run, prompt: Prompt, mode: OutputMode, is_vendor_host: bool) -> None:
        self._profile = profile
        self._mode = mode
        self._preserves_thinking = run.parameters.get("preserve-thinking") is True
        self._strips_thinking = not is_vendor_host
        self._messages = opening_messages(profile, prompt, mode, is_vendor_host=is_vendor_host)
        self._server_tools = server_tools(run.parameters.get("server-tools") or ())
        self._tools = function_tools(prompt.tools, say_not_strict=profile.says_tools_not_strict and is_vendor_host)
        self._extras = _extras(profile, run)
        self._streams = bool(self._extras.pop("stream", False) or run.parameters.get("stream"))
        self._base: dict[str, Any] = {"model": run.model}
        if (form := response_format(profile, prompt, mode)) is not None:
            self._base["response_format"] = form
        put_parameters(self._base, profile, run, "chat")
        if profile.sends_cache_key and is_vendor_host:
            self._base["prompt_cache_key"] = prompt_cache_key(run)
        if self._streams:
            self._base |= {"stream": True, "stream_options": {"include_usage": True}}
        self._turn = 0

    def request(self) -> HttpCall:
        body = {**self._base, "messages": list(self._messages)}
        if tools := [*self._server_tools, *self._tools]:
            body["tools"] = tools
        if self._tools:
            body["tool_choice"] = "auto"
        return HttpCall(_PATH, body | self._extras, self._streams)

    def accept(self, reply: Mapping[str, Any]) -> Turn:
        self._turn += 1
        choice = _first_choice(reply)
        if choice is None:
            raise ReplyError("the reply holds no candidate", transient=False, cause="no-candidate")
        message = choice.get("message")
        message = message if isinstance(message, Mapping) else {}
        reason = str(choice.get("finish_reason") or "")
        calls = read_calls(message, self._turn)
        text = answer_text(message.get("content"))
        refusal = message.get("refusal")
        stop = classify(reason, has_calls=bool(calls), is_refused=bool(refusal) and text is None)
        self._remember(message, calls, stop)
        if self._strips_thinking:
            text = strip_thinking(text)
        is_terminal = stop not in (StopClass.TOOLS, StopClass.CONTINUE)
        return Turn(
            text=text if is_terminal else None,
            stop=stop,
            stop_reason=reason,
            stop_details=_stop_details(choice, refusal),
            commentary="" if is_terminal else text or "",
            tool_calls=calls if stop is StopClass.TOOLS else (),
            usage=read_usage(self._profile.usage, reply.get("usage")),
            mode=self._mode,
            response_id=reply["id"] if isinstance(reply.get("id"), str) else None,
        )

    def add_tool_results(self, results: Sequence[ToolResult]) -> None:
        self._messages.extend(
            {"role": "tool", "tool_call_id": result.call.id, "content": result.content} for result in results
        )

    def add_feedback(self, text: str) -> None:
        content: Any = [{"type": "text", "text": text}] if self._profile.is_content_list else text
        self._messages.append({"role": "user", "content": content})

    def withdraw_tool(self, name: str) -> None:
        self._tools = [tool for tool in self._tools if tool["function"]["name"] != name]

    def _remember(self, message: Mapping[str, Any], calls: tuple[Any, ...], stop: StopClass) -> None:
        self._messages.append(
            replayed(
                message,
                calls,
                rule=self._profile.reasoning_replay,
                preserves_thinking=self._preserves_thinking,
                runs_tools=stop is StopClass.TOOLS,
            )
        )


def _stop_details(choice: Mapping[str, Any], refusal: Any) -> dict[str, str]:
    details = {}
    if isinstance(refusal, str) and refusal:
        details["Refusal"] = refusal
    native = choice.get("native_finish_reason")
    if isinstance(native, str) and native and native != choice.get("finish_reason"):
        details["Native Stop Reason"] = native
    return details


def _extras(profile: Profile, run: Run) -> dict[str, Any]:
    """Return the pass-through parameters: those the table does not know, for vendors that take them."""
    table = profile.parameters
    if not table.passes_unknown:
        return {}
    extras = {name: value for name, value in run.parameters.items() if name not in table.by_name}
    for name in table.reserved:
        if name in extras:
            raise ConfigError(f"model parameter {name!r} belongs to the request builder and cannot be given")
    return extras
