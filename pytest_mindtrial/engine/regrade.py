"""Judging a stored answer by today's rules, the old verdict kept beside the new one.

Makes no request itself; a judge does. Does not choose which answers are judged (the plugin does). Source: design D7 and
D14; field pain 38.
"""

from __future__ import annotations

import asyncio
from collections.abc import Callable, Sequence
from dataclasses import replace
from typing import Any

from pytest_mindtrial.core.clock import Clock
from pytest_mindtrial.core.errors import InternalError, MindTrialError
from pytest_mindtrial.core.pricing import Prices, cost_of, known_cost
from pytest_mindtrial.core.record import AnswerRecord, PreviousVerdict, RequestRecord, Result
from pytest_mindtrial.core.values import Kind, Usage
from pytest_mindtrial.engine.outcome import configuration_error, requests_behind, undecided
from pytest_mindtrial.engine.plan import AttemptPlan
from pytest_mindtrial.validators.base import Candidate, Validator

__all__ = ["regrade"]


async def regrade(
    stored: Result,
    plan: AttemptPlan,
    validator: Callable[[], Validator],
    *,
    clock: Clock,
    judge_prices: Callable[[AttemptPlan], tuple[Prices | None, str]],
) -> Result:
    """Return a stored result with a new verdict.

    Args:
        stored: A result with an answer.
        plan: The attempt as it would be made today.
        validator: Gives the validator; may raise a `MindTrialError`.
        clock: Measures the validation.
        judge_prices: Gives the prices of the judge that the plan uses, and their currency.

    Returns:
        The result with today's verdict; tokens, cost and transcript of the candidate are those of the attempt.
    """
    answer = stored.answer
    if answer is None:
        raise InternalError("a result without an answer cannot be judged")
    base = _without_verdict(stored, answer, plan)
    task = plan.task
    candidate = Candidate(task.name, task.prompt, task.response_format, task.expected, task.rules, answer.content)
    try:
        judge = validator()
    except MindTrialError as error:
        return replace(base, kind=Kind.ERROR, got=str(error), error=configuration_error(error))
    started = clock.monotonic_ns()
    try:
        verdict = await judge.validate(candidate)
    except asyncio.CancelledError:
        raise
    except BaseException as error:  # a validator that crashes has not decided
        failure, record = undecided(error, judge.method, judge.name)
        base = replace(base, kind=Kind.ERROR, got=answer.content, error=failure, validation=record)
        return _with_judge(base, requests_behind(error), failure.usage, judge_prices(plan))
    duration = verdict.record.duration_ns or clock.monotonic_ns() - started
    record = replace(verdict.record, duration_ns=duration, validator=verdict.record.validator or judge.name)
    kind = Kind.PASSED if verdict.passed else Kind.FAILED
    base = replace(base, kind=kind, got=verdict.got, want=verdict.want, validation=record)
    return _with_judge(base, verdict.requests, record.usage, judge_prices(plan))


def _without_verdict(stored: Result, answer: AnswerRecord, plan: AttemptPlan) -> Result:
    return replace(
        stored,
        answer=replace(answer, expected=plan.task.expected),
        error=None,
        validation=None,
        requests=tuple(request for request in stored.requests if request.purpose != "judge"),
        judge_cost=None,
        cached=0,
        saved=None,
        previous=PreviousVerdict(stored.kind, stored.validation),
    )


def _with_judge(
    result: Result, requests: Sequence[RequestRecord], usage: Usage, prices: tuple[Prices | None, Any]
) -> Result:
    """Add what the judge has sent and spent; its cost is known only in the candidate's currency."""
    cost = None
    if not usage.is_empty and prices[1] == result.currency:
        cost = known_cost(cost_of(usage, prices[0]))
    cached = sum(request.cached for request in requests)
    saved = cost if requests and cached == len(requests) else None
    return replace(
        result, requests=(*result.requests, *requests), judge_cost=cost, cached=cached, saved=saved if cached else None
    )
