"""The tool calls of one attempt: a fresh container each, counted, limited and recorded.

Does not talk to models and does not start services. Source: seed 000, sections Tools and Tool Selection; spec docker 4.
"""

from __future__ import annotations

import asyncio
import posixpath
import secrets
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from typing import Any

from pytest_mindtrial.core.errors import MindTrialError, SandboxRuntimeError
from pytest_mindtrial.core.values import ToolCall, ToolResult
from pytest_mindtrial.sandbox.arguments import ArgumentError, check_arguments, parameter_files, parse_arguments
from pytest_mindtrial.sandbox.container import ContainerSpec, Mount
from pytest_mindtrial.sandbox.ledger import CallLedger
from pytest_mindtrial.sandbox.reports import (
    CallReport,
    cut_text,
    infrastructure_report,
    invalid_report,
    outcome_report,
    unknown_text,
)
from pytest_mindtrial.sandbox.resources import Resources
from pytest_mindtrial.sandbox.runner import Progress
from pytest_mindtrial.sandbox.services import ServiceSet
from pytest_mindtrial.sandbox.shared import SharedVolume
from pytest_mindtrial.sandbox.staging import StagedFile
from pytest_mindtrial.suite.model import FileRef, Tool, ToolSelection

__all__ = ["LocalFile", "ToolRunner", "auxiliary_target"]


@dataclass(frozen=True, slots=True)
class LocalFile:
    """A task file that tools with an auxiliary directory may read; ``load`` blocks and may fetch it."""

    ref: FileRef
    load: Callable[[], bytes]


