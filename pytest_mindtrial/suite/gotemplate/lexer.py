"""Splits a template into text and the tokens of its actions.

Does not know keywords, functions or grammar. Trim markers and comments are settled here and leave no token. Source:
spec mindtrial 3.3; the lexical rules of Go's text/template.
"""

from __future__ import annotations

import re
from collections.abc import Generator, Iterator
from dataclasses import dataclass
from typing import Literal

from pytest_mindtrial.suite.gotemplate.errors import TemplateFault

__all__ = ["LexError", "Token", "lex"]

TokenKind = Literal["text", "open", "close", "string", "char", "number", "field", "variable", "name", "dot", "mark"]

_SPACE = " \t\r\n"
_COMMENT_OPEN = re.compile(r"\{\{(-[ \t\r\n])?/\*")
_COMMENT_CLOSE = re.compile(r"\*/([ \t\r\n]-)?\}\}")
_OPEN = re.compile(r"\{\{(-(?=[ \t\r\n]))?")
_CLOSE = re.compile(r"[ \t\r\n]+(-)\}\}|[ \t\r\n]*\}\}")
_GAP = re.compile(r"[ \t\r\n]+")
_TOKEN = re.compile(
    r"""
      (?P<raw>`[^`]*`)
    | (?P<string>"(?:[^"\\\n]|\\[^\n])*")
    | (?P<char>'(?:[^'\\\n]|\\[^\n])+')
    | (?P<number>[+-]?(?:
          0[xX][0-9A-Fa-f_]*(?:\.[0-9A-Fa-f_]*)?(?:[pP][+-]?\d+)?
        | 0[bBoO][0-9_]*
        | \d[\d_]*(?:\.[\d_]*)?(?:[eE][+-]?\d[\d_]*)?
        | \.\d[\d_]*(?:[eE][+-]?\d[\d_]*)?))
    | (?P<field>\.[^\W\d]\w*)
    | (?P<variable>\$\w*)
    | (?P<name>[^\W\d]\w*)
    | (?P<mark>:=|[=|,()])
    | (?P<dot>\.)
    """,
    re.VERBOSE,
)
_WORD_END = re.compile(r"[ \t\r\n.,|:()]|\}\}|\Z")


class LexError(TemplateFault):
    """The text cannot be split.

    Attributes:
        offset: Where in the template.
    """

    def __init__(self, offset: int, problem: str) -> None:
        super().__init__(problem)
        self.offset = offset


@dataclass(frozen=True, slots=True)
class Token:
    """One piece of a template.

    Attributes:
        kind: ``text`` outside actions; ``open`` and ``close`` are the delimiters; a raw string is a ``string``.
        text: As written.
        offset: Where it starts in the template.
        spaced: True when white space precedes it inside the action.
    """

    kind: TokenKind
    text: str
    offset: int
    spaced: bool = False


def lex(source: str) -> Iterator[Token]:
    """Yield the tokens of a template.

    Raises:
        LexError: An action or comment is not closed, or holds a character that means nothing.
    """
    offset, trim_next = 0, False
    while True:
        start = source.find("{{", offset)
        end = len(source) if start < 0 else start
        comment = _COMMENT_OPEN.match(source, end)
        opening = _OPEN.match(source, end)
        text = source[offset:end]
        if trim_next:
            text = text.lstrip(_SPACE)
        first = comment or opening
        if first and first[1]:
            text = text.rstrip(_SPACE)
        if text:
            yield Token("text", text, offset)
        if opening is None:
            return
        if comment:
            offset, trim_next = _skip_comment(source, comment)
        else:
            yield Token("open", opening.group(), end)
            offset, trim_next = yield from _action(source, end, opening.end())


def _skip_comment(source: str, opening: re.Match[str]) -> tuple[int, bool]:
    end = source.find("*/", opening.end())
    if end < 0:
        raise LexError(opening.start(), "unclosed comment; comments are written {{/* … */}}")
    closing = _COMMENT_CLOSE.match(source, end)
    if closing is None:
        raise LexError(opening.start(), "a comment must end with */}} or */ -}} and fill its action alone")
    return closing.end(), closing[1] is not None


def _action(source: str, start: int, offset: int) -> Generator[Token, None, tuple[int, bool]]:
    """Yield the tokens of one action; the generator's value is where it ended and whether it trims on."""
    while True:
        closing = _CLOSE.match(source, offset)
        if closing:
            yield Token("close", closing.group(), closing.start())
            return closing.end(), closing[1] is not None
        gap = _GAP.match(source, offset)
        offset = gap.end() if gap else offset
        if offset >= len(source):
            raise LexError(start, "unclosed action; an action is written {{ … }}")
        match = _TOKEN.match(source, offset)
        if match is None:
            raise LexError(offset, _unexpected(source, offset))
        token = _token(match, source, spaced=gap is not None)
        offset = match.end()
        yield token


def _token(match: re.Match[str], source: str, *, spaced: bool) -> Token:
    kind = "string" if match.lastgroup == "raw" else match.lastgroup
    if kind in ("field", "variable", "name") and not _WORD_END.match(source, match.end()):
        raise LexError(match.end(), f"unexpected {source[match.end()]!r} after {match.group()!r}")
    if kind == "number" and (source[match.end() : match.end() + 1] or " ").isalnum():
        raise LexError(
            match.start(), f"bad number {match.group() + source[match.end()]!r}; complex numbers are not supported"
        )
    return Token(kind, match.group(), match.start(), spaced)  # type: ignore[arg-type]  # group names are token kinds


def _unexpected(source: str, offset: int) -> str:
    char = source[offset]
    if char in "\"'`":
        return f"unclosed {char} quote"
    if source.startswith("/*", offset):
        return "a comment must touch its delimiters: {{/* … */}} or {{- /* … */ -}}"
    return f"unexpected character {char!r}"
