"""Gives attempts what they need: clients, validators, files, sandboxes, by the configuration of each plan.

The composition of the layers below for one engine; does not know threads or slots. Source: design 3, D9, D10.
"""

from __future__ import annotations

import asyncio
from collections.abc import Callable, Iterable, Mapping
from dataclasses import dataclass, field
from typing import TYPE_CHECKING, Any

from pytest_mindtrial.core.errors import ConfigError, SandboxSetupError
from pytest_mindtrial.core.ids import TraceIds
from pytest_mindtrial.core.pricing import Prices
from pytest_mindtrial.core.record import Result
from pytest_mindtrial.engine.attempt import AttemptServices, SessionSource, run_attempt
from pytest_mindtrial.engine.clients import Clients, ClientSettings
from pytest_mindtrial.engine.plan import AttemptPlan, Feedback, FileSource, Sandbox, SandboxSession
from pytest_mindtrial.engine.requests import BUDGET_CAUSE, current_repeat
from pytest_mindtrial.engine.run_config import run_config
from pytest_mindtrial.providers.base import ToolDefinition
from pytest_mindtrial.suite.files import FileStore
from pytest_mindtrial.suite.model import Config, Provider, Run, Task, ValidatorDefinition
from pytest_mindtrial.suite.suggest import allowed_list, near_match
from pytest_mindtrial.validators.base import Validator
from pytest_mindtrial.validators.select import accepted_form, choose_validator

if TYPE_CHECKING:
    from pytest_mindtrial.sandbox.hub import SandboxHub
    from pytest_mindtrial.validators.custom import ValidatorProcess

__all__ = ["AttemptSettings", "Attempts"]

ValidatorHook = Callable[[Task, Run], Validator | None]


def _default_hub(config: Config) -> SandboxHub:
    from pytest_mindtrial.sandbox.hub import SandboxHub  # only suites with containers need it

    return SandboxHub(config)


@dataclass(frozen=True, slots=True)
class AttemptSettings:
    """What all attempts of an engine have in common.

    Attributes:
        clients: Settings of model clients.
        validator_hook: Supplies the validator of a task; None = the task's own rules choose.
        files: Reads attached files; None = a store of the engine's own.
        sandbox: Makes the sandbox of a configuration, on first use.
        feedback: Answers failed verdicts.
        trace_ids: Source of ids for plans without one.
    """

    clients: ClientSettings = field(default_factory=ClientSettings)
    validator_hook: ValidatorHook = lambda task, run: None
    files: FileSource | None = None
    sandbox: Callable[[Config], SandboxHub] = _default_hub
    feedback: Feedback | None = None
    trace_ids: Callable[[], str] = field(default_factory=TraceIds)


