"""What a failed or errored item shows: verdict line, diff, rule, place, how to rerun.

The first line is the verdict, because pytest's short summary, xdist and junit show just that line (spec pytest 7). All
model text passes `core.display.safe_text`. Does not decide outcomes.
"""

from __future__ import annotations

import difflib
import json
import os
import re
import shlex
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

from pytest_mindtrial.core.display import safe_text
from pytest_mindtrial.core.record import Result
from pytest_mindtrial.core.values import Kind
from pytest_mindtrial.validators.nearest import nearest_accepted

if TYPE_CHECKING:
    from _pytest._io import TerminalWriter

    from pytest_mindtrial.plugin.items import TaskItem

__all__ = ["FailureText", "answer_diff", "failure_text", "report_sections", "verdict_line"]

_VERDICT_CHARS = 100
_BLOCK_CHARS = 4_000
_HINTED_LINES = 5
_HINTED_CHARS = 300
_SECTION_CHARS = 8_000
_RUNNER_ORDER = re.compile(r"^([ \t]*)(::|##\[)", re.MULTILINE)


@dataclass(frozen=True, slots=True)
class Crash:
    """What pytest's short summary and junit read from a failure."""

    path: str
    lineno: int
    message: str

    def __str__(self) -> str:
        return self.message  # what pytest 8 prints under --tb=line


class FailureText:
    """A failure as pytest prints it; duck-typed like pytest's own so that nothing private is needed.

    Attributes:
        lines: Text lines; the first is the verdict.
        reprcrash: Place and verdict.
    """

    def __init__(self, lines: list[str], path: str, lineno: int) -> None:
        self.lines = [_inert(line) for line in lines]
        self.reprcrash = Crash(path, lineno, lines[0])

    def __str__(self) -> str:
        return "\n".join(self.lines)

    def toterminal(self, tw: TerminalWriter) -> None:
        """Print with the colours of a diff."""
        for index, line in enumerate(self.lines):
            tw.line(line, **_markup(line, index))


def _markup(line: str, index: int) -> dict[str, bool]:
    if index == 0:
        return {"red": True, "bold": True}
    if line.startswith("  - "):
        return {"red": True}
    if line.startswith("  + "):
        return {"green": True}
    return {}


def failure_text(item: TaskItem, result: Result, style: str) -> FailureText:
    """Return the text of a Failed or Error result.

    Args:
        item: The item.
        result: Its result.
        style: ``--tb``: ``line`` shows one line, everything else the whole block.
    """
    path, line, _ = item.reportinfo()
    lines = [verdict_line(result)]
    if style == "line":
        lines = [f"{item.place}: {lines[0]}"]
    else:
        lines += _failed_block(result) if result.kind is Kind.FAILED else _error_block(result)
        lines += ["", f"task:  {item.place}", f"rerun: {_rerun(item)}"]
    keeper = item.evaluation.keeper
    return FailureText([keeper.redact(text) for text in lines] if keeper else lines, str(path), line + 1)


def _inert(text: str) -> str:
    """Return text whose lines GitHub's runner does not obey: it takes any line that begins with ``::`` for an order."""
    return _RUNNER_ORDER.sub(r"\1\\\2", text) if os.environ.get("GITHUB_ACTIONS") == "true" else text


def verdict_line(result: Result) -> str:
    """Return one line that says what is wrong."""
    if result.kind is Kind.FAILED:
        if result.validation and result.validation.method == "exact":
            return f"got {_short(result.got)}, expected {_short_choices(result)}"
        title = result.validation.title if result.validation else "Failed"
        return f"{safe_text(title)}: got {_short(result.got)}"
    error = result.error
    if error is None:
        return "no answer"
    return f"{safe_text(error.title)}: {_one_line(error.message, 200)}"


def _short_choices(result: Result) -> str:
    want = result.want or ()
    nearest = nearest_answer(result)
    more = f" (or one of {len(want) - 1} others)" if len(want) > 1 else ""
    return _short(nearest) + more


def nearest_answer(result: Result) -> Any:
    """Return the accepted answer that is most like the answer, in the compared form; None when there is none."""
    nearest = nearest_accepted(result.got, result.want or ())
    return nearest.value if nearest else None


def _formatting_note(result: Result) -> list[str]:
    """Say when white space, case and punctuation alone make the difference: often the rules are too strict."""
    nearest = nearest_accepted(result.got, result.want or ())
    if nearest is None or not nearest.passes_without_formatting:
        return []
    return ["note:  it would pass if white space, case and punctuation were ignored"]


def _short(value: Any) -> str:
    text = json.dumps(value, ensure_ascii=False) if not isinstance(value, str) else repr(value)
    return _one_line(text, _VERDICT_CHARS)


def _one_line(text: str, limit: int) -> str:
    line = safe_text(" ".join(text.split()))
    return line if len(line) <= limit else line[: limit - 1] + "…"


