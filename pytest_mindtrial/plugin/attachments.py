"""What other report plugins show of an attempt: prompt, answer, diff, picture.

Texts are plain, never markup, redacted, cut to a stated size. Does not know the plugins (``plugin/companions.py``).
"""

from __future__ import annotations

import json
from collections.abc import Iterator
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

from pytest_mindtrial.core.display import safe_text
from pytest_mindtrial.plugin.failure import answer_diff
from pytest_mindtrial.suite.mime import mime_for_name

if TYPE_CHECKING:
    from pytest_mindtrial.core.record import Result
    from pytest_mindtrial.plugin.items import TaskItem
    from pytest_mindtrial.suite.model import FileRef

__all__ = ["Picture", "Text", "pictures", "texts"]

_TEXT_CHARS = 100_000
_PICTURE_BYTES = 2 * 1024 * 1024
_PICTURE_TYPES = {"image/png": "png", "image/jpeg": "jpg", "image/gif": "gif", "image/webp": "webp"}


@dataclass(frozen=True, slots=True)
class Text:
    """A named plain text."""

    name: str
    content: str


@dataclass(frozen=True, slots=True)
class Picture:
    """A picture that the task shows the model."""

    name: str
    content: bytes
    type: str
    extension: str


def texts(item: TaskItem, result: Result) -> Iterator[Text]:
    """Yield prompt, answer, and what is wrong with it."""
    keeper = item.evaluation.keeper
    redact = keeper.redact if keeper else str
    prompt = next((message.get("text") for message in result.transcript if message.get("role") == "user"), None)
    answer = result.answer
    found: list[tuple[str, Any]] = [
        ("prompt", prompt or item.task.prompt),
        ("answer", answer.content if answer is not None else None),
        ("diff", answer_diff(result) or None),
    ]
    for name, value in found:
        if value is not None:
            yield Text(name, _cut(redact(_plain(value))))


def pictures(item: TaskItem) -> Iterator[Picture]:
    """Yield the local pictures among the task's files, unless they are too large for a report."""
    for file in item.task.files:
        kind = (file.type or mime_for_name(file.uri)).lower()
        content = _content(file) if kind in _PICTURE_TYPES else None
        if content is not None:
            yield Picture(file.name, content, kind, _PICTURE_TYPES[kind])


def _content(file: FileRef) -> bytes | None:
    if "://" in file.uri:
        return None
    try:
        with (file.base_dir / file.uri).open("rb") as stream:
            content = stream.read(_PICTURE_BYTES + 1)
    except OSError:
        return None
    return content if len(content) <= _PICTURE_BYTES else None


def _plain(value: Any) -> str:
    if isinstance(value, str):
        return value
    return json.dumps(value, ensure_ascii=False, indent=2, default=str)


def _cut(text: str) -> str:
    shown = safe_text(text[:_TEXT_CHARS])
    return shown if len(text) <= _TEXT_CHARS else f"{shown}\n… ({len(text)} characters; the journal has them all)"
