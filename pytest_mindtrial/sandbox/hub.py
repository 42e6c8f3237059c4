"""The one owner of Docker in a process: opened by the first attempt that needs it, closed at the end.

Does not import docker-py before the engine is needed; a session whose tasks need no containers never opens the socket.
Source: spec docker 12; design D10.
"""

from __future__ import annotations

import asyncio
import logging
import secrets
import threading
from collections.abc import Callable, Iterable, Mapping, Sequence
from typing import Any, Protocol

from pytest_mindtrial.core.clock import Clock, SystemClock
from pytest_mindtrial.core.errors import MindTrialError, SandboxSetupError
from pytest_mindtrial.sandbox.connection import connect
from pytest_mindtrial.sandbox.needs import needs_of
from pytest_mindtrial.sandbox.ownership import ATTEMPT_LABEL
from pytest_mindtrial.sandbox.preflight import preflight
from pytest_mindtrial.sandbox.removal import remove_owned
from pytest_mindtrial.sandbox.resources import Resources, acquire
from pytest_mindtrial.sandbox.session import AttemptSandbox
from pytest_mindtrial.sandbox.settings import DEFAULT_SETTINGS, SandboxSettings
from pytest_mindtrial.sandbox.templates import execution_data
from pytest_mindtrial.sandbox.tools import LocalFile
from pytest_mindtrial.suite.model import Config, FileRef, Run, Task

__all__ = ["LoadedFile", "LocalFiles", "SandboxHub"]

_LOG = logging.getLogger("pytest_mindtrial.sandbox")


class LoadedFile(Protocol):
    """A file's content (`suite.files.FileContent`)."""

    @property
    def data(self) -> bytes:
        """The content."""


class LocalFiles(Protocol):
    """Reads task files (`suite.files.FileStore`); called from several threads."""

    def load(self, file: FileRef, /) -> LoadedFile:
        """Return the content; at most one download per file and process."""


class SandboxHub:
    """Makes the sandboxes of a process's attempts.

    Args:
        config: Where tools, services and validators are defined.
        settings: Settings.
        connector: Returns a low-level docker-py client.
        clock: For the stamps of tool calls.
    """

    def __init__(
        self,
        config: Config,
        settings: SandboxSettings = DEFAULT_SETTINGS,
        *,
        connector: Callable[[], Any] = connect,
        clock: Clock | None = None,
    ) -> None:
        self._config = config
        self._settings = settings
        self._connector = connector
        self._clock = clock or SystemClock()
        self._lock = threading.Lock()
        self._resources: Resources | None = None
        self._is_closed = False

    @property
    def session(self) -> str | None:
        """Session id on the labels of everything this hub makes; None before the engine was needed."""
        return self._resources.lease.session if self._resources is not None else None

    def preflight(
        self, tasks: Iterable[Task], config: Config | None = None, *, services: Sequence[str] = ()
    ) -> list[MindTrialError]:
        """Check what the selected tasks need before anything is spent; blocking.

        Args:
            tasks: Selected tasks only.
            config: Other definitions than the hub's own.
            services: Names of services beyond those that the tasks need.

        Returns:
            Problems in file order, each with a complete text; empty when all is well.
        """
        pull = self._settings.pull
        return preflight(list(tasks), config or self._config, self._connector, pull=pull, services=services)

    async def open(
        self,
        task: Task,
        run: Run,
        provider_name: str,
        evaluation_seed: str,
        files: LocalFiles | Mapping[str, bytes],
        *,
        services: Sequence[str] = (),
        running: Mapping[str, str] | None = None,
    ) -> AttemptSandbox:
        """Start the services of an attempt and return its sandbox; the caller closes it.

        Args:
            task: The task.
            run: The run; its name goes into templates.
            provider_name: Goes into templates.
            evaluation_seed: Goes into templates.
            files: Reads files with local access, or their contents by name.
            services: Names of services to start beyond those that the task needs.
            running: Service → container that is running already and stands in for it. It joins the service's network
                for the time of the attempt; it is never stopped or removed, and keeps its state.

        Raises:
            SandboxError: The engine is missing, or a service did not become ready; nothing is left behind.
            UserError: A definition is missing or a template is wrong.
        """
        needs = needs_of(task, self._config, services)
        resources = None if needs.is_empty else await asyncio.to_thread(self._acquired)
        sandbox = AttemptSandbox(
            secrets.token_hex(8),
            needs,
            resources,
            execution=execution_data(evaluation_seed, task.name, provider_name, run.name),
            files=[LocalFile(ref, _reader(files, ref)) for ref in task.files if ref.is_local],
            is_strict=self._config.tool_argument_validation == "strict",
        )
        try:
            await sandbox.start(task.service_inputs, running or {})
        except BaseException:
            await sandbox.close()
            raise
        return sandbox

    def kill_attempt(self, attempt: str) -> list[str]:
        """Remove everything of an attempt from any thread, which releases all who wait for it; return the problems."""
        resources = self._resources
        if resources is None:
            return []
        label = f"{ATTEMPT_LABEL}={attempt}"
        return remove_owned(resources.engine.client, label, self._settings.removal_budget_s)

    def close(self) -> list[str]:
        """Remove whatever is left and give up the engine; blocking, may be called again. Return the problems."""
        with self._lock:
            self._is_closed = True
            resources, self._resources = self._resources, None
        problems = resources.release() if resources is not None else []
        for problem in problems:
            _LOG.warning("%s", problem)
        return problems

    def _acquired(self) -> Resources:
        with self._lock:
            if self._is_closed:
                raise SandboxSetupError("the sandbox is already closed")
            if self._resources is None:
                self._resources = acquire(self._connector, self._settings, self._clock)
            return self._resources


def _reader(files: LocalFiles | Mapping[str, bytes], ref: FileRef) -> Callable[[], bytes]:
    if isinstance(files, Mapping):
        contents = files
        return lambda: contents[ref.name]
    return lambda: files.load(ref).data
