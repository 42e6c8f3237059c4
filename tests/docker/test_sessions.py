"""Whole pytest sessions with containers: what is missing is told before anything is sent, and nothing is left."""

from __future__ import annotations

import asyncio
import json
import os
import signal
import subprocess
import sys
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest

from pytest_mindtrial.sandbox.ownership import SESSION_LABEL
from pytest_mindtrial.sandbox.removal import list_owned
from tests.docker.phases import wait_for
from tests.docker.sessions import PytestSession

BASE = "mindtrial-test/base:latest"
CONFIG = """\
config:
  output-dir: results
  providers:
    - name: mock
      runs:
        - name: r
          model: m
          model-parameters:
            behaviour: script
            tool-calls: {"*": [{name: wait, arguments: {}}]}
            answers: {"*": "42"}
  services:
    - name: quiet
      image: mindtrial-test/base:latest
      command: [sleep, "60"]
      endpoint: {port: 80}
      input-env: {who: WHO}
  tools:
    - name: wait
      image: IMAGE
      description: waits
      parameters: {}
      command: [sh, -c, "COMMAND"]
      dependencies: [{service: quiet}]
      shared-dir: /shared
"""
TASKS = """\
task-config:
  tasks:
    - name: t
      prompt: p
      response-result-format: f
      expected-result: "42"
      tool-selector: {tools: [{name: wait}]}
"""
ARGUMENTS = ("tasks.yaml", "--mt-output-basename", "r")


def files(command: str, image: str = BASE, tasks: str = TASKS) -> dict[str, str]:
    return {"config.yaml": CONFIG.replace("COMMAND", command).replace("IMAGE", image), "tasks.yaml": tasks}


@pytest.fixture
def session(tmp_path: Path, images: None) -> Iterator[PytestSession]:
    with PytestSession(tmp_path) as found:
        yield found


def kinds(session: PytestSession) -> list[str]:
    return [entry["Kind"] for entry in entries(session)]


def entries(session: PytestSession) -> Any:
    return json.loads((session.folder / "results/r.json").read_text("utf-8"))["Results"]["mock"]


# What is missing ------------------------------------------------------------------------------------------------------


def test_a_missing_image_stops_the_session_before_anything_is_sent(session: PytestSession) -> None:
    status, output = session.run(files("echo 1", "mindtrial-test/none:1"), *ARGUMENTS)
    assert status == 4
    assert "image 'mindtrial-test/none:1' (tool 'wait' of task 't') is not on this machine" in output
    assert "docker pull mindtrial-test/none:1" in output


def test_a_missing_image_is_fetched_when_asked_to(session: PytestSession) -> None:
    """There is no registry here, so the request for it fails; that it was made is what counts."""
    status, output = session.run(files("echo 1", "127.0.0.1:9/none:1"), *ARGUMENTS, "--mt-docker-pull")
    assert status == 4
    assert "image '127.0.0.1:9/none:1' (tool 'wait' of task 't') is not on this machine and could not be" in output


def test_a_missing_engine_stops_the_session(session: PytestSession) -> None:
    status, output = session.run(files("echo 1"), *ARGUMENTS, DOCKER_HOST="unix:///no/such.sock")
    assert (status, "no Docker engine answers at unix:///no/such.sock" in output) == (4, True)


def test_inputs_are_checked_also_where_no_tool_uses_them(session: PytestSession) -> None:
    """And without an engine, which such a task does not need."""
    selector = "{service-inputs: {quiet: {whom: x}}}"
    tasks = TASKS.replace("{tools: [{name: wait}]}", selector)
    status, output = session.run(files("echo 1", tasks=tasks), *ARGUMENTS, DOCKER_HOST="unix:///no/such.sock")
    assert status in (2, 4)
    assert "whom" in output
    assert "did you mean 'who'" in output


# What is left ---------------------------------------------------------------------------------------------------------


def test_a_failing_tool_does_not_fail_the_task(session: PytestSession, client: Any) -> None:
    status, output = session.run(files("exit 3"), *ARGUMENTS)
    assert status == 0, output
    (entry,) = entries(session)
    assert entry["Kind"] == "Passed"
    assert entry["Details"]["Answer"]["ToolCalls"][0]["Status"] == "nonzero_exit"
    assert session.owned(client) == []


