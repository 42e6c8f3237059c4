"""The errors of the template engine.

Does not decide what is an error. `TemplateFault` is internal: functions raise it without knowing where they were
called, and the interpreter turns it into a `TemplateError` that names kind, line and construct.
"""

from __future__ import annotations

from pytest_mindtrial.core.errors import Position, UserError

__all__ = ["TemplateError", "TemplateFault", "template_error"]


class TemplateError(UserError):
    """A template cannot be read or rendered.

    Attributes:
        kind: Template kind as the user knows it, such as ``judge prompt``.
        line: 1-based line inside the template.
    """

    kind: str = ""
    line: int = 0


class TemplateFault(Exception):
    """What went wrong, without the place."""


def template_error(kind: str, line: int, construct: str, problem: str, position: Position | None) -> TemplateError:
    """Return the error with its full text.

    Args:
        kind: Template kind.
        line: 1-based line inside the template.
        construct: The action or operand at fault as written; blank when there is none.
        problem: What is wrong and what is supported.
        position: Where the template stands in the user's file, if known.
    """
    shown = f" in {shorten(construct)}" if construct else ""
    error = TemplateError(f"{kind} template, line {line}{shown}: {problem}", position)
    error.kind = kind
    error.line = line
    return error


def shorten(text: str, limit: int = 80) -> str:
    """Return the text on one line, cut at ``limit`` characters."""
    flat = " ".join(text.split())
    return flat if len(flat) <= limit else flat[: limit - 1] + "…"
