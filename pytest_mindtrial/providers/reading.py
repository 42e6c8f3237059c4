"""Turns a terminal reply into an answer.

Does not validate the answer against what was expected and does not send anything. A reply that cannot be read is an
error, never a wrong answer; false, 0 and empty text are answers. Whatever was repaired, unwrapped or turned into text
is marked. Source: spec mindtrial 4.2; spec providers 4 and 6; design D19.
"""

from __future__ import annotations

import re
from collections.abc import Callable, Mapping
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

from pytest_mindtrial.core.errors import EmptyReplyError, ReplyError, ReplyParseError
from pytest_mindtrial.core.schemas import compile_schema, schema_problems
from pytest_mindtrial.core.values import StopClass
from pytest_mindtrial.providers.base import Turn
from pytest_mindtrial.providers.strict_json import Number, as_float, read_strict

if TYPE_CHECKING:
    from pytest_mindtrial.providers.lenient_json import LenientObject

__all__ = ["ReadAnswer", "read_answer"]

UNSTRUCTURED_TITLE = "Unstructured Response"
UNSTRUCTURED_EXPLANATION = "Response obtained with structured output disabled."

_THOUGHT = re.compile(r"\s*+<think>")
_REJECTED: Mapping[StopClass, tuple[str, str]] = {
    StopClass.FILTERED: ("filtered", "the reply was withheld by the provider's content filter"),
    StopClass.REFUSED: ("refused", "the model refused to answer"),
    StopClass.FAILED: ("failed-stop", "the model's turn ended in a failure"),
}
_PASSING_FAILURES = frozenset(("insufficient_system_resource",))
_MEMBERS = ("title", "explanation", "final_answer")


@dataclass(frozen=True, slots=True)
class ReadAnswer:
    """An answer as read.

    Attributes:
        title: The model's summary; blank when it gave none.
        explanation: The model's reasoning; blank when it gave none.
        content: The answer, any JSON value. Whole numbers are exact at every depth.
        repaired: True when the reply was not the agreed structure as it stood: text around the JSON, broken JSON,
            or a missing wrapper.
        coerced: True when a number or bool was turned into text, as written, because the task wants plain text.
        truncated: True when the reply was cut off at a length limit.
        raw_text: The reply's text, unchanged.
        problems: Why a structured answer does not fit the task's schema, one line each; the answer stands all the same.
    """

    title: str
    explanation: str
    content: Any
    repaired: bool = False
    coerced: bool = False
    truncated: bool = False
    raw_text: str = ""
    problems: tuple[str, ...] = ()


def read_answer(turn: Turn, *, response_format: str | Mapping[str, Any]) -> ReadAnswer:
    """Read the answer of a terminal turn.

    Args:
        turn: The model's last reply.
        response_format: Text instruction, or the JSON Schema of a structured answer.

    Raises:
        EmptyReplyError: There is no text.
        ReplyParseError: The text is not the agreed structure and cannot be repaired to it.
        ReplyError: The reply was filtered, refused, or ended in a failure (``cause`` says which).
    """
    text = _answer_text(turn)
    if turn.parsed is None and not text.strip():
        _reject(turn)
        raise EmptyReplyError(
            "model response contained no actionable content", cause="empty", details=_details(turn, with_text=False)
        )
    return _Reading(turn, text, response_format).read()


def _answer_text(turn: Turn) -> str:
    """Return the text without one leading ``<think>`` block; nothing when that block never ends."""
    text = turn.text or ""
    opening = _THOUGHT.match(text)
    if opening is None:
        return text
    end = text.find("</think>", opening.end())
    return text[end + len("</think>") :].lstrip() if end >= 0 else ""


def _reject(turn: Turn) -> None:
    """Raise if the turn's stop class says that there is no answer."""
    if turn.stop in _REJECTED:
        cause, message = _REJECTED[turn.stop]
        reason = f" ({turn.stop_reason})" if turn.stop_reason else ""
        transient = True if turn.stop_reason in _PASSING_FAILURES else None
        raise ReplyError(message + reason, transient=transient, cause=cause, details=_details(turn))


def _details(turn: Turn, *, with_text: bool = True) -> dict[str, str]:
    details = {"Stop Reason": turn.stop_reason}
    if turn.stop_details:
        details["Stop Details"] = "\n".join(f"{key}: {value}" for key, value in turn.stop_details.items())
    if with_text:
        details["Raw Response"] = turn.text or ""
    return details


