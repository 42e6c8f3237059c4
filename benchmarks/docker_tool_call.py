"""What a tool call costs beyond the engine's own floor, and whether many stateful attempts at once go well.

The floor is what any program pays for one container: create, start, wait, logs, remove through the same client, in the
same run, alternating with the calls so that both see the same load. The attempts are those of
``example_suites/shopping_cart``: a network, a service with a healthcheck, two or more tool calls, a validator. Needs an
engine and the images of the example suites (``make images``).
"""

from __future__ import annotations

import asyncio
import json
import statistics
import time
from pathlib import Path
from typing import Any

from benchmarks.experiments import Row
from pytest_mindtrial.core.values import ToolCall
from pytest_mindtrial.providers.mock_script import read_script
from pytest_mindtrial.sandbox.connection import connect
from pytest_mindtrial.sandbox.hub import SandboxHub
from pytest_mindtrial.sandbox.ownership import SESSION_LABEL
from pytest_mindtrial.sandbox.removal import list_owned
from pytest_mindtrial.sandbox.session import AttemptSandbox
from pytest_mindtrial.suite.config import load_config
from pytest_mindtrial.suite.model import Config, ContainerLimits, Run, Task, Tool, ToolSelection
from pytest_mindtrial.suite.tasks import load_suite
from pytest_mindtrial.validators.base import Candidate
from pytest_mindtrial.validators.custom import CustomValidator

ROOT = Path(__file__).parents[1]
IMAGE = "mindtrial-test/base:latest"
COMMAND = ("cat", "/input/text")


def floor(client: Any) -> float:
    """Return the seconds of one container at the engine's own pace."""
    begin = time.perf_counter()
    host = client.create_host_config(network_mode="none")
    made = client.create_container(IMAGE, ["echo", "42"], host_config=host)["Id"]
    client.start(made)
    client.wait(made)
    client.logs(made, stdout=True, stderr=False)
    client.logs(made, stdout=False, stderr=True)
    client.remove_container(made, v=True, force=True)
    return time.perf_counter() - begin


async def call(sandbox: AttemptSandbox) -> float:
    """Return the seconds of one tool call: arguments, a file, limits, output, record, removal."""
    begin = time.perf_counter()
    result = await sandbox.call(ToolCall("1", "cat", '{"text": "42"}'), 1)
    assert result.content == "42", result.content
    return time.perf_counter() - begin


async def compare(client: Any, calls: int) -> tuple[list[float], list[float]]:
    """Alternate floor and call."""
    schema = {"type": "object", "properties": {"text": {"type": "string"}}, "required": ["text"]}
    tool = Tool("cat", IMAGE, "d", schema, parameter_files={"text": "/input/text"}, command=COMMAND)
    config = Config(Path("config.yaml"), (), tools=(tool,))
    limits = ContainerLimits(timeout_s=60, max_memory_mb=64, cpu_percent=50)
    task = Task("t", "p", "f", tools=(ToolSelection("cat", limits=limits),))
    hub = SandboxHub(config)
    sandbox = await hub.open(task, Run("r", "mock", "m"), "p", "s", {})
    floors, ours = [], []
    for number in range(calls + 2):
        pair = await asyncio.to_thread(floor, client), await call(sandbox)
        if number >= 2:  # the first ones warm up client and engine
            floors.append(pair[0])
            ours.append(pair[1])
    await sandbox.close()
    hub.close()
    return floors, ours


async def cart_attempt(hub: SandboxHub, config: Config, task: Task, run: Run) -> bool:
    """Make one attempt of the shopping cart and return the verdict."""
    sandbox = await hub.open(task, run, "mock", "seed", {})
    try:
        for turn, calls in enumerate(read_script(run).tool_calls[task.name], 1):
            for wish in calls:
                await sandbox.call(ToolCall("1", wish.name, json.dumps(wish.arguments)), turn)
        validator = CustomValidator("cart-state", sandbox.validator(config.validators[0]))
        candidate = Candidate(task.name, task.prompt, task.response_format, task.expected, task.rules, "done")
        return (await validator.validate(candidate)).passed
    finally:
        await sandbox.close()


async def many_carts(attempts: int) -> tuple[float, int, str | None]:
    """Return seconds, passed attempts and the session of many attempts at once."""
    folder = ROOT / "example_suites/shopping_cart"
    config = load_config(folder / "config.yaml")
    task = load_suite(folder / "tasks.yaml").tasks[0]
    hub = SandboxHub(config)
    begin = time.perf_counter()
    verdicts = await asyncio.gather(
        *(cart_attempt(hub, config, task, config.providers[0].runs[0]) for _ in range(attempts))
    )
    seconds, session = time.perf_counter() - begin, hub.session
    assert hub.close() == []
    return seconds, sum(verdicts), session


def tool_calls(times: int) -> list[Row]:
    """A tool call against the engine's own floor: create, start, wait, logs, remove."""
    client = connect()
    try:
        floors, ours = asyncio.run(compare(client, times))
    finally:
        client.close()
    floor_ms, call_ms = statistics.median(floors) * 1000, statistics.median(ours) * 1000
    return [
        Row(f"one container, median of {times}", floor_ms, "ms"),
        Row(f"one tool call, median of {times}", call_ms, "ms"),
        Row("tool call ÷ container", call_ms / floor_ms, "×", 1.2),
    ]


def carts(times: int) -> list[Row]:
    """Shopping carts at once: each with a network, a service, tool calls and a validator."""
    seconds, passed, session = asyncio.run(many_carts(times))
    client = connect()
    try:
        left = len(list_owned(client, f"{SESSION_LABEL}={session}"))
    finally:
        client.close()
    return [
        Row(f"{times} attempts at once", seconds, "s"),
        Row("attempts that passed", passed, "", times, at_least=True),
        Row("containers, networks and volumes left", left, "", 0),
    ]
