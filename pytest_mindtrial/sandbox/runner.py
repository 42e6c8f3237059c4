"""Running a container together with files: private copies go in, and are gone afterwards.

Does not know what runs. Source: spec docker 4.4 (Transport).
"""

from __future__ import annotations

import secrets
from collections.abc import Sequence
from dataclasses import dataclass, replace
from pathlib import Path

from pytest_mindtrial.sandbox.connection import EngineFailure
from pytest_mindtrial.sandbox.container import ContainerSpec
from pytest_mindtrial.sandbox.engine import Engine
from pytest_mindtrial.sandbox.output import Capture
from pytest_mindtrial.sandbox.process import Outcome, ProcessRun
from pytest_mindtrial.sandbox.settings import SandboxSettings
from pytest_mindtrial.sandbox.staging import StagedFile, archive, remove_folder, stage

__all__ = ["Progress", "Runner"]

_SOURCE_MISSING = "bind source path does not exist"


@dataclass(slots=True)
class Progress:
    """What is known of a run even when it was cancelled.

    Attributes:
        was_started: The engine was asked to start the container.
        cut_off_ns: Time from the start to its removal; counts only when it was cancelled. None when it never ran.
        capture: What it printed.
        outcome: How it ended; None when it was cancelled.
        leftover: Text about a container that could not be removed.
    """

    was_started: bool = False
    cut_off_ns: int | None = None
    capture: Capture | None = None
    outcome: Outcome | None = None
    leftover: str | None = None

    @property
    def duration_ns(self) -> int | None:
        """Time from the start to the end of the process, removal excluded; None when it never ran."""
        return self.outcome.duration_ns if self.outcome is not None else self.cut_off_ns


class Runner:
    """Runs containers with files for all attempts of the process.

    Args:
        engine: The engine.
        settings: Ceiling and transport.
        folder: The session's private folder.
    """

    def __init__(self, engine: Engine, settings: SandboxSettings, folder: Path) -> None:
        self._engine = engine
        self._settings = settings
        self._folder = folder
        self._uploads = settings.transport == "archive" or (settings.transport == "auto" and not _is_local(engine))

    async def run(
        self, spec: ContainerSpec, files: Sequence[StagedFile], timeout_s: float | None, progress: Progress
    ) -> Outcome:
        """Run a container to its end.

        Args:
            spec: The container without its files.
            files: Files it shall see.
            timeout_s: Deadline from the start; None = none.
            progress: Filled as the run goes on.
        """
        progress.outcome = await self._run(spec, files, timeout_s, progress)
        return progress.outcome

    async def _run(
        self, spec: ContainerSpec, files: Sequence[StagedFile], timeout_s: float | None, progress: Progress
    ) -> Outcome:
        if files and not self._uploads:
            outcome = await self._run_bound(spec, files, timeout_s, progress)
            is_blind = outcome.failed_phase == "create" and _SOURCE_MISSING in outcome.failure
            if not is_blind or self._settings.transport == "bind":
                return outcome
            # The engine does not see our files (it lives in another machine or container): send them from now on.
            self._uploads = True
        if files:
            spec = replace(spec, uploads=(*spec.uploads, archive(files)))
        return await self._run_once(spec, timeout_s, progress)

    async def _run_bound(
        self, spec: ContainerSpec, files: Sequence[StagedFile], timeout_s: float | None, progress: Progress
    ) -> Outcome:
        folder = self._folder / secrets.token_hex(8)
        try:
            try:
                mounts = await self._engine.quick("stage files", stage, folder, files)
            except EngineFailure as error:
                return Outcome("create", f"files could not be written: {error.explanation}")
            return await self._run_once(replace(spec, mounts=(*spec.mounts, *mounts)), timeout_s, progress)
        finally:
            await self._engine.surely(remove_folder, folder)

    async def _run_once(self, spec: ContainerSpec, timeout_s: float | None, progress: Progress) -> Outcome:
        run = ProcessRun(self._engine, spec, timeout_s, self._settings.output_ceiling_bytes)
        try:
            return await run.run()
        finally:
            progress.was_started = run.was_started
            progress.cut_off_ns = run.duration_ns
            progress.capture = run.capture
            progress.leftover = run.leftover


def _is_local(engine: Engine) -> bool:
    return str(engine.client.base_url).startswith(("http+docker://", "unix:"))
