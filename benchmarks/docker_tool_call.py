"""What a tool call costs beyond the engine's own floor, and whether sixteen stateful attempts at once go well.

``python benchmarks/docker_tool_call.py [--calls N] [--attempts N] [--json FILE]``

The floor is what any program pays for one container: create, start, wait, logs, remove through the same client, in the
same run, alternating with the calls so that both see the same load. Target: median ratio ≤ 1.2. The attempts are those
of ``example_suites/shopping_cart``: a network, a service with a healthcheck, two or more tool calls, a validator. Exit
status 1 when a target is missed or something is left behind. Needs an engine and the images of the example suites.
"""

from __future__ import annotations

import argparse
import asyncio
import json
import statistics
import sys
import time
from pathlib import Path
from typing import Any

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
TARGET_RATIO = 1.2


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


async def carts(attempts: int) -> tuple[float, int, str | None]:
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


def main() -> int:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--calls", type=int, default=40)
    parser.add_argument("--attempts", type=int, default=16)
    parser.add_argument("--json", type=Path, help="write the numbers here")
    options = parser.parse_args()
    client = connect()
    floors, ours = asyncio.run(compare(client, options.calls))
    ratio = statistics.median(ours) / statistics.median(floors)
    seconds, passed, session = asyncio.run(carts(options.attempts))
    left = len(list_owned(client, f"{SESSION_LABEL}={session}"))
    client.close()
    numbers = {
        "calls": options.calls,
        "floor_median_ms": round(statistics.median(floors) * 1000, 1),
        "floor_min_ms": round(min(floors) * 1000, 1),
        "call_median_ms": round(statistics.median(ours) * 1000, 1),
        "call_min_ms": round(min(ours) * 1000, 1),
        "ratio": round(ratio, 3),
        "target_ratio": TARGET_RATIO,
        "cart_attempts": options.attempts,
        "cart_passed": passed,
        "cart_seconds": round(seconds, 1),
        "left_behind": left,
    }
    print(json.dumps(numbers, indent=2))
    if options.json:
        options.json.write_text(json.dumps(numbers, indent=2) + "\n", "utf-8")
    return 0 if ratio <= TARGET_RATIO and passed == options.attempts and not left else 1


if __name__ == "__main__":
    sys.exit(main())
