"""The running tools and services of one attempt, for hand-written tests: what ``mindtrial.attempt`` gives.

Everything happens in the engine's loop; the test's thread waits. Nothing outlives `LiveAttempt.close`, also when the
test was interrupted in the middle of a call. Does not create items or results. Source: design D4; spec docker 12.
"""

from __future__ import annotations

import asyncio
import json
from collections.abc import Awaitable, Callable, Mapping, Sequence
from dataclasses import replace
from typing import TYPE_CHECKING, Any, TypeVar

import pytest

from pytest_mindtrial.core.errors import SandboxRuntimeError
from pytest_mindtrial.core.values import ToolCall, ToolResult
from pytest_mindtrial.plugin.replies import NoJudgement, Reply, alternatives, prompt_title, reply_of
from pytest_mindtrial.providers.base import ToolDefinition
from pytest_mindtrial.suite.files import FileStore
from pytest_mindtrial.suite.suggest import allowed_list, near_match
from pytest_mindtrial.validators.base import Candidate, Verdict

if TYPE_CHECKING:
    from pytest_mindtrial.core.record import ToolCallRecord, ToolUsageRecord
    from pytest_mindtrial.plugin.runner import Runner
    from pytest_mindtrial.sandbox.endpoints import ServiceEndpoint
    from pytest_mindtrial.sandbox.session import AttemptSandbox
    from pytest_mindtrial.suite.model import Config, Provider, Run, Task

__all__ = ["LiveAttempt"]

T = TypeVar("T")


