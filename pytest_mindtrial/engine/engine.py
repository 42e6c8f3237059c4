"""The engine as the plugin and scripts use it: the loop, with everything that attempts need.

The door of this layer. Does not import pytest, does not write files, does not print. Source: design 3 and D3.
"""

from __future__ import annotations

import random
from collections.abc import Callable, Iterable
from dataclasses import replace
from typing import TYPE_CHECKING, Any

from pytest_mindtrial.core.clock import Clock, SystemClock
from pytest_mindtrial.core.record import Result
from pytest_mindtrial.core.secret import Redactor
from pytest_mindtrial.engine.attempts import Attempts, AttemptSettings
from pytest_mindtrial.engine.clients import ClientSettings
from pytest_mindtrial.engine.concurrency import DEFAULT_CONCURRENCY, Concurrency, limit_of
from pytest_mindtrial.engine.loop import EngineLoop
from pytest_mindtrial.providers.base import ModelClient
from pytest_mindtrial.suite.model import Config, Provider, Run, Task
from pytest_mindtrial.validators.base import Validator

if TYPE_CHECKING:
    from pytest_mindtrial.sandbox.hub import SandboxHub

__all__ = ["DEFAULT_CONCURRENCY", "Engine"]


class Engine(EngineLoop):
    """Makes attempts ahead of whoever waits for them; see `EngineLoop` for submitting, waiting and ending.

    Args:
        configs: Checked configurations.
        providers: The selected runs with their provider entries; their keys must resolve now, before anything is sent.
        concurrency: See `EngineLoop`.
        on_result: See `EngineLoop`.
        client_hook: Supplies the client of a run; None or a hook that returns None = the provider's own.
        validator_hook: Supplies the validator of a task; None or a hook that returns None = the task's own.
        attempts: Further settings: files, sandbox, feedback, budget, cache; hooks, clock and jitter are filled in.
        clock: Time; None = the machine's.
        jitter: Source of random stretching of waits before retries; None = a fresh one.

    Raises:
        ConfigError: A key is missing.
    """

    def __init__(
        self,
        *,
        configs: Iterable[Config] = (),
        providers: Iterable[tuple[Provider, Run]] = (),
        concurrency: Concurrency = DEFAULT_CONCURRENCY,
        on_result: Callable[[Result], None] | None = None,
        client_hook: Callable[[Provider, Run], Any] | None = None,
        validator_hook: Callable[[Task, Run], Validator | None] | None = None,
        attempts: AttemptSettings | None = None,
        clock: Clock | None = None,
        jitter: random.Random | None = None,
    ) -> None:
        clock = clock or SystemClock()
        settings = attempts or AttemptSettings()
        clients: ClientSettings = replace(
            settings.clients,
            concurrency=lambda provider: limit_of(concurrency, provider),
            clock=clock,
            jitter=jitter or random.Random(),
            client_hook=client_hook or settings.clients.client_hook,
        )
        self.redactor: Redactor = clients.redactor
        self.attempts = Attempts(
            configs,
            replace(settings, clients=clients, validator_hook=validator_hook or settings.validator_hook),
        )
        self.attempts.clients.check_keys(providers)
        super().__init__(self.attempts, concurrency=concurrency, on_result=on_result, clock=clock)

    def client_of(self, provider: Provider, run: Run) -> ModelClient:
        """Return the client of a run; use it in the engine's thread only (see `EngineLoop.run`)."""
        return self.attempts.clients.client_of(provider, run)

    def validator_of(self, task: Task, run: Run) -> Validator:
        """Return the validator of a task for the answers of a run; use it in the engine's thread only."""
        return self.attempts.validator_of(task, run)

    def hub_of(self, config: Config) -> SandboxHub:
        """Return the sandbox of a configuration, for the checks before the first attempt."""
        return self.attempts.hub_of(config)

    def redact(self, text: str) -> str:
        """Return a text without any key that was resolved."""
        return self.redactor(text)

    def close(self, timeout: float | None = None) -> bool:
        """Cancel everything, release clients, end the thread, remove what is left in Docker; safe to call twice."""
        has_ended = super().close(timeout)
        self.attempts.close_sandboxes()
        return has_ended
