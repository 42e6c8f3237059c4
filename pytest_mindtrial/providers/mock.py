"""The ``mock`` provider: a model that answers in process, deterministically and for free.

It goes through the same request policy as the HTTP providers, so limits, retries, budgets and records work as they do
with a real service. Does not open sockets and does not read the script's keys (``providers/mock_script.py`` has them).
Source: design D13; spec providers 1, 6, 8.2.
"""

from __future__ import annotations

import hashlib
import json
from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any

from pytest_mindtrial.core.clock import Clock, SystemClock
from pytest_mindtrial.core.errors import ApiError, ProviderError, TransportError
from pytest_mindtrial.core.values import StopClass, ToolCall, ToolResult, Usage
from pytest_mindtrial.providers.base import Prompt, ReplyFacts, RequestPolicy, Turn
from pytest_mindtrial.providers.mock_answers import as_text, judge_verdict, right_answer, wrong_answer
from pytest_mindtrial.providers.mock_pattern import PatternError
from pytest_mindtrial.providers.mock_schema import InstanceError
from pytest_mindtrial.providers.mock_script import REPLY_FAULTS, Fault, MockScript, ScriptedCall, read_script
from pytest_mindtrial.suite.model import Run

__all__ = ["JUDGE_TASK", "MockClient"]

JUDGE_TASK = "response assessment"
"""Name of the task that carries a question to a judge (spec mindtrial 5.3)."""

_TRANSIENT_STATUS = frozenset((408, 409, 425, 429, 500, 502, 503, 504, 520, 521, 522, 523, 524, 529))


class MockClient:
    """A run of the mock provider.

    Args:
        run: The run; its ``model-parameters`` are the script.
        policy: Limits, retries and records around every request.
        clock: Time for ``delay``, ``jitter`` and durations.

    Raises:
        ConfigError: The script has a mistake.
    """

    is_mock = True

    def __init__(self, run: Run, policy: RequestPolicy, *, clock: Clock | None = None) -> None:
        self.run = run
        self.script = read_script(run)
        self._policy = policy
        self._clock = clock or SystemClock()

    def check(self, prompt: Prompt) -> None:
        """Accept every prompt: the mock takes all files and formats."""

    def start(self, prompt: Prompt) -> MockConversation:
        """Begin a conversation."""
        return MockConversation(self.run, self.script, prompt, self._policy, self._clock)

    async def close(self) -> None:
        """Do nothing; there is nothing to release."""


@dataclass(frozen=True, slots=True)
class _Reply:
    """A turn in the form in which the request policy reads a reply."""

    turn: Turn
    request_id: str
    duration_ns: int
    first_byte_ns: int
    status: int = 200


