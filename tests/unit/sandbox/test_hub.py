"""The hub and an attempt's sandbox: lazy, complete, idempotent."""

from __future__ import annotations

import asyncio
import logging
import subprocess
import sys
from dataclasses import replace
from pathlib import Path
from types import SimpleNamespace
from typing import Any

import pytest

from pytest_mindtrial.core.errors import ConfigError, SandboxError, SandboxRuntimeError, UserError
from pytest_mindtrial.core.values import ToolCall
from pytest_mindtrial.sandbox import resources as resources_module
from pytest_mindtrial.sandbox.hub import SandboxHub
from pytest_mindtrial.sandbox.settings import SandboxSettings
from pytest_mindtrial.suite.model import (
    Config,
    Dependency,
    FileRef,
    Rules,
    Run,
    Service,
    Task,
    Tool,
    ToolSelection,
    ValidatorDefinition,
)

NEEDS = (Dependency("s", {"U": "{{ .Endpoint }}"}),)
CONFIG = Config(
    Path("config.yaml"),
    (),
    tools=(Tool("T", "image", "d", {}, auxiliary_dir="/data", dependencies=NEEDS), Tool("other", "other", "d", {})),
    services=(Service("s", "service", 80, env={"E": "1"}, input_env={"a": "A", "b": "B", "e": "E"}),),
    validators=(ValidatorDefinition("v", "image", dependencies=NEEDS),),
)
TASK = Task("task-a", "p", "f", tools=(ToolSelection("T"),), rules=Rules(custom_validator="v"))
RUN = Run("run-1", "mock", "m")


class Watchdog:
    ends: list[str]

    def __init__(self, session: str, state_dir: Path) -> None:
        self.ends = []

    def dismiss(self) -> None:
        self.ends.append("dismissed")

    def abandon(self) -> None:
        self.ends.append("abandoned")


