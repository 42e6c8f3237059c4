"""What the engine is asked to do, and the collaborators it asks for help: plans, tools, sandbox, files, feedback.

Only values and protocols; does not run anything. Source: design 2 and 3, spec docker 4.1 and 5.9.
"""

from __future__ import annotations

from collections.abc import Awaitable, Callable, Collection, Mapping, Sequence
from dataclasses import dataclass, field
from typing import Any, Protocol

from pytest_mindtrial.core.record import ToolCallRecord, ToolUsageRecord
from pytest_mindtrial.core.values import ToolCall, ToolResult
from pytest_mindtrial.providers.base import ModelClient
from pytest_mindtrial.suite.model import FileRef, Provider, Run, Task, ValidatorDefinition
from pytest_mindtrial.validators.base import Candidate, Validator, Verdict

__all__ = [
    "AttemptPlan",
    "Feedback",
    "FileSource",
    "LoadedFile",
    "Sandbox",
    "SandboxSession",
    "ToolExecutor",
]


@dataclass(frozen=True, slots=True)
class AttemptPlan:
    """One attempt to make: a task by a run of a provider.

    Attributes:
        provider: The entry of the configuration; two entries of one name are two independent clients.
        evaluation_seed: Goes into every result and into templates.
        repeat: 1-based repeat index; None when the task is not repeated.
        nodeid: pytest's id of the item; blank outside pytest.
        trace_id: ULID; blank = the engine makes one.
        definition: Digest of everything that decides the attempt.
        definition_parts: As in `Result.definition_parts`.
        client: Used instead of the run's own client (an overridden ``mt_provider``).
        validator: Used instead of the task's own validator (an overridden ``mt_validator``).
        tools: Used instead of the sandbox's tools (an overridden ``mt_tools``); closed by the attempt. When it has
            ``definitions``, the model is told of those. When it has ``contained``, the sandbox is opened for the task's
            tools of those names and given to its ``attach``.
        services: Service → running container that stands in for it (an overridden ``mt_services``).
    """

    task: Task
    run: Run
    provider: Provider
    evaluation_seed: str = ""
    repeat: int | None = None
    nodeid: str = ""
    trace_id: str = ""
    definition: str = ""
    client: ModelClient | None = None
    validator: Validator | None = None
    tools: ToolExecutor | None = None
    definition_parts: Mapping[str, str] = field(default_factory=dict)
    services: Mapping[str, str] = field(default_factory=dict)

    @property
    def label(self) -> str:
        """The shortest text that tells a person which attempt this is."""
        return self.nodeid or f"{self.task.name}[{self.provider.name}-{self.run.name}]"


class ToolExecutor(Protocol):
    """The tools of one attempt. Calls come one after another; a failing tool is a text for the model, no exception."""

    @property
    def usage(self) -> Mapping[str, ToolUsageRecord]:
        """Totals by tool, so far."""

    @property
    def calls(self) -> Sequence[ToolCallRecord]:
        """Every accepted call, so far, in order."""

    @property
    def exhausted(self) -> Collection[str]:
        """Names of tools whose call limit is reached; a further call makes the engine withdraw the tool."""

    async def call(self, call: ToolCall, turn: int) -> ToolResult:
        """Run one call of the given 1-based turn.

        Raises:
            SandboxError: The model cannot mend this (a task service is gone); the attempt ends as an Error.
        """

    async def close(self) -> None:
        """Remove everything the attempt made; idempotent."""


class SandboxSession(ToolExecutor, Protocol):
    """What Docker gives to one attempt: task services (already ready), tools, the custom validator."""

    def validator(self, definition: ValidatorDefinition) -> Callable[[Mapping[str, Any]], Awaitable[str]]:
        """Return what runs a custom validator with the given template data and returns what it printed."""


class Sandbox(Protocol):
    """Makes a session per attempt (`sandbox.hub.SandboxHub`); shared by all attempts of a configuration."""

    async def open(
        self,
        task: Task,
        run: Run,
        provider_name: str,
        evaluation_seed: str,
        files: Mapping[str, bytes],
        *,
        running: Mapping[str, str] | None = None,
    ) -> SandboxSession:
        """Start the services an attempt needs; the attempt closes the session.

        Args:
            task: The task.
            run: Its name goes into templates.
            provider_name: Goes into templates.
            evaluation_seed: Goes into templates.
            files: Content by name of the files that local tools may read.
            running: Service → running container that stands in for it.

        Raises:
            SandboxError: A service did not become ready; nothing is left behind.
            UserError: A definition is missing or a template is wrong.
        """


class LoadedFile(Protocol):
    """A file's content (`suite.files.FileContent`)."""

    @property
    def data(self) -> bytes:
        """The content."""

    @property
    def mime(self) -> str:
        """Normalised type: no parameters, lower case."""

    @property
    def filename(self) -> str:
        """Name with an extension."""


class FileSource(Protocol):
    """Reads attached files (`suite.files.FileStore`); called off the loop, from several threads."""

    def load(self, file: FileRef) -> LoadedFile:
        """Return the content; at most one download per file and process."""

    def infer_mime(self, file: FileRef) -> str:
        """Return the type without downloading; blank when only the content can tell."""


class Feedback(Protocol):
    """Decides whether a failed verdict is answered with another user message (MINT); unused by default."""

    async def __call__(
        self, plan: AttemptPlan, round_number: int, candidate: Candidate, verdict: Verdict
    ) -> str | None:
        """Return the text of the feedback turn, or None to accept the verdict.

        Args:
            plan: The attempt.
            round_number: 1 after the first failed verdict.
            candidate: What was judged.
            verdict: The failed verdict.
        """