def _text(value: Any) -> str:
    if isinstance(value, str):
        return value
    return json.dumps(value, ensure_ascii=False, indent=2, sort_keys=True, default=str)


def _failed_block(result: Result) -> list[str]:
    lines: list[str] = []
    validation = result.validation
    if validation is None or validation.method in ("exact", "semantic"):
        lines += ["", *_diff(_text(nearest_answer(result)), _text(result.got))]
    else:
        lines += ["", "  + " + _cut(_text(result.got)).replace("\n", "\n  + ")]
    if validation is not None:
        lines += ["", f"rule:  {validation.validator or validation.method}"]
        lines += _labelled("why:   ", validation.explanation)
        if validation.method == "exact":
            lines += _formatting_note(result)
    answer = result.answer
    if answer is not None:
        marks = [word for word in ("repaired", "coerced", "truncated") if getattr(answer, word)]
        if marks:
            lines.append(f"note:  the reply was {' and '.join(marks)}")
        lines += _labelled("schema: ", "\n".join(answer.problems))
    return lines


def answer_diff(result: Result) -> str:
    """Return the nearest accepted answer against the answer as marked lines; blank when nothing was compared."""
    if result.kind is not Kind.FAILED or not result.want:
        return ""
    return "\n".join(line.removeprefix("  ") for line in _diff(_text(nearest_answer(result)), _text(result.got)))


def _diff(expected: str, got: str) -> list[str]:
    """Return a line diff; pairs of short lines also show where they differ. Work is bounded by the cut."""
    old, new = _cut(expected).splitlines() or [""], _cut(got).splitlines() or [""]
    lines: list[str] = []
    for tag, start, end, new_start, new_end in difflib.SequenceMatcher(None, old, new, autojunk=False).get_opcodes():
        before, after = old[start:end], new[new_start:new_end]
        if tag == "equal":
            lines += [f"  {line}" for line in before]
        elif len(before) == len(after) <= _HINTED_LINES and max(map(len, before + after)) <= _HINTED_CHARS:
            lines += [
                line.rstrip("\n") for pair in zip(before, after, strict=True) for line in difflib.ndiff(*_each(pair))
            ]
        else:
            lines += [*(f"- {line}" for line in before), *(f"+ {line}" for line in after)]
    return [f"  {safe_text(line)}" for line in lines]


def _each(pair: tuple[str, str]) -> tuple[list[str], list[str]]:
    return [pair[0]], [pair[1]]


def _cut(text: str) -> str:
    return (
        text if len(text) <= _BLOCK_CHARS else text[:_BLOCK_CHARS] + f"\n… ({len(text) - _BLOCK_CHARS} more characters)"
    )


def _labelled(label: str, text: str) -> list[str]:
    lines = [safe_text(line) for line in _cut(text).splitlines() if line.strip()]
    return [(label if index == 0 else " " * len(label)) + line for index, line in enumerate(lines)]


def _error_block(result: Result) -> list[str]:
    error = result.error
    if error is None:
        return []
    lines = ["", *_labelled("what:  ", error.message)]
    if error.transient is not None:
        lines.append("kind:  " + ("transient (a later try may succeed)" if error.transient else "permanent"))
    tries = [request for request in result.requests if request.cause]
    if tries:
        shown = ", ".join(f"#{request.attempt} {request.cause}" for request in tries[:8])
        lines.append(f"tries: {shown}" + (f" and {len(tries) - 8} more" if len(tries) > 8 else ""))
    for heading, text in error.details.items():
        lines += ["", f"{safe_text(heading)}:", *("  " + safe_text(line) for line in _cut(text).splitlines())]
    if result.answer is not None and error.from_validation:
        lines += ["", "answer:", *("  " + safe_text(line) for line in _cut(_text(result.answer.content)).splitlines())]
    return lines


def _rerun(item: TaskItem) -> str:
    config = item.config
    words = ["pytest", _from_invocation(item)]
    if given := config.getoption("mt_config", None):
        words.append(f"--mt-config={given}")
    return shlex.join(words)


def _from_invocation(item: TaskItem) -> str:
    _, _, name = item.nodeid.partition("::")
    return f"{item.place.rpartition(':')[0]}::{name}"


def report_sections(result: Result) -> list[tuple[str, str]]:
    """Return long things (prompt, transcript, model's reasoning) as report sections, cut to a stated size."""
    sections = []
    if result.answer is not None and result.answer.explanation:
        sections.append(("Model explanation", result.answer.explanation))
    if result.transcript:
        parts = [f"[{message.get('role', '')}] {message.get('text', '')}" for message in result.transcript]
        sections.append(("Conversation", "\n".join(parts)))
    return [(f"mindtrial {title.lower()}", _section(text)) for title, text in sections]


def _section(text: str) -> str:
    shown = _inert("\n".join(safe_text(line) for line in text[:_SECTION_CHARS].splitlines()))
    return shown if len(text) <= _SECTION_CHARS else f"{shown}\n… ({len(text)} characters; the whole is in the report)"
