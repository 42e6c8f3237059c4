"""What a validator is: a pure, re-callable judgement of one answer.

Validators keep no state between calls, so that feedback turns, regrading and calibration can call them again
(design D14). Does not choose the validator (``validators/select.py``).
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, field
from typing import Any, Protocol

from pytest_mindtrial.core.record import RequestRecord, ValidationRecord
from pytest_mindtrial.core.values import Usage
from pytest_mindtrial.suite.model import Rules

__all__ = ["Candidate", "JudgeAsk", "JudgeReply", "Validator", "Verdict"]


@dataclass(frozen=True, slots=True)
class Candidate:
    """The question as the validator may see it, and the answer to be judged.

    Attributes:
        task: Task name.
        prompt: Task prompt.
        response_format: Text instruction or JSON Schema.
        expected: Accepted answers, raw.
        rules: The task's rules.
        answer: The candidate's answer, any JSON value, raw.
    """

    task: str
    prompt: str
    response_format: Any
    expected: tuple[Any, ...]
    rules: Rules
    answer: Any


@dataclass(frozen=True, slots=True)
class Verdict:
    """A decision: passed or failed. A validator that cannot decide raises `core.errors.ValidationError` instead.

    Attributes:
        passed: The decision.
        got: The answer in the form that was compared.
        want: The accepted answers in the same form, duplicates removed.
        record: Method, title, explanation, usage, judge.
        requests: What the judge sent.
    """

    passed: bool
    got: Any
    want: tuple[Any, ...]
    record: ValidationRecord
    requests: tuple[RequestRecord, ...] = ()


class Validator(Protocol):
    """Judges answers."""

    name: str
    """Display name, such as ``value match``."""

    method: str
    """``exact``, ``schema``, ``semantic`` or ``custom``."""

    async def validate(self, candidate: Candidate) -> Verdict:
        """Judge one answer.

        Raises:
            ValidationError: No decision was possible.
        """


@dataclass(frozen=True, slots=True)
class JudgeReply:
    """A judge's answer: the verdict value, its reasoning, and what it cost."""

    verdict: Any
    explanation: str
    usage: Usage = field(default_factory=Usage)
    requests: Sequence[RequestRecord] = ()


class JudgeAsk(Protocol):
    """Asks one judge variant one question; implemented by the engine with its own attempt loop.

    Attributes:
        judge_name: Name of the judge.
        provider: Provider name of the variant.
        variant: Run name of the variant.
        variant_config: As ``Result.run_config``.
    """

    judge_name: str
    provider: str
    variant: str
    variant_config: Any

    async def __call__(self, prompt: str, verdict_format: Any) -> JudgeReply:
        """Send the prompt with the verdict format as response format.

        Raises:
            ProviderError: The judge gave no usable reply.
        """
