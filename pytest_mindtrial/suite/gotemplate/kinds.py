"""Which fields each kind of template knows, and which extra functions.

Does not parse. A field specification is a mapping of known fields, `ListOf`, `TEXT` (a plain value without fields)
or `ANY` (unknown until rendering). Source: spec mindtrial 3.1.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from typing import TypeAlias

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
    "Shape",
]


@dataclass(frozen=True, slots=True)
class Shape:
    """A value without known fields: ``any`` may turn out to have some, ``text`` never has."""

    name: str


@dataclass(frozen=True, slots=True)
class ListOf:
    """A list whose elements all have one shape."""

    element: FieldSpec


FieldSpec: TypeAlias = "Mapping[str, FieldSpec] | Shape | ListOf"

ANY = Shape("any")
TEXT = Shape("text")
LIST = ListOf(ANY)

PATH_FIELDS: FieldSpec = dict.fromkeys(("Year", "Month", "Day", "Hour", "Minute", "Second"), TEXT)
"""``output-dir``, ``output-basename``, ``log-file``."""

SYSTEM_FIELDS: FieldSpec = {"ResponseResultFormat": TEXT}
"""``system-prompt.template``."""

_QUESTION: Mapping[str, FieldSpec] = {"Prompt": TEXT, "ResponseResultFormat": TEXT}
_RULES: FieldSpec = {"CaseSensitive": TEXT, "IgnoreWhitespace": TEXT, "TrimLines": TEXT}

JUDGE_FIELDS: FieldSpec = {
    "OriginalTask": {**_QUESTION, "ExpectedResults": ListOf(TEXT)},
    "Candidate": {"Response": TEXT},
    "Rules": _RULES,
    "Verdict": {"Format": TEXT},
}
"""``judge.prompt.template``."""

_EXECUTION: Mapping[str, FieldSpec] = {
    "Evaluation": {"Seed": TEXT},
    "Task": {"Name": TEXT},
    "Provider": {"Name": TEXT},
    "Run": {"Name": TEXT},
}

EXECUTION_FIELDS: FieldSpec = _EXECUTION
"""String values of ``service-inputs``."""

SERVICE_FIELDS: FieldSpec = dict.fromkeys(("Name", "Host", "Port", "Endpoint"), TEXT)
"""``dependencies[].env``."""

VALIDATOR_FIELDS: FieldSpec = {
    **_EXECUTION,
    "OriginalTask": {**_QUESTION, "ExpectedResults": LIST},
    "Candidate": {"Response": ANY},
    "Rules": _RULES,
}
"""``command``, ``env`` and ``template-files`` of a custom validator."""

EXECUTION_FUNCTIONS = ("hash", "json")
"""Extra functions of service inputs, dependency environments and custom validators."""

KINDS: Mapping[str, tuple[FieldSpec, tuple[str, ...]]] = {
    "path": (PATH_FIELDS, ()),
    "system prompt": (SYSTEM_FIELDS, ()),
    "judge prompt": (JUDGE_FIELDS, ()),
    "service input": (EXECUTION_FIELDS, EXECUTION_FUNCTIONS),
    "dependency env": (SERVICE_FIELDS, EXECUTION_FUNCTIONS),
    "validator": (VALIDATOR_FIELDS, EXECUTION_FUNCTIONS),
}
"""Kind of a template in a suite file, as the user knows it → its fields and extra functions."""
