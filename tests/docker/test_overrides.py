"""Fixtures of a conftest beside containers: a function among container tools, a service that runs already."""

from __future__ import annotations

import json
import secrets
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest

from tests.docker.sessions import PytestSession
from tests.docker.test_live_attempts import CONFIG

CALLS = """[
  {name: visit, arguments: {path: /add}},
  {name: double, arguments: {number: 21}},
  {name: visit, arguments: {path: /add}}
]"""
TASKS = """\
task-config:
  tasks:
    - &task
      name: first
      prompt: p
      response-result-format: f
      expected-result: VALUE
      tool-selector: {tools: [{name: visit, max-calls: 5}]}
      validation-rules: {custom-validator: count}
    - {<<: *task, name: second, expected-result: OTHER}
"""
FUNCTION = '''
import pytest

def double(number: int) -> int:
    """Double a number."""
    return 2 * number

@pytest.fixture
def mt_tools(mt_tools):
    return {**mt_tools, "double": double}
'''
GUEST = (
    FUNCTION
    + """
@pytest.fixture
def mt_services(mt_services):
    assert list(mt_services) == ["counter"]
    return {"counter": "NAME"}
"""
)


@pytest.fixture
def session(tmp_path: Path, images: None) -> Iterator[PytestSession]:
    with PytestSession(tmp_path) as found:
        yield found


@pytest.fixture
def guest(client: Any) -> Iterator[str]:
    """Have a container of the user's own, which nothing of ours may stop or remove."""
    name = f"mindtrial-test-guest-{secrets.token_hex(4)}"
    host = client.create_host_config(network_mode="bridge")
    client.create_container("mindtrial-test/counter:latest", ["counter"], name=name, host_config=host)
    client.start(name)
    yield name
    state = client.inspect_container(name)
    client.remove_container(name, force=True, v=True)
    assert state["State"]["Running"]
    assert list(state["NetworkSettings"]["Networks"]) == ["bridge"]


def run(session: PytestSession, client: Any, conftest: str, values: tuple[str, str]) -> list[Any]:
    config = CONFIG.replace("[{name: visit, arguments: {path: /add}}]", CALLS)
    tasks = TASKS.replace("VALUE", f'"{values[0]}"').replace("OTHER", f'"{values[1]}"')
    files = {"config.yaml": config, "tasks.yaml": tasks, "conftest.py": conftest}
    status, output = session.run(files, "tasks.yaml", "--mt-output-basename", "r")
    assert status == 0, output
    assert session.owned(client) == []
    return list(json.loads((session.folder / "results/r.json").read_text("utf-8"))["Results"]["mock"])


def test_a_function_works_among_container_tools(session: PytestSession, client: Any) -> None:
    """And the validator sees the service that the container tools have changed."""
    for entry in run(session, client, FUNCTION, ("2", "2")):
        answer = entry["Details"]["Answer"]
        assert [(call["Tool"], call["Status"]) for call in answer["ToolCalls"]] == [
            ("visit", "success"),
            ("double", "success"),
            ("visit", "success"),
        ]
        assert {name: use["CallCount"] for name, use in answer["ToolUsage"].items()} == {"visit": 2, "double": 1}
        assert entry["Details"]["Validation"]["Title"] == "2"


def test_a_running_container_stands_in_for_a_service_and_keeps_its_state(
    session: PytestSession, client: Any, guest: str
) -> None:
    entries = run(session, client, GUEST.replace("NAME", guest), ("2", "4"))
    assert [entry["Details"]["Validation"]["Title"] for entry in entries] == ["2", "4"]
