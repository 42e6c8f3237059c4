"""A Python function as a model: what an overridden ``mt_provider`` or a hook may return instead of a client.

Does not limit or retry: the function is the user's own. Source: design D4.
"""

from __future__ import annotations

import inspect
import json
import time
import traceback
from collections.abc import Callable, Sequence
from typing import Any

from pytest_mindtrial.core.errors import ProviderError, ReplyError
from pytest_mindtrial.core.jsontext import compact_json
from pytest_mindtrial.core.record import RequestRecord
from pytest_mindtrial.core.values import StopClass, ToolResult
from pytest_mindtrial.engine.threads import in_thread, was_cancelled
from pytest_mindtrial.providers.base import ModelClient, Prompt, Turn

__all__ = ["as_model_client", "wrap_callable"]


def as_model_client(value: Any) -> ModelClient:
    """Return a client as it is, and a callable as a client.

    Raises:
        TypeError: The value is neither.
    """
    if hasattr(value, "start"):
        client: ModelClient = value
        return client
    if callable(value):
        return wrap_callable(value)
    raise TypeError(f"a model must be a client (with start) or a callable, not {type(value).__name__}")


def wrap_callable(function: Callable[..., Any]) -> ModelClient:
    """Return a client whose model is a function.

    Args:
        function: Takes the prompt's text, or the `Prompt` when its parameter is annotated so; further turns (tool
            results, feedback) give it the new text. Returns the answer (text, or any JSON value; for a task with a
            schema also its JSON text), or a `Turn`. May be a coroutine function; others run in a thread of their own.
    """
    return _CallableClient(function)


class _CallableClient:
    is_mock = False

    def __init__(self, function: Callable[..., Any]) -> None:
        self._function = function
        self._takes_prompt = _takes_prompt(function)
        self._is_async = inspect.iscoroutinefunction(function) or inspect.iscoroutinefunction(
            getattr(function, "__call__", None)  # noqa: B004 - the method itself is looked at
        )

    def check(self, prompt: Prompt) -> None:
        """Accept every prompt: what a function can take only it knows."""

    def start(self, prompt: Prompt) -> _CallableConversation:
        """Begin a conversation; calls nothing."""
        return _CallableConversation(self, prompt)

    async def close(self) -> None:
        """Do nothing; a function holds no connections."""

    async def ask(self, prompt: Prompt, text: str) -> Any:
        """Call the function; an exception of its own becomes a `ProviderError`."""
        argument: Any = prompt if self._takes_prompt else text
        try:
            if self._is_async:
                return await self._function(argument)
            value = await in_thread(lambda: self._function(argument))
            return await value if inspect.isawaitable(value) else value
        except ProviderError:
            raise
        except BaseException as error:  # also pytest.skip, sys.exit, and a cancelled task of the function's own
            if isinstance(error, GeneratorExit) or was_cancelled(error):
                raise
            details = {"Traceback": "".join(traceback.format_exception(error))}
            message = f"the model function raised {type(error).__name__}: {error}".removesuffix(": ")
            raise ReplyError(message, cause="callable", details=details) from error


class _CallableConversation:
    def __init__(self, client: _CallableClient, prompt: Prompt) -> None:
        self._client = client
        self._prompt = prompt
        self._text = prompt.text
        self._turns = 0

    async def next_turn(self) -> Turn:
        """Call the function with the newest text."""
        self._turns += 1
        began = time.monotonic_ns()
        value = await self._client.ask(self._prompt, self._text)
        if isinstance(value, Turn):
            return value
        took = time.monotonic_ns() - began
        return _turn_of(value, self._prompt, took, RequestRecord(self._turns, 1, duration_ns=took))

    def add_tool_results(self, results: Sequence[ToolResult]) -> None:
        """Give the results' texts to the next call."""
        self._text = "\n".join(result.content for result in results)

    def add_feedback(self, text: str) -> None:
        """Give the text to the next call."""
        self._text = text

    def withdraw_tool(self, name: str) -> None:
        """Do nothing: the function was told of its tools with the prompt."""


def _turn_of(value: Any, prompt: Prompt, duration_ns: int, request: RequestRecord) -> Turn:
    """Return a function's answer as a terminal turn; None is no answer."""
    common: dict[str, Any] = {"duration_ns": duration_ns, "requests": (request,)}
    if value is None:
        return Turn(None, StopClass.FINAL, "the function returned None", **common)
    text, value = (value, value) if isinstance(value, str) else _as_json(value)
    if prompt.wants_schema and isinstance(value, str):
        try:
            value = json.loads(value)
        except ValueError:
            return Turn(text, StopClass.FINAL, **common)  # reading it reports what is wrong
    answer = {"content": value} if prompt.wants_schema else value
    wrapper = {"title": "", "explanation": "", "final_answer": answer}
    return Turn(text, StopClass.FINAL, parsed=wrapper, **common)


def _as_json(value: Any) -> tuple[str, Any]:
    """Return a value as JSON text and as what a JSON reader makes of it."""
    try:
        text = compact_json(value)
        return text, json.loads(text)
    except (TypeError, ValueError, RecursionError) as error:
        message = f"the model function returned {type(value).__name__}; allowed are text and JSON values ({error})"
        raise ReplyError(message, cause="callable") from error


def _takes_prompt(function: Callable[..., Any]) -> bool:
    """True when the first parameter is annotated as `Prompt`."""
    try:
        parameters = list(inspect.signature(function).parameters.values())
    except (TypeError, ValueError):
        return False
    annotation = parameters[0].annotation if parameters else None
    return annotation is Prompt or (isinstance(annotation, str) and annotation.rpartition(".")[2] == "Prompt")
