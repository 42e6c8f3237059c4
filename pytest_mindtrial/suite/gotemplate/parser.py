"""Builds the syntax tree of a template and refuses what lies outside the supported subset.

Does not know which fields exist (``check.py``). Source: spec mindtrial 3.3.
"""

from __future__ import annotations

import difflib
from bisect import bisect_left
from collections.abc import Collection, Iterable
from typing import NoReturn

from pytest_mindtrial.core.errors import Position
from pytest_mindtrial.suite.gotemplate.errors import TemplateError, TemplateFault, template_error
from pytest_mindtrial.suite.gotemplate.lexer import LexError, Token, lex
from pytest_mindtrial.suite.gotemplate.literals import read_character, read_number, read_text
from pytest_mindtrial.suite.gotemplate.nodes import (
    Action,
    Branch,
    Chain,
    Command,
    Dot,
    Field,
    Function,
    Jump,
    Literal,
    Node,
    Operand,
    Pipeline,
    Text,
    Variable,
)

__all__ = ["SUPPORTED", "parse_tree"]

MAX_DEPTH = 50
"""Deepest nesting of control structures and parentheses together."""

SUPPORTED = "supported are fields, variables, if, with, range, break, continue, pipelines and functions"
_KEYWORDS = frozenset(("if", "with", "range", "else", "end", "break", "continue", "define", "template", "block"))
_BRANCHES = ("if", "with", "range")


def parse_tree(
    source: str, *, kind: str, functions: Collection[str], known: Iterable[str], position: Position | None
) -> tuple[Node, ...]:
    """Return the nodes of a template.

    Args:
        source: The template.
        kind: Template kind for messages.
        functions: Names that may be called.
        known: Names of all functions there are, so that a message can say "not in this kind of template".
        position: Where the template stands in the user's file.

    Raises:
        TemplateError: The template is malformed or uses something that is not supported.
    """
    return _Parser(source, kind, functions, frozenset(known), position).parse()


