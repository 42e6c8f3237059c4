"""What attempts get by the configuration of each plan: validators, tools, sandboxes, ids."""

from __future__ import annotations

import asyncio
import json
from dataclasses import replace
from pathlib import Path

import pytest

from pytest_mindtrial.core.clock import FakeClock
from pytest_mindtrial.core.errors import ConfigError, SandboxSetupError
from pytest_mindtrial.core.values import Kind
from pytest_mindtrial.engine.attempts import Attempts, AttemptSettings
from pytest_mindtrial.engine.clients import ClientSettings
from pytest_mindtrial.engine.plan import AttemptPlan
from pytest_mindtrial.sandbox.hub import SandboxHub
from pytest_mindtrial.suite.model import (
    ClientConfig,
    Config,
    Judge,
    JudgeSelection,
    Pricing,
    Provider,
    Rules,
    Run,
    Task,
    Tool,
    ToolSelection,
    ValidatorDefinition,
)
from pytest_mindtrial.validators.custom import CustomValidator

RUN = Run("r", "mock", "m", pricing=Pricing("USD", 1, 1))
ENTRY = Provider("mock", 0, ClientConfig(), (RUN,))
VARIANT = Run("v", "mock", "m", {"verdicts": [{"verdict": {"correct": True}}]}, pricing=Pricing("USD", 2, 2))
JUDGE = Judge("j", Provider("mock", 0, ClientConfig(), (VARIANT,)))
CONFIG = Config(
    Path("config.yaml"),
    (ENTRY,),
    (JUDGE,),
    tools=(Tool("add", "img", "Adds.", {"type": "object"}), Tool("sub", "img", "Subtracts.", {})),
    validators=(ValidatorDefinition("check", "img"),),
)


class Hub:
    """A sandbox hub whose sessions print a verdict."""

    def __init__(self, config):
        self.config = config
        self.closed = 0

    async def open(self, task, run, provider_name, evaluation_seed, files):
        return self

    usage, calls, exhausted = {}, (), ()

    def validator(self, definition):
        async def process(data):
            assert data["Candidate"]["Response"] == "yes"
            return json.dumps({"correct": True, "title": definition.name, "explanation": "fine"})

        return process

    def close(self):
        self.closed += 1
        return Awaitable(["left over"])


class Awaitable(list):
    """What `close` returns: problems for a hub, nothing to wait for in a session."""

    def __await__(self):
        return iter(())


def attempts(*configs, **settings):
    clients = ClientSettings(clock=FakeClock(), environ={}, **settings.pop("clients", {}))
    return Attempts(configs or [CONFIG], AttemptSettings(clients=clients, **settings))


def task(**fields):
    return Task("t", "What?", "one word", **{"expected": ("yes",), **fields})


def make(plan_task=None, **settings):
    made = attempts(**settings)
    return asyncio.run(made.run(AttemptPlan(plan_task or task(), RUN, ENTRY, "seed")))


def test_a_plan_without_an_id_gets_one():
    ids = iter(["id-1"])
    result = make(trace_ids=lambda: next(ids))
    assert result.trace_id == "id-1"
    assert result.kind is Kind.PASSED
    assert result.run_config["Model"] == "m"
    assert len(make().trace_id) == 26


def test_an_id_that_is_given_is_kept():
    plan = AttemptPlan(task(), RUN, ENTRY, trace_id="own")
    assert asyncio.run(attempts().run(plan)).trace_id == "own"


def test_the_run_config_is_built_once_per_run():
    made = attempts()
    plan = AttemptPlan(task(), RUN, ENTRY)

    async def both():
        return [await made.run(plan), await made.run(plan)]

    first, second = asyncio.run(both())
    assert first.run_config is second.run_config


def test_a_judge_of_the_configuration_judges_and_is_priced():
    rules = Rules(judge=JudgeSelection(True, "j", "v"))
    result = make(task(rules=rules))
    assert result.kind is Kind.PASSED
    assert result.validation.validator == "v j judge"
    assert [request.purpose for request in result.requests] == ["candidate", "judge"]
    assert result.judge_cost > 0


def test_an_unknown_judge_is_a_configuration_error():
    result = make(task(rules=Rules(judge=JudgeSelection(True, "x", "v"))))
    assert result.error.title == "Configuration Error"
    assert "judge 'x' is not configured (known: j)" in result.error.message


def test_a_hook_supplies_validators_and_their_judges_have_no_known_price(fake_client):
    class Own:
        name, method = "own", "semantic"

        async def validate(self, candidate):
            return replace(await inner.validate(candidate))

    rules = Rules(judge=JudgeSelection(True, "x", "v"))
    inner = attempts().validator_of(task(rules=Rules(judge=JudgeSelection(True, "j", "v"))), RUN)
    result = make(task(rules=rules), validator_hook=lambda task, run: Own())
    assert result.kind is Kind.PASSED
    assert result.judge_cost is None


def test_a_given_validator_has_no_known_price():
    own = attempts().validator_of(task(rules=Rules(judge=JudgeSelection(True, "j", "v"))), RUN)
    result = asyncio.run(attempts().run(AttemptPlan(task(), RUN, ENTRY, validator=own)))
    assert result.kind is Kind.PASSED
    assert result.judge_cost is None


def test_custom_validators_run_in_the_sandbox_of_their_configuration():
    hubs = []
    made = attempts(sandbox=lambda config: hubs.append(Hub(config)) or hubs[-1])
    plan = AttemptPlan(task(rules=Rules(custom_validator="check")), RUN, ENTRY)
    result = asyncio.run(made.run(plan))
    assert result.kind is Kind.PASSED
    assert result.validation.title == "check"
    assert [hub.config for hub in hubs] == [CONFIG]
    assert made.close_sandboxes() == ["left over"]


def test_an_unknown_custom_validator_is_a_configuration_error():
    result = make(task(rules=Rules(custom_validator="chek")))
    assert result.error.message == ("custom validator 'chek' is not configured (known: check); did you mean 'check'?")


def test_a_custom_validator_needs_an_attempt():
    validator = attempts().validator_of(task(rules=Rules(custom_validator="check")), RUN)
    assert isinstance(validator, CustomValidator)
    with pytest.raises(SandboxSetupError, match="only inside an attempt"):
        asyncio.run(validator._process({}))


def test_tools_are_defined_in_the_tasks_order():
    made = attempts()
    plan = AttemptPlan(task(tools=(ToolSelection("sub"), ToolSelection("add"))), RUN, ENTRY)
    assert [tool.name for tool in made._tools(plan)] == ["sub", "add"]


def test_an_unknown_tool_is_named():
    result = make(task(tools=(ToolSelection("ad"),)))
    assert result.error.title == "Execution Error"
    assert "required tool not found: ad (known: add, sub); did you mean 'add'?" in result.error.message


def test_without_a_configuration_there_is_no_sandbox_and_nothing_defined():
    made = Attempts([], AttemptSettings())
    plan = AttemptPlan(task(rules=Rules(custom_validator="check")), RUN, ENTRY)
    assert made._sandbox(plan) is None
    with pytest.raises(ConfigError, match="known: none"):
        made.validator_of(plan.task, RUN, ENTRY)
    with pytest.raises(SandboxSetupError, match="known: none"):
        made._tools(replace(plan, task=task(tools=(ToolSelection("add"),))))


def test_the_default_sandbox_is_docker_and_making_it_touches_nothing():
    made = attempts()
    hub = made.hub_of(CONFIG)
    assert isinstance(hub, SandboxHub)
    assert made.hub_of(CONFIG) is hub
    assert hub.session is None
    assert made.close_sandboxes() == []
