"""Running a custom validator's container; what it prints is judged in ``validators/custom.py``.

Does not read the verdict and is not counted among the model's tool calls. Source: seed 000, section Custom Validators;
spec docker 6.
"""

from __future__ import annotations

import posixpath
import secrets
from collections.abc import Mapping
from typing import Any

from pytest_mindtrial.core.errors import SandboxRuntimeError
from pytest_mindtrial.sandbox.container import ContainerSpec
from pytest_mindtrial.sandbox.process import Outcome
from pytest_mindtrial.sandbox.reports import OOM_EXIT, seconds_text
from pytest_mindtrial.sandbox.resources import Resources
from pytest_mindtrial.sandbox.runner import Progress
from pytest_mindtrial.sandbox.services import ServiceSet
from pytest_mindtrial.sandbox.staging import StagedFile
from pytest_mindtrial.sandbox.templates import render
from pytest_mindtrial.suite.model import ValidatorDefinition

__all__ = ["ValidatorRunner"]


class ValidatorRunner:
    """Runs one validator for one attempt; may be called several times, each in a fresh container.

    Args:
        definition: The validator.
        resources: The process's means.
        attempt: Attempt id.
        services: The attempt's services.
        execution: Data of the attempt for templates (`templates.execution_data`).
    """

    def __init__(
        self,
        definition: ValidatorDefinition,
        resources: Resources,
        *,
        attempt: str,
        services: ServiceSet,
        execution: Mapping[str, Any],
    ) -> None:
        self._definition = definition
        self._resources = resources
        self._attempt = attempt
        self._services = services
        self._execution = execution

    async def __call__(self, data: Mapping[str, Any]) -> str:
        """Run the validator and return its standard output; it has ended with exit code 0.

        Args:
            data: ``OriginalTask``, ``Candidate`` and ``Rules`` for the templates.

        Raises:
            SandboxRuntimeError: It could not be run, or ended in another way; ``details`` hold what it printed.
            TemplateError: A template cannot be rendered; no container was made.
        """
        definition = self._definition
        everything = {**self._execution, **data}
        owner = f"validator {definition.name!r}"
        command = tuple(render(text, "validator", everything) for text in definition.command)
        env = {name: render(text, "validator", everything) for name, text in definition.env.items()}
        files = [
            StagedFile(posixpath.normpath(file.path), _bytes(render(file.template, "validator", everything)), True)
            for file in definition.template_files
        ]
        binding = await self._services.bind(owner, definition.dependencies, env)
        spec = ContainerSpec(
            name=f"mindtrial-validator-{secrets.token_hex(8)}",
            image=definition.image,
            labels=self._resources.lease.labels("validator", self._attempt),
            command=command,
            env=binding.env,
            networks=binding.networks,
            limits=definition.limits,
            pids_limit=self._resources.settings.pids_limit,
        )
        outcome = await self._resources.runner.run(spec, files, definition.limits.timeout_s, Progress())
        problem = self._problem(outcome)
        if problem is None:
            return outcome.capture.stdout.text if outcome.capture else ""
        await self._services.require_running(definition.dependencies)
        raise SandboxRuntimeError(f"{owner} {problem}", details=_printed(outcome))

    def _problem(self, outcome: Outcome) -> str | None:
        limits = self._definition.limits
        if outcome.failed_phase:
            return f"could not be run: {outcome.failure}"
        if outcome.timed_out:
            return f"was stopped after its time limit of {seconds_text(limits.timeout_s or 0)}"
        if outcome.is_flooded:
            return f"printed more than {self._resources.settings.output_ceiling_bytes} bytes and was stopped"
        if outcome.exit_code == OOM_EXIT and outcome.oom_killed:
            return f"reached its memory limit of {limits.max_memory_mb} MB"
        return f"ended with exit code {outcome.exit_code}" if outcome.exit_code else None


def _bytes(text: str) -> bytes:
    """Return UTF-8; lone surrogates, which JSON answers may hold, become question marks as nothing can carry them."""
    return text.encode("utf-8", "replace")


def _printed(outcome: Outcome) -> dict[str, str]:
    if outcome.capture is None:
        return {}
    streams = {"Validator stdout": outcome.capture.stdout, "Validator stderr": outcome.capture.stderr}
    return {title: stream.record().preview or "" for title, stream in streams.items() if stream.size_bytes}