class _Parser:
    """Recursive descent over the tokens; one instance per template."""

    def __init__(
        self, source: str, kind: str, functions: Collection[str], known: frozenset[str], position: Position | None
    ) -> None:
        self._source = source
        self._kind = kind
        self._functions = functions
        self._known = known
        self._position = position
        self._tokens: list[Token] = []
        self._at = 0
        self._depth = 0
        self._loops = 0
        self._variables = [""]
        self._newlines = [offset for offset, char in enumerate(source) if char == "\n"]

    def parse(self) -> tuple[Node, ...]:
        try:
            self._tokens = list(lex(self._source))
        except LexError as error:
            self._fail(str(error), error.offset)
        nodes, stop = self._list()
        if stop is not None:
            self._fail(f"{{{{{stop.text}}}}} without if, with or range", stop.offset)
        return nodes

    # Lists and control structures

    def _list(self) -> tuple[tuple[Node, ...], Token | None]:
        """Read nodes up to ``end`` or ``else`` (returned, its action still open) or the end of the template."""
        nodes: list[Node] = []
        while self._at < len(self._tokens):
            token = self._next()
            if token.kind == "text":
                nodes.append(Text(token.text))
                continue
            word = self._peek()
            if word.kind == "name" and word.text in ("end", "else"):
                self._at += 1
                return tuple(nodes), word
            nodes.append(self._node(word))
        return tuple(nodes), None

    def _node(self, word: Token) -> Node:
        if word.kind == "name" and word.text in _KEYWORDS:
            self._at += 1
            if word.text in _BRANCHES:
                return self._branch(word)
            if word.text in ("break", "continue"):
                if not self._loops:
                    self._fail(f"{{{{{word.text}}}}} outside range", word.offset)
                self._close(word.text)
                return Jump(word.text)
            self._fail(f"{word.text!r} is not supported; {SUPPORTED}", word.offset)
        pipeline = self._pipeline("an action")
        self._expect("close", "}}")
        return Action(pipeline)

    def _branch(self, word: Token) -> Branch:
        self._enter(word)
        variables = len(self._variables)
        pipeline = self._pipeline(word.text)
        self._expect("close", "}}")
        is_loop = word.text == "range"
        self._loops += is_loop
        body, stop = self._list()
        self._loops -= is_loop
        otherwise: tuple[Node, ...] = ()
        if stop is not None and stop.text == "else":
            otherwise = self._else(word)
        elif stop is not None:
            self._close("end")
        else:
            self._fail(f"{{{{{word.text}}}}} is not closed by {{{{end}}}}", word.offset)
        del self._variables[variables:]
        self._depth -= 1
        return Branch(word.text, pipeline, body, otherwise)

    def _else(self, word: Token) -> tuple[Node, ...]:
        """Read what follows ``else``; ``else if`` and ``else with`` share the ``end`` of their branch."""
        token = self._peek()
        if token.kind == "name" and token.text == word.text and word.text in ("if", "with"):
            self._at += 1
            return (self._branch(token),)
        self._close("else")
        nodes, stop = self._list()
        if stop is None:
            self._fail(f"{{{{{word.text}}}}} is not closed by {{{{end}}}}", word.offset)
        if stop.text == "else":
            self._fail(f"a second {{{{else}}}} in the same {{{{{word.text}}}}}", stop.offset)
        self._close("end")
        return nodes

    # Pipelines

    def _pipeline(self, context: str) -> Pipeline:
        first = self._peek()
        names, is_assignment = self._declaration(context)
        commands: list[Command] = []
        while True:
            commands.append(self._command(context, stage=len(commands)))
            if self._peek().text != "|":
                break
            self._at += 1
        if not is_assignment:
            self._variables.extend(names)
        end = self._peek().offset
        source = self._source[first.offset : end].strip()
        return Pipeline(tuple(commands), self._line_of(first.offset), source, names, is_assignment)

    def _declaration(self, context: str) -> tuple[tuple[str, ...], bool]:
        """Read ``$x :=``, ``$x =`` or, for range, ``$i, $v :=``; nothing when the pipeline assigns nothing."""
        tokens = self._tokens[self._at : self._at + 4]
        texts = [token.text for token in tokens]
        names: tuple[str, ...] = ()
        if tokens and tokens[0].kind == "variable":
            if len(tokens) > 1 and texts[1] in (":=", "="):
                names = (texts[0],)
            elif len(tokens) > 1 and texts[1] == ",":
                if context != "range":
                    self._fail("two variables are declared only by range", tokens[1].offset)
                if len(tokens) < 4 or tokens[2].kind != "variable" or texts[3] not in (":=", "="):
                    self._fail("range declares variables as $index, $element :=", tokens[1].offset)
                names = (texts[0], texts[2])
        if not names:
            return (), False
        is_assignment = texts[2 * len(names) - 1] == "="
        for name in names:
            if name == "$":
                self._fail("the variable $ cannot be assigned; give it a name such as $x", tokens[0].offset)
            if is_assignment and name[1:] not in self._variables:
                self._undefined(name, tokens[0].offset)
        self._at += 2 * len(names)
        return tuple(name[1:] for name in names), is_assignment

    def _command(self, context: str, stage: int) -> Command:
        first = self._peek()
        operands: list[Operand] = []
        while True:
            token = self._peek()
            if token.kind == "close" or token.text in (")", "|"):
                break
            if operands and not token.spaced:
                self._fail(
                    f"unexpected {token.text!r} after an operand; arguments are separated by spaces", token.offset
                )
            operands.append(self._operand())
        if not operands:
            self._fail(f"missing value for {context}", first.offset)
        self._check_command(operands, stage, first)
        return Command(tuple(operands))

    def _check_command(self, operands: list[Operand], stage: int, first: Token) -> None:
        head = operands[0]
        if isinstance(head, Function):
            return
        if stage:
            self._fail(f"{first.text!r} cannot receive the value of a pipeline; only functions can", first.offset)
        if len(operands) > 1:
            self._fail(
                f"{first.text!r} takes no arguments; only functions do, and an action holds one value", first.offset
            )
        if isinstance(head, Literal) and head.value is None:
            self._fail("nil is not a value of its own; it can only be an argument", first.offset)

    def _operand(self) -> Operand:
        token = self._next()
        if token.text == "(":
            self._enter(token)
            inner = self._pipeline("parentheses")
            self._expect(")", ")")
            self._depth -= 1
            names = self._names()
            return Chain(inner, names) if names else inner
        if token.kind == "dot":
            return Dot()
        if token.kind == "field":
            return Field((token.text[1:], *self._names()))
        if token.kind == "variable":
            if token.text[1:] not in self._variables:
                self._undefined(token.text, token.offset)
            return Variable(token.text[1:], self._names())
        operand = self._function(token) if token.kind == "name" else self._literal(token)
        following = self._peek()
        if following.kind == "field" and not following.spaced:
            self._fail(f"{token.text!r} has no fields; parentheses are needed around a call", following.offset)
        return operand

    def _function(self, token: Token) -> Operand:
        name = token.text
        if name in ("true", "false"):
            return Literal(name == "true", name)
        if name == "nil":
            return Literal(None, name)
        if name in self._functions:
            return Function(name)
        if name in self._known:
            self._fail(
                f"the function {name!r} is not available in this kind of template; {self._function_names()}",
                token.offset,
            )
        if name in _KEYWORDS:
            self._fail(f"{name!r} cannot stand here; it begins an action of its own", token.offset)
        near = difflib.get_close_matches(name, self._functions, 1)
        hint = f"did you mean {near[0]!r}? " if near else ""
        self._fail(f"unknown function {name!r}; {hint}{self._function_names()}", token.offset)

    def _literal(self, token: Token) -> Operand:
        try:
            if token.kind == "string":
                return Literal(read_text(token.text), token.text)
            if token.kind == "char":
                return Literal(read_character(token.text), token.text)
            if token.kind == "number":
                return Literal(read_number(token.text), token.text)
        except TemplateFault as fault:
            self._fail(str(fault), token.offset)
        self._fail(f"unexpected {token.text!r}", token.offset)

    def _names(self) -> tuple[str, ...]:
        names = []
        while self._peek().kind == "field" and not self._peek().spaced:
            names.append(self._next().text[1:])
        return tuple(names)

    # Tokens and errors

    def _peek(self) -> Token:
        return self._tokens[self._at]

    def _next(self) -> Token:
        self._at += 1
        return self._tokens[self._at - 1]

    def _expect(self, what: str, shown: str) -> None:
        token = self._peek()
        if token.kind != what and token.text != what:
            self._fail(f"expected {shown}, found {token.text!r}", token.offset)
        self._at += 1

    def _close(self, word: str) -> None:
        token = self._peek()
        if token.kind != "close":
            self._fail(f"{{{{{word}}}}} stands alone in its action, found {token.text!r}", token.offset)
        self._at += 1

    def _enter(self, token: Token) -> None:
        self._depth += 1
        if self._depth > MAX_DEPTH:
            self._fail(f"nested deeper than {MAX_DEPTH} levels", token.offset)

    def _undefined(self, name: str, offset: int) -> NoReturn:
        near = difflib.get_close_matches(name[1:], [known for known in self._variables if known], 1)
        self._fail(f"undefined variable {name}" + (f"; did you mean ${near[0]}?" if near else ""), offset)

    def _function_names(self) -> str:
        return f"functions here are {', '.join(sorted(self._functions))}"

    def _line_of(self, offset: int) -> int:
        return bisect_left(self._newlines, offset) + 1

    def _fail(self, problem: str, offset: int) -> NoReturn:
        raise self._error(problem, offset)

    def _error(self, problem: str, offset: int) -> TemplateError:
        start = self._source.rfind("{{", 0, offset + 2)
        end = self._source.find("}}", offset)
        construct = self._source[start : end + 2 if end >= 0 else None] if start >= 0 else ""
        return template_error(self._kind, self._line_of(offset), construct, problem, self._position)
