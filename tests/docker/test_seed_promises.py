"""Promises of seed README 000 that no other test holds; ``tests/unit/sandbox/test_seed_promises.py`` lists them all."""

from __future__ import annotations

import asyncio
from collections.abc import Callable, Sequence
from dataclasses import replace
from typing import Any, cast

import pytest

from pytest_mindtrial.core.record import Result
from pytest_mindtrial.core.values import Kind
from pytest_mindtrial.engine.attempts import AttemptSettings
from pytest_mindtrial.engine.callables import wrap_callable
from pytest_mindtrial.engine.engine import Engine
from pytest_mindtrial.engine.plan import AttemptPlan
from pytest_mindtrial.sandbox.ownership import ROLE_LABEL, SESSION_LABEL
from pytest_mindtrial.sandbox.removal import list_owned
from pytest_mindtrial.suite.gotemplate import JUDGE_FIELDS, VALIDATOR_FIELDS
from pytest_mindtrial.suite.model import ClientConfig, Config, ContainerLimits, Dependency, Provider, Run, Task

PYTHON = "mindtrial-test/python:latest"
BASE = "mindtrial-test/base:latest"
URL = (Dependency("counter", {"URL": "{{ .Endpoint }}"}),)


def attempts(
    lab: Any, config: Config, model: Callable[[str], str] | Sequence[Any], *, times: int = 1, **fields: Any
) -> Sequence[Result]:
    """Let a model work on a task, several times one after another.

    ``model`` is a function without tools, or the calls that a mock makes before it answers ``done``.
    """
    parameters = {} if callable(model) else {"tool-calls": {"*": model}, "answers": {"*": "done"}}
    run = Run("r", "mock", "m", {"behaviour": "script", **parameters})
    provider = Provider("mock", 0, ClientConfig(), (run,))
    config = replace(config, providers=(provider,))
    task: Task = lab.task(config, **fields)
    hub = lab.hub(config)
    engine = Engine(configs=[config], attempts=AttemptSettings(sandbox=lambda _config: hub))
    engine.start()
    client = wrap_callable(model) if callable(model) else None
    try:
        plan = AttemptPlan(task, run, provider, "eval-seed", client=client)
        return [engine.submit(plan).result(60) for _ in range(times)]
    finally:
        engine.close()


def visit(path: str) -> str:
    return (
        "import json, os, urllib.request as u\n"
        f"found = u.urlopen(os.environ['URL'] + '{path}', timeout=5).read().decode()\n"
        "print(json.dumps({'correct': True, 'title': found, 'explanation': 'e'}))"
    )


def test_disabled_tools_need_nothing_and_are_not_offered(lab: Any) -> None:
    """A task keeps enabled tools only; what is disabled is not looked for, so its image may be missing."""
    config = lab.config(lab.tool(image="mindtrial-test/none:1"), lab.counter())
    assert lab.hub(config).preflight([lab.task(config, tools=())]) == []
    (result,) = attempts(lab, config, [{"name": "sh", "arguments": {}}], tools=(), expected=("done",))
    assert result.kind is Kind.PASSED
    told = [turn["text"] for turn in result.transcript if turn["role"] == "tool"]
    assert told == ["Tool error: there is no tool named sh."]


def test_only_needed_services_start(lab: Any, client: Any) -> None:
    validator = lab.validator("", image=PYTHON, command=("python", "-c", visit("/")), dependencies=URL)
    second = lab.counter("second", image=BASE, command=("sleep", "60"), healthcheck=())
    unused = replace(second, name="unused", image="mindtrial-test/none:1")
    config = lab.config(lab.counter(), second, unused, lab.shell("id", dependencies=(Dependency("second"),)), validator)

    async def started(**fields: Any) -> list[str]:
        sandbox = await lab.open(config, **fields)
        found = list(sandbox.services)
        await sandbox.close()
        return sorted(found)

    assert asyncio.run(started()) == ["counter", "second"]
    assert asyncio.run(started(tools=())) == ["counter"]
    assert asyncio.run(started(rules=replace(lab.task(config).rules, custom_validator=""))) == ["second"]


