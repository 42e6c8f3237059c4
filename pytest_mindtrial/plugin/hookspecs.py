"""Hooks that a conftest or another plugin may implement.

This file is specification and documentation at once; nothing else belongs here. A hook that returns a value for one
thing is ``firstresult``: the first implementation that returns something other than None wins.
"""

from __future__ import annotations

from pathlib import Path
from typing import TYPE_CHECKING, Any

import pytest

if TYPE_CHECKING:
    from collections.abc import Sequence

    from pytest_mindtrial.core.record import Result
    from pytest_mindtrial.providers.base import ModelClient
    from pytest_mindtrial.results.evaluation import EvaluationInfo
    from pytest_mindtrial.suite.model import Provider, Run, Task
    from pytest_mindtrial.validators.base import Validator


@pytest.hookspec(firstresult=True)
def pytest_mt_client(provider: Provider, run: Run) -> ModelClient | Any | None:
    """Supply the model of a run.

    Called once per selected run, in the engine's thread, before its first attempt. Return a
    `pytest_mindtrial.providers.base.ModelClient`, or a callable that takes the prompt's text and returns the answer's
    text, or None to use the provider named in config.yaml.

    Args:
        provider: The entry of ``providers`` that the run belongs to.
        run: The run.
    """


@pytest.hookspec(firstresult=True)
def pytest_mt_validator(task: Task, run: Run) -> Validator | None:
    """Supply the validator of a task.

    Called in the engine's thread once per attempt. Return None to use the validator that the task's
    ``validation-rules`` choose.

    Args:
        task: The task, defaults merged.
        run: The run whose answer will be judged.
    """


@pytest.hookspec
def pytest_mt_attempt_finished(result: Result) -> None:
    """Observe every finished attempt, in the order of reports.

    Called on the controller when pytest reports the item. An exception here fails the session: this is the user's code.

    Args:
        result: The attempt and its verdict.
    """


@pytest.hookspec
def pytest_mt_write_reports(results: Sequence[Result], evaluation: EvaluationInfo, stem: Path) -> Path | None:
    """Write a further report at the end of the session.

    Called once on the controller after our own reports were written.

    Args:
        results: Every reported result in report order.
        evaluation: Seed, times, whether the evaluation is complete.
        stem: Path of the reports without extension.

    Returns:
        The path written, which the terminal summary will list, or None.
    """
