"""Fakes that the engine's tests share."""

from __future__ import annotations

import asyncio
from collections.abc import Callable, Sequence
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

import pytest

from pytest_mindtrial.core.record import RequestRecord, Result
from pytest_mindtrial.core.values import Kind, StopClass, ToolResult
from pytest_mindtrial.engine.plan import AttemptPlan
from pytest_mindtrial.providers.base import Prompt, Turn
from pytest_mindtrial.suite.model import ClientConfig, Provider, Run, Task


@dataclass
class FakeClient:
    """A model client that plays turns; an exception in the list is raised instead."""

    turns: Sequence[Turn | BaseException] = ()
    is_mock: bool = False
    refuses: Exception | None = None
    prompts: list[Prompt] = field(default_factory=list)
    checked: list[Prompt] = field(default_factory=list)
    results: list[ToolResult] = field(default_factory=list)
    feedback: list[str] = field(default_factory=list)
    withdrawn: list[str] = field(default_factory=list)
    closed: int = 0

    def check(self, prompt: Prompt) -> None:
        self.checked.append(prompt)
        if self.refuses is not None:
            raise self.refuses

    def start(self, prompt: Prompt) -> FakeConversation:
        self.prompts.append(prompt)
        return FakeConversation(self, iter(self.turns))

    async def close(self) -> None:
        self.closed += 1


class FakeConversation:
    def __init__(self, client: FakeClient, turns: Any) -> None:
        self._client = client
        self._turns = turns

    async def next_turn(self) -> Turn:
        await asyncio.sleep(0)
        turn = next(self._turns)
        if isinstance(turn, BaseException):
            raise turn
        return turn

    def add_tool_results(self, results: Sequence[ToolResult]) -> None:
        self._client.results.extend(results)

    def add_feedback(self, text: str) -> None:
        self._client.feedback.append(text)

    def withdraw_tool(self, name: str) -> None:
        self._client.withdrawn.append(name)


@pytest.fixture
def fake_client() -> type[FakeClient]:
    """The class; tests make their own."""
    return FakeClient


@pytest.fixture
def make_plan() -> Callable[..., AttemptPlan]:
    """Make a plan; keyword arguments of the task are passed on."""

    def make(
        name: str = "task", run: str = "run", provider: str = "mock", index: int = 0, **fields: Any
    ) -> AttemptPlan:
        plan_fields = {key: fields.pop(key) for key in ("client", "validator", "tools", "repeat") if key in fields}
        run_fields = fields.pop("run_fields", {})
        the_run = Run(name=run, provider=provider, model="m", **run_fields)
        entry = Provider(provider, index, ClientConfig(), (the_run,))
        task = (
            Task(name=name, prompt="What?", response_format="one word", **{"expected": ("yes",), **fields})
            if "response_format" not in fields
            else Task(name=name, prompt="What?", **{"expected": ("yes",), **fields})
        )
        nodeid = f"tasks.yaml::{name}[{provider}-{run}]"
        return AttemptPlan(task, the_run, entry, "seed", nodeid=nodeid, trace_id=f"trace-{name}", **plan_fields)

    return make


@pytest.fixture
def result_of() -> Callable[..., Result]:
    """Make a result of a plan."""

    def make(plan: AttemptPlan, kind: Kind = Kind.PASSED) -> Result:
        return Result(plan.trace_id, kind, plan.task.name, plan.provider.name, plan.run.name, nodeid=plan.nodeid)

    return make


@pytest.fixture
def say() -> Callable[..., Turn]:
    """Make a terminal turn."""

    def make(text: str | None, stop: StopClass = StopClass.FINAL, **fields: Any) -> Turn:
        requests = (RequestRecord(1, 1, duration_ns=fields.get("duration_ns", 0)),)
        return Turn(text, stop, **{"stop_reason": "stop", "mode": "off", "requests": requests, **fields})

    return make


@pytest.fixture
def shared_data() -> Path:
    """The companion data of the specifications; skips where it is absent."""
    path = Path(__file__).parents[3] / "../shared/data/mindtrial"
    if not path.is_dir():
        pytest.skip("../shared/data is absent")
    return path
