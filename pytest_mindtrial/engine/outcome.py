"""From what happened to what is recorded: error records, answer records, accepted answers.

Pure; makes no requests. Source: spec mindtrial 5.5, 6.3 and 6.6.
"""

from __future__ import annotations

import traceback
from typing import Any

from pytest_mindtrial.core.errors import (
    MindTrialError,
    ProviderError,
    ReplyParseError,
    ValidationError,
)
from pytest_mindtrial.core.pricing import Prices, cost_of, known_cost
from pytest_mindtrial.core.record import ErrorRecord, RequestRecord, Semantic, ValidationRecord
from pytest_mindtrial.core.values import Usage
from pytest_mindtrial.engine.plan import ToolExecutor
from pytest_mindtrial.engine.turns import Trail
from pytest_mindtrial.suite.model import Run, Task

__all__ = [
    "configuration_error",
    "error_record",
    "requests_behind",
    "saved_cost",
    "skip_record",
    "static_skip",
    "undecided",
]

EXECUTION_ERROR = "Execution Error"
PARSING_ERROR = "Response Parsing Error"
CONFIGURATION_ERROR = "Configuration Error"
VALIDATION_ERROR = "Validation Error"
VALIDATION_PARSING_ERROR = "Validation Response Parsing Error"


def static_skip(task: Task, run: Run) -> ErrorRecord | None:
    """Return why a run cannot take a task by their definitions alone, or None."""
    if run.disable_structured_output and task.wants_schema:
        message = "the task wants an answer by schema, but the run has disable-structured-output"
        return skip_record("Incompatible Response Format", message)
    if run.text_only and any(file.is_native for file in task.files):
        message = "the task gives files to the model, but the run is text-only"
        return skip_record("Feature Disabled", message)
    return None


def skip_record(title: str, message: str) -> ErrorRecord:
    """Return the record of a skipped task."""
    return ErrorRecord(title, message, transient=False)


def configuration_error(error: MindTrialError) -> ErrorRecord:
    """Return the record of an attempt whose client or validator could not be made."""
    return ErrorRecord(CONFIGURATION_ERROR, str(error), transient=False)


def error_record(error: BaseException, trail: Trail, tools: ToolExecutor | None) -> ErrorRecord:
    """Return the record of an attempt that gave no answer; what it had spent stays in the record."""
    spent: dict[str, Any] = {"usage": trail.usage, **_tool_facts(tools)}
    if isinstance(error, ProviderError):
        is_parsing = isinstance(error, ReplyParseError)
        return ErrorRecord(
            PARSING_ERROR if is_parsing else EXECUTION_ERROR,
            error.message,
            details=_details(error),
            response_parsing=is_parsing,
            transient=_transient(error),
            cause=error.cause,
            **spent,
        )
    if isinstance(error, MindTrialError):
        return ErrorRecord(EXECUTION_ERROR, str(error), details=_details(error), transient=_transient(error), **spent)
    return ErrorRecord(EXECUTION_ERROR, _internal(error), details=_traceback(error), cause="internal", **spent)


def undecided(error: BaseException, method: str, validator: str) -> tuple[ErrorRecord, ValidationRecord]:
    """Return the records of a validation that came to no verdict.

    Args:
        error: Whatever the validator raised; an unexpected exception is a validator that crashed.
        method: ``exact``, ``schema``, ``semantic`` or ``custom``.
        validator: Display name.
    """
    usage, semantic = Usage(), None
    if isinstance(error, ValidationError):
        usage = error.usage if isinstance(error.usage, Usage) else usage
        semantic = error.semantic if isinstance(error.semantic, Semantic) else None
        is_parsing, message, details = error.response_parsing, error.message, _details(error)
        title = VALIDATION_PARSING_ERROR if is_parsing and error.title == VALIDATION_ERROR else error.title
    elif isinstance(error, MindTrialError):
        usage = error.usage if isinstance(error, ProviderError) and isinstance(error.usage, Usage) else usage
        is_parsing, message = isinstance(error, ReplyParseError), str(error)
        title = VALIDATION_PARSING_ERROR if is_parsing else VALIDATION_ERROR
        details = _details(error)
    else:
        is_parsing, message, details, title = False, _internal(error), _traceback(error), VALIDATION_ERROR
    record = ErrorRecord(
        title,
        message,
        details=details,
        usage=usage,
        response_parsing=is_parsing,
        transient=_transient(error),
        from_validation=True,
        cause=_first_cause(error),
    )
    return record, ValidationRecord(method, semantic=semantic, validator=validator)


def requests_behind(error: BaseException | None) -> tuple[RequestRecord, ...]:
    """Return the requests that a validator had made when it failed; it wraps the judge's error as a cause."""
    while error is not None:
        if isinstance(error, ProviderError) and error.requests:
            return error.requests
        error = error.__cause__
    return ()


def saved_cost(trail: Trail, prices: Prices | None, judge_cost: float | None) -> float | None:
    """Return what the replies from the response cache would have cost; None when that is unknown or there were none.

    Args:
        trail: The attempt's requests and tokens.
        prices: Of the candidate.
        judge_cost: What the judge costs; its replies count when all of them came from the cache.
    """
    cached = [request for request in trail.requests if request.cached]
    if not cached:
        return None
    amounts = []
    if any(request.purpose != "judge" for request in cached):
        amounts.append(known_cost(cost_of(trail.cached_usage, prices)))
    judged = [request.cached for request in trail.requests if request.purpose == "judge"]
    if judged and all(judged):
        amounts.append(judge_cost)
    known = [amount for amount in amounts if amount is not None]
    return sum(known) if len(known) == len(amounts) else None


def _tool_facts(tools: ToolExecutor | None) -> dict[str, Any]:
    return {} if tools is None else {"tool_usage": dict(tools.usage), "tool_calls": tuple(tools.calls)}


def _details(error: MindTrialError) -> dict[str, str]:
    details: dict[str, str] = dict(getattr(error, "details", {}))
    if isinstance(error, ProviderError) and error.request_id:
        details.setdefault("Request ID", error.request_id)
    return details


def _transient(error: BaseException) -> bool | None:
    """True when a later identical attempt may succeed; otherwise nothing is claimed."""
    return True if getattr(error, "transient", None) is True else None


def _first_cause(error: BaseException | None) -> str:
    while error is not None:
        if isinstance(error, ProviderError) and error.cause:
            return error.cause
        error = error.__cause__
    return ""


def _internal(error: BaseException) -> str:
    text = str(error)
    return f"internal error: {type(error).__name__}: {text}" if text else f"internal error: {type(error).__name__}"


def _traceback(error: BaseException) -> dict[str, str]:
    return {"Traceback": "".join(traceback.format_exception(error))}
