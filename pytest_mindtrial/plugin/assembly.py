"""What a session gives to its engine: files with downloads, response cache, spending limit, sandboxes.

Does not start anything. Source: design 3; spec mindtrial 2.7.
"""

from __future__ import annotations

from collections.abc import Iterable
from typing import TYPE_CHECKING, cast

from pytest_mindtrial.core.errors import TransportError
from pytest_mindtrial.core.secret import Redactor
from pytest_mindtrial.engine.attempts import AttemptSettings
from pytest_mindtrial.engine.clients import ClientSettings
from pytest_mindtrial.engine.requests import PolicyHooks
from pytest_mindtrial.suite.files import FileStore

if TYPE_CHECKING:
    from pytest_mindtrial.engine.budget import SpendingLimit
    from pytest_mindtrial.engine.cache import CacheMode, ResponseCache
    from pytest_mindtrial.plugin.evaluation import Evaluation
    from pytest_mindtrial.plugin.items import TaskItem
    from pytest_mindtrial.plugin.options import Settings
    from pytest_mindtrial.sandbox.hub import SandboxHub
    from pytest_mindtrial.suite.model import Config

__all__ = ["attempt_settings", "response_cache", "spending_limit"]


def response_cache(settings: Settings, redactor: Redactor) -> ResponseCache | None:
    """Return the response cache that ``--mt-cache`` asks for, or None.

    Raises:
        UserError: The directory cannot be used.
    """
    if settings.cache is None:
        return None
    from pytest_mindtrial.engine.cache import ResponseCache

    return ResponseCache(settings.cache, cast("CacheMode", settings.cache_mode), redactor)


def spending_limit(evaluation: Evaluation, items: Iterable[TaskItem]) -> SpendingLimit | None:
    """Return the limit that ``--mt-max-cost`` and ``--mt-max-tokens`` ask for, or None; see ``plugin/budgeting.py``.

    Raises:
        pytest.UsageError: The amount is none, or runs have no prices or prices in another currency.
    """
    if not evaluation.settings.has_budget:
        return None
    from pytest_mindtrial.plugin.budgeting import spending_limit

    return spending_limit(evaluation, items)


def attempt_settings(
    evaluation: Evaluation, redactor: Redactor, cache: ResponseCache | None, budget: SpendingLimit | None
) -> AttemptSettings:
    """Return the settings of all attempts of a session."""
    is_offline = cache is not None and cache.is_read_only
    return AttemptSettings(
        sandbox=lambda config: _hub(evaluation, config),
        clients=ClientSettings(hooks=PolicyHooks(budget=budget, cache=cache), redactor=redactor),
        files=FileStore(_refuse if is_offline else _download),
    )


def _hub(evaluation: Evaluation, config: Config) -> SandboxHub:
    from pytest_mindtrial.sandbox.hub import SandboxHub  # only suites with containers need it
    from pytest_mindtrial.sandbox.settings import SandboxSettings

    # Under xdist the controller has swept (``plugin/orphans.py``).
    return SandboxHub(config, SandboxSettings(pull=evaluation.settings.docker_pull, sweep=not evaluation.is_worker))


def _download(url: str) -> bytes:
    from pytest_mindtrial.providers.downloads import fetch_file  # only suites with remote files need HTTP for them

    return fetch_file(url)


def _refuse(url: str) -> bytes:
    raise TransportError("--mt-cache-mode=read-only fetches nothing", transient=False, cause="cache-miss")
