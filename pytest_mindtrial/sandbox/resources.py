"""What all attempts of a process share: engine, lease, watchdog, address blocks, runner.

Does not know attempts. Source: spec docker 8 and 12.
"""

from __future__ import annotations

import logging
from collections.abc import Callable
from dataclasses import dataclass
from typing import Any

from pytest_mindtrial.core.clock import Clock
from pytest_mindtrial.sandbox.engine import Engine
from pytest_mindtrial.sandbox.networks import SubnetAllocator
from pytest_mindtrial.sandbox.ownership import SESSION_LABEL, Lease, default_state_dir
from pytest_mindtrial.sandbox.removal import remove_owned
from pytest_mindtrial.sandbox.runner import Runner
from pytest_mindtrial.sandbox.settings import SandboxSettings
from pytest_mindtrial.sandbox.sweep import sweep_orphans
from pytest_mindtrial.sandbox.watchdog import Watchdog

__all__ = ["Resources", "acquire"]

_LOG = logging.getLogger("pytest_mindtrial.sandbox")


@dataclass(frozen=True, slots=True)
class Resources:
    """The shared means of one process; made by `acquire`, given up by `release`."""

    engine: Engine
    lease: Lease
    watchdog: Watchdog
    allocator: SubnetAllocator
    runner: Runner
    settings: SandboxSettings
    clock: Clock

    def release(self) -> list[str]:
        """Remove whatever is left of this session and end; return the problems. Blocking."""
        label = f"{SESSION_LABEL}={self.lease.session}"
        try:
            problems = remove_owned(self.engine.client, label, self.settings.removal_budget_s)
        except Exception as error:  # the engine may be gone; ending must go on
            problems = [f"what is left of session {self.lease.session} could not be removed: {error}"]
        if not problems:
            self.watchdog.dismiss()
        else:
            self.watchdog.abandon()
        self.lease.release()
        self.engine.close()
        return problems


def acquire(connect: Callable[[], Any], settings: SandboxSettings, clock: Clock) -> Resources:
    """Connect, sweep what dead sessions left, and start the watchdog; blocking, 0.1–0.4 s.

    Args:
        connect: Returns a low-level docker-py client.
        settings: Settings.
        clock: For stamps.

    Raises:
        SandboxSetupError: No engine answers, or it is too old.
    """
    client = connect()
    try:
        engine = Engine(client, settings)
        allocator = SubnetAllocator(settings.subnet_range)
        if settings.sweep:
            _sweep(client, settings)
        state_dir = settings.state_dir or default_state_dir()
        lease = Lease(state_dir)
        watchdog = Watchdog(lease.session, state_dir)
    except BaseException:
        client.close()
        raise
    return Resources(engine, lease, watchdog, allocator, Runner(engine, settings, lease.folder), settings, clock)


def _sweep(client: Any, settings: SandboxSettings) -> None:
    report = sweep_orphans(client, settings)
    if report.removed:
        _LOG.warning("removed %d Docker objects that a dead session had left behind", len(report.removed))
    for problem in report.problems:
        _LOG.warning("%s", problem)
