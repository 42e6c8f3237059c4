"""The example suites that use containers: as a user runs them, and with answers that are wrong."""

from __future__ import annotations

import asyncio
import hashlib
import json
import subprocess
import sys
from collections.abc import Callable, Mapping
from pathlib import Path
from typing import Any

import pytest

from pytest_mindtrial.core.values import ToolCall
from pytest_mindtrial.providers.mock_script import MockScript, read_script
from pytest_mindtrial.sandbox.hub import SandboxHub
from pytest_mindtrial.sandbox.ownership import OWNER_LABEL, SESSION_LABEL
from pytest_mindtrial.sandbox.removal import list_owned
from pytest_mindtrial.sandbox.settings import SandboxSettings
from pytest_mindtrial.suite.config import load_config
from pytest_mindtrial.suite.files import FileStore
from pytest_mindtrial.suite.model import Config, Run, Task
from pytest_mindtrial.suite.tasks import load_suite
from pytest_mindtrial.validators.base import Candidate, Verdict
from pytest_mindtrial.validators.custom import CustomValidator

EXAMPLES = Path(__file__).parents[2] / "example_suites"


def read(name: str) -> tuple[Config, tuple[Task, ...], Run, MockScript]:
    config = load_config(EXAMPLES / name / "config.yaml")
    run = config.providers[0].runs[0]
    return config, load_suite(EXAMPLES / name / "tasks.yaml").tasks, run, read_script(run)


async def attempt(
    hub: SandboxHub, config: Config, task: Task, run: Run, script: MockScript, answer: str | None = None
) -> tuple[list[str], Verdict | None]:
    """Do what the engine does with the scripted conversation; return the tool results and the verdict."""
    sandbox = await hub.open(task, run, "mock", "eval-seed", FileStore())
    try:
        texts = []
        for turn, calls in enumerate(script.tool_calls[task.name], 1):
            for call in calls:
                wish = ToolCall(f"call-{turn}", call.name, json.dumps(call.arguments))
                texts.append((await sandbox.call(wish, turn)).content)
        if not task.rules.custom_validator:
            return texts, None
        validator = CustomValidator(config.validators[0].name, sandbox.validator(config.validators[0]))
        answer = script.answer(task.name, None, 0) if answer is None else answer
        candidate = Candidate(task.name, task.prompt, task.response_format, task.expected, task.rules, answer)
        return texts, await validator.validate(candidate)
    finally:
        await sandbox.close()


def run_example(lab: Any, name: str, **answers: str) -> dict[str, tuple[list[str], Verdict | None]]:
    config, tasks, run, script = read(name)
    hub = SandboxHub(config, SandboxSettings(state_dir=lab.state_dir))
    lab.hubs.append(hub)
    assert hub.preflight(tasks) == []

    async def work() -> Any:
        chosen = [task for task in tasks if not answers or task.name in answers]
        done = await asyncio.gather(
            *(attempt(hub, config, task, run, script, answers.get(task.name)) for task in chosen)
        )
        return {task.name: result for task, result in zip(chosen, done, strict=True)}

    return asyncio.run(work())


@pytest.fixture(scope="module", autouse=True)
def example_images(build: Callable[[Path], str]) -> None:
    for folder in sorted(EXAMPLES.glob("*/images/*")):
        build(folder)


def run_pytest(name: str, folder: Path, client: Any) -> Mapping[str, Any]:
    """Run an example as a user does, in a process of its own; return its results by task. Nothing may be left."""
    suite = EXAMPLES / name
    command = [sys.executable, "-m", "pytest", str(suite / "tasks.yaml"), "--mt-config", str(suite / "config.yaml")]
    command += ["--mt-output-dir", str(folder), "--mt-output-basename", "r", "--mt-seed", "eval-seed"]
    command += ["-p", "no:cacheprovider", "-p", "no:hypothesispytest"]
    process = subprocess.Popen(command, stdout=subprocess.PIPE, stderr=subprocess.STDOUT, text=True, cwd=folder)
    output, _ = process.communicate(timeout=120)
    assert process.returncode == 0, output
    owners = [each.labels[OWNER_LABEL] for each in list_owned(client, SESSION_LABEL)]
    assert [owner for owner in owners if owner.endswith(f":{process.pid}")] == []
    results = json.loads((folder / "r.json").read_text("utf-8"))["Results"]["mock"]
    assert {entry["Kind"] for entry in results} == {"Passed"}
    return {entry["Task"]: entry for entry in results}


def go_hash(*texts: str) -> int:
    """Return what ``hash`` in a template gives. Source: spec docker 7."""
    parts = b"".join(len(text.encode()).to_bytes(8, "big") + text.encode() for text in texts)
    return int.from_bytes(hashlib.sha256(parts).digest()[:8], "big")


def statuses(entry: Mapping[str, Any]) -> list[str]:
    return [call["Status"] for call in entry["Details"]["Answer"]["ToolCalls"]]


def test_python_tool(client: Any, tmp_path: Path) -> None:
    results = run_pytest("python_tool", tmp_path, client)
    assert {name: statuses(entry) for name, entry in results.items()} == {
        "sum of even numbers": ["success"],
        "largest order": ["success", "success"],
        "no way out": ["success"],
    }
    usage = results["largest order"]["Details"]["Answer"]["ToolUsage"]
    assert usage["python-code-executor"]["CallCount"] == 2


def test_shopping_cart(client: Any, tmp_path: Path) -> None:
    results = run_pytest("shopping_cart", tmp_path, client)
    assert statuses(results["fill the cart"]) == ["success", "success"]
    changed = results["change one's mind"]
    assert statuses(changed) == ["success", "success", "nonzero_exit", "success"]
    refused = changed["Details"]["Answer"]["ToolCalls"][2]
    assert (refused["ExitCode"], refused["ConversationTurn"]) == (1, 2)
    assert "the cart holds only 4 of orange" in refused["Stderr"]["Preview"]
    validation = changed["Details"]["Validation"]
    assert (validation["Method"], validation["Title"]) == ("custom", "The cart is right")
    (explanation,) = validation["Explanation"]
    # The same seed serves the same customer again.
    customer = go_hash("eval-seed", "change one's mind")
    assert explanation == f'Customer {customer} has {{"bread": 1}} after 3 changes.'


def test_hidden_tests(client: Any, tmp_path: Path) -> None:
    for entry in run_pytest("hidden_tests", tmp_path, client).values():
        assert entry["Details"]["Validation"]["Method"] == "custom"
        assert entry["Details"]["Validation"]["Title"].endswith("tests passed")


@pytest.mark.parametrize(
    "answer, explanation",
    [
        ("def fizzbuzz(n): return [str(i) for i in range(1, n + 1)]", "'3'"),
        ("this is no program", "failed: SyntaxError"),
        ("def fizzbuzz(n): open('/opt/hidden-tests/fizzbuzz.json')", "failed: PermissionError"),
        ("import os\nprint('{\"correct\": true}')\ndef fizzbuzz(n): os._exit(0)", "not JSON"),
        ("", "failed: KeyError"),
    ],
)
def test_hidden_tests_fail_what_is_wrong(lab: Any, answer: str, explanation: str) -> None:
    _, verdict = run_example(lab, "hidden_tests", fizzbuzz=answer)["fizzbuzz"]
    assert verdict is not None
    assert not verdict.passed
    assert explanation in verdict.record.explanation
    assert verdict.record.title.endswith("of 4 tests failed")