class Attempts:
    """Makes attempts (`engine.loop.AttemptRunner`).

    Args:
        configs: Checked configurations.
        settings: Common settings.
    """

    def __init__(self, configs: Iterable[Config], settings: AttemptSettings) -> None:
        self.clients = Clients(configs, settings.clients)
        self._settings = settings
        self._hubs: dict[int, SandboxHub] = {}
        self._run_configs: dict[int, tuple[Run, Mapping[str, Any] | None]] = {}
        self._services = AttemptServices(
            clock=settings.clients.clock,
            client=lambda plan: self.clients.client_of(plan.provider, plan.run),
            validator=self._validator,
            run_config=self._run_config,
            expected_form=lambda plan: plan.task.expected if plan.validator else accepted_form(plan.task),
            judge_prices=self._judge_prices,
            files=settings.files or FileStore(),
            tools=self._tools,
            sandbox=self._sandbox,
            feedback=settings.feedback,
        )

    async def run(self, plan: AttemptPlan) -> Result:
        """Make one attempt; only `asyncio.CancelledError` may escape, also for one the budget did not let begin."""
        current_repeat.set(plan.repeat)
        result = await run_attempt(plan, self._services, plan.trace_id or self._settings.trace_ids())
        if result.error is not None and result.error.cause == BUDGET_CAUSE and not result.requests:
            raise asyncio.CancelledError
        return result

    async def regrade(self, plan: AttemptPlan, stored: Result) -> Result:
        """Judge a stored answer by the rules of a plan; only `asyncio.CancelledError` may escape."""
        from pytest_mindtrial.engine.regrade import regrade  # only sessions that make no attempts need it

        current_repeat.set(plan.repeat)
        return await regrade(
            stored,
            plan,
            lambda: plan.validator or self.validator_of(plan.task, plan.run, plan.provider),
            clock=self._services.clock,
            judge_prices=self._judge_prices,
        )

    def validator_of(
        self, task: Task, run: Run, provider: Provider | None = None, session: SessionSource | None = None
    ) -> Validator:
        """Return the validator of a task for the answers of a run.

        Args:
            task: The task.
            run: The run.
            provider: The run's provider entry; None = the entry that holds the run.
            session: Gives the sandbox session of the attempt; None = there is no attempt.

        Raises:
            ConfigError: An unknown judge, variant or custom validator, or no key for the judge.
        """
        given = self._settings.validator_hook(task, run)
        if given is not None:
            return given
        provider = provider or self.clients.provider_of(run)
        rules = task.rules
        ask = self.clients.judge_of(provider, rules.judge) if rules.method == "semantic" else None
        process = None
        if rules.custom_validator:
            process = self._process(provider, rules.custom_validator, session or _no_session)
        return choose_validator(task, ask=ask, custom=process)

    async def close(self) -> None:
        """Close clients and connections; sandboxes are removed by `close_sandboxes`."""
        await self.clients.close()

    def close_sandboxes(self) -> list[str]:
        """Remove what attempts have left in Docker; blocking. Return the problems."""
        return [problem for hub in self._hubs.values() for problem in hub.close()]

    def hub_of(self, config: Config) -> SandboxHub:
        """Return the sandbox of a configuration; making one does not touch Docker."""
        hub = self._hubs.get(id(config))
        if hub is None:
            hub = self._hubs[id(config)] = self._settings.sandbox(config)
        return hub

    def _sandbox(self, plan: AttemptPlan) -> Sandbox | None:
        config = self.clients.config_of(plan.provider)
        return self.hub_of(config) if config else None

    def _validator(self, plan: AttemptPlan, session: SessionSource) -> Validator:
        return self.validator_of(plan.task, plan.run, plan.provider, session)

    def _process(self, provider: Provider | None, name: str, session: SessionSource) -> ValidatorProcess:
        """Return what runs a custom validator, once there is a session to run it in."""
        definition = self._validator_definition(provider, name)

        async def process(data: Mapping[str, Any]) -> str:
            return await session().validator(definition)(data)

        return process

    def _validator_definition(self, provider: Provider | None, name: str) -> ValidatorDefinition:
        config = self.clients.config_of(provider)
        known = {definition.name: definition for definition in (config.validators if config else ())}
        if name not in known:
            raise ConfigError(
                f"custom validator {name!r} is not configured (known: {allowed_list(known)}){near_match(name, known)}"
            )
        return known[name]

    def _tools(self, plan: AttemptPlan) -> tuple[ToolDefinition, ...]:
        config = self.clients.config_of(plan.provider)
        known = {tool.name: tool for tool in (config.tools if config else ())}
        for selection in plan.task.tools:
            if selection.name not in known:
                raise SandboxSetupError(
                    f"required tool not found: {selection.name} (known: {allowed_list(known)})"
                    f"{near_match(selection.name, known)}"
                )
        tools = [known[selection.name] for selection in plan.task.tools]
        return tuple(ToolDefinition(tool.name, tool.description, tool.parameters) for tool in tools)

    def _run_config(self, plan: AttemptPlan) -> Mapping[str, Any] | None:
        """Return the run's wire form, built once per run and shared by its results."""
        known = self._run_configs.get(id(plan.run))
        if known is None:
            known = self._run_configs[id(plan.run)] = (plan.run, run_config(plan.run))
        return known[1]

    def _judge_prices(self, plan: AttemptPlan) -> tuple[Prices | None, str]:
        if plan.validator is not None or not plan.task.rules.judge.enabled:
            return None, ""
        try:
            pricing = self.clients.judge_of(plan.provider, plan.task.rules.judge).pricing
        except ConfigError:  # a hook's validator has judged, whose prices are unknown
            return None, ""
        return pricing, pricing.currency if pricing else ""


def _no_session() -> SandboxSession:
    raise SandboxSetupError("a custom validator runs only inside an attempt")
