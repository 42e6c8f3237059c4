"""Parses and caches the templates of suite files by their kind.

The language itself is ``suite/gotemplate``. Source: spec mindtrial 3.1.
"""

from __future__ import annotations

from functools import lru_cache
from typing import Literal, TypeAlias

from pytest_mindtrial.suite.gotemplate import (
    EXECUTION_FIELDS,
    EXECUTION_FUNCTIONS,
    JUDGE_FIELDS,
    PATH_FIELDS,
    SERVICE_FIELDS,
    SYSTEM_FIELDS,
    VALIDATOR_FIELDS,
    FieldSpec,
    Template,
    TemplateError,
    parse,
)

__all__ = ["TemplateKind", "parse_template", "template_problem"]

TemplateKind: TypeAlias = Literal[
    "path", "system prompt", "judge prompt", "service input", "dependency env", "validator"
]

_KINDS: dict[str, tuple[FieldSpec, tuple[str, ...]]] = {
    "path": (PATH_FIELDS, ()),
    "system prompt": (SYSTEM_FIELDS, ()),
    "judge prompt": (JUDGE_FIELDS, ()),
    "service input": (EXECUTION_FIELDS, EXECUTION_FUNCTIONS),
    "dependency env": (SERVICE_FIELDS, EXECUTION_FUNCTIONS),
    "validator": (VALIDATOR_FIELDS, EXECUTION_FUNCTIONS),
}


@lru_cache(maxsize=1024)
def parse_template(text: str, kind: TemplateKind) -> Template:
    """Return a parsed template; equal texts are parsed once.

    Raises:
        TemplateError: Malformed, unsupported, or naming a field this kind does not have.
    """
    fields, functions = _KINDS[kind]
    return parse(text, kind=kind, functions=functions, fields=fields)


@lru_cache(maxsize=1024)
def template_problem(text: str, kind: TemplateKind) -> str | None:
    """Return what is wrong with a template, or None. Text without ``{{`` is always right."""
    if "{{" not in text:
        return None
    try:
        parse_template(text, kind)
    except TemplateError as error:
        return error.message
    return None
