"""The conversation loop: request, reply, tool calls, until the model has said its last word.

Knows no vendor (``providers/``) and runs no tool itself (`ToolExecutor`). Source: spec providers 1, 5 and 6; spec
mindtrial 4.2.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Mapping, Sequence
from dataclasses import replace
from typing import Any

from pytest_mindtrial.core.errors import ProviderError, ReplyError, TurnLimitError
from pytest_mindtrial.core.record import RequestRecord
from pytest_mindtrial.core.values import StopClass, ToolCall, ToolResult, Usage
from pytest_mindtrial.engine.plan import ToolExecutor
from pytest_mindtrial.engine.slots import current_slot
from pytest_mindtrial.providers.base import Conversation, Prompt, Turn
from pytest_mindtrial.providers.reading import ReadAnswer, read_answer

__all__ = ["Trail", "converse", "read_reply"]

CONTINUES_IN_A_ROW = 3
"""Replies that ask to be continued; one more is an error, so that a confused service cannot loop for ever."""


class Trail:
    """What a conversation leaves behind, also when it fails halfway.

    Attributes:
        turns: Requests answered so far.
        usage: Tokens of all turns.
        cached_usage: Tokens of the turns that came from the response cache, a part of ``usage``.
        duration_ns: Model time of all turns: no waiting, no failed tries, no tools.
        requests: Every try of every request.
        transcript: Messages in order, see `core.record.Result.transcript`.
    """

    def __init__(self, purpose: str = "candidate") -> None:
        self._purpose = purpose
        self.turns = 0
        self.usage = Usage()
        self.cached_usage = Usage()
        self.duration_ns = 0
        self.requests: list[RequestRecord] = []
        self.transcript: list[dict[str, Any]] = []

    def open(self, prompt: Prompt) -> None:
        """Note the opening messages."""
        if prompt.system_prompt:
            self.transcript.append({"role": "system", "text": prompt.system_prompt})
        lines = [f"[file: {attachment.name}]" for attachment in prompt.attachments]
        self.transcript.append({"role": "user", "text": "\n".join([*lines, prompt.text])})

    def add_turn(self, turn: Turn) -> None:
        """Note a reply."""
        self.turns += 1
        self.usage += turn.usage
        if turn.requests and turn.requests[-1].cached:
            self.cached_usage += turn.usage
        self.duration_ns += turn.duration_ns
        self.add_requests(turn.requests)
        self.transcript.append({"role": "assistant", "text": turn.text or turn.commentary})

    def add_requests(self, requests: Sequence[RequestRecord]) -> None:
        """Note requests that were tried."""
        if self._purpose != "candidate":
            requests = [replace(request, purpose=self._purpose) for request in requests]
        self.requests.extend(requests)

    def add_tool_result(self, result: ToolResult) -> None:
        """Note what the model was told about a call."""
        call = result.call
        message = {"role": "tool", "name": call.name, "arguments": call.arguments, "text": result.content}
        self.transcript.append(message)

    def add_user(self, text: str) -> None:
        """Note a further user message."""
        self.transcript.append({"role": "user", "text": text})


async def converse(conversation: Conversation, trail: Trail, *, tools: ToolExecutor | None, max_turns: int) -> Turn:
    """Go on until the model's reply is terminal.

    Args:
        conversation: Started; may have had turns before (feedback).
        trail: Gets every turn, also those before an error.
        tools: Runs tool calls; None = there are none, and the model is told so.
        max_turns: Most requests of the whole conversation; 0 = unlimited.

    Returns:
        The terminal turn, whatever its class; see `read_reply`.

    Raises:
        TurnLimitError: A further request would exceed ``max_turns``.
        ProviderError: A request failed for good, or the service asked too often to be continued.
        SandboxError: A tool failed in a way that the model cannot mend.
    """
    slot = current_slot.get()
    continues = 0
    refusals: Counter[str] = Counter()
    while True:
        if max_turns and trail.turns >= max_turns:
            raise TurnLimitError(f"maximum conversation turns exceeded: exceeded limit of {max_turns}")
        if slot is not None:
            slot.turn = trail.turns + 1
        turn = await _next_turn(conversation, trail)
        match turn.stop:
            case StopClass.TOOLS:
                continues = 0
                await _answer_calls(conversation, turn, trail, tools, refusals)
            case StopClass.CONTINUE:
                continues += 1
                if continues > CONTINUES_IN_A_ROW:
                    raise ReplyError(
                        f"the service asked {continues} times in a row to be continued",
                        cause="continue",
                        details={"Stop Reason": turn.stop_reason},
                        request_id=turn.request_id,
                    )
            case _:
                return turn


def read_reply(turn: Turn, response_format: str | Mapping[str, Any]) -> ReadAnswer:
    """Read the answer of a terminal turn.

    Raises:
        ReplyError: There is none, or it cannot be read; the error names the request.
    """
    try:
        return read_answer(turn, response_format=response_format)
    except ProviderError as error:
        error.request_id = error.request_id or turn.request_id
        raise


async def _next_turn(conversation: Conversation, trail: Trail) -> Turn:
    try:
        turn = await conversation.next_turn()
    except ProviderError as error:
        trail.add_requests(error.requests)
        raise
    trail.add_turn(turn)
    return turn


async def _answer_calls(
    conversation: Conversation, turn: Turn, trail: Trail, tools: ToolExecutor | None, refusals: Counter[str]
) -> None:
    """Run every call of a turn, in the model's order, and withdraw tools that it keeps calling in vain."""
    results = []
    for call in turn.tool_calls:
        result = await _run_call(call, trail.turns, tools)
        trail.add_tool_result(result)
        results.append(result)
        if tools is not None and result.is_error and call.name in tools.exhausted:
            refusals[call.name] += 1
    conversation.add_tool_results(results)
    for name in [name for name, count in refusals.items() if count > 1]:
        conversation.withdraw_tool(name)
        del refusals[name]


async def _run_call(call: ToolCall, turn_number: int, tools: ToolExecutor | None) -> ToolResult:
    if tools is None:
        return ToolResult(call, f"Tool error: there is no tool named {call.name}.", is_error=True)
    return await tools.call(call, turn_number)
