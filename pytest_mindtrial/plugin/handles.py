"""Values of the ``mt_provider`` and ``mt_validator`` fixtures, and what an overriding fixture may return instead.

The defaults are handles: they find the real client or validator in the engine when an attempt uses them, so that a
fixture that wraps its predecessor works. Does not build clients. Source: design D4.
"""

from __future__ import annotations

import inspect
import textwrap
from collections.abc import Callable
from typing import TYPE_CHECKING, Any

from pytest_mindtrial.core.errors import ValidationError
from pytest_mindtrial.core.record import ValidationRecord
from pytest_mindtrial.engine.threads import in_thread
from pytest_mindtrial.validators.base import Candidate, Verdict

if TYPE_CHECKING:
    from pytest_mindtrial.plugin.evaluation import Evaluation
    from pytest_mindtrial.plugin.items import TaskItem
    from pytest_mindtrial.providers.base import Conversation, ModelClient, Prompt
    from pytest_mindtrial.validators.base import Validator

__all__ = ["CallableValidator", "RunModel", "TaskValidator", "as_client", "as_validator"]


class RunModel:
    """The model of an item's run; a `ModelClient`."""

    def __init__(self, evaluation: Evaluation, item: TaskItem) -> None:
        self._evaluation = evaluation
        self._provider = item.provider
        self._run = item.run
        self.is_mock = item.provider.name == "mock"

    def __repr__(self) -> str:
        return f"<model {self._run.model!r} of {self._provider.name}, run {self._run.name!r}>"

    def _client(self) -> ModelClient:
        runner = self._evaluation.runner
        assert runner is not None
        return runner.engine.client_of(self._provider, self._run)

    def check(self, prompt: Prompt) -> None:
        """Raise `UnsupportedError` when the run cannot take the prompt."""
        self._client().check(prompt)

    def start(self, prompt: Prompt) -> Conversation:
        """Begin a conversation with the run's model."""
        return self._client().start(prompt)

    async def close(self) -> None:
        """Do nothing: the engine owns the client."""


class TaskValidator:
    """The validator that a task's rules choose; a `Validator`."""

    def __init__(self, evaluation: Evaluation, item: TaskItem) -> None:
        self._evaluation = evaluation
        self._task = item.task
        self._run = item.run
        self.name = f"validator of {item.task.name!r}"
        self.method = item.task.rules.method

    async def validate(self, candidate: Candidate) -> Verdict:
        """Judge one answer as the task says."""
        runner = self._evaluation.runner
        assert runner is not None
        validator: Validator = runner.engine.validator_of(self._task, self._run)
        return await validator.validate(candidate)


class CallableValidator:
    """A function as a validator.

    Args:
        function: Takes the answer (and, when it has a second parameter, the `Candidate`); returns a truth value, or
            a pair of truth value and reason. May be a coroutine function; others run in a thread of their own.
    """

    method = "custom"

    def __init__(self, function: Callable[..., Any]) -> None:
        self._function = function
        self._takes_candidate = len(inspect.signature(function).parameters) > 1
        self.name = getattr(function, "__name__", type(function).__name__)

    async def validate(self, candidate: Candidate) -> Verdict:
        """Call the function."""
        arguments = (candidate.answer, candidate) if self._takes_candidate else (candidate.answer,)
        if inspect.iscoroutinefunction(self._function):
            value = await self._function(*arguments)
        else:  # in a thread: the engine's loop has other attempts to serve, and measures how long their models take
            value = await in_thread(lambda: self._function(*arguments))
            value = await value if inspect.isawaitable(value) else value
        passed, reason = value if isinstance(value, tuple) else (value, "")
        if isinstance(passed, str | bytes):  # every text but an empty one would count as passed
            raise ValidationError(
                f"the validator {self.name} must return true or false, or a pair of that and a reason; "
                f"it returned {type(passed).__name__} {textwrap.shorten(repr(passed), 60)}"
            )
        title = "Response Assessment"
        explanation = str(reason) or ("The validator accepted it." if passed else "The validator rejected it.")
        record = ValidationRecord(method="custom", title=title, explanation=explanation, validator=self.name)
        return Verdict(passed=bool(passed), got=candidate.answer, want=candidate.expected, record=record)


def as_validator(value: Any, source: str = "mt_validator", error: type[Exception] = TypeError) -> Validator | None:
    """Return what an overridden ``mt_validator`` or a hook gave as a `Validator`; None for our own handle.

    Raises:
        TypeError: The value is neither a validator nor a callable; another ``error`` on request.
    """
    if isinstance(value, TaskValidator):
        return None
    if hasattr(value, "validate"):
        return value  # type: ignore[no-any-return]
    if callable(value):
        return CallableValidator(value)
    raise error(f"{source} must be a validator or a callable, not {type(value).__name__}")


def as_client(value: Any, source: str = "mt_provider", error: type[Exception] = TypeError) -> ModelClient | None:
    """Return what an overridden ``mt_provider`` or a hook gave as a `ModelClient`; None for our own handle.

    Raises:
        TypeError: The value is neither a client nor a callable; another ``error`` on request.
    """
    if isinstance(value, RunModel):
        return None
    if hasattr(value, "start"):
        return value  # type: ignore[no-any-return]
    if callable(value):
        from pytest_mindtrial.engine.callables import wrap_callable

        return wrap_callable(value)
    raise error(f"{source} must be a model client or a callable, not {type(value).__name__}")