class MockConversation:
    """One conversation: tool calls first, if scripted, then an answer each time it is asked.

    Args:
        run: The run.
        script: Its checked parameters.
        prompt: The opening.
        policy: Goes around every request.
        clock: Time.
    """

    def __init__(self, run: Run, script: MockScript, prompt: Prompt, policy: RequestPolicy, clock: Clock) -> None:
        self._run = run
        self._script = script
        self._prompt = prompt
        self._policy = policy
        self._clock = clock
        self._identity = f"{prompt.seed}\0{run.provider}\0{run.name}\0{prompt.task}\0{prompt.repeat}"
        self._calls = script.tool_calls[prompt.task]
        self._faults = script.faults[prompt.task]
        self._requests = 0
        self._turns = 0
        self._answered = 0
        self._heard = prompt.text
        self._heard_length = len(prompt.text) + len(prompt.system_prompt or "")

    async def next_turn(self) -> Turn:
        """Return the next scripted turn; see `ModelClient`."""
        self._turns += 1
        purpose = "judge" if self._prompt.task == JUDGE_TASK else "candidate"
        reply, records = await self._policy.execute(
            self._send,
            turn=self._turns,
            purpose=purpose,
            read=lambda reply: ReplyFacts(reply.turn.usage),
            weigh=lambda: self._heard_length,
        )
        turn: Turn = reply.turn
        if not turn.tool_calls:
            self._answered += 1
        self._heard_length += len(turn.text or "")
        return Turn(
            text=turn.text,
            stop=turn.stop,
            stop_reason=turn.stop_reason,
            tool_calls=turn.tool_calls,
            usage=turn.usage,
            duration_ns=reply.duration_ns,
            requests=records,
            mode=turn.mode,
            request_id=reply.request_id,
        )

    def add_tool_results(self, results: Sequence[ToolResult]) -> None:
        """Hear tool results; ``echo`` repeats the last one."""
        for result in results:
            self._hear(result.content)

    def add_feedback(self, text: str) -> None:
        """Hear a feedback message; the next turn is a new answer."""
        self._hear(text)

    def withdraw_tool(self, name: str) -> None:
        """Do nothing: a script calls what it says."""

    def _hear(self, text: str) -> None:
        self._heard = text
        self._heard_length += len(text)

    async def _send(self) -> _Reply:
        index = self._requests
        self._requests += 1
        began = self._clock.monotonic_ns()
        await self._wait(index)
        fault = self._faults[index] if index < len(self._faults) else None
        if fault is not None and fault.kind not in ("ok", *REPLY_FAULTS):
            raise _error(fault)
        turn = self._tool_turn() or self._answer_turn(fault.kind if fault else "ok")
        took = self._clock.monotonic_ns() - began
        return _Reply(turn, f"mock-{self._digest('request', index).hex()}", took, took)

    async def _wait(self, index: int) -> None:
        seconds = self._script.delay_s
        if self._script.jitter_s:
            seconds += self._script.jitter_s * self._chance("jitter", index)
        if seconds > 0:
            await self._clock.sleep(seconds)

    def _chance(self, purpose: str, number: int) -> float:
        """Return a number in [0, 1) that depends on nothing but the attempt, the purpose and the number."""
        return int.from_bytes(self._digest(purpose, number), "big") / 2**48

    def _digest(self, purpose: str, number: int) -> bytes:
        return hashlib.blake2b(f"{self._identity}\0{purpose}\0{number}".encode(), digest_size=6).digest()

    def _tool_turn(self) -> Turn | None:
        if self._turns > len(self._calls) or self._answered:
            return None
        calls = tuple(
            ToolCall(f"call_{self._turns}_{number}", call.name, _arguments(call))
            for number, call in enumerate(self._calls[self._turns - 1], 1)
        )
        said = sum(len(call.arguments) for call in calls)
        return Turn(None, StopClass.TOOLS, "tool_calls", tool_calls=calls, usage=self._usage(said))

    def _answer_turn(self, fault: str) -> Turn:
        if fault == "refusal":
            return Turn(None, StopClass.REFUSED, "refusal", usage=self._usage(0))
        if fault == "empty":
            return Turn(None, StopClass.FINAL, "stop", usage=self._usage(0))
        text = self._text(*self._answer())
        stop, reason = StopClass.FINAL, "stop"
        if fault == "truncated":
            text, stop, reason = text[: len(text) // 2], StopClass.TRUNCATED, "length"
        elif fault == "invalid-json":
            text = f"Here you are: {text[:-1]}"
        mode: Any = "off" if self._run.disable_structured_output else "schema"
        return Turn(text, stop, reason, usage=self._usage(len(text)), mode=mode)

    def _answer(self) -> tuple[Any, str]:
        """Return the answer, and in words where it comes from."""
        prompt, run = self._prompt, f"mock run {self._run.name}"
        if prompt.task == JUDGE_TASK:
            verdict = judge_verdict(prompt, self._script.verdicts)
            return verdict, f"The {run} judges by its verdicts, or else by the accepted answers."
        scripted = self._script.answer(prompt.task, prompt.repeat, self._answered)
        if scripted is not None:
            return scripted, f"The script of the {run} has this answer."
        if self._script.behaviour == "script":
            raise ApiError(
                f"mock run {self._run.name!r} has no answer for task {prompt.task!r}: add it to answers",
                transient=False,
                cause="mock-unscripted",
            )
        if self._script.behaviour == "echo":
            return self._heard, f"The {run} repeats what it was told last."
        is_right = self._script.behaviour == "perfect" or self._chance("answer", self._answered) < self._script.accuracy
        try:
            answer = right_answer(prompt) if is_right else wrong_answer(prompt)
        except (InstanceError, PatternError) as error:
            raise ApiError(
                f"the mock cannot invent an answer for task {prompt.task!r} ({error}): add it to answers",
                transient=False,
                cause="mock-unscripted",
            ) from error
        return answer, f"The {run} is told to be {self._script.behaviour}."

    def _text(self, answer: Any, explanation: str) -> str:
        """Return the reply text: the answer in the wrapper of spec providers 4.1, or bare in mode ``off``."""
        if self._run.disable_structured_output:
            return as_text(answer)
        wrapper = {
            "title": f"Mock answer to {self._prompt.task}",
            "explanation": explanation,
            "final_answer": {"content": answer} if self._prompt.wants_schema else as_text(answer),
        }
        return json.dumps(wrapper, ensure_ascii=False)

    def _usage(self, said: int) -> Usage:
        tokens = self._script.tokens
        if tokens is None:
            # Four characters a token: the usual rule of thumb, good enough for a number nobody pays for.
            tokens = {"input": -(-self._heard_length // 4), "output": -(-said // 4)}
        if not tokens:
            return Usage()
        return Usage(
            tokens.get("input"),
            tokens.get("output"),
            tokens.get("reasoning"),
            tokens.get("cache-write"),
            tokens.get("cache-read"),
            "cache_tokens_included",
            "reasoning_tokens_included",
            (dict(tokens),),
        )


def _arguments(call: ScriptedCall) -> str:
    return call.arguments if isinstance(call.arguments, str) else json.dumps(call.arguments, ensure_ascii=False)


def _error(fault: Fault) -> ProviderError:
    status = fault.status
    if status is None:
        cause = "connect" if fault.kind == "reset" else "timeout"
        return TransportError(f"mock fault: {fault.kind}", transient=True, cause=cause)
    return ApiError(
        f"mock fault: HTTP {status}",
        transient=status in _TRANSIENT_STATUS or (status >= 500 and status not in (501, 505)),
        cause=f"http-{status}",
        status=status,
        retry_after_s=fault.retry_after_s,
        details={"HTTP Status": str(status)},
    )
