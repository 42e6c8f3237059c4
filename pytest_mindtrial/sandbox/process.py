"""Running one container to its end: launch, read, wait or stop at the deadline, remove.

Used for tool calls and validators alike. The deadline's clock starts when the engine's start call has returned
(design D19), so a busy engine does not eat the tool's time. Whatever happens, cancellation included, the container is
gone when `ProcessRun.run` is left. Does not judge the outcome. Source: spec docker 4.2, 4.5, 4.6.
"""

from __future__ import annotations

import asyncio
import contextlib
import time
from dataclasses import dataclass
from typing import Any, Literal

from pytest_mindtrial.sandbox.connection import EngineFailure
from pytest_mindtrial.sandbox.container import ContainerSpec, Launch, launch_container
from pytest_mindtrial.sandbox.engine import Engine
from pytest_mindtrial.sandbox.output import Capture
from pytest_mindtrial.sandbox.streams import frames

__all__ = ["Outcome", "ProcessRun"]

_READER_END_S = 5.0


@dataclass(frozen=True, slots=True)
class Outcome:
    """How a container process ended.

    Attributes:
        failed_phase: ``create``, ``start`` or ``wait`` when the engine failed; blank when the process ended or was
            stopped.
        failure: The engine's words for that.
        exit_code: None when the process did not end by itself or was never seen to.
        timed_out: Stopped at its deadline.
        is_flooded: Stopped because it printed more than the ceiling.
        oom_killed: The kernel killed something in the container for memory; the process itself only if exit_code is
            137.
        duration_ns: From start to exit; None when the engine was not asked to start or could not.
        capture: What was printed; None when no output was read.
    """

    failed_phase: Literal["", "create", "start", "wait"] = ""
    failure: str = ""
    exit_code: int | None = None
    timed_out: bool = False
    is_flooded: bool = False
    oom_killed: bool = False
    duration_ns: int | None = None
    capture: Capture | None = None


class ProcessRun:
    """One run; lets the caller see, also after a cancellation, whether the engine was asked to start.

    Args:
        engine: The engine.
        spec: What to run.
        timeout_s: Deadline from the start; None = none.
        ceiling_bytes: Output ceiling of each stream.

    Attributes:
        capture: What was printed so far.
        leftover: Text about a container that could not be removed; None = it is gone.
    """

    def __init__(self, engine: Engine, spec: ContainerSpec, timeout_s: float | None, ceiling_bytes: int) -> None:
        self._engine = engine
        self._spec = spec
        self._timeout_s = timeout_s
        self._launch = Launch()
        self._holds_slot = False
        self.capture = Capture(ceiling_bytes)
        self.leftover: str | None = None

    @property
    def was_started(self) -> bool:
        """True once the engine was asked to start the container."""
        return self._launch.phase != "create"

    @property
    def duration_ns(self) -> int | None:
        """Time since the start; None when it never ran."""
        return time.monotonic_ns() - self._launch.started_ns if self._launch.started_ns else None

    async def run(self) -> Outcome:
        """Run to the end and remove the container.

        Raises:
            asyncio.CancelledError: The attempt was cancelled; the container is gone.
        """
        reader: asyncio.Future[int] | None = None
        try:
            try:
                await self._engine.gated("run a container", self._begin)
            except EngineFailure as error:
                return Outcome("start" if self.was_started else "create", error.explanation)
            reader = self._engine.begin("follow a container", self._follow)
            return await self._outcome(reader)
        finally:
            await self._end(reader)

    def _begin(self) -> None:
        self._engine.slots.acquire()
        self._holds_slot = True
        launch_container(self._engine.client, self._spec, self._engine.cpus, self._launch)

    def _follow(self) -> int:
        """Read the output to its end and return the exit code; blocking, ends early when the container is removed."""
        from docker.errors import APIError

        client = self._engine.client
        with contextlib.closing(self._launch.stream) as stream:
            self.capture.read(frames(stream))
        if self.capture.is_over:
            with contextlib.suppress(APIError):  # it may have ended by itself just now
                client.kill(self._launch.id)
        return int(client.wait(self._launch.id, timeout=None)["StatusCode"])

    async def _outcome(self, reader: asyncio.Future[int]) -> Outcome:
        done, _ = await asyncio.wait({reader}, timeout=self._timeout_s)
        duration_ns = self.duration_ns
        if not done:
            return Outcome(timed_out=True, duration_ns=duration_ns, capture=self.capture)
        try:
            exit_code = reader.result()
        except EngineFailure as error:
            return Outcome("wait", error.explanation, duration_ns=duration_ns)
        return Outcome(
            exit_code=exit_code,
            is_flooded=self.capture.is_over,
            oom_killed=await self._was_oom_killed(exit_code),
            duration_ns=duration_ns,
            capture=self.capture,
        )

    async def _was_oom_killed(self, exit_code: int) -> bool:
        if not exit_code and not self._spec.limits.max_memory_mb:
            return False
        try:
            state = await self._engine.quick(
                "look at a container", self._engine.client.inspect_container, self._launch.id
            )
        except EngineFailure:
            return False
        return bool(state["State"].get("OOMKilled"))

    async def _end(self, reader: asyncio.Future[Any] | None) -> None:
        """Remove the container; by name when no id is known, for a lost reply to the create request."""
        try:
            if reader is None:
                self._launch.close()
            self.leftover = await self._engine.remove("container", self._launch.id or self._spec.name)
            if reader is not None and not reader.done():
                await asyncio.wait({reader}, timeout=_READER_END_S)
        finally:
            if self._holds_slot:
                self._engine.slots.release()