class _Reading:
    """The reading of one turn."""

    def __init__(self, turn: Turn, text: str, response_format: str | Mapping[str, Any]) -> None:
        self._turn = turn
        self._text = text
        self._schema = None if isinstance(response_format, str) else response_format
        self._repaired = False

    def read(self) -> ReadAnswer:
        turn = self._turn
        if turn.mode == "off":
            _reject(turn)
            return self._answer(UNSTRUCTURED_TITLE, UNSTRUCTURED_EXPLANATION, self._text, coerced=False)
        try:
            return self._read_wrapper()
        except ReplyParseError as error:
            _reject(turn)
            raise ReplyParseError(error.message, cause="unreadable", details=_details(turn)) from None

    def _read_wrapper(self) -> ReadAnswer:
        """Read strictly; repair only where that fails and no stop class forbids it."""
        if self._turn.parsed is not None:
            if not _has_answer(self._turn.parsed):
                raise ReplyParseError("the submitted reply has no final_answer")
            return self._unwrap(dict(self._turn.parsed))
        try:
            value = read_strict(self._text)
        except ReplyParseError:
            return self._read_repaired()
        if isinstance(value, dict) and _has_answer(value):
            return self._unwrap(value)
        return self._read_bare(value)

    def _read_repaired(self) -> ReadAnswer:
        if self._turn.stop in _REJECTED:
            raise ReplyParseError("a reply that was stopped is not repaired")
        found = self._find(as_float)
        self._repaired = True
        self._check_cut(found)
        if not _has_answer(found.value):
            return self._answer("", "", found.value, coerced=False)
        answer = self._unwrap(found.value)
        if answer.problems and self._turn.mode != "text":
            raise ReplyParseError(f"the repaired reply does not fit the response format: {answer.problems[0]}")
        return answer

    def _find(self, number: Number) -> LenientObject:
        from pytest_mindtrial.providers.lenient_json import find_object  # only for replies that are no JSON

        return find_object(self._text, self._is_wanted, number)

    def _is_wanted(self, value: dict[str, Any]) -> bool:
        return _has_answer(value) or self._fits_schema(value)

    def _check_cut(self, found: LenientObject) -> None:
        """Refuse a cut-off reply unless nothing but the outermost bracket is missing."""
        if self._turn.stop is StopClass.TRUNCATED and (found.is_cut or found.unclosed > 1):
            raise ReplyParseError("the reply was cut off inside the answer")

    def _read_bare(self, value: Any) -> ReadAnswer:
        """Accept an answer that came without its wrapper, where that cannot be mistaken."""
        _reject(self._turn)
        self._repaired = True
        if self._schema is None and isinstance(value, str | int | float):
            return self._answer("", "", *self._as_text(value, lambda reread: reread))
        if self._fits_schema(value):
            return self._answer("", "", value, coerced=False)
        if isinstance(value, dict):
            raise ReplyParseError("the reply has no final_answer")
        raise ReplyParseError(
            f"the reply must be a JSON object with title, explanation and final_answer, found {_kind(value)}"
        )

    def _unwrap(self, wrapper: dict[str, Any]) -> ReadAnswer:
        members = _members(wrapper)
        for name in ("title", "explanation"):
            if not isinstance(members.get(name, ""), str | None):
                raise ReplyParseError(f"{name} must be text, found {_kind(members[name])}")
        content, coerced = self._content(members["final_answer"])
        return self._answer(members.get("title") or "", members.get("explanation") or "", content, coerced=coerced)

    def _content(self, answer: Any) -> tuple[Any, bool]:
        """Return the answer inside ``final_answer`` and whether it was turned into text."""
        if isinstance(answer, dict):
            keys = [key for key in answer if key.lower() == "content"]
            if answer and len(keys) < len(answer):
                return self._unwrapped_content(answer), False
            return self._as_text(answer[keys[-1]], _inner_content) if keys else (None, False)
        if isinstance(answer, list):
            return self._unwrapped_content(answer), False
        return self._as_text(answer, _final_answer)

    def _unwrapped_content(self, answer: Any) -> Any:
        """Accept a structured answer that stands directly in ``final_answer`` if it fits the task's schema."""
        if not self._fits_schema(answer):
            raise ReplyParseError(
                f"final_answer must be text, a number, a bool or an object with the key content, found {_kind(answer)}"
            )
        self._repaired = True
        return answer

    def _as_text(self, value: Any, pick: Callable[[Any], Any]) -> tuple[Any, bool]:
        """Turn a number or bool into text, as it was written, when the task wants plain text.

        Args:
            value: The value as read.
            pick: Finds the same value in the whole reply, read again with numbers kept as text.
        """
        if self._schema is not None or not isinstance(value, int | float):
            return value, False
        if isinstance(value, bool):
            return ("true" if value else "false"), True
        if isinstance(value, int):
            return str(value), True
        return (str(pick(self._reread())) if self._turn.parsed is None else repr(value)), True

    def _reread(self) -> Any:
        """Read the reply again with every number that has a point or an exponent as text."""
        number: Number = _as_written
        try:
            return read_strict(self._text, number)
        except ReplyParseError:
            return self._find(number).value

    def _fits_schema(self, value: Any) -> bool:
        return self._schema is not None and compile_schema(self._schema).fits(value)

    def _answer(self, title: str, explanation: str, content: Any, coerced: bool) -> ReadAnswer:
        problems: tuple[str, ...] = ()
        if self._schema is not None:
            problems = tuple(schema_problems(compile_schema(self._schema), content))
        return ReadAnswer(
            title,
            explanation,
            content,
            self._repaired,
            coerced,
            self._turn.stop is StopClass.TRUNCATED,
            self._turn.text or "",
            problems,
        )


def _has_answer(value: Mapping[str, Any]) -> bool:
    return any(key.lower() == "final_answer" for key in value)


def _members(wrapper: Mapping[str, Any]) -> dict[str, Any]:
    """Return the wrapper's members; keys match in any case, the last mention wins, unknown keys are ignored."""
    return {key.lower(): item for key, item in wrapper.items() if key.lower() in _MEMBERS}


def _final_answer(reply: Any) -> Any:
    return _members(reply)["final_answer"]


def _inner_content(reply: Any) -> Any:
    return [item for key, item in _final_answer(reply).items() if key.lower() == "content"][-1]


def _as_written(literal: str) -> Any:
    as_float(literal)
    return literal


def _kind(value: Any) -> str:
    if isinstance(value, dict):
        return "an object"
    if isinstance(value, list):
        return "a list"
    if isinstance(value, bool):
        return "a bool"
    if value is None:
        return "null"
    return "text" if isinstance(value, str) else "a number"
