"""The controller sweeps when an item of the session needs containers, and what overrides replace is not looked for."""

from __future__ import annotations

from dataclasses import replace
from pathlib import Path
from types import SimpleNamespace
from typing import Any

import pytest

from pytest_mindtrial.core.errors import SandboxSetupError
from pytest_mindtrial.plugin.orphans import sweep_before
from pytest_mindtrial.plugin.preflight import sandbox_problems
from pytest_mindtrial.sandbox import sweep
from pytest_mindtrial.suite.model import Config, Rules, Task, Tool, ToolSelection, ValidatorDefinition

PLAIN = Task("plain", "p", "f")
TASK = Task("t", "p", "f", tools=(ToolSelection("add"),), rules=Rules(custom_validator="check"))
CONFIG = Config(
    Path("config.yaml"), (), tools=(Tool("add", "i", "d", {}),), validators=(ValidatorDefinition("check", "i"),)
)


@pytest.fixture
def swept(monkeypatch: pytest.MonkeyPatch) -> list[str]:
    """Note sweeps instead of making them."""
    done: list[str] = []

    def record() -> Any:
        done.append("swept")
        return SimpleNamespace(problems=("network n could not be removed",))

    monkeypatch.setattr(sweep, "sweep_orphans", record)
    return done


def sweep_for(task: Task, config: Config = CONFIG) -> list[str]:
    identity: Any = SimpleNamespace(config=config)
    task_ids: Any = SimpleNamespace(tasks=lambda identities: [task] if identities else [])
    return sweep_before(task_ids, [identity])


@pytest.mark.parametrize("task", [TASK, replace(TASK, tools=()), replace(TASK, rules=Rules())])
def test_items_with_tools_or_a_validator_sweep(swept: list[str], task: Task) -> None:
    assert sweep_for(task) == ["network n could not be removed"]
    assert swept == ["swept"]


def test_other_items_never_look_for_an_engine(swept: list[str]) -> None:
    assert sweep_for(PLAIN) == []
    assert sweep_for(TASK, Config(Path("config.yaml"), ())) == []
    assert swept == []


def test_an_engine_that_is_gone_is_left_to_the_workers(monkeypatch: pytest.MonkeyPatch) -> None:
    def refuse() -> Any:
        raise SandboxSetupError("no engine")

    monkeypatch.setattr(sweep, "sweep_orphans", refuse)
    assert sweep_for(TASK) == []


def checked(task: Task, *overridden: str) -> list[Task]:
    """Return the tasks that the hub is asked to check, and the texts of its problems."""
    seen: list[Task] = []

    def preflight(tasks: Any) -> list[Exception]:
        seen.extend(tasks)
        return [SandboxSetupError("image is missing") for _ in seen]

    engine: Any = SimpleNamespace(hub_of=lambda config: SimpleNamespace(preflight=preflight))
    item: Any = SimpleNamespace(task=task, suite_config=CONFIG, foreign_fixtures=lambda: dict.fromkeys(overridden))
    assert sandbox_problems(engine, [item, item]) == ["image is missing"] * len(seen)
    return seen


def test_what_fixtures_replace_is_not_looked_for() -> None:
    assert checked(PLAIN) == []
    assert checked(TASK, "mt_provider") == [TASK]
    assert checked(TASK, "mt_tools") == [replace(TASK, tools=())]
    assert checked(TASK, "mt_tools", "mt_validator") == [replace(TASK, tools=(), rules=Rules())]


def test_inputs_alone_are_a_reason_to_look() -> None:
    task = replace(PLAIN, service_inputs={"shop": {"customer": 1}})
    assert checked(task) == [task]