@pytest.fixture
def hub(fake: Any, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Any:
    monkeypatch.setattr(resources_module, "Watchdog", Watchdog)
    connections: list[Any] = []

    def connect() -> Any:
        connections.append(fake)
        return fake

    hub = SandboxHub(CONFIG, SandboxSettings(state_dir=tmp_path, removal_budget_s=0.1), connector=connect)
    hub.connections = connections  # type: ignore[attr-defined] # for the tests
    yield hub
    hub.close()


def open_sandbox(hub: SandboxHub, task: Task = TASK, files: Any = None) -> Any:
    return hub.open(task, RUN, "provider-1", "eval-seed", files or {})


def test_an_attempt_from_start_to_end(hub: Any, fake: Any) -> None:
    async def work() -> None:
        inputs = {"a": "{{ .Run.Name }}", "b": 2, "e": "1"}
        sandbox = await open_sandbox(hub, replace(TASK, service_inputs={"s": inputs}))
        assert sandbox.tool_definitions() == (("T", "d", {}),)
        assert list(sandbox.services) == ["s"]
        assert fake.made[0].arguments["environment"] == ["A=run-1", "B=2", "E=1"]
        result = await sandbox.call(ToolCall("1", "T", "null"), 1)
        assert (result.content, len(sandbox.calls), sandbox.usage["T"].call_count) == ("ok", 1, 1)
        assert sandbox.exhausted == set()
        data = {"OriginalTask": {}, "Candidate": {}, "Rules": {}}
        assert await sandbox.validator(CONFIG.validators[0])(data) == "ok\n"
        await sandbox.close()
        await sandbox.close()
        assert sandbox.problems == []

    assert hub.session is None
    asyncio.run(work())
    assert hub.session
    assert fake.left == 0
    assert len(hub.connections) == 1


def test_a_task_without_needs_never_connects(hub: Any) -> None:
    async def work() -> None:
        sandbox = await open_sandbox(hub, Task("t", "p", "f"))
        assert (sandbox.tool_definitions(), sandbox.services, sandbox.calls, sandbox.usage) == ((), {}, (), {})
        assert sandbox.exhausted == set()
        assert (await sandbox.call(ToolCall("1", "T", "{}"), 1)).is_error
        with pytest.raises(SandboxRuntimeError, match="does not belong"):
            sandbox.validator(CONFIG.validators[0])
        await sandbox.close()

    asyncio.run(work())
    assert hub.connections == []
    assert hub.kill_attempt("x") == []
    assert hub.close() == []


@pytest.mark.parametrize("as_mapping", [True, False])
def test_files_come_from_a_store_or_a_mapping(hub: Any, fake: Any, tmp_path: Path, as_mapping: bool) -> None:
    files: Any = {"a": b"1"} if as_mapping else SimpleNamespace(load=lambda ref: SimpleNamespace(data=b"1"))
    refs = (FileRef("a", "u", tmp_path), FileRef("b", "u", tmp_path, access=frozenset({"native"})))

    async def work() -> None:
        sandbox = await open_sandbox(hub, replace(TASK, files=refs), files)
        await sandbox.call(ToolCall("1", "T", "{}"), 1)
        await sandbox.close()

    asyncio.run(work())
    assert [mount["Target"] for mount in fake.made[1].arguments["host_config"]["mounts"]] == ["/data/a"]


@pytest.mark.parametrize(
    "inputs, kind, message",
    [
        ({"x": 1}, SandboxRuntimeError, "has no input 'x'"),
        ({"e": "2"}, SandboxRuntimeError, "variable E gets different values from env and input 'e'"),
        ({"a": "{{ .Nope }}"}, UserError, "Nope"),
    ],
)
def test_bad_inputs_start_nothing(hub: Any, fake: Any, inputs: Any, kind: Any, message: str) -> None:
    with pytest.raises(kind, match=message):
        asyncio.run(open_sandbox(hub, replace(TASK, service_inputs={"s": inputs})))
    assert fake.made == []


def test_a_failed_start_leaves_nothing(hub: Any, fake: Any, error: Any) -> None:
    fake.failures["start"] = [error(400, "no command")]
    with pytest.raises(SandboxRuntimeError, match="no command"):
        asyncio.run(open_sandbox(hub))
    assert fake.left == 0


def test_an_unknown_definition_is_a_mistake_of_the_user(hub: Any) -> None:
    with pytest.raises(ConfigError, match="tool 'X' is not defined"):
        asyncio.run(open_sandbox(hub, replace(TASK, tools=(ToolSelection("X"),))))


def test_what_cannot_be_removed_is_told_and_left_to_the_end(hub: Any, fake: Any, error: Any, caplog: Any) -> None:
    async def work() -> Any:
        sandbox = await open_sandbox(hub)
        fake.failures["remove_network"] = [error(500, "stuck")]
        await sandbox.close()
        return sandbox

    sandbox = asyncio.run(work())
    assert [problem.endswith("stuck") for problem in sandbox.problems] == [True]
    assert "stuck" in caplog.text
    watchdog = hub._resources.watchdog
    assert hub.close() == []
    assert (fake.left, watchdog.ends) == (0, ["dismissed"])


def test_an_attempt_can_be_killed_by_its_id(hub: Any, fake: Any) -> None:
    async def work() -> None:
        first, second = await open_sandbox(hub), await open_sandbox(hub)
        assert hub.kill_attempt(first.attempt) == []
        assert fake.left == 2
        await second.close()
        await first.close()

    asyncio.run(work())
    assert fake.left == 0


def test_a_close_that_is_cancelled_is_finished_first(hub: Any, fake: Any) -> None:
    async def work() -> None:
        sandbox = await open_sandbox(hub)
        task = asyncio.ensure_future(sandbox.close())
        await asyncio.sleep(0)
        task.cancel()
        with pytest.raises(asyncio.CancelledError):
            await task

    asyncio.run(work())
    assert fake.left == 0


@pytest.mark.parametrize("is_engine_gone", [True, False])
def test_problems_at_the_end_are_left_to_the_watchdog(
    hub: Any, fake: Any, error: Any, caplog: Any, is_engine_gone: bool
) -> None:
    asyncio.run(open_sandbox(hub))
    watchdog = hub._resources.watchdog
    if is_engine_gone:
        fake.containers = lambda **arguments: (_ for _ in ()).throw(ConnectionError("gone"))
    else:
        fake.failures["remove_container"] = [error(500, "stuck")]
    problems = hub.close()
    assert len(problems) == 1
    assert watchdog.ends == ["abandoned"]
    assert problems[0] in caplog.text
    assert fake.is_closed
    with pytest.raises(SandboxError, match="already closed"):
        asyncio.run(open_sandbox(hub))


def test_the_first_use_sweeps(hub: Any, fake: Any, caplog: pytest.LogCaptureFixture, error: Any) -> None:
    from pytest_mindtrial.sandbox.ownership import CREATED_LABEL, OWNER_LABEL, SESSION_LABEL

    old = {SESSION_LABEL: "dead", OWNER_LABEL: "elsewhere:1", CREATED_LABEL: "2020-01-01T00:00:00+00:00"}
    fake.create_volume("left", labels=old)
    fake.create_network("stuck", labels=old)
    fake.failures["remove_network"] = [error(500, "stuck")]
    with caplog.at_level(logging.WARNING):
        asyncio.run(_open_and_close(hub))
    assert "removed 2 Docker objects" in caplog.text
    assert "could not be removed: stuck" in caplog.text
    assert fake.all_volumes == {}


async def _open_and_close(hub: Any) -> None:
    await (await open_sandbox(hub)).close()


def test_sweeping_can_be_left_to_others(fake: Any, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(resources_module, "Watchdog", Watchdog)
    monkeypatch.setattr(resources_module, "sweep_orphans", None)
    hub = SandboxHub(CONFIG, SandboxSettings(state_dir=tmp_path, sweep=False), connector=lambda: fake)
    asyncio.run(_open_and_close(hub))
    hub.close()


def test_a_bad_setting_closes_the_connection(fake: Any, tmp_path: Path) -> None:
    settings = SandboxSettings(state_dir=tmp_path, subnet_range="10.0.0.0/30")
    hub = SandboxHub(CONFIG, settings, connector=lambda: fake)
    with pytest.raises(SandboxError, match="holds /28 blocks"):
        asyncio.run(open_sandbox(hub))
    assert fake.is_closed


def test_the_default_state_folder_is_used_without_a_setting(
    fake: Any, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(resources_module, "Watchdog", Watchdog)
    monkeypatch.setattr(resources_module, "default_state_dir", lambda: tmp_path)
    hub = SandboxHub(CONFIG, SandboxSettings(sweep=False), connector=lambda: fake)
    asyncio.run(_open_and_close(hub))
    assert len(list(tmp_path.iterdir())) == 1
    hub.close()
    assert list(tmp_path.iterdir()) == []


def test_importing_the_sandbox_costs_no_third_party_module() -> None:
    """docker-py takes 0.2–0.4 s to import, jsonschema 0.06 s; suites without containers must not pay for them."""
    code = "import sys, pytest_mindtrial.sandbox.hub; print({'docker', 'jsonschema', 'requests'} & sys.modules.keys())"
    done = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=True)
    assert done.stdout == "set()\n"
