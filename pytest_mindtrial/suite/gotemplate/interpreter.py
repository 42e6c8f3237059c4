"""Renders a syntax tree with data, under limits.

Data are str, bool, int, float, None, lists or tuples and mappings; attributes of objects are never touched and the
result is never expanded again. Limits per rendering: 1,000,000 steps (loop rounds, actions and calls together), 16 Mi
characters of output, 64 Mi characters read or made by functions. Source: spec mindtrial 3.3 and 3.4.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from typing import Any

from pytest_mindtrial.core.errors import Position
from pytest_mindtrial.suite.gotemplate.errors import TemplateFault, shorten, template_error
from pytest_mindtrial.suite.gotemplate.functions import FUNCTIONS
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
    Text,
    Variable,
)
from pytest_mindtrial.suite.gotemplate.printing import NO_VALUE, describe, go_text, is_true, kind_of, sorted_items

__all__ = ["MAX_OUTPUT", "MAX_STEPS", "MAX_WORK", "render_tree"]

MAX_STEPS = 1_000_000
MAX_OUTPUT = 16 * 1024 * 1024
MAX_WORK = 64 * 1024 * 1024

_UNSET = object()


class _Break(Exception):
    pass


class _Continue(Exception):
    pass


def render_tree(nodes: Sequence[Node], data: Any, *, kind: str, position: Position | None) -> str:
    """Return the text of a template.

    Args:
        nodes: The tree.
        data: The value of the dot.
        kind: Template kind for messages.
        position: Where the template stands in the user's file.

    Raises:
        TemplateError: A field is missing, a value does not fit, or a limit is reached.
    """
    interpreter = _Interpreter(data)
    try:
        interpreter.walk(nodes, data)
    except TemplateFault as fault:
        raise template_error(kind, interpreter.line, interpreter.construct, str(fault), position) from None
    return "".join(interpreter.parts)


class _Interpreter:
    """The state of one rendering."""

    def __init__(self, data: Any) -> None:
        self.parts: list[str] = []
        self.line, self.construct = 1, ""
        self._variables: list[tuple[str, Any]] = [("", data)]
        self._steps, self._output, self._work = 0, 0, 0

    # Nodes

    def walk(self, nodes: Iterable[Node], dot: Any) -> None:
        for node in nodes:
            if isinstance(node, Text):
                self._write(node.text)
            elif isinstance(node, Action):
                value = self._pipeline(node.pipeline, dot)
                if not node.pipeline.variables:
                    self._write(NO_VALUE if value is None else go_text(value, max_chars=MAX_OUTPUT - self._output))
            elif isinstance(node, Branch):
                self._branch(node, dot)
            else:
                raise _Break if node.word == "break" else _Continue

    def _branch(self, node: Branch, dot: Any) -> None:
        mark = len(self._variables)
        try:
            value = self._pipeline(node.pipeline, dot)
            if node.word == "range":
                self._range(node, value, dot)
            elif is_true(value):
                self.walk(node.body, value if node.word == "with" else dot)
            else:
                self.walk(node.otherwise, dot)
        finally:
            del self._variables[mark:]

    def _range(self, node: Branch, value: Any, dot: Any) -> None:
        items = _elements(value)
        mark = len(self._variables)
        try:
            for index, item in items:
                self._step()
                self._set_loop_variables(node.pipeline, index, item)
                try:
                    self.walk(node.body, item)
                except _Continue:
                    continue
                finally:
                    del self._variables[mark:]
        except _Break:
            return
        if not items:
            self.walk(node.otherwise, dot)

    def _set_loop_variables(self, pipeline: Pipeline, index: Any, item: Any) -> None:
        names = pipeline.variables
        if names:
            self._assign(names[-1], item)
        if len(names) > 1:
            self._assign(names[0], index)

    # Expressions

    def _pipeline(self, pipeline: Pipeline, dot: Any) -> Any:
        self._step()
        self.line, self.construct = pipeline.line, pipeline.source
        value: Any = _UNSET
        for command in pipeline.commands:
            value = self._command(command, dot, value)
        self.line, self.construct = pipeline.line, pipeline.source
        for name in pipeline.variables:
            if pipeline.is_assignment:
                self._assign(name, value)
            else:
                self._variables.append((name, value))
        return value

    def _command(self, command: Command, dot: Any, final: Any) -> Any:
        head, *operands = command.operands
        if not isinstance(head, Function):
            return self._operand(head, dot)
        return self._call(head.name, operands, dot, final)

    def _call(self, name: str, operands: Sequence[Operand], dot: Any, final: Any) -> Any:
        self._step()
        if name in ("and", "or"):
            return self._decide(name, operands, dot, final)
        values = [self._operand(operand, dot) for operand in operands]
        if final is not _UNSET:
            values.append(final)
        function = FUNCTIONS[name]
        if len(values) < function.least or (function.most is not None and len(values) > function.most):
            raise TemplateFault(f"{name} takes {_count(function.least, function.most)}, found {len(values)}")
        for value in values:
            self._spend(value)
        result = function.call(*values)
        self._spend(result)
        return result

    def _decide(self, name: str, operands: Sequence[Operand], dot: Any, final: Any) -> Any:
        """Evaluate ``and`` or ``or`` up to the deciding value."""
        if not operands and final is _UNSET:
            raise TemplateFault(f"{name} takes at least one argument, found 0")
        value: Any = None
        for operand in operands:
            value = self._operand(operand, dot)
            if is_true(value) == (name == "or"):
                return value
        return value if final is _UNSET else final

    def _operand(self, operand: Operand, dot: Any) -> Any:
        if isinstance(operand, Literal):
            return operand.value
        if isinstance(operand, Dot):
            return dot
        if isinstance(operand, Field):
            return _fields(dot, operand.names)
        if isinstance(operand, Variable):
            return _fields(self._lookup(operand.name), operand.names)
        if isinstance(operand, Function):
            return self._call(operand.name, (), dot, _UNSET)
        line, construct = self.line, self.construct
        inner = operand.inner if isinstance(operand, Chain) else operand
        value = self._pipeline(inner, dot)
        self.line, self.construct = line, construct
        return _fields(value, operand.names) if isinstance(operand, Chain) else value

    # Variables

    def _lookup(self, name: str) -> Any:
        return self._variables[self._place(name)][1]

    def _assign(self, name: str, value: Any) -> None:
        self._variables[self._place(name)] = (name, value)

    def _place(self, name: str) -> int:
        for place in range(len(self._variables) - 1, -1, -1):
            if self._variables[place][0] == name:
                return place
        raise TemplateFault(f"undefined variable ${name}")

    # Limits

    def _step(self) -> None:
        self._steps += 1
        if self._steps > MAX_STEPS:
            raise TemplateFault(f"more than {MAX_STEPS:,} steps")

    def _write(self, text: str) -> None:
        self._output += len(text)
        if self._output > MAX_OUTPUT:
            raise TemplateFault(f"more than {MAX_OUTPUT:,} characters of output")
        self.parts.append(text)

    def _spend(self, value: Any) -> None:
        if isinstance(value, str | list | tuple | Mapping):
            self._work += len(value)
            if self._work > MAX_WORK:
                raise TemplateFault(f"more than {MAX_WORK:,} characters of work in functions")


def _elements(value: Any) -> list[tuple[Any, Any]]:
    kind = kind_of(value)
    if kind == "list":
        return list(enumerate(value))
    if kind == "map":
        return list(sorted_items(value))
    if kind == "nil":
        return []
    raise TemplateFault(f"range over {describe(value)}; it takes a list or a map")


def _fields(value: Any, names: Sequence[str]) -> Any:
    for name in names:
        if kind_of(value) != "map":
            raise TemplateFault(f"there is no field {name!r} in {describe(value)}; only maps and objects have fields")
        if name not in value:
            known = ", ".join(sorted(map(str, value))) or "none"
            raise TemplateFault(f"there is no field {name!r}; fields here are {shorten(known, 200)}")
        value = value[name]
    return value


def _count(least: int, most: int | None) -> str:
    if most == least:
        return f"{least} argument{'s' if least != 1 else ''}"
    return f"at least {least} argument{'s' if least != 1 else ''}" if most is None else f"{least} to {most} arguments"
