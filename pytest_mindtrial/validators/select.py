"""Chooses the validator of a task.

Does not find judges or containers; the caller hands them in, and each kind of validator is imported when the first task
wants it. Source: spec mindtrial 5 and 5.5.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from pytest_mindtrial.core.errors import ConfigError, UnfinishedError
from pytest_mindtrial.suite.model import Task
from pytest_mindtrial.validators.base import JudgeAsk, Validator
from pytest_mindtrial.validators.canonical import canonical, trimmed, unique
from pytest_mindtrial.validators.value import ValueValidator

if TYPE_CHECKING:
    from pytest_mindtrial.validators.custom import ValidatorProcess

__all__ = ["accepted_form", "choose_validator"]


def choose_validator(task: Task, *, ask: JudgeAsk | None, custom: ValidatorProcess | None) -> Validator:
    """Return the validator that a task's rules ask for.

    Args:
        task: The task.
        ask: The task's judge variant; only needed when the rules want a judge.
        custom: Runs the task's custom validator; only needed when the rules want one.

    Raises:
        ConfigError: The rules want a judge and there is none, or its prompt is malformed.
        UnfinishedError: The rules want a custom validator and nothing can run it.
    """
    rules = task.rules
    if rules.method == "custom":
        if custom is None:
            raise UnfinishedError(
                f"task {task.name!r} needs the custom validator {rules.custom_validator!r}, but nothing here can run it"
            )
        from pytest_mindtrial.validators.custom import CustomValidator

        return CustomValidator(rules.custom_validator, custom)
    if rules.method == "semantic":
        if ask is None:
            raise ConfigError(
                f"task {task.name!r} needs the judge {rules.judge.name!r}, but there is none", task.position
            )
        from pytest_mindtrial.validators.judge import JudgeValidator

        return JudgeValidator(ask, rules.judge.prompt)
    if rules.method == "schema":
        from pytest_mindtrial.validators.schema import SchemaValidator

        return SchemaValidator()
    return ValueValidator()


def accepted_form(task: Task) -> tuple[Any, ...]:
    """Return the accepted answers in the form that the task's validator compares and records."""
    method = task.rules.method
    if method == "exact":
        return unique(canonical(value, task.rules) for value in task.expected)
    return unique(trimmed(value) for value in task.expected) if method == "semantic" else task.expected
