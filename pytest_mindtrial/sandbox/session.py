"""Everything the sandbox gives to one attempt: services, tools, the validator, and their end.

Made by `SandboxHub.open`; lives as long as the attempt. Does not loop over turns (engine). Source: spec docker 4.1, 5,
12; design D2.
"""

from __future__ import annotations

import asyncio
import logging
from collections.abc import Mapping, Sequence
from typing import Any

from pytest_mindtrial.core.errors import SandboxRuntimeError
from pytest_mindtrial.core.record import ToolCallRecord, ToolUsageRecord
from pytest_mindtrial.core.values import ToolCall, ToolResult
from pytest_mindtrial.sandbox.endpoints import ServiceEndpoint
from pytest_mindtrial.sandbox.environment import Environment, scalar_text
from pytest_mindtrial.sandbox.needs import Needs
from pytest_mindtrial.sandbox.reports import unknown_text
from pytest_mindtrial.sandbox.resources import Resources
from pytest_mindtrial.sandbox.services import ServiceSet
from pytest_mindtrial.sandbox.templates import render
from pytest_mindtrial.sandbox.tools import LocalFile, ToolRunner
from pytest_mindtrial.sandbox.validation import ValidatorRunner
from pytest_mindtrial.suite.model import Service, ValidatorDefinition

__all__ = ["AttemptSandbox"]

_LOG = logging.getLogger("pytest_mindtrial.sandbox")


class AttemptSandbox:
    """The sandbox of one attempt.

    Args:
        attempt: Attempt id; on every label.
        needs: What the task uses.
        resources: The process's means; None when the task uses nothing of Docker.
        execution: Template data of the attempt.
        files: Task files with local access.
        is_strict: Check tool arguments against their schemas.

    Attributes:
        attempt: Attempt id.
        problems: What could not be removed at the end, in words.
    """

    def __init__(
        self,
        attempt: str,
        needs: Needs,
        resources: Resources | None,
        *,
        execution: Mapping[str, Any],
        files: Sequence[LocalFile] = (),
        is_strict: bool = True,
    ) -> None:
        self.attempt = attempt
        self.problems: list[str] = []
        self._needs = needs
        self._resources = resources
        self._execution = execution
        self._services: ServiceSet | None = None
        self._tools: ToolRunner | None = None
        self._end: asyncio.Task[None] | None = None
        if resources is not None:
            settings = resources.settings
            self._services = ServiceSet(
                resources.engine, resources.lease, attempt, resources.allocator, settings.pids_limit
            )
            self._tools = ToolRunner(
                needs.tools, resources, attempt=attempt, services=self._services, files=files, is_strict=is_strict
            )

    async def start(self, inputs: Mapping[str, Mapping[str, Any]], running: Mapping[str, str] | None = None) -> None:
        """Start the services; the caller closes the sandbox after any exception.

        Args:
            inputs: service → input → scalar or template; without effect on services that are running already.
            running: service → container that stands in for it.

        Raises:
            SandboxRuntimeError: A service could not be started or did not become ready.
            TemplateError: An input cannot be rendered; nothing was started.
        """
        if self._services is not None and self._needs.services:
            environments = [
                (service, self._service_env(service, inputs.get(service.name, {}))) for service in self._needs.services
            ]
            await self._services.start(environments, running or {})

    def tool_definitions(self) -> tuple[tuple[str, str, Mapping[str, Any]], ...]:
        """Return name, description and parameter schema of each tool, in the task's order."""
        return tuple((tool.name, tool.description, tool.parameters) for tool, _ in self._needs.tools)

    @property
    def services(self) -> Mapping[str, ServiceEndpoint]:
        """Running services by name."""
        return self._services.endpoints if self._services is not None else {}

    @property
    def calls(self) -> tuple[ToolCallRecord, ...]:
        """Every accepted tool call so far, in order of completion."""
        return tuple(self._tools.calls) if self._tools is not None else ()

    @property
    def usage(self) -> Mapping[str, ToolUsageRecord]:
        """Totals by tool so far."""
        return self._tools.usage if self._tools is not None else {}

    @property
    def exhausted(self) -> set[str]:
        """Tools that were asked for after their calls were used up; the loop should stop offering them."""
        return self._tools.exhausted if self._tools is not None else set()

    async def call(self, call: ToolCall, turn: int) -> ToolResult:
        """Run one tool call of the given 1-based turn; a failing tool is a text for the model.

        Raises:
            SandboxRuntimeError: A service that the tool needs is gone; the attempt must end as an error.
        """
        if self._tools is None:
            return ToolResult(call, unknown_text(call.name), True)
        return await self._tools.call(call, turn)

    def validator(self, definition: ValidatorDefinition) -> ValidatorRunner:
        """Return what runs a custom validator against this attempt's services.

        Raises:
            SandboxRuntimeError: The task of this attempt has no custom validator.
        """
        if self._resources is None or self._services is None:
            raise SandboxRuntimeError(f"validator {definition.name!r} does not belong to the task of this attempt")
        return ValidatorRunner(
            definition,
            self._resources,
            attempt=self.attempt,
            services=self._services,
            execution=self._execution,
        )

    async def close(self) -> None:
        """Remove everything the attempt made; never raises for Docker's sake, may be called again at any time.

        A cancellation does not cut it short: it is raised after the end.
        """
        if self._end is None:
            self._end = asyncio.ensure_future(self._close())
        cancelled: asyncio.CancelledError | None = None
        while not self._end.done():
            try:
                await asyncio.shield(self._end)
            except asyncio.CancelledError as error:
                cancelled = error
        if cancelled is not None:
            raise cancelled

    async def _close(self) -> None:
        if self._services is not None and self._tools is not None:
            self.problems += await self._services.close()
            self.problems += await self._tools.close()
        for problem in self.problems:
            _LOG.warning("%s", problem)

    def _service_env(self, service: Service, inputs: Mapping[str, Any]) -> Mapping[str, str]:
        env = Environment(f"service {service.name!r}", service.env)
        for name, value in inputs.items():
            if name not in service.input_env:
                raise SandboxRuntimeError(f"service {service.name!r} has no input {name!r}")
            text = render(value, "service input", self._execution) if isinstance(value, str) else scalar_text(value)
            env.set(service.input_env[name], text, f"input {name!r}")
        return env.values
