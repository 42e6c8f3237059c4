"""An attempt that stays for a minute in a chosen phase; also a program that does so until it is killed.

``python phases.py PHASE STATE_DIR`` prints the pid of its watchdog.
"""

from __future__ import annotations

import asyncio
import signal
import sys
import threading
import time
from collections.abc import Callable
from pathlib import Path
from typing import Any

from pytest_mindtrial.core.values import ToolCall
from pytest_mindtrial.sandbox.hub import SandboxHub
from pytest_mindtrial.sandbox.ownership import ROLE_LABEL, SESSION_LABEL
from pytest_mindtrial.sandbox.removal import list_owned
from pytest_mindtrial.sandbox.settings import SandboxSettings
from pytest_mindtrial.suite.model import (
    Config,
    Dependency,
    Rules,
    Run,
    Service,
    Task,
    Tool,
    ToolSelection,
    ValidatorDefinition,
)
from pytest_mindtrial.validators.base import Candidate
from pytest_mindtrial.validators.custom import CustomValidator

IMAGE = "mindtrial-test/base:latest"
PHASES = ("network", "service", "tool", "validator")
_SLEEP = ("sleep", "60")


def scenario(phase: str) -> tuple[Config, Task]:
    """Return definitions and a task; only in the phase ``service`` the service does not become ready."""
    needs = (Dependency("quiet"),)
    check = _SLEEP if phase == "service" else ()
    config = Config(
        Path("config.yaml"),
        (),
        services=(Service("quiet", IMAGE, 80, command=_SLEEP, healthcheck=check, startup_timeout_s=60),),
        tools=(Tool("sleep", IMAGE, "d", {}, command=_SLEEP, dependencies=needs, shared_dir="/shared"),),
        validators=(ValidatorDefinition("sleep", IMAGE, command=_SLEEP, dependencies=needs),),
    )
    return config, Task("t", "p", "f", tools=(ToolSelection("sleep"),), rules=Rules(custom_validator="sleep"))


async def live(hub: SandboxHub, phase: str) -> None:
    """Make the attempt."""
    config, task = scenario(phase)
    sandbox = await hub.open(task, Run("r", "mock", "m"), "p", "s", {})
    try:
        if phase == "tool":
            await sandbox.call(ToolCall("1", "sleep", "{}"), 1)
        validator = CustomValidator("sleep", sandbox.validator(config.validators[0]))
        await validator.validate(Candidate("t", "p", "f", (), task.rules, "a"))
    finally:
        await sandbox.close()


def has_reached(client: Any, session: str | None, phase: str) -> bool:
    """Tell whether a session has made the object that stands for the phase."""
    if session is None:
        return False
    return phase in {each.labels[ROLE_LABEL] for each in list_owned(client, f"{SESSION_LABEL}={session}")}


def wait_for(is_true: Callable[[], Any], seconds: float = 30.0) -> None:
    """Poll until a condition holds that another process or the engine brings about."""
    deadline = time.monotonic() + seconds
    while not is_true():
        assert time.monotonic() < deadline, "it did not happen in time"
        time.sleep(0.02)


def main(phase: str, state_dir: str) -> None:
    signal.signal(signal.SIGINT, signal.default_int_handler)  # children of a shell's background job ignore Ctrl-C
    hub = SandboxHub(scenario(phase)[0], SandboxSettings(state_dir=Path(state_dir), sweep=False))
    threading.Thread(target=_tell_watchdog, args=(hub,), daemon=True).start()
    asyncio.run(live(hub, phase))


def _tell_watchdog(hub: SandboxHub) -> None:
    while hub._resources is None:
        time.sleep(0.01)
    print(hub._resources.watchdog.pid, flush=True)


if __name__ == "__main__":
    main(*sys.argv[1:])
