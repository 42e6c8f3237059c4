"""Candidates and scripted judges for the validators' tests."""

from __future__ import annotations

import asyncio
from collections.abc import Callable
from typing import Any

import pytest

from pytest_mindtrial.suite.model import Rules
from pytest_mindtrial.validators.base import Candidate, JudgeReply, Validator, Verdict


@pytest.fixture
def candidate() -> Callable[..., Candidate]:
    """Return a maker of candidates; everything but the answer has a default."""

    def make(answer: Any, *expected: Any, rules: Rules | None = None, response_format: Any = "a word") -> Candidate:
        return Candidate("task", "the prompt", response_format, expected, rules or Rules(), answer)

    return make


@pytest.fixture
def judge_answer() -> Callable[[Validator, Candidate], Verdict]:
    """Return a function that runs a validator."""

    def run(validator: Validator, candidate: Candidate) -> Verdict:
        return asyncio.run(validator.validate(candidate))

    return run


class ScriptedJudge:
    """A judge that gives one prepared reply, or raises, and remembers what it was asked."""

    judge_name = "strict"
    provider = "openai"
    variant = "fast"
    variant_config = {"Model": "m"}  # noqa: RUF012 - read only

    def __init__(self, reply: JudgeReply | Exception) -> None:
        self.reply = reply
        self.asked: list[tuple[str, Any]] = []

    async def __call__(self, prompt: str, verdict_format: Any) -> JudgeReply:
        self.asked.append((prompt, verdict_format))
        if isinstance(self.reply, Exception):
            raise self.reply
        return self.reply


@pytest.fixture
def scripted_judge() -> type[ScriptedJudge]:
    """Return the class of scripted judges."""
    return ScriptedJudge
