"""Python functions as tools: what an overridden ``mt_tools`` may give instead of containers.

A function is called in this process: without isolation, memory or processor limits. Everything else is as with
containers: arguments are checked, calls are limited, timed and recorded, and a failure is a text for the model. Tools
of the task that stay containers are called through the attempt's sandbox. Source: design D4; spec docker 4.
"""

from __future__ import annotations

import asyncio
import inspect
import json
import traceback
from collections.abc import Callable, Iterable, Mapping
from dataclasses import dataclass
from typing import Any

from pytest_mindtrial.core.clock import Clock, SystemClock
from pytest_mindtrial.core.errors import SandboxError
from pytest_mindtrial.core.record import OutputRecord, ToolCallRecord, ToolUsageRecord
from pytest_mindtrial.core.values import ToolCall, ToolResult
from pytest_mindtrial.engine.plan import ToolExecutor
from pytest_mindtrial.engine.threads import in_thread
from pytest_mindtrial.providers.base import ToolDefinition
from pytest_mindtrial.sandbox.arguments import ArgumentError, check_arguments, parse_arguments
from pytest_mindtrial.sandbox.ledger import CallLedger
from pytest_mindtrial.sandbox.output import Captured
from pytest_mindtrial.sandbox.reports import (
    CallReport,
    cut_text,
    infrastructure_report,
    invalid_report,
    seconds_text,
    unknown_text,
)
from pytest_mindtrial.sandbox.settings import DEFAULT_SETTINGS

__all__ = ["FunctionTool", "FunctionTools", "definition_of"]

_RAISED = 1
"""Exit code of a call whose function raised, as that of a Python program."""


@dataclass(frozen=True, slots=True)
class FunctionTool:
    """A function that the model may call.

    Attributes:
        definition: What the model is told.
        function: Takes the arguments by name; returns the text for the model, or a value that becomes JSON. May be a
            coroutine function, which runs in the engine's loop; others run in a thread of their own.
        max_calls: None = unlimited.
        timeout_s: The call ends after this time; a thread cannot be stopped, its result is dropped. None = unlimited.
    """

    definition: ToolDefinition
    function: Callable[..., Any]
    max_calls: int | None = None
    timeout_s: float | None = None


def definition_of(name: str, function: Callable[..., Any]) -> ToolDefinition:
    """Describe a function to a model by its docstring and its signature.

    Raises:
        TypeError: It has no docstring, or its parameters cannot be described as JSON.
    """
    from pydantic import PydanticUserError, TypeAdapter

    description = (inspect.getdoc(function) or "").strip() if inspect.isroutine(function) else ""
    if not description:
        raise TypeError(f"tool {name!r} needs a docstring that tells the model what it does, or a definition")
    try:
        adapter: TypeAdapter[Any] = TypeAdapter(function)  # type: ignore[arg-type] # it takes functions, too
        schema = adapter.json_schema()
    except (PydanticUserError, NameError) as error:
        raise TypeError(f"tool {name!r}: its parameters cannot be described as JSON ({error})") from error
    if schema.get("type") != "object":
        raise TypeError(f"tool {name!r} must take its arguments by name")
    for each in schema.get("properties", {}).values():
        each.pop("title", None)  # the parameter's name once more
    return ToolDefinition(name, description, schema)


@dataclass(slots=True)
class _Process:
    """What is known of a running call, in the fields of its record."""

    begin_ns: int | None = None
    exit_code: int | None = None
    timed_out: bool = False
    stdout: OutputRecord | None = None
    stderr: OutputRecord | None = None


