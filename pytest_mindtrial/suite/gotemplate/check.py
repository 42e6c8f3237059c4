"""Finds misspelt fields before anything is rendered.

Follows the shapes of values through pipelines as far as they are known; what is not known is accepted. Does not
evaluate and does not judge arguments. Every branch is checked, also one that the data would never take. Source: spec
mindtrial 3.1 ("check field names statically").
"""

from __future__ import annotations

import difflib
from collections.abc import Iterable, Mapping, Sequence

from pytest_mindtrial.core.errors import Position
from pytest_mindtrial.suite.gotemplate.errors import TemplateFault, template_error
from pytest_mindtrial.suite.gotemplate.kinds import ANY, TEXT, FieldSpec, ListOf
from pytest_mindtrial.suite.gotemplate.nodes import (
    Action,
    Branch,
    Chain,
    Command,
    Dot,
    Field,
    Function,
    Literal,
    Node,
    Operand,
    Pipeline,
    Variable,
)

__all__ = ["check_fields"]

_SHAPELESS = frozenset(("and", "or", "index", "slice"))
"""Functions whose result may be one of their arguments or a part of one."""


def check_fields(nodes: Sequence[Node], fields: FieldSpec, *, kind: str, position: Position | None) -> None:
    """Raise if a template uses a field that its kind does not have.

    Raises:
        TemplateError: Names the field, the fields there are, and a near match.
    """
    checker = _Checker(fields, _reassigned(nodes))
    try:
        checker.walk(nodes, fields)
    except TemplateFault as fault:
        raise template_error(kind, checker.line, checker.construct, str(fault), position) from None


def _reassigned(nodes: Iterable[Node]) -> frozenset[str]:
    """Return the variables that any ``=`` assigns; their shape is not followed."""
    found: set[str] = set()
    for node in nodes:
        if isinstance(node, Action | Branch):
            if node.pipeline.is_assignment:
                found.update(node.pipeline.variables)
            if isinstance(node, Branch):
                found |= _reassigned(node.body) | _reassigned(node.otherwise)
    return frozenset(found)


class _Checker:
    """Walks the tree with shapes in place of values."""

    def __init__(self, fields: FieldSpec, reassigned: frozenset[str]) -> None:
        self.line, self.construct = 1, ""
        self._reassigned = reassigned
        self._variables: list[tuple[str, FieldSpec]] = [("", fields)]

    def walk(self, nodes: Iterable[Node], dot: FieldSpec) -> None:
        for node in nodes:
            if isinstance(node, Action):
                self._pipeline(node.pipeline, dot)
            elif isinstance(node, Branch):
                mark = len(self._variables)
                shape = self._pipeline(node.pipeline, dot)
                inner = self._inner_dot(node, shape, dot)
                self.walk(node.body, inner)
                self.walk(node.otherwise, dot)
                del self._variables[mark:]

    def _inner_dot(self, node: Branch, shape: FieldSpec, dot: FieldSpec) -> FieldSpec:
        if node.word == "if":
            return dot
        if node.word == "with":
            return shape
        if shape is TEXT:
            raise TemplateFault("range over a plain value; it takes a list or a map")
        element = shape.element if isinstance(shape, ListOf) else ANY
        names = node.pipeline.variables
        if not node.pipeline.is_assignment:
            for name, known in zip(names[::-1], (element, TEXT), strict=False):
                self._variables.append((name, known))
        return element

    def _pipeline(self, pipeline: Pipeline, dot: FieldSpec) -> FieldSpec:
        self.line, self.construct = pipeline.line, pipeline.source
        shape: FieldSpec = ANY
        for number, command in enumerate(pipeline.commands):
            shape = self._command(command, dot, is_first=number == 0)
        if not pipeline.is_assignment:
            self._variables.extend((name, shape) for name in pipeline.variables)
        return shape

    def _command(self, command: Command, dot: FieldSpec, *, is_first: bool) -> FieldSpec:
        head, *operands = command.operands
        shapes = [self._operand(operand, dot) for operand in operands]
        if not isinstance(head, Function):
            return self._operand(head, dot)
        if head.name not in _SHAPELESS:
            return TEXT
        if head.name == "index" and is_first and len(operands) == 2:
            return _indexed(shapes[0], operands[1])
        return ANY

    def _operand(self, operand: Operand, dot: FieldSpec) -> FieldSpec:
        if isinstance(operand, Dot):
            return dot
        if isinstance(operand, Field):
            return _follow(dot, operand.names)
        if isinstance(operand, Variable):
            return _follow(self._lookup(operand.name), operand.names)
        if isinstance(operand, Literal):
            return TEXT
        if isinstance(operand, Function):
            return ANY
        line, construct = self.line, self.construct
        shape = self._pipeline(operand.inner if isinstance(operand, Chain) else operand, dot)
        self.line, self.construct = line, construct
        return _follow(shape, operand.names) if isinstance(operand, Chain) else shape

    def _lookup(self, name: str) -> FieldSpec:
        if name in self._reassigned:
            return ANY
        return next(shape for known, shape in reversed(self._variables) if known == name)


def _indexed(shape: FieldSpec, key: Operand) -> FieldSpec:
    if isinstance(shape, ListOf):
        return shape.element
    if isinstance(shape, Mapping) and isinstance(key, Literal):
        return shape.get(key.value, ANY)
    return ANY


def _follow(shape: FieldSpec, names: Sequence[str]) -> FieldSpec:
    for name in names:
        if isinstance(shape, Mapping):
            if name not in shape:
                near = difflib.get_close_matches(name, shape, 1)
                hint = f"did you mean {near[0]!r}? " if near else ""
                raise TemplateFault(f"there is no field {name!r}; {hint}fields here are {', '.join(sorted(shape))}")
            shape = shape[name]
        elif isinstance(shape, ListOf) or shape is TEXT:
            what = "a list" if isinstance(shape, ListOf) else "a plain value"
            raise TemplateFault(f"there is no field {name!r} in {what}; only objects have fields")
    return shape
