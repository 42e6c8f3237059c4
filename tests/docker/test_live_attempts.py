"""``mindtrial.attempt``: hand-written tests with the running tools and services of an attempt of their own."""

from __future__ import annotations

import importlib
import pkgutil
import signal
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest

import pytest_mindtrial
from tests.docker.phases import wait_for
from tests.docker.sessions import PytestSession

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
            tool-calls: {"*": [{name: visit, arguments: {path: /add}}]}
            answers: {"*": "the model's answer"}
  services:
    - name: counter
      image: mindtrial-test/counter:latest
      command: [counter]
      endpoint: {port: 8080}
      input-env: {who: WHO}
      healthcheck: [python, -c, "import urllib.request as u; u.urlopen('http://127.0.0.1:8080/').close()"]
  tools:
    - name: visit
      image: mindtrial-test/python:latest
      description: Visits a path.
      parameters: {type: object, properties: {path: {type: string}}, required: [path]}
      parameter-files: {path: /in/path}
      command:
        - python
        - -c
        - |
          import os, urllib.request as u
          print(u.urlopen(os.environ["URL"] + open("/in/path").read(), timeout=5).read().decode())
      dependencies: [{service: counter, env: {URL: "{{ .Endpoint }}"}}]
    - name: read
      image: mindtrial-test/base:latest
      description: Reads a file.
      parameters: {}
      auxiliary-dir: /data
      command: [cat, /data/note.txt]
    - {name: wait, image: "mindtrial-test/base:latest", description: Waits., parameters: {}, command: [sleep, "60"]}
  validators:
    - name: count
      image: mindtrial-test/python:latest
      command:
        - python
        - -c
        - |
          import json, os, urllib.request as u
          found = u.urlopen(os.environ["URL"] + "/", timeout=5).read().decode()
          print(json.dumps({"correct": found == os.environ["WANT"], "title": found, "explanation": os.environ["GOT"]}))
      env: {WANT: "{{ index .OriginalTask.ExpectedResults 0 }}", GOT: "{{ .Candidate.Response }}"}
      dependencies: [{service: counter, env: {URL: "{{ .Endpoint }}"}}]
    - name: plain
      image: mindtrial-test/base:latest
      command: [echo, '{"correct": true, "title": "t", "explanation": "e"}']
"""
TESTS = '''
import pytest
from pytest_mindtrial.core.errors import SandboxError
from pytest_mindtrial.suite.model import ToolSelection


def test_everything(mindtrial):
    inputs = {"counter": {"who": "{{ .Task.Name }} {{ .Run.Name }}"}}
    with mindtrial.attempt(tools=["visit"], services=["counter"], service_inputs=inputs) as attempt:
        assert attempt.services["counter"].url.startswith("http://svc-")
        assert attempt.call_tool("visit", path="/env/WHO").content == "attempt r"
        assert attempt.call_tool("visit", path="/add").content == "1"
        reply = attempt.ask("Visit it once more.")
        assert reply.text == "the model's answer"
        (call,) = reply.result.answer.tool_calls
        assert (call.tool, call.turn, call.status) == ("visit", 1, "success")
        assert attempt.call_tool("visit").is_error
        assert attempt.call_tool("nothing").content == "Tool error: there is no tool named nothing."
        verdict = attempt.validate("count", "done", expected="2")
        assert (verdict.passed, verdict.record.title, verdict.record.explanation) == (True, "2", "done")
        assert not attempt.validate("count", "done", expected=["3"]).passed
        assert attempt.validate("plain", "done").passed
        assert [call.status for call in attempt.calls] == ["success"] * 3 + ["invalid_arguments"]
        assert attempt.usage["visit"].call_count == 3
    with pytest.raises(SandboxError, match="this attempt has ended"):
        attempt.call_tool("visit", path="/")


def test_a_further_attempt_starts_afresh(mindtrial):
    with mindtrial.attempt([ToolSelection("visit", max_calls=1)], run="mock-r") as attempt:
        assert attempt.call_tool("visit", path="/").content == "0"
        assert "at most 1 times" in attempt.call_tool("visit", path="/").content


def test_validators_bring_their_services(mindtrial):
    with mindtrial.attempt(validators=["count", "plain"]) as attempt:
        assert list(attempt.services) == ["counter"]
        assert attempt.validate("count", "x", expected="0").passed


def test_files_of_the_test(mindtrial):
    with mindtrial.attempt(["read"], files=["note.txt"]) as attempt:
        assert attempt.call_tool("read").content == "a note"


@pytest.mark.parametrize(
    "wish, message",
    [
        ({"tools": ["visti"]}, "tool 'visti' is not defined in the configuration .* did you mean 'visit'"),
        ({"services": ["count"]}, "service 'count' is not defined"),
        ({"validators": ["plian"]}, "validator 'plian' is not defined .* did you mean 'plain'"),
        ({"tools": ["visit"], "service_inputs": {"counter": {"whom": 1}}}, "declares no such input"),
        ({"tools": ["visit"], "run": "s"}, "run 's' is not one of the enabled runs"),
    ],
)
def test_mistakes_are_told_before_anything_starts(mindtrial, wish, message):
    with pytest.raises(pytest.UsageError, match=message), mindtrial.attempt(**wish):
        pass


def test_unknown_validator(mindtrial):
    with mindtrial.attempt(["read"]) as attempt, pytest.raises(pytest.UsageError, match="'plan' is not defined"):
        attempt.validate("plan", "x")


def test_an_exception_ends_the_attempt(mindtrial):
    with pytest.raises(ZeroDivisionError), mindtrial.attempt(["visit"]) as attempt:
        1 / 0
    with pytest.raises(SandboxError):
        attempt.services


def test_nothing_is_left(mindtrial):
    """Of all the attempts above, while the session lives."""
    import os
    from pytest_mindtrial.sandbox.connection import connect
    from pytest_mindtrial.sandbox.ownership import OWNER_LABEL, SESSION_LABEL
    from pytest_mindtrial.sandbox.removal import list_owned

    client = connect()
    found = [each for each in list_owned(client, SESSION_LABEL) if each.labels[OWNER_LABEL].endswith(f":{os.getpid()}")]
    client.close()
    assert found == []
'''
WAITING = """
def test_wait(mindtrial):
    with mindtrial.attempt(["wait", "visit"]) as attempt:
        attempt.call_tool("wait")
