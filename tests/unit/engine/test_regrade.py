"""Judging stored answers: the new verdict, the old one beside it, and what the judge has cost."""

from __future__ import annotations

import asyncio
from dataclasses import replace

import pytest

from pytest_mindtrial.core.clock import FakeClock
from pytest_mindtrial.core.errors import ConfigError, InternalError, ReplyParseError, ValidationError
from pytest_mindtrial.core.record import AnswerRecord, RequestRecord, Result, ValidationRecord
from pytest_mindtrial.core.values import Kind, Usage
from pytest_mindtrial.engine.regrade import regrade
from pytest_mindtrial.suite.model import Pricing
from pytest_mindtrial.validators.base import Verdict

OLD = ValidationRecord("semantic", "Old", usage=Usage(9, 9))
STORED = Result(
    "trace",
    Kind.FAILED,
    "task",
    "mock",
    "run",
    answer=AnswerRecord("t", "e", "the answer", ("old",), Usage(1, 2)),
    validation=OLD,
    requests=(RequestRecord(1, 1), RequestRecord(1, 1, "judge")),
    cost=1.0,
    judge_cost=2.0,
    currency="USD",
    cached=2,
    saved=3.0,
)


class Judge:
    name, method = "a judge", "semantic"

    def __init__(self, outcome):
        self._outcome = outcome

    async def validate(self, candidate):
        self.seen = candidate
        if isinstance(self._outcome, BaseException):
            raise self._outcome
        return self._outcome


def verdict(passed=True, requests=(), usage=Usage()):  # noqa: B008 - a frozen value
    return Verdict(passed, "got", ("want",), ValidationRecord("semantic", "New", usage=usage), requests)


def judged(plan, outcome, stored=STORED, prices=(None, "")):
    judge = Judge(outcome)
    make = lambda: judge  # noqa: E731
    return judge, asyncio.run(regrade(stored, plan, make, clock=FakeClock(), judge_prices=lambda plan: prices))


def test_the_new_verdict_stands_and_the_old_one_is_kept(make_plan):
    judge, result = judged(make_plan(expected=("new",)), verdict())
    assert (judge.seen.answer, judge.seen.expected) == ("the answer", ("new",))
    assert (result.kind, result.got, result.want, result.trace_id) == (Kind.PASSED, "got", ("want",), "trace")
    assert (result.previous.kind, result.previous.validation) == (Kind.FAILED, OLD)
    assert result.validation.validator == "a judge"
    assert (result.answer.expected, result.answer.usage, result.cost) == (("new",), Usage(1, 2), 1.0)
    assert [request.purpose for request in result.requests] == ["candidate"]
    assert (result.judge_cost, result.cached, result.saved, result.error) == (None, 0, None, None)
    assert judged(make_plan(), verdict(False))[1].kind is Kind.FAILED


PRICES = (Pricing("USD", 1e6, 1e6), "USD")


@pytest.mark.parametrize(
    "is_cached, prices, expected",
    [
        (False, PRICES, (7.0, 0, None)),
        (True, PRICES, (7.0, 1, 7.0)),
        (True, (Pricing("EUR", 1, 1), "EUR"), (None, 1, None)),
    ],
)
def test_the_new_judge_is_paid_unless_it_was_cached(make_plan, is_cached, prices, expected):
    requests = (RequestRecord(1, 1, "judge", cached=is_cached),)
    _, result = judged(make_plan(), verdict(requests=requests, usage=Usage(3, 4)), prices=prices)
    assert (result.judge_cost, result.cached, result.saved) == expected
    assert [request.purpose for request in result.requests] == ["candidate", "judge"]


def test_a_judge_that_cannot_decide_is_an_error_with_the_answer(make_plan):
    behind = ReplyParseError("unreadable")
    behind.requests = (RequestRecord(1, 1, "judge"),)
    error = ValidationError("no verdict", usage=Usage(1, 1))
    error.__cause__ = behind
    _, result = judged(make_plan(), error, prices=PRICES)
    assert (result.kind, result.got, result.error.from_validation) == (Kind.ERROR, "the answer", True)
    assert (result.judge_cost, result.previous.kind) == (2.0, Kind.FAILED)
    assert [request.purpose for request in result.requests] == ["candidate", "judge"]
    _, crashed = judged(make_plan(), ZeroDivisionError())
    assert "ZeroDivisionError" in crashed.error.message


def test_a_validator_that_cannot_be_made_is_a_configuration_error(make_plan):
    def fail():
        raise ConfigError("no such judge")

    result = asyncio.run(regrade(STORED, make_plan(), fail, clock=FakeClock(), judge_prices=lambda plan: (None, "")))
    assert (result.kind, result.error.title) == (Kind.ERROR, "Configuration Error")


def test_a_cancel_is_passed_on(make_plan):
    with pytest.raises(asyncio.CancelledError):
        judged(make_plan(), asyncio.CancelledError())


def test_without_an_answer_there_is_nothing_to_judge(make_plan):
    with pytest.raises(InternalError):
        judged(make_plan(), verdict(), replace(STORED, answer=None))
