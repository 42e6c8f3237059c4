"""Parses and caches the templates of suite files by their kind.

The language itself is ``suite/gotemplate``. It is imported when the first text with ``{{`` is parsed: most suites have
none, and it is a tenth of what a session imports. Source: spec mindtrial 3.1.
"""

from __future__ import annotations

from functools import lru_cache
from typing import TYPE_CHECKING, Literal, TypeAlias

if TYPE_CHECKING:
    from pytest_mindtrial.suite.gotemplate import Template

__all__ = ["TemplateKind", "parse_template", "template_problem"]

TemplateKind: TypeAlias = Literal[
    "path", "system prompt", "judge prompt", "service input", "dependency env", "validator"
]


@lru_cache(maxsize=1024)
def parse_template(text: str, kind: TemplateKind) -> Template:
    """Return a parsed template; equal texts are parsed once.

    Raises:
        TemplateError: Malformed, unsupported, or naming a field this kind does not have.
    """
    from pytest_mindtrial.suite.gotemplate import KINDS, parse

    fields, functions = KINDS[kind]
    return parse(text, kind=kind, functions=functions, fields=fields)


@lru_cache(maxsize=1024)
def template_problem(text: str, kind: TemplateKind) -> str | None:
    """Return what is wrong with a template, or None. Text without ``{{`` is always right."""
    if "{{" not in text:
        return None
    from pytest_mindtrial.suite.gotemplate import TemplateError

    try:
        parse_template(text, kind)
    except TemplateError as error:
        return error.message
    return None