class ToolRunner:
    """Runs the calls of one attempt, one after another.

    Args:
        tools: Enabled tools with their limits.
        resources: The process's means.
        attempt: Attempt id.
        services: The attempt's services.
        files: Task files with local access.
        is_strict: Check arguments against the tools' schemas.

    Attributes:
        calls: As of `CallLedger`.
        usage: As of `CallLedger`; a call counts once the engine was asked to start its container.
        exhausted: As of `CallLedger`.
        leftovers: Texts about containers that could not be removed.
    """

    def __init__(
        self,
        tools: Sequence[tuple[Tool, ToolSelection]],
        resources: Resources,
        *,
        attempt: str,
        services: ServiceSet,
        files: Sequence[LocalFile],
        is_strict: bool,
    ) -> None:
        self._tools = {tool.name: (tool, selection) for tool, selection in tools}
        self._resources = resources
        self._attempt = attempt
        self._services = services
        self._files = files
        self._is_strict = is_strict
        self._shared = SharedVolume(resources.engine, resources.lease, attempt)
        self._one_at_a_time = asyncio.Lock()
        self._ledger = CallLedger(resources.clock)
        self.calls = self._ledger.calls
        self.usage = self._ledger.usage
        self.exhausted = self._ledger.exhausted
        self.leftovers: list[str] = []

    async def call(self, call: ToolCall, turn: int) -> ToolResult:
        """Run one call and return what the model is told.

        Args:
            call: The model's wish.
            turn: 1-based turn of the conversation; 0 = unknown.

        Raises:
            SandboxRuntimeError: A service that the tool needs is gone; the attempt must end.
        """
        async with self._one_at_a_time:
            if call.name not in self._tools:
                return ToolResult(call, unknown_text(call.name), True)
            tool, selection = self._tools[call.name]
            if refused := self._ledger.refusal(call, selection.max_calls):
                return refused
            report = await self._recorded(tool, selection, call, turn)
        return ToolResult(call, cut_text(report.text, self._resources.settings.text_limit_chars), report.is_error)

    async def close(self) -> list[str]:
        """Remove the shared directory; return the problems, those of earlier calls included."""
        return [*self.leftovers, *await self._shared.close()]

    async def _recorded(self, tool: Tool, selection: ToolSelection, call: ToolCall, turn: int) -> CallReport:
        """Run a call and append exactly one record, also when it is cancelled."""
        opened = self._ledger.open(call, turn)
        progress = Progress()
        report = infrastructure_report(tool.name, "the attempt was cancelled", "cancelled")
        try:
            report = await self._execute(tool, selection, call, progress)
        except SandboxRuntimeError as error:
            report = infrastructure_report(tool.name, "a service it needs is not available", str(error))
            raise
        finally:
            if progress.leftover:
                self.leftovers.append(progress.leftover)
            fields = _process_fields(progress, with_stdout=report.is_error)
            self._ledger.close(opened, report, counts=progress.was_started, **fields)
        return report

    async def _execute(self, tool: Tool, selection: ToolSelection, call: ToolCall, progress: Progress) -> CallReport:
        try:
            arguments = parse_arguments(call.arguments)
            if self._is_strict and tool.parameters:
                check_arguments(arguments, tool.parameters)
            files = parameter_files(arguments, tool.parameter_files)
        except ArgumentError as error:
            return invalid_report(tool.name, str(error))
        binding = await self._services.bind(f"tool {tool.name!r}", tool.dependencies, tool.env)
        try:
            files += await self._resources.engine.quick("read task files", self._auxiliary_files, tool)
            mounts, uploads = await self._shared_mount(tool)
        except MindTrialError as error:
            return infrastructure_report(tool.name, "its files could not be prepared", str(error))
        spec = ContainerSpec(
            name=f"mindtrial-tool-{secrets.token_hex(8)}",
            image=tool.image,
            labels=self._resources.lease.labels("tool", self._attempt),
            command=tool.command,
            env=binding.env,
            networks=binding.networks,
            mounts=mounts,
            uploads=uploads,
            limits=selection.limits,
            pids_limit=self._resources.settings.pids_limit,
        )
        outcome = await self._resources.runner.run(spec, files, selection.limits.timeout_s, progress)
        if tool.shared_dir and progress.was_started:
            self._shared.is_open = True
        ceiling_bytes = self._resources.settings.output_ceiling_bytes
        report = outcome_report(tool.name, outcome, selection.limits, ceiling_bytes)
        if report.is_error:
            # A service that died meanwhile shows up as the tool's own failure, which the model could not mend.
            await self._services.require_running(tool.dependencies)
        return report

    def _auxiliary_files(self, tool: Tool) -> list[StagedFile]:
        """Return fresh copies of the task's local files below the tool's auxiliary directory; blocking."""
        if tool.auxiliary_dir is None:
            return []
        return [StagedFile(auxiliary_target(tool.auxiliary_dir, file.ref), file.load()) for file in self._files]

    async def _shared_mount(self, tool: Tool) -> tuple[tuple[Mount, ...], tuple[bytes, ...]]:
        if tool.shared_dir is None:
            return (), ()
        mount, uploads = await self._shared.mount(tool.shared_dir)
        return (mount,), uploads


def auxiliary_target(folder: str, ref: FileRef) -> str:
    """Return where a task file lies in a container.

    Raises:
        SandboxRuntimeError: The name leads out of the folder.
    """
    root = posixpath.normpath(folder)
    target = posixpath.normpath(posixpath.join(root, ref.name))
    if not target.startswith(root.rstrip("/") + "/"):
        raise SandboxRuntimeError(f"file {ref.name!r} would lie outside the auxiliary directory {folder}")
    return target


def _process_fields(progress: Progress, *, with_stdout: bool) -> dict[str, Any]:
    """Return the record fields that come from the process; nothing when no container was started."""
    outcome = progress.outcome
    if not progress.was_started or (outcome is not None and outcome.capture is None):
        return {"duration_ns": progress.duration_ns, "exit_code": outcome.exit_code if outcome else None}
    capture = progress.capture
    return {
        "duration_ns": progress.duration_ns,
        "exit_code": outcome.exit_code if outcome else None,
        "timed_out": outcome is not None and outcome.timed_out,
        "stdout": capture.stdout.record(with_preview=with_stdout) if capture else None,
        "stderr": capture.stderr.record() if capture else None,
    }
