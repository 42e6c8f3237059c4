"""Calls of hooks that the user's own code implements, with messages that say whose code failed.

Without them a mistake in a conftest would be reported as a defect of ours. Does not call the observing hooks: what they
raise fails the session, as the specification in ``plugin/hookspecs.py`` says.
"""

from __future__ import annotations

import contextlib
import traceback
from collections.abc import Iterator
from pathlib import Path
from typing import Any

from pytest_mindtrial.core.errors import ConfigError, MindTrialError
from pytest_mindtrial.plugin.handles import as_client, as_validator
from pytest_mindtrial.providers.base import ModelClient
from pytest_mindtrial.suite.model import Provider, Run, Task
from pytest_mindtrial.validators.base import Validator

__all__ = ["blame", "client_of_hook", "validator_of_hook"]


def client_of_hook(hooks: Any, provider: Provider, run: Run) -> ModelClient | None:
    """Return the client that ``pytest_mt_client`` supplies for a run, if any.

    Raises:
        ConfigError: The hook raised, or gave something that is no model.
    """
    with _blaming("pytest_mt_client"):
        value = hooks.pytest_mt_client(provider=provider, run=run)
    return None if value is None else as_client(value, "the hook pytest_mt_client", ConfigError)


def validator_of_hook(hooks: Any, task: Task, run: Run) -> Validator | None:
    """Return the validator that ``pytest_mt_validator`` supplies for a task, if any.

    Raises:
        ConfigError: The hook raised, or gave something that is no validator.
    """
    with _blaming("pytest_mt_validator"):
        value = hooks.pytest_mt_validator(task=task, run=run)
    return None if value is None else as_validator(value, "the hook pytest_mt_validator", ConfigError)


def blame(hook: str, error: Exception) -> str:
    """Return ``the hook NAME raised ERROR (FILE:LINE)``."""
    frames = traceback.extract_tb(error.__traceback__)
    place = f" ({Path(frames[-1].filename).name}:{frames[-1].lineno})" if frames else ""
    return f"the hook {hook} raised {type(error).__name__}: {error}{place}"


@contextlib.contextmanager
def _blaming(hook: str) -> Iterator[None]:
    try:
        yield
    except MindTrialError:
        raise
    except Exception as error:
        raise ConfigError(blame(hook, error)) from error
