"""Go's template language, the subset MindTrial files use: parse once, render with plain data.

Does not run code, touch attributes or expand results again. Source: spec mindtrial 3.
"""

from pytest_mindtrial.suite.gotemplate.errors import TemplateError
from pytest_mindtrial.suite.gotemplate.kinds import (
    ANY,
    EXECUTION_FIELDS,
    EXECUTION_FUNCTIONS,
    JUDGE_FIELDS,
    KINDS,
    LIST,
    PATH_FIELDS,
    SERVICE_FIELDS,
    SYSTEM_FIELDS,
    TEXT,
    VALIDATOR_FIELDS,
    FieldSpec,
    ListOf,
)
from pytest_mindtrial.suite.gotemplate.template import Template, parse

__all__ = [
    "ANY",
    "EXECUTION_FIELDS",
    "EXECUTION_FUNCTIONS",
    "JUDGE_FIELDS",
    "KINDS",
    "LIST",
    "PATH_FIELDS",
    "SERVICE_FIELDS",
    "SYSTEM_FIELDS",
    "TEXT",
    "VALIDATOR_FIELDS",
    "FieldSpec",
    "ListOf",
    "Template",
    "TemplateError",
    "parse",
]
