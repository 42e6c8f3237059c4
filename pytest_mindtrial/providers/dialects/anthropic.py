"""The Messages dialect of Anthropic: blocks, thinking with signatures, cache breakpoints, the answer tool.

Does not put streams together (``_anthropic_stream.py``) and does not send anything. Source: spec providers 3 to 7, 9
and 11.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from typing import Any

from pytest_mindtrial.core.errors import ProviderError, ReplyError
from pytest_mindtrial.core.values import StopClass, ToolCall, ToolResult
from pytest_mindtrial.providers.base import OutputMode, Prompt, Turn
from pytest_mindtrial.providers.dialects._anthropic_opening import (
    SUBMIT_TOOL,
    base_body,
    cache_control,
    local_tools,
    streams,
    submit_tool,
    system_blocks,
    user_blocks,
)
from pytest_mindtrial.providers.dialects._anthropic_reply import (
    answer_text,
    classify,
    read_calls,
    replayed_blocks,
    stop_details,
)
from pytest_mindtrial.providers.dialects._anthropic_stream import assemble_anthropic
from pytest_mindtrial.providers.dialects.base import HttpCall
from pytest_mindtrial.providers.errors import error_in_reply
from pytest_mindtrial.providers.profiles import Profile
from pytest_mindtrial.providers.sse import SseEvent
from pytest_mindtrial.providers.usage import read_usage
from pytest_mindtrial.suite.model import Run

__all__ = ["DIALECT", "AnthropicDialect"]

_PATH = "/v1/messages"
_RECEIVED = "The reply was received."
_NOT_EXECUTED = "This call was not executed, because the reply ended here."


class AnthropicDialect:
    """The dialect; stateless."""

    name = "anthropic"

    def open(
        self, profile: Profile, run: Run, prompt: Prompt, *, mode: OutputMode, is_vendor_host: bool
    ) -> _AnthropicConversation:
        """Begin a conversation; see `providers.dialects.base.Dialect`. Nothing depends on the host."""
        return _AnthropicConversation(profile, run, prompt, mode)

    def assemble(self, events: Iterable[SseEvent]) -> Mapping[str, Any]:
        """Put a stream together; see `providers.dialects.base.Dialect`."""
        return assemble_anthropic(events)

    def fault(self, reply: Mapping[str, Any], *, status: int = 200) -> ProviderError | None:
        """Return the error object that came with a good status, if any."""
        return error_in_reply(reply, status=status)


DIALECT = AnthropicDialect()


class _AnthropicConversation:
    """Messages of one attempt; see `providers.dialects.base.WireConversation`.

    Attributes:
        _open_calls: Calls of the last reply that were not run; the API wants a result for each before anything else.
    """

    def __init__(self, profile: Profile, run: Run, prompt: Prompt, mode: OutputMode) -> None:
        self._profile = profile
        self._mode = mode
        self._cache = cache_control(run)
        self._base = base_body(profile, run, prompt, mode)
        self._system = system_blocks(prompt, mode)
        self._tools = local_tools(prompt.tools, mode)
        self._submit = [submit_tool(prompt)] if mode == "tool" else []
        self._choice = "auto"
        self._messages: list[dict[str, Any]] = [{"role": "user", "content": user_blocks(prompt)}]
        self._open_calls: tuple[ToolCall, ...] = ()
        self._streams = streams(run, self._base["max_tokens"])
        if self._streams:
            self._base["stream"] = True
        self._turn = 0

    def request(self) -> HttpCall:
        messages, system, tools = list(self._messages), self._system, self._tools
        if self._cache is not None:
            if tools:
                tools = _marked(tools, self._cache)
            elif system:
                system = _marked(system, self._cache)
            else:
                messages[0] = {**messages[0], "content": _marked(messages[0]["content"], self._cache)}
        body: dict[str, Any] = {**self._base, "messages": messages}
        if self._cache is not None:
            body["cache_control"] = self._cache
        if system:
            body["system"] = system
        if tools := [*tools, *self._submit]:
            body |= {"tools": tools, "tool_choice": {"type": self._choice}}
        return HttpCall(_PATH, body, self._streams)

    def accept(self, reply: Mapping[str, Any]) -> Turn:
        self._turn += 1
        content = reply.get("content")
        if not isinstance(content, list):
            raise ReplyError("the reply holds no candidate", transient=False, cause="no-candidate")
        blocks = [block for block in content if isinstance(block, Mapping)]
        calls = read_calls(blocks, self._turn)
        submitted = self._submitted(blocks)
        reason = str(reply.get("stop_reason") or "")
        stop = classify(reason, has_calls=bool(calls), is_submitted=submitted is not None)
        self._remember(blocks, calls, stop)
        text = answer_text(blocks)
        is_terminal = stop not in (StopClass.TOOLS, StopClass.CONTINUE)
        return Turn(
            text=text if is_terminal else None,
            stop=stop,
            stop_reason=reason,
            stop_details=stop_details(reply),
            commentary="" if is_terminal else text or "",
            tool_calls=calls if stop is StopClass.TOOLS else (),
            usage=read_usage(self._profile.usage, reply.get("usage")),
            mode=self._mode,
            parsed=submitted,
            response_id=reply["id"] if isinstance(reply.get("id"), str) else None,
        )

    def add_tool_results(self, results: Sequence[ToolResult]) -> None:
        blocks = [_result_block(result.call.id, result.content, is_error=result.is_error) for result in results]
        self._messages.append({"role": "user", "content": blocks})

    def add_feedback(self, text: str) -> None:
        blocks = []
        for call in self._open_calls:
            is_answer = call.name == SUBMIT_TOOL and self._mode == "tool"
            blocks.append(_result_block(call.id, _RECEIVED if is_answer else _NOT_EXECUTED, is_error=not is_answer))
        self._open_calls = ()
        self._messages.append({"role": "user", "content": [*blocks, {"type": "text", "text": text}]})

    def withdraw_tool(self, name: str) -> None:
        """Leave a tool out; the last one stays declared and is forbidden, because messages with calls need a tool."""
        kept = [tool for tool in self._tools if tool["name"] != name]
        if kept or self._submit or not self._tools:
            self._tools = kept
        else:
            self._choice = "none"

    def _submitted(self, blocks: Sequence[Mapping[str, Any]]) -> Mapping[str, Any] | None:
        """Return what the first call of the answer tool carries; None = it was not called."""
        for block in blocks if self._mode == "tool" else ():
            if block.get("type") == "tool_use" and block.get("name") == SUBMIT_TOOL:
                given = block.get("input")
                return given if isinstance(given, Mapping) else {}
        return None

    def _remember(self, blocks: Sequence[Mapping[str, Any]], calls: tuple[ToolCall, ...], stop: StopClass) -> None:
        content = replayed_blocks(blocks, calls)
        if content:
            self._messages.append({"role": "assistant", "content": content})
        self._open_calls = () if stop is StopClass.TOOLS else calls


def _marked(blocks: Sequence[dict[str, Any]], control: Mapping[str, Any]) -> list[dict[str, Any]]:
    """Return the blocks with a cache breakpoint on the last one that can carry it.

    Blocks of a user message that we build, system blocks and tools all can.
    """
    return [*blocks[:-1], {**blocks[-1], "cache_control": control}]


def _result_block(identity: str, content: str, *, is_error: bool) -> dict[str, Any]:
    return {"type": "tool_result", "tool_use_id": identity, "content": content, "is_error": is_error}