def test_services_are_ready_before_the_prompt_and_gone_after_the_verdict(lab: Any, client: Any) -> None:
    validator = lab.validator("", image=PYTHON, command=("python", "-c", visit("/")), dependencies=URL)
    config = lab.config(lab.counter(), validator)
    seen: list[str] = []

    def model(prompt: str) -> str:
        roles = [each.labels[ROLE_LABEL] for each in list_owned(client, f"{SESSION_LABEL}={lab.hubs[0].session}")]
        seen.extend(sorted(roles))
        return "done"

    (result,) = attempts(lab, config, model)
    assert (result.kind, result.validation.title) == (Kind.PASSED, "0")
    assert seen == ["network", "service"]
    # What is left is checked by the lab.


def test_a_further_try_starts_afresh_from_the_same_inputs(lab: Any) -> None:
    service = lab.counter(input_env={"seed": "SEED"})
    config = lab.config(service, lab.client("add"), lab.client("get"))
    calls = [{"name": "add", "arguments": {"path": "/add"}}, {"name": "get", "arguments": {"path": "/env/SEED"}}]
    inputs = {"counter": {"seed": "{{ hash .Evaluation.Seed .Task.Name }}"}}
    for result in attempts(lab, config, calls, times=2, service_inputs=inputs, expected=("done",)):
        told = [turn["text"] for turn in result.transcript if turn["role"] == "tool"]
        assert told == ["1", "9526074796148898333"]


def test_the_validator_runs_once(lab: Any) -> None:
    """It counts its own visits, and its run is no call of the model's."""
    validator = lab.validator("", image=PYTHON, command=("python", "-c", visit("/add")), dependencies=URL)
    (result,) = attempts(lab, lab.config(lab.counter(), validator), lambda prompt: "done")
    assert (result.kind, result.validation.method, result.validation.title) == (Kind.PASSED, "custom", "1")
    assert (result.answer.tool_calls, result.answer.tool_usage) == ((), {})


def test_the_validator_does_not_run_after_an_error(lab: Any) -> None:
    def model(prompt: str) -> str:
        raise ValueError("no answer")

    config = lab.config(lab.validator("exit 9"))
    (result,) = attempts(lab, config, model)
    assert (result.kind, result.validation) == (Kind.ERROR, None)
    assert "no answer" in result.error.message
    assert not result.error.from_validation


@pytest.mark.parametrize("role", ["service", "validator"])
def test_limits_of_services_and_validators_reach_the_engine(lab: Any, client: Any, role: str) -> None:
    limits = ContainerLimits(max_memory_mb=64, cpu_percent=50)
    sleep = {"image": BASE, "command": ("sleep", "30"), "limits": limits}
    if role == "service":
        config = lab.config(
            lab.counter(healthcheck=(), **sleep), lab.shell("id", dependencies=(Dependency("counter"),))
        )
    else:
        config = lab.config(lab.validator("", **sleep))
    host = _host_config_of(lab, client, config, role)
    assert host["Memory"] == host["MemorySwap"] == 64 * 1024 * 1024
    assert host["NanoCpus"] == client.info()["NCPU"] * 50 * 10_000_000


def _host_config_of(lab: Any, client: Any, config: Config, role: str) -> Any:
    async def work() -> Any:
        sandbox = await lab.open(config)
        running = asyncio.ensure_future(sandbox.validator(config.validators[0])({})) if config.validators else None
        label = f"pytest-mindtrial.attempt={sandbox.attempt}"
        while not (found := client.containers(filters={"label": [label, f"{ROLE_LABEL}={role}"]})):
            await asyncio.sleep(0.02)
        seen = client.inspect_container(found[0]["Id"])["HostConfig"]
        if running is not None:
            running.cancel()
            await asyncio.gather(running, return_exceptions=True)
        await sandbox.close()
        return seen

    return asyncio.run(work())


def test_a_judge_template_is_good_for_a_validator() -> None:
    """What a judge's prompt may name of task, answer and flags, a validator may name too."""
    judge, validator = cast("dict[str, Any]", JUDGE_FIELDS), cast("dict[str, Any]", VALIDATOR_FIELDS)
    assert judge.keys() - validator.keys() == {"Verdict"}
    for group in ("OriginalTask", "Candidate", "Rules"):
        assert judge[group].keys() == validator[group].keys()
