"""Makes a text that a regular expression matches, for schemas with ``pattern``.

Knows literals, escapes, character classes, groups, alternatives, quantifiers, anchors and flags. Look-around, back
references and conditions are beyond it: the result is checked against the expression and `PatternError` is raised when
it does not match. Source: Python's ``re`` syntax (design D19).
"""

from __future__ import annotations

import re
import string

__all__ = ["PatternError", "text_matching"]

_CLASSES = {
    "d": string.digits,
    "w": string.ascii_letters + string.digits + "_",
    "s": " \t\n",
    "D": string.ascii_letters + " ",
    "W": " -.",
    "S": string.ascii_letters + string.digits,
}
_ANY = string.ascii_letters + string.digits + " _-.,:;/#@"
_CONTROLS = {"n": "\n", "t": "\t", "r": "\r", "f": "\f", "v": "\v", "0": "\0"}


class PatternError(Exception):
    """No text could be made for the expression."""


def text_matching(pattern: str, min_length: int = 0) -> str:
    """Return a short text in which ``pattern`` is found, the same one every time.

    Args:
        pattern: Regular expression; found anywhere in the text, as JSON Schema has it.
        min_length: Smallest length wanted; repeated parts grow to reach it when they may.

    Raises:
        PatternError: The expression is invalid or uses something this module does not know.
    """
    try:
        compiled = re.compile(pattern)
    except re.error as error:
        raise PatternError(f"{pattern!r} is not a regular expression: {error}") from error
    for extra in (0, *range(1, min_length + 1)):
        try:
            text = _Sampler(pattern, extra).alternatives()
        except (PatternError, IndexError, ValueError) as error:
            raise PatternError(f"cannot make a text for the pattern {pattern!r}") from error
        if len(text) >= min_length and compiled.search(text):
            return text
    raise PatternError(f"cannot make a text for the pattern {pattern!r}")


class _Sampler:
    """Recursive descent over the expression that emits the first way through.

    Args:
        pattern: The expression.
        extra: Repetitions added to every quantifier that allows them.
    """

    def __init__(self, pattern: str, extra: int) -> None:
        self._pattern = pattern
        self._extra = extra
        self._at = 0

    def alternatives(self) -> str:
        first = self._sequence()
        while self._peek() == "|":
            self._at += 1
            self._sequence()
        return first

    def _sequence(self) -> str:
        parts = []
        while (char := self._peek()) and char not in "|)":
            atom = self._atom()
            parts.append(atom * self._repetitions())
        return "".join(parts)

    def _peek(self) -> str:
        return self._pattern[self._at : self._at + 1]

    def _take(self) -> str:
        self._at += 1
        return self._pattern[self._at - 1]

    def _atom(self) -> str:
        char = self._take()
        if char == "\\":
            return self._escape(self._take())
        if char == "[":
            return self._class()
        if char == "(":
            return self._group()
        if char == ".":
            return "a"
        return "" if char in "^$" else char

    def _escape(self, char: str) -> str:
        if char in _CLASSES:
            return _CLASSES[char][0]
        if char in "AZbB":
            return ""
        if char in "xu":
            size = 2 if char == "x" else 4
            code = self._pattern[self._at : self._at + size]
            self._at += size
            return chr(int(code, 16))
        if char in "123456789":
            raise PatternError("back reference")
        return _CONTROLS.get(char, char)

    def _group(self) -> str:
        if self._peek() == "?":
            self._at += 1
            kind = self._take()
            if kind == "P":
                kind = self._take()
            if kind == "<" and self._peek() not in "=!":
                while self._take() != ">":
                    pass
            elif kind in "aiLmsux-":
                while self._peek() not in ":)":
                    self._at += 1
                if self._take() == ")":
                    return ""
            elif kind != ":":
                raise PatternError("look-around")
        inner = self.alternatives()
        self._at += 1
        return inner

    def _class(self) -> str:
        negated = self._peek() == "^"
        self._at += negated
        members = ""
        while True:
            char = self._take()
            if char == "]" and members:
                break
            if char == "\\":
                escaped = self._take()
                members += _CLASSES.get(escaped) or self._escape(escaped)
                continue
            if self._peek() == "-" and self._pattern[self._at + 1] != "]":
                self._at += 1
                end = self._take()
                end = self._escape(self._take()) if end == "\\" else end
                members += "".join(map(chr, range(ord(char), min(ord(end), ord(char) + 500) + 1)))
                continue
            members += char
        if negated:
            return next(char for char in _ANY + "\u00e4" if char not in members)
        return members[0]

    def _repetitions(self) -> int:
        char = self._peek()
        if char not in ("*", "+", "?", "{"):
            return 1
        if char == "{":
            match = re.compile(r"\{(\d*)(,?)(\d*)\}").match(self._pattern, self._at)
            if match is None:
                return 1
            self._at = match.end()
            low = int(match[1] or 0)
            high = low if not match[2] else int(match[3] or low + self._extra)
        else:
            self._at += 1
            low, high = {"*": (0, self._extra), "+": (1, 1 + self._extra), "?": (0, 1)}[char]
        if self._peek() in ("?", "+"):
            self._at += 1
        return min(high, low + self._extra)
