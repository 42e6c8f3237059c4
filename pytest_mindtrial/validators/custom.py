"""Custom validators: a container's strict verdict about an answer.

Does not run containers (`sandbox.validation`); it prepares the template data and reads what the container printed.
Everything but one exact verdict object is an error, never a wrong answer. Source: seed 000, section Custom Validators;
spec docker 6.3 and 7; spec mindtrial 5.4.
"""

from __future__ import annotations

import json
import time
from collections.abc import Mapping
from typing import Any, Protocol

from pytest_mindtrial.core.errors import SandboxError, UserError, ValidationError
from pytest_mindtrial.core.jsontext import value_text
from pytest_mindtrial.core.record import ValidationRecord
from pytest_mindtrial.validators.base import Candidate, Verdict

__all__ = ["CustomValidator", "ValidatorProcess", "read_verdict", "template_data"]

_KEYS = ("correct", "title", "explanation")
_EXACT_FLOATS = 2**53
_SHOWN_CHARS = 2000


class ValidatorProcess(Protocol):
    """Runs a validator container once (`sandbox.validation.ValidatorRunner`)."""

    async def __call__(self, data: Mapping[str, Any], /) -> str:
        """Return standard output of a run that ended with exit code 0.

        Raises:
            SandboxError: It could not be run or ended in another way.
            UserError: A template cannot be rendered.
        """


class CustomValidator:
    """Judges answers by a container.

    Args:
        name: Name in the configuration.
        process: Runs the container.
    """

    method = "custom"

    def __init__(self, name: str, process: ValidatorProcess) -> None:
        self.name = f"custom validator {name}"
        self._process = process

    async def validate(self, candidate: Candidate) -> Verdict:
        """Judge one answer in a fresh container.

        Raises:
            ValidationError: The validator gave no valid verdict.
        """
        begin_ns = time.monotonic_ns()
        try:
            output = await self._process(template_data(candidate))
        except (SandboxError, UserError) as error:
            details = error.details if isinstance(error, SandboxError) else {}
            raise ValidationError(f"{self.name}: {error}", details=details) from error
        try:
            correct, title, explanation = read_verdict(output)
        except ValueError as error:
            details = {"Validator stdout": output[:_SHOWN_CHARS]} if output.strip() else {}
            raise ValidationError(f"{self.name}: {error}", details=details) from error
        record = ValidationRecord(
            method=self.method,
            title=title,
            explanation=explanation,
            duration_ns=time.monotonic_ns() - begin_ns,
            validator=self.name,
        )
        return Verdict(passed=correct, got=candidate.answer, want=candidate.expected, record=record)


def template_data(candidate: Candidate) -> dict[str, Any]:
    """Return what the validator's templates may see of the task and the answer.

    Numbers inside a structured answer print as Go prints them, that is as floats; whole numbers that a float cannot
    hold stay exact.
    """
    response_format = candidate.response_format
    return {
        "OriginalTask": {
            "Prompt": candidate.prompt,
            "ResponseResultFormat": value_text(response_format),
            "ExpectedResults": list(candidate.expected),
        },
        "Candidate": {"Response": _as_go(candidate.answer)},
        "Rules": {
            "CaseSensitive": candidate.rules.case_sensitive,
            "IgnoreWhitespace": candidate.rules.ignore_whitespace,
            "TrimLines": candidate.rules.trim_lines,
        },
    }


def read_verdict(output: str) -> tuple[bool, str, str]:
    """Read exactly one verdict object with white space around it.

    Returns:
        Whether the answer is correct, title, explanation; the texts as given.

    Raises:
        ValueError: The output is anything else; the message says what was found and what is wanted.
    """
    text = output.strip(" \t\r\n")
    if not text:
        raise ValueError("the validator printed nothing; it must print one JSON object")
    decoder = json.JSONDecoder(object_pairs_hook=_unique, parse_constant=_reject_constant)
    try:
        value, end = decoder.raw_decode(text)
    except RecursionError:
        raise ValueError("the validator printed JSON nested too deeply") from None
    except ValueError as error:
        raise ValueError(f"the validator's output is not JSON: {error}") from None
    if not isinstance(value, dict):
        raise ValueError("the validator must print a JSON object, not another JSON value")
    if end != len(text):
        raise ValueError("the validator printed more after its JSON object; it must print exactly one object")
    return _fields(value)


def _fields(value: Mapping[str, Any]) -> tuple[bool, str, str]:
    if missing := [key for key in _KEYS if key not in value]:
        raise ValueError(f"the verdict lacks {', '.join(missing)} (needed: {', '.join(_KEYS)})")
    if extra := [key for key in value if key not in _KEYS]:
        raise ValueError(f"the verdict has unknown fields {', '.join(extra)} (allowed: {', '.join(_KEYS)})")
    correct, title, explanation = (value[key] for key in _KEYS)
    if not isinstance(correct, bool):
        raise ValueError("the verdict's correct must be true or false")
    for key, text in (("title", title), ("explanation", explanation)):
        if not isinstance(text, str) or not text.strip():
            raise ValueError(f"the verdict's {key} must be a text that is not blank")
    return correct, title, explanation


def _unique(pairs: list[tuple[str, Any]]) -> dict[str, Any]:
    value = dict(pairs)
    if len(value) != len(pairs):
        raise ValueError("a key stands twice in one object")
    return value


def _reject_constant(name: str) -> None:
    raise ValueError(f"{name} is not a JSON number")


def _as_go(value: Any) -> Any:
    if isinstance(value, Mapping):
        return {key: _as_go(item) for key, item in value.items()}
    if isinstance(value, list | tuple):
        return [_as_go(item) for item in value]
    if isinstance(value, int) and not isinstance(value, bool) and abs(value) <= _EXACT_FLOATS:
        return float(value)
    return value
