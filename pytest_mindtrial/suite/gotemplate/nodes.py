"""The syntax tree of a template.

Does not evaluate itself. Source: spec mindtrial 3.3.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any, TypeAlias

__all__ = [
    "Action",
    "Branch",
    "Chain",
    "Command",
    "Dot",
    "Field",
    "Function",
    "Jump",
    "Literal",
    "Node",
    "Operand",
    "Pipeline",
    "Text",
    "Variable",
]


@dataclass(frozen=True, slots=True)
class Text:
    """Text outside actions."""

    text: str


@dataclass(frozen=True, slots=True)
class Dot:
    """The current value."""


@dataclass(frozen=True, slots=True)
class Literal:
    """A constant: text, whole number, float, true, false, or nil (only as an argument)."""

    value: Any
    source: str


@dataclass(frozen=True, slots=True)
class Field:
    """A chain of names on the current value."""

    names: tuple[str, ...]


@dataclass(frozen=True, slots=True)
class Variable:
    """A variable (``$`` is the blank name), with the names of a field chain after it."""

    name: str
    names: tuple[str, ...] = ()


@dataclass(frozen=True, slots=True)
class Function:
    """The name of a function."""

    name: str


@dataclass(frozen=True, slots=True)
class Chain:
    """A field chain on a parenthesised pipeline."""

    inner: Pipeline
    names: tuple[str, ...]


@dataclass(frozen=True, slots=True)
class Command:
    """A function with its arguments, or one operand alone."""

    operands: tuple[Operand, ...]


@dataclass(frozen=True, slots=True)
class Pipeline:
    """Commands joined by ``|``, optionally assigned.

    Attributes:
        variables: Names on the left, without ``$``; empty when nothing is assigned.
        is_assignment: True for ``=``, false for ``:=``.
        line: 1-based line inside the template.
        source: As written, for messages.
    """

    commands: tuple[Command, ...]
    line: int
    source: str
    variables: tuple[str, ...] = ()
    is_assignment: bool = False


@dataclass(frozen=True, slots=True)
class Action:
    """A pipeline whose value is printed unless it is assigned."""

    pipeline: Pipeline


@dataclass(frozen=True, slots=True)
class Branch:
    """``if``, ``with`` or ``range``; ``word`` says which."""

    word: str
    pipeline: Pipeline
    body: tuple[Node, ...]
    otherwise: tuple[Node, ...]


@dataclass(frozen=True, slots=True)
class Jump:
    """``break`` or ``continue``."""

    word: str


Operand: TypeAlias = "Dot | Literal | Field | Variable | Function | Chain | Pipeline"
Node: TypeAlias = "Text | Action | Branch | Jump"
