"""Fills the time placeholders of output paths: ``{{.Year}}-{{.Month}}-{{.Day}}``.

Does not create anything. Source: spec mindtrial 1.4. A pattern that cannot be filled is an error, not a directory of
that name.
"""

from __future__ import annotations

import datetime as dt

from pytest_mindtrial.core.errors import ConfigError
from pytest_mindtrial.suite.templates import parse_template

__all__ = ["render_path"]


def render_path(text: str, when: dt.datetime) -> str:
    """Return a path with its placeholders filled.

    Args:
        text: Path template; without ``{{`` it is returned as it is.
        when: Local time of the evaluation's start, the same for every path.

    Raises:
        ConfigError: The template is malformed or names an unknown field.
    """
    if "{{" not in text:
        return text
    from pytest_mindtrial.suite.gotemplate import TemplateError  # costly, and most paths have no placeholder

    data = {
        "Year": str(when.year),
        "Month": f"{when.month:02d}",
        "Day": f"{when.day:02d}",
        "Hour": f"{when.hour:02d}",
        "Minute": f"{when.minute:02d}",
        "Second": f"{when.second:02d}",
    }
    try:
        return parse_template(text, "path").render(data)
    except TemplateError as error:
        allowed = ", ".join(f"{{{{.{name}}}}}" for name in data)
        raise ConfigError(f"{text!r}: {error.message} (allowed: {allowed})", error.position) from None
