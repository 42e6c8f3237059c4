"""GitHub Actions: the job summary, and annotations on the line of a task file.

Does not render the summary (``results/markdown.py``). All texts are data: the runner reads lines that begin with ``::``
as orders, so whatever a model wrote is escaped here. Source: GitHub's "Workflow commands"; field 3.1.
"""

from __future__ import annotations

import os
import re
from collections.abc import Iterable, Sequence
from pathlib import Path

from pytest_mindtrial.core.display import one_line
from pytest_mindtrial.core.errors import UserError
from pytest_mindtrial.core.record import Result
from pytest_mindtrial.core.values import Kind
from pytest_mindtrial.plugin.failure import verdict_line

__all__ = ["MAX_ANNOTATIONS", "SUMMARY_BYTES", "annotation_lines", "append_summary", "is_runner"]

MAX_ANNOTATIONS = 10
"""GitHub shows no more annotations of one kind and step; the job summary has the others."""

SUMMARY_BYTES = 1024 * 1024
"""GitHub drops the whole summary of a step beyond this size."""

_PLACE = re.compile(r"(.+?):(\d+)(?::(\d+))?")


def is_runner() -> bool:
    """Tell whether this process runs in a job of GitHub Actions."""
    return os.environ.get("GITHUB_ACTIONS") == "true"


def append_summary(path: Path, text: str) -> None:
    """Append Markdown to a job summary.

    Raises:
        UserError: The file cannot be written, or the summary would be dropped for its size.
    """
    data = text.encode("utf-8", "replace")
    try:
        there = path.stat().st_size if path.exists() else 0
        if there + len(data) > SUMMARY_BYTES:
            raise UserError(f"job summary: {there + len(data)} bytes; GitHub shows at most {SUMMARY_BYTES} per step")
        with path.open("ab") as stream:
            stream.write(data)
    except OSError as error:
        raise UserError(f"job summary: cannot write {path}: {error.strerror or error}") from error


def annotation_lines(results: Sequence[Result], directory: Path, *, is_green: bool) -> list[str]:
    """Return one command per item that did not pass, at most `MAX_ANNOTATIONS`, and one line about the others.

    Args:
        results: Redacted.
        directory: What the places of tasks are relative to.
        is_green: True when a gate accepts them: warnings then, not errors.
    """
    listed = [result for result in results if result.kind in (Kind.FAILED, Kind.ERROR)]
    level = "warning" if is_green else "error"
    lines = [_annotation(result, level, directory) for result in listed[:MAX_ANNOTATIONS]]
    more = len(listed) - MAX_ANNOTATIONS
    if more > 0:
        lines.append(
            f"::notice title=mindtrial::{more} more items did not pass; the job summary and the report have them"
        )
    return lines


def _annotation(result: Result, level: str, directory: Path) -> str:
    title = f"{result.task} [{result.provider}-{result.run}]"
    found = _PLACE.fullmatch(result.source)
    fields = []
    if found:
        fields = [("file", _in_workspace(directory / found[1])), ("line", found[2]), ("col", found[3] or "1")]
    properties = ",".join(f"{name}={_property(value)}" for name, value in [*fields, ("title", title)])
    return f"::{level} {properties}::{_data(verdict_line(result))}"


def _in_workspace(path: Path) -> str:
    workspace = os.environ.get("GITHUB_WORKSPACE", "")
    resolved = path.resolve()
    if workspace and resolved.is_relative_to(Path(workspace).resolve()):
        return resolved.relative_to(Path(workspace).resolve()).as_posix()
    return path.as_posix()


def _data(text: str) -> str:
    return _escaped(one_line(text), "%")


def _property(text: str) -> str:
    return _escaped(one_line(text), "%:,")


def _escaped(text: str, signs: Iterable[str]) -> str:
    for sign in signs:  # the percent sign first
        text = text.replace(sign, f"%{ord(sign):02X}")
    return text