"""
ASKING = """
def test_ask(mindtrial):
    with mindtrial.attempt(["wait", "visit"]) as attempt:
        attempt.ask("Wait.")
"""
STARTING = """
def test_start(mindtrial):
    with mindtrial.attempt(["visit"]):
        raise AssertionError("the service is never ready")
"""


@pytest.fixture
def session(tmp_path: Path, images: None) -> Iterator[PytestSession]:
    with PytestSession(tmp_path) as found:
        yield found


def files(tests: str, config: str = CONFIG) -> dict[str, str]:
    return {"config.yaml": config, "test_python.py": tests, "note.txt": "a note\n"}


def test_tools_services_and_validators_in_a_hand_written_test(
    pytester: pytest.Pytester, client: Any, monkeypatch: pytest.MonkeyPatch
) -> None:
    """In this process, so that coverage sees it; the last of the tests looks for what is left."""
    for module in pkgutil.walk_packages(pytest_mindtrial.__path__, "pytest_mindtrial."):
        importlib.import_module(module.name)  # a sub-run forgets what it imports; extension modules do not stand that
    monkeypatch.delenv("PYTEST_ADDOPTS", raising=False)
    for name, text in files(TESTS).items():
        (pytester.path / name).write_text(text, "utf-8")
    result = pytester.runpytest_inprocess("-p", "no:cacheprovider", "-p", "no:hypothesispytest", "-p", "no:pytest_cov")
    result.assert_outcomes(passed=12)


@pytest.mark.parametrize(
    "tests, config, role",
    [
        (WAITING, CONFIG, "tool"),
        (ASKING, CONFIG.replace("{name: visit, arguments: {path: /add}}", "{name: wait, arguments: {}}"), "tool"),
        (STARTING, CONFIG.replace("command: [counter]", 'command: [sleep, "60"]'), "service"),
    ],
    ids=["in a call", "in a conversation", "while a service starts"],
)
def test_ctrl_c_leaves_nothing(session: PytestSession, client: Any, tests: str, config: str, role: str) -> None:
    process = session.start(files(tests, config))
    wait_for(lambda: session.has(client, role))
    process.send_signal(signal.SIGINT)
    output, _ = process.communicate(timeout=20)
    assert process.returncode == 2, output
    assert session.owned(client) == []
