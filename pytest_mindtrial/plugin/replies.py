"""A model's answer as hand-written tests see it. Does not ask (``plugin/api.py``, ``plugin/live_attempt.py``)."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, field
from pathlib import Path
from typing import TYPE_CHECKING, Any

from pytest_mindtrial.core.record import ValidationRecord
from pytest_mindtrial.core.values import Kind
from pytest_mindtrial.suite.model import FileRef
from pytest_mindtrial.validators.base import Candidate, Verdict

if TYPE_CHECKING:
    from pytest_mindtrial.core.record import Result

__all__ = ["NoJudgement", "Reply", "alternatives", "file_refs", "prompt_title", "reply_of"]


@dataclass(frozen=True, slots=True)
class Reply:
    """A model's answer.

    Attributes:
        text: The answer as text; structured answers are in `content`.
        content: The answer, any JSON value.
        result: Everything known of the attempt; too much for what pytest prints of a failed assertion.
    """

    text: str
    content: Any
    result: Result = field(repr=False)


class NoJudgement:
    """Accepts every answer: the Python test judges."""

    name = "none"
    method = "custom"

    async def validate(self, candidate: Candidate) -> Verdict:
        """Accept it."""
        record = ValidationRecord(method="custom", title="Not judged", validator=self.name)
        return Verdict(passed=True, got=candidate.answer, want=(), record=record)


def reply_of(result: Result) -> Reply:
    """Return the answer of an attempt.

    Raises:
        NoAnswer: There is none.
    """
    if result.kind in (Kind.ERROR, Kind.SKIPPED) or result.answer is None:
        from pytest_mindtrial.plugin.items import NoAnswer

        raise NoAnswer(result)
    content = result.answer.content
    return Reply(content if isinstance(content, str) else _json(content), content, result)


def alternatives(expected: Any) -> tuple[Any, ...]:
    """Return accepted answers: one, or those of a list."""
    return tuple(expected) if isinstance(expected, list | tuple) else (expected,)


def prompt_title(prompt: str) -> str:
    """Return a task name for a prompt: its first line."""
    return prompt.strip().splitlines()[0][:60] if prompt.strip() else "question"


def file_refs(files: Sequence[str | Path], base: Path) -> tuple[FileRef, ...]:
    """Return paths or URLs as attachments of their own names."""
    return tuple(FileRef(Path(str(file)).name, str(file), base) for file in files)


def _json(value: Any) -> str:
    from pytest_mindtrial.core.jsontext import compact_json

    return compact_json(value)
