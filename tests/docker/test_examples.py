"""The example suites that use containers, with the scripted calls and answers of their own configuration."""

from __future__ import annotations

import asyncio
import json
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest

from pytest_mindtrial.core.values import ToolCall
from pytest_mindtrial.providers.mock_script import MockScript, read_script
from pytest_mindtrial.sandbox import SandboxHub, SandboxSettings
from pytest_mindtrial.suite.config import load_config
from pytest_mindtrial.suite.files import FileStore
from pytest_mindtrial.suite.model import Config, Run, Task
from pytest_mindtrial.suite.tasks import load_suite
from pytest_mindtrial.validators.base import Candidate, Verdict
from pytest_mindtrial.validators.custom import CustomValidator

EXAMPLES = Path(__file__).parents[2] / "example_suites"
NAMES = ("python_tool", "shopping_cart", "hidden_tests")


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


def test_python_tool(lab: Any) -> None:
    results = {name: texts for name, (texts, _) in run_example(lab, "python_tool").items()}
    assert results["sum of even numbers"] == ["2550"]
    assert results["largest order"] == ["3 orders", "Lovelace"]
    assert results["no way out"][0].startswith("offline: ")


def test_shopping_cart(lab: Any) -> None:
    results = run_example(lab, "shopping_cart")
    texts, verdict = results["fill the cart"]
    assert json.loads(texts[-1])["items"] == {"apple": 2, "bread": 1}
    assert json.loads(texts[-1])["currency"] == "CAD"
    assert verdict is not None
    assert verdict.passed
    texts, verdict = results["change one's mind"]
    assert texts[2].startswith("Tool error: cart ended with exit code 1.")
    assert "the cart holds only 4 of orange" in texts[2]
    assert verdict is not None
    assert verdict.passed


def test_hidden_tests_pass(lab: Any) -> None:
    for _, verdict in run_example(lab, "hidden_tests").values():
        assert verdict is not None
        assert verdict.passed, verdict.record.explanation


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
