"""Whole pytest sessions with containers: what is missing is told before anything is sent, and nothing is left."""

from __future__ import annotations

import json
import signal
import subprocess
import sys
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest

from pytest_mindtrial.sandbox.ownership import OWNER_LABEL, ROLE_LABEL, SESSION_LABEL
from pytest_mindtrial.sandbox.removal import list_owned
from tests.docker.phases import wait_for

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
  tools:
    - name: wait
      image: IMAGE
      description: waits
      parameters: {}
      command: [sh, -c, "COMMAND"]
      dependencies: [{service: quiet}]
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


class Session:
    """A pytest session in a folder and process of its own."""

    def __init__(self, folder: Path) -> None:
        self._folder = folder
        self.process: Any = None

    def start(self, command: str, image: str = "mindtrial-test/base:latest") -> Any:
        config = CONFIG.replace("COMMAND", command).replace("IMAGE", image)
        (self._folder / "config.yaml").write_text(config, "utf-8")
        (self._folder / "tasks.yaml").write_text(TASKS, "utf-8")
        (self._folder / "pytest.ini").write_text("[pytest]\n", "utf-8")
        program = [sys.executable, "-m", "pytest", "tasks.yaml", "-p", "no:cacheprovider", "--mt-output-basename", "r"]
        self.process = subprocess.Popen(
            program, cwd=self._folder, stdout=subprocess.PIPE, stderr=subprocess.STDOUT, text=True
        )
        return self.process

    def owned(self, client: Any) -> list[Any]:
        return [
            each
            for each in list_owned(client, SESSION_LABEL)
            if each.labels[OWNER_LABEL].endswith(f":{self.process.pid}")
        ]

    def run(self, command: str, **fields: str) -> tuple[int, str]:
        output, _ = self.start(command, **fields).communicate(timeout=60)
        return self.process.returncode, output


@pytest.fixture
def session(client: Any, tmp_path: Path) -> Iterator[Session]:
    session = Session(tmp_path)
    yield session
    session.process.kill()
    session.process.wait()
    session.process.stdout.close()
    wait_for(lambda: not session.owned(client), 5.0)


def test_a_missing_image_stops_the_session_before_anything_is_sent(session: Session) -> None:
    status, output = session.run("echo 1", image="mindtrial-test/none:1")
    assert status == 4
    assert "image 'mindtrial-test/none:1' (tool 'wait' of task 't') is not on this machine" in output
    assert "docker pull mindtrial-test/none:1" in output


def test_a_missing_engine_stops_the_session(session: Session, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("DOCKER_HOST", "unix:///no/such.sock")
    status, output = session.run("echo 1")
    assert (status, "no Docker engine answers at unix:///no/such.sock" in output) == (4, True)


def test_a_failing_tool_does_not_fail_the_task(session: Session, client: Any, tmp_path: Path) -> None:
    status, output = session.run("exit 3")
    assert status == 0, output
    (entry,) = json.loads((tmp_path / "results/r.json").read_text("utf-8"))["Results"]["mock"]
    assert entry["Kind"] == "Passed"
    assert entry["Details"]["Answer"]["ToolCalls"][0]["Status"] == "nonzero_exit"
    assert session.owned(client) == []


@pytest.mark.parametrize("number", [signal.SIGINT, signal.SIGKILL])
def test_an_interrupted_or_killed_session_leaves_nothing(session: Session, client: Any, number: int) -> None:
    process = session.start("sleep 60")
    wait_for(lambda: "tool" in {each.labels[ROLE_LABEL] for each in session.owned(client)})
    process.send_signal(number)
    process.communicate(timeout=20)
    wait_for(lambda: not session.owned(client), 5.0)
    assert process.returncode == (2 if number == signal.SIGINT else -signal.SIGKILL)