@pytest.mark.parametrize("number", [signal.SIGINT, signal.SIGTERM, signal.SIGKILL])
def test_an_interrupted_or_killed_session_leaves_nothing(session: PytestSession, client: Any, number: int) -> None:
    process = session.start(files("sleep 60"), *ARGUMENTS)
    wait_for(lambda: session.has(client, "tool"))
    process.send_signal(number)
    process.communicate(timeout=20)
    wait_for(lambda: not session.owned(client), 5.0)
    if number != signal.SIGTERM:  # pytest decides what that one means
        assert process.returncode == (2 if number == signal.SIGINT else -signal.SIGKILL)


def test_ctrl_c_on_workers_leaves_nothing(session: PytestSession, client: Any) -> None:
    """The terminal sends the signal to all processes of the group; here the workers get it too."""
    before = {each.id for each in list_owned(client, SESSION_LABEL)}
    process = session.start(files("sleep 60"), *ARGUMENTS, "-n", "1")

    def ours() -> list[Any]:
        workers = {process.pid, *_children(process.pid)}
        return [each for each in list_owned(client, SESSION_LABEL) if each.id not in before and _pid(each) in workers]

    wait_for(lambda: "container" in {each.kind for each in ours()} and _is_waiting(ours()))
    sessions = {each.labels[SESSION_LABEL] for each in ours()}
    for pid in [process.pid, *_children(process.pid)]:
        os.kill(pid, signal.SIGINT)
    process.communicate(timeout=30)
    wait_for(lambda: not any(list_owned(client, f"{SESSION_LABEL}={each}") for each in sessions), 5.0)


def _children(pid: int) -> list[int]:
    """Return the processes that any thread of a process has started."""
    return [int(each) for path in Path(f"/proc/{pid}/task").glob("*/children") for each in path.read_text().split()]


def _pid(owned: Any) -> int:
    return int(owned.labels["pytest-mindtrial.owner"].rpartition(":")[2])


def _is_waiting(objects: list[Any]) -> bool:
    return any(each.labels["pytest-mindtrial.role"] == "tool" for each in objects)


@pytest.fixture
def orphans(session: PytestSession, client: Any) -> list[str]:
    """Kill a session and its watchdog in the middle of a call; return the ids of what is left of it."""
    process = session.start(files("sleep 60"), *ARGUMENTS)
    wait_for(lambda: session.has(client, "tool"))
    (label,) = {each.labels[SESSION_LABEL] for each in session.owned(client)}
    (watchdog,) = [pid for pid in _children(process.pid) if label in _command(pid)]
    os.kill(watchdog, signal.SIGKILL)
    process.kill()
    process.communicate(timeout=20)
    left = session.owned(client)
    assert {each.kind for each in left} == {"container", "network", "volume"}
    return [each.id for each in left]


def _command(pid: int) -> str:
    return Path(f"/proc/{pid}/cmdline").read_text("utf-8").replace("\0", " ")


def _left(client: Any, orphans: list[str]) -> set[str]:
    return {each.id for each in list_owned(client, SESSION_LABEL)} & set(orphans)


@pytest.mark.parametrize("workers", [(), ("-n", "2")], ids=["one process", "two workers"])
def test_one_more_run_removes_what_a_killed_session_has_left(
    session: PytestSession, client: Any, orphans: list[str], workers: tuple[str, ...]
) -> None:
    assert _left(client, orphans) == set(orphans)
    status, output = session.run(files("echo 1"), *ARGUMENTS, *workers)
    assert status == 0, output
    assert kinds(session) == ["Passed"]
    assert _left(client, orphans) == set()
    assert session.owned(client) == []


def test_the_command_removes_what_a_killed_session_has_left(
    lab: Any, session: PytestSession, client: Any, orphans: list[str]
) -> None:
    """And nothing of a session that lives."""
    config = lab.config(lab.counter(image=BASE, command=("sleep", "60"), healthcheck=()), lab.client())

    async def work() -> subprocess.CompletedProcess[str]:
        sandbox = await lab.open(config, lab.hub(config, sweep=False))
        program = [sys.executable, "-m", "pytest_mindtrial.cli.main", "docker", "sweep"]
        done = subprocess.run(program, capture_output=True, text=True, timeout=60, check=False)
        assert len(list_owned(client, f"{SESSION_LABEL}={lab.hubs[0].session}")) == 2
        await sandbox.close()
        return done

    done = asyncio.run(work())
    assert done.returncode == 0, done.stderr
    removed, kept = (int(part.split()[0]) for part in done.stdout.split(", "))
    assert removed >= len(orphans)
    assert kept >= 2
    assert _left(client, orphans) == set()