class FunctionTools:
    """Functions, and containers beside them, as the tools of one attempt (`engine.plan.ToolExecutor`).

    Args:
        tools: The functions.
        contained: Definitions of the task's own tools that stay containers.
        order: Names in the order in which the model is told of them; those not named come last.
        is_strict: Check arguments against the schemas.
        clock: For records.
    """

    def __init__(
        self,
        tools: Iterable[FunctionTool],
        contained: Iterable[ToolDefinition] = (),
        *,
        order: Iterable[str] = (),
        is_strict: bool = True,
        clock: Clock | None = None,
    ) -> None:
        self._tools = {tool.definition.name: tool for tool in tools}
        kept = {definition.name: definition for definition in contained}
        known = {name: tool.definition for name, tool in self._tools.items()} | kept
        self.contained = frozenset(kept)
        self.definitions = tuple(known[name] for name in dict.fromkeys([*order, *known]) if name in known)
        self._is_strict = is_strict
        self._clock = clock or SystemClock()
        self._ledger = CallLedger(self._clock)
        self._calls: list[ToolCallRecord] = []
        self._session: ToolExecutor | None = None
        self._one_at_a_time = asyncio.Lock()

    def attach(self, session: ToolExecutor) -> None:
        """Take the sandbox that runs the tools in `contained`; the attempt closes it."""
        self._session = session

    @property
    def usage(self) -> Mapping[str, ToolUsageRecord]:
        """Totals by tool."""
        return {**self._ledger.usage, **(self._session.usage if self._session else {})}

    @property
    def calls(self) -> tuple[ToolCallRecord, ...]:
        """Records in the order of completion."""
        return tuple(self._calls)

    @property
    def exhausted(self) -> set[str]:
        """Tools that were asked for after their calls were used up."""
        return {*self._ledger.exhausted, *(self._session.exhausted if self._session else ())}

    async def call(self, call: ToolCall, turn: int) -> ToolResult:
        """Run one call and return what the model is told.

        Raises:
            SandboxError: A function raised it, or a container's service is gone; the attempt ends as an error.
        """
        async with self._one_at_a_time:
            if call.name in self.contained and self._session is not None:
                before = len(self._session.calls)
                try:
                    return await self._session.call(call, turn)
                finally:
                    self._calls += self._session.calls[before:]
            if call.name not in self._tools:
                return ToolResult(call, unknown_text(call.name), True)
            tool = self._tools[call.name]
            if refused := self._ledger.refusal(call, tool.max_calls):
                return refused
            report = await self._recorded(tool, call, turn)
        return ToolResult(call, cut_text(report.text, DEFAULT_SETTINGS.text_limit_chars), report.is_error)

    async def close(self) -> None:
        """Do nothing: functions leave nothing behind, and the sandbox belongs to the attempt."""

    async def _recorded(self, tool: FunctionTool, call: ToolCall, turn: int) -> CallReport:
        """Run a call and append exactly one record, also when it is cancelled."""
        opened, process = self._ledger.open(call, turn), _Process()
        report = infrastructure_report(call.name, "the attempt was cancelled", "cancelled")
        try:
            report = await self._execute(tool, call, process)
        except SandboxError as error:
            report = infrastructure_report(call.name, "the attempt has ended", str(error))
            raise
        finally:
            was_started = process.begin_ns is not None
            duration_ns = self._clock.monotonic_ns() - process.begin_ns if process.begin_ns is not None else None
            self._ledger.close(
                opened,
                report,
                counts=was_started,
                duration_ns=duration_ns,
                exit_code=process.exit_code,
                timed_out=process.timed_out,
                stdout=process.stdout,
                stderr=process.stderr,
            )
            self._calls.append(self._ledger.calls[-1])
        return report

    async def _execute(self, tool: FunctionTool, call: ToolCall, process: _Process) -> CallReport:
        name, schema = call.name, tool.definition.parameters
        try:
            arguments = parse_arguments(call.arguments)
            if self._is_strict and schema:
                check_arguments(arguments, schema)
        except ArgumentError as error:
            return invalid_report(name, str(error))
        if problem := _misfit(tool.function, arguments):
            return infrastructure_report(name, "its function does not take these arguments", problem)
        process.begin_ns = self._clock.monotonic_ns()
        try:
            async with asyncio.timeout(tool.timeout_s) as limit:
                value = await _value(tool.function, arguments)
        except SandboxError:
            raise
        except Exception as error:
            if limit.expired():
                return _late(name, tool.timeout_s or 0, process)
            return _raised(name, error, process)
        return _returned(name, value, process)


def _misfit(function: Callable[..., Any], arguments: Mapping[str, Any]) -> str:
    """Say why a function cannot be called with these arguments; blank when it can, or when nobody knows."""
    try:
        inspect.signature(function).bind(**arguments)
    except TypeError as error:
        return str(error)
    except ValueError:  # some built-in functions do not tell
        return ""
    return ""


async def _value(function: Callable[..., Any], arguments: Mapping[str, Any]) -> Any:
    if inspect.iscoroutinefunction(function):
        return await function(**arguments)
    value = await in_thread(lambda: function(**arguments))
    return await value if inspect.isawaitable(value) else value


def _late(name: str, timeout_s: float, process: _Process) -> CallReport:
    process.timed_out = True
    text = f"Tool error: {name} was stopped after its time limit of {seconds_text(timeout_s)}."
    return CallReport("timeout", text, f"stopped after the time limit of {seconds_text(timeout_s)}")


def _raised(name: str, error: Exception, process: _Process) -> CallReport:
    """Report an exception as a program would: exit code 1, and the traceback on standard error."""
    process.exit_code = _RAISED
    process.stdout, process.stderr = _output(""), _output("".join(traceback.format_exception(error)))
    reason = f"raised {type(error).__name__}: {error}"
    return CallReport("nonzero_exit", f"Tool error: {name} {reason}", reason)


def _returned(name: str, value: Any, process: _Process) -> CallReport:
    try:
        text = value if isinstance(value, str) else "" if value is None else _json(value)
    except (TypeError, ValueError) as error:
        return infrastructure_report(name, "its function returned neither text nor JSON", str(error))
    process.exit_code = 0
    process.stdout, process.stderr = _output(text, with_preview=not text.strip()), _output("")
    if not text.strip():
        return CallReport("empty_output", f"Tool error: {name} returned nothing.", "returned nothing")
    return CallReport("success", text.strip())


def _output(text: str, *, with_preview: bool = True) -> OutputRecord:
    captured = Captured(DEFAULT_SETTINGS.output_ceiling_bytes)
    captured.add(text.encode("utf-8", "replace"))
    return captured.record(with_preview=with_preview)


def _json(value: Any) -> str:
    return json.dumps(value, ensure_ascii=False, allow_nan=False, separators=(",", ":"))
