"""Spec docker 8 and 12: nothing is left behind, whenever and however an attempt or its process ends."""

from __future__ import annotations

import asyncio
import contextlib
import os
import signal
import subprocess
import sys
import threading
import time
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest

from pytest_mindtrial.core.errors import MindTrialError, SandboxError
from pytest_mindtrial.sandbox.ownership import ATTEMPT_LABEL, SESSION_LABEL
from pytest_mindtrial.sandbox.removal import list_owned
from pytest_mindtrial.sandbox.settings import SandboxSettings
from pytest_mindtrial.sandbox.sweep import sweep_orphans
from pytest_mindtrial.sandbox.watchdog import Watchdog
from tests.docker import phases
from tests.docker.phases import PHASES, has_reached, live, scenario, wait_for


@pytest.fixture
def watchdog() -> Any:
    return Watchdog


def owned(client: Any, session: str | None) -> list[Any]:
    return list_owned(client, f"{SESSION_LABEL}={session}")


async def cancelled_in(hub: Any, client: Any, phase: str) -> float:
    """Cancel an attempt that has reached a phase; return how long its end took."""
    attempt = asyncio.ensure_future(live(hub, phase))
    while not await asyncio.to_thread(has_reached, client, hub.session, phase):
        await asyncio.sleep(0.01)
    begin = time.monotonic()
    attempt.cancel()
    with pytest.raises(asyncio.CancelledError):
        await attempt
    return time.monotonic() - begin


@pytest.mark.parametrize("phase", PHASES)
def test_a_cancelled_attempt_leaves_nothing(lab: Any, client: Any, phase: str) -> None:
    """Ctrl-C and time limits reach an attempt as a cancellation; threads and files are checked by the lab."""
    hub = lab.hub(scenario(phase)[0])
    assert asyncio.run(cancelled_in(hub, client, phase)) < 10
    assert owned(client, hub.session) == []


def test_further_cancellations_do_not_cut_the_removal_short(lab: Any, client: Any) -> None:
    hub = lab.hub(scenario("tool")[0])

    async def work() -> None:
        attempt = asyncio.ensure_future(live(hub, "tool"))
        while not await asyncio.to_thread(has_reached, client, hub.session, "tool"):
            await asyncio.sleep(0.01)
        while not attempt.done():
            attempt.cancel()
            await asyncio.sleep(0.005)

    asyncio.run(work())
    assert owned(client, hub.session) == []


def test_a_cancellation_at_any_moment_leaves_nothing(lab: Any, client: Any) -> None:
    hub = lab.hub(scenario("tool")[0])

    async def limited(seconds: float) -> None:
        with contextlib.suppress(asyncio.TimeoutError):
            await asyncio.wait_for(live(hub, "tool"), seconds)

    async def work() -> None:
        await limited(0.0)
        await asyncio.gather(*(limited(0.1 * number) for number in range(1, 12)))

    asyncio.run(work())
    assert owned(client, hub.session) == []


def test_an_attempt_can_be_killed_from_another_thread(lab: Any, client: Any) -> None:
    hub = lab.hub(scenario("tool")[0])
    problems: list[Any] = ["not killed"]

    def kill() -> None:
        wait_for(lambda: has_reached(client, hub.session, "tool"))
        (attempt,) = {each.labels[ATTEMPT_LABEL] for each in owned(client, hub.session)}
        problems[:] = hub.kill_attempt(attempt)

    killer = threading.Thread(target=kill)
    killer.start()
    with pytest.raises(MindTrialError):
        asyncio.run(live(hub, "tool"))
    killer.join()
    assert problems == []


def test_closing_twice_is_fine_and_a_closed_hub_opens_nothing(lab: Any) -> None:
    config = lab.config(lab.shell("echo 1"))
    hub = lab.hub(config)

    async def work() -> None:
        sandbox = await lab.open(config, hub)
        await asyncio.gather(sandbox.close(), sandbox.close())
        await sandbox.close()

    asyncio.run(work())
    assert hub.close() == hub.close() == []
    with pytest.raises(SandboxError, match="already closed"):
        asyncio.run(lab.open(config, hub))


def test_the_end_of_a_hub_removes_what_a_lost_attempt_left(lab: Any, client: Any) -> None:
    config, task = scenario("tool")
    hub = lab.hub(config)
    asyncio.run(hub.open(task, phases.Run("r", "mock", "m"), "p", "s", {}))  # nobody closes it
    session = hub.session
    assert len(owned(client, session)) == 2
    assert hub.close() == []
    assert owned(client, session) == []


@pytest.fixture
def neighbour(lab: Any, client: Any) -> Iterator[None]:
    """Have a living session next to the one that dies; its objects must stay."""
    config, task = scenario("tool")
    hub = lab.hub(config)
    sandbox = asyncio.run(hub.open(task, phases.Run("r", "mock", "m"), "p", "s", {}))
    yield
    assert len(owned(client, hub.session)) == 2
    asyncio.run(sandbox.close())


class Child:
    """A process that stays in a phase until it is killed."""

    def __init__(self, phase: str, state_dir: Path) -> None:
        before = {path.name for path in state_dir.iterdir()}
        environment = {**os.environ, "PYTHONPATH": str(Path(__file__).parents[2])}
        program = [sys.executable, phases.__file__, phase, str(state_dir)]
        self._process = subprocess.Popen(
            program, stdout=subprocess.PIPE, stderr=subprocess.DEVNULL, text=True, env=environment
        )
        assert self._process.stdout is not None
        self.watchdog = int(self._process.stdout.readline())
        (self.session,) = {path.name for path in state_dir.iterdir()} - before

    def interrupt(self) -> None:
        """Press Ctrl-C and wait for the end of the process."""
        self._process.send_signal(signal.SIGINT)
        self._process.communicate(timeout=20)

    def kill(self) -> None:
        self._process.kill()
        self._process.wait()
        assert self._process.stdout is not None
        self._process.stdout.close()


@pytest.mark.parametrize("phase", PHASES)
@pytest.mark.usefixtures("neighbour")
def test_nothing_is_left_five_seconds_after_a_hard_kill(lab: Any, client: Any, phase: str) -> None:
    child = Child(phase, lab.state_dir)
    try:
        wait_for(lambda: has_reached(client, child.session, phase))
    finally:
        child.kill()
    wait_for(lambda: not owned(client, child.session), 5.0)
    wait_for(lambda: not (lab.state_dir / child.session).exists())
    assert owned(client, child.session) == []


@pytest.mark.parametrize("phase", PHASES)
def test_nothing_is_left_after_ctrl_c(lab: Any, client: Any, phase: str) -> None:
    child = Child(phase, lab.state_dir)
    try:
        wait_for(lambda: has_reached(client, child.session, phase))
        child.interrupt()
        assert owned(client, child.session) == []
    finally:
        child.kill()
    wait_for(lambda: not (lab.state_dir / child.session).exists())


@pytest.mark.usefixtures("neighbour")
def test_the_next_session_removes_what_is_left_when_the_watchdog_died_too(lab: Any, client: Any) -> None:
    child = Child("tool", lab.state_dir)
    wait_for(lambda: has_reached(client, child.session, "tool"))
    os.kill(child.watchdog, signal.SIGKILL)
    assert sweep_orphans(client, SandboxSettings(state_dir=lab.state_dir)).removed == ()
    child.kill()
    assert {each.kind for each in owned(client, child.session)} == {"container", "network", "volume"}
    assert lab.call_once(lab.shell("echo next"))[0] == "next"  # a new hub sweeps when it is first used
    assert owned(client, child.session) == []
    assert not (lab.state_dir / child.session).exists()
