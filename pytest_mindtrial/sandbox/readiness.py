"""Waiting until a service is ready, with a loop of our own instead of the engine's healthcheck.

The engine's start interval exists only from API 1.44, and its check would go on for the whole attempt. Does not start
or remove containers. Source: seed 000, section Task Services; spec docker 5.6.
"""

from __future__ import annotations

import asyncio
from collections.abc import Sequence
from typing import Any

from pytest_mindtrial.core.errors import SandboxRuntimeError
from pytest_mindtrial.sandbox.connection import EngineFailure
from pytest_mindtrial.sandbox.engine import Engine
from pytest_mindtrial.sandbox.streams import run_exec

__all__ = ["NotReadyError", "exit_state", "wait_ready"]

_PAUSE_S = 0.1
_MISSING_COMMAND = (126, 127)


class NotReadyError(SandboxRuntimeError):
    """The service stopped or did not become ready; trying again would not help."""


async def wait_ready(engine: Engine, container: str, healthcheck: Sequence[str], timeout_s: float) -> None:
    """Return when the service is ready.

    Without a healthcheck that is as soon as its container runs. Else the command is repeated in the container until it
    ends with 0; one check may take all of the time.

    Args:
        engine: The engine.
        container: Container id; started just now.
        healthcheck: Command without a shell; empty = none.
        timeout_s: Time for all checks together.

    Raises:
        NotReadyError: The container stopped, or the time is over.
    """
    if not healthcheck:
        await _require_running(engine, container)
        return
    loop = asyncio.get_running_loop()
    deadline = loop.time() + timeout_s
    last = "the check did not end"
    while True:
        probe = engine.begin("run a healthcheck", _probe, engine.client, container, list(healthcheck))
        done, _ = await asyncio.wait({probe}, timeout=max(0.0, deadline - loop.time()))
        if not done:
            break
        try:
            code = probe.result()
        except EngineFailure as error:
            await _require_running(engine, container)
            last = f"the check could not be run ({error.explanation})"
        else:
            if code == 0:
                return
            last = f"the check ended with exit code {code}"
            if code in _MISSING_COMMAND:
                last += ", as if its command were missing or not executable"
        if loop.time() + _PAUSE_S >= deadline:
            break
        await asyncio.sleep(_PAUSE_S)
    raise NotReadyError(f"was not ready within {timeout_s:g}s: {last}")


async def exit_state(engine: Engine, container: str) -> str | None:
    """Return None while a container runs, else how it ended in words."""
    try:
        state = (await engine.quick("look at a container", engine.client.inspect_container, container))["State"]
    except EngineFailure as error:
        if error.status == 404:
            return "its container is gone"
        raise
    if state.get("Running"):
        return None
    reason = ", memory limit reached" if state.get("OOMKilled") else ""
    return f"stopped with exit code {state.get('ExitCode')}{reason}"


async def _require_running(engine: Engine, container: str) -> None:
    if (ended := await exit_state(engine, container)) is not None:
        raise NotReadyError(f"{ended} before it was ready")


def _probe(client: Any, container: str, command: list[str]) -> int:
    """Run a check and return its exit code; blocking, released when the container is removed."""
    execution = client.exec_create(container, command)["Id"]
    run_exec(client, execution)
    return int(client.exec_inspect(execution)["ExitCode"])