class LiveAttempt:
    """Tools and services that run until the end of a ``with`` block.

    Args:
        runner: The session's engine.
        config: Definitions.
        task: What the attempt is about: tools, inputs, files.
        services: Names of services beyond those that the task needs.
        provider: The run's provider entry.
        run: Who is asked; its name goes into templates.
        seed: Evaluation seed.
    """

    def __init__(
        self,
        runner: Runner,
        config: Config,
        task: Task,
        services: Sequence[str],
        provider: Provider,
        run: Run,
        seed: str,
    ) -> None:
        self._runner = runner
        self._config = config
        self._task = task
        self._named = tuple(services)
        self._provider = provider
        self._run = run
        self._seed = seed
        self._sandbox: AttemptSandbox | None = None
        self._pending: set[asyncio.Task[Any]] = set()
        self._is_closed = False

    def open(self) -> None:
        """Check what is needed, then start the services and wait until they are ready.

        Raises:
            pytest.UsageError: A name is unknown, an image is missing, or no engine answers; nothing was started.
            SandboxError: A service did not become ready; nothing is left behind.
        """
        hub = self._runner.engine.hub_of(self._config)
        problems = hub.preflight([self._task], services=self._named)
        if problems:
            raise pytest.UsageError("mindtrial.attempt: " + "\n".join(map(str, problems)))

        async def start() -> None:
            self._sandbox = await hub.open(
                self._task, self._run, self._provider.name, self._seed, FileStore(), services=self._named
            )

        self._do(start)

    def close(self) -> None:
        """End what is under way and remove everything; may be called again."""
        if not self._is_closed:
            self._is_closed = True
            self._runner.in_loop(self._end)

    @property
    def services(self) -> Mapping[str, ServiceEndpoint]:
        """Running services by name. Tools and validators reach them; the test itself does not."""
        return self._opened.services

    @property
    def calls(self) -> tuple[ToolCallRecord, ...]:
        """Every tool call so far, the model's included."""
        return self._opened.calls

    @property
    def usage(self) -> Mapping[str, ToolUsageRecord]:
        """Totals by tool so far."""
        return self._opened.usage

    def call_tool(self, name: str, /, **arguments: Any) -> ToolResult:
        """Call a tool as a model would.

        Args:
            name: A tool of the attempt; for any other the result says that there is none.
            arguments: Its arguments.

        Returns:
            The text for the model; ``is_error`` when the call failed.

        Raises:
            SandboxError: A service that the tool needs is gone.
        """
        call = ToolCall("", name, json.dumps(arguments))
        return self._do(lambda: self._opened.call(call, 0))

    def ask(self, prompt: str, *, response_format: Any = "plain text", system_prompt: str | None = None) -> Reply:
        """Let the model work on a prompt with the tools of this attempt.

        Args:
            prompt: The task.
            response_format: Text instruction or JSON Schema.
            system_prompt: Sent before the prompt.

        Raises:
            NoAnswer: The conversation ended in an error, or the run cannot take the prompt.
        """
        task = replace(
            self._task,
            name=prompt_title(prompt),
            prompt=prompt,
            response_format=response_format,
            system_prompt=system_prompt,
        )
        tools = _Lent(self._opened, self._guarded)
        return reply_of(self._runner.ask(task, self._provider, self._run, NoJudgement(), tools))

    def validate(
        self,
        name: str,
        answer: Any,
        *,
        expected: Any = (),
        prompt: str = "",
        response_format: Any = "plain text",
        case_sensitive: bool = False,
        ignore_whitespace: bool = False,
        trim_lines: bool = False,
    ) -> Verdict:
        """Let a custom validator judge an answer; it sees the services of this attempt.

        Args:
            name: A validator of the configuration; the services that it depends on must run in this attempt.
            answer: Any JSON value.
            expected: One expected result, or a list of them.
            prompt: What was asked.
            response_format: Text instruction or JSON Schema of the answer.
            case_sensitive: As in ``validation-rules``.
            ignore_whitespace: As in ``validation-rules``.
            trim_lines: As in ``validation-rules``.

        Raises:
            ValidationError: The validator gave no verdict.
            pytest.UsageError: There is no validator of that name.
        """
        from pytest_mindtrial.validators.custom import CustomValidator

        known = {each.name: each for each in self._config.validators}
        if name not in known:
            hint = f"(defined: {allowed_list(known)}){near_match(name, known)}"
            raise pytest.UsageError(f"mindtrial.attempt: validator {name!r} is not defined {hint}")
        rules = replace(
            self._task.rules,
            case_sensitive=case_sensitive,
            ignore_whitespace=ignore_whitespace,
            trim_lines=trim_lines,
            custom_validator=name,
        )
        candidate = Candidate(self._task.name, prompt, response_format, alternatives(expected), rules, answer)
        validator = CustomValidator(name, self._opened.validator(known[name]))
        return self._do(lambda: validator.validate(candidate))

    @property
    def _opened(self) -> AttemptSandbox:
        if self._sandbox is None or self._is_closed:
            raise SandboxRuntimeError("this attempt has ended; use it inside its with block")
        return self._sandbox

    def _do(self, make: Callable[[], Awaitable[T]]) -> T:
        return self._runner.in_loop(lambda: self._guarded(make))

    async def _guarded(self, make: Callable[[], Awaitable[T]]) -> T:
        """Do something that must have ended before the sandbox goes."""
        task = asyncio.current_task()
        assert task is not None
        if self._is_closed:
            raise SandboxRuntimeError("this attempt has ended")
        self._pending.add(task)
        try:
            return await make()
        finally:
            self._pending.discard(task)

    async def _end(self) -> None:
        pending = list(self._pending)
        for task in pending:
            task.cancel()
        await asyncio.gather(*pending, return_exceptions=True)
        if self._sandbox is not None:
            await self._sandbox.close()


class _Lent:
    """The sandbox as the tools of one conversation, which neither closes it nor reports earlier calls."""

    def __init__(self, sandbox: AttemptSandbox, guarded: Callable[..., Awaitable[ToolResult]]) -> None:
        self._sandbox = sandbox
        self._guarded = guarded
        self._earlier = len(sandbox.calls)
        self.definitions = tuple(ToolDefinition(*each) for each in sandbox.tool_definitions())

    @property
    def usage(self) -> Mapping[str, ToolUsageRecord]:
        return self._sandbox.usage

    @property
    def calls(self) -> tuple[ToolCallRecord, ...]:
        return self._sandbox.calls[self._earlier :]

    @property
    def exhausted(self) -> set[str]:
        return self._sandbox.exhausted

    async def call(self, call: ToolCall, turn: int) -> ToolResult:
        return await self._guarded(lambda: self._sandbox.call(call, turn))

    async def close(self) -> None:
        return
