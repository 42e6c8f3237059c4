"""Reads one JSON object out of a model's text, also where the model was careless.

Repairs: text around the object, code fences, comments, single or typographic quotes, bare keys, missing and trailing
commas, raw line breaks and stray quotes in strings, unknown escapes, Python's True, False and None, brackets that
do not match or are never closed. Does not guess values: text without quotes, missing values and odd numbers are
refused. Time is linear in the text: at most `MAX_STARTS` starts are tried, each in one pass. Valid JSON reads exactly
as a strict reader reads it. Source: spec mindtrial 4.2; spec providers 4.2.
"""

from __future__ import annotations

import re
from collections.abc import Callable, Iterator
from dataclasses import dataclass
from typing import Any, NoReturn

from pytest_mindtrial.core.errors import ReplyParseError
from pytest_mindtrial.providers.strict_json import Number, as_float, json_decoder, without_surrogates

__all__ = ["LenientObject", "find_object"]

MAX_STARTS = 8
"""Opening braces that are tried before giving up."""
MAX_DEPTH = 100
"""Deepest nesting the lenient reader follows."""

_JSON_FENCE = re.compile(r"```[ \t]*json[c5]?\b[^{`]{0,200}", re.IGNORECASE)
_START = re.compile(r"\{(?=\s*+(?:[\"'“},/#]|[A-Za-z_$]|\Z))")
_SPACE = re.compile(r"(?:\s++|//[^\n]*+|#[^\n]*+|/\*(?:[^*]++|\*(?!/))*+(?:\*/|\Z))*+")
_BARE = re.compile(r"[^\s,:{}\[\]\"'“”#/]++")
_NUMBER = re.compile(r"-?(?:0|[1-9][0-9]*)(\.[0-9]+)?([eE][+-]?[0-9]+)?")
_WORDS = {"true": True, "True": True, "false": False, "False": False, "null": None, "None": None}
_CLOSING = {'"': '"', "'": "'", "“": "”"}
_STOPS = {'"': re.compile(r'["\\]'), "'": re.compile(r"['\\]"), "”": re.compile(r"[”\\]")}
_ESCAPES = {"n": "\n", "t": "\t", "r": "\r", "b": "\b", "f": "\f", "/": "/", "\\": "\\", '"': '"', "'": "'"}
_HEX = re.compile(r"[0-9A-Fa-f]{4}")

# A quote ends a string only where the text goes on as JSON would; otherwise it is a quote inside the string.
_KEY_AHEAD = r"[\"'“][^\"'”\\\n]{1,64}[\"'”]\s{0,64}:"
_END_IN_OBJECT = re.compile(
    rf"\s*+(?:\Z|\}}|```|//|/\*|{_KEY_AHEAD}|,\s*+(?:\Z|[\"'“}}#]|//|/\*|[A-Za-z_$][\w$-]{{0,63}}\s{{0,64}}:))"
)
_END_IN_LIST = re.compile(r"\s*+(?:\Z|[\],}]|```|//|/\*|[\"'“](?=[^\s,\]]))")


@dataclass(frozen=True, slots=True)
class LenientObject:
    """What was found.

    Attributes:
        value: The object.
        unclosed: Brackets that the text never closes.
        is_cut: True when the text ends inside a value, so that the value may be incomplete.
    """

    value: dict[str, Any]
    unclosed: int = 0
    is_cut: bool = False


def find_object(text: str, is_wanted: Callable[[dict[str, Any]], bool], number: Number = as_float) -> LenientObject:
    """Return the first object that is wanted, read strictly where that is possible, else repaired.

    Args:
        text: The model's text.
        is_wanted: Tells whether an object is the one looked for.
        number: Makes the value of a number that is not an integer literal.

    Raises:
        ReplyParseError: There is none.
    """
    unreadable = range(0)
    for start in _starts(text):
        if start in unreadable:
            continue  # a part of an object that cannot be read is not an answer
        found = _read_valid(text, start, number)
        if found is None:
            reader = _Reader(text, start, number)
            found = reader.read_root()
            unreadable = range(start, reader.position) if found is None else unreadable
        if found is not None and is_wanted(found.value):
            return found
    raise ReplyParseError("the reply holds no JSON object of the agreed structure")


def _starts(text: str) -> Iterator[int]:
    """Yield the places to try: behind the first ```json fence, then every opening brace in order."""
    fenced = None
    fence = _JSON_FENCE.search(text)
    if fence and text.startswith("{", fence.end()):
        fenced = fence.end()
        yield fenced
    for number, match in enumerate(_START.finditer(text)):
        if number >= MAX_STARTS:
            return
        if match.start() != fenced:
            yield match.start()


def _read_valid(text: str, start: int, number: Number) -> LenientObject | None:
    try:
        value, _ = json_decoder(number).raw_decode(text, start)
        return LenientObject(without_surrogates(value, text))
    except (ValueError, RecursionError, ReplyParseError):
        return None


class _Reader:
    """One pass over the text from an opening brace."""

    def __init__(self, text: str, start: int, number: Number) -> None:
        self._text = text
        self._at = start
        self._number = number
        self._open_lists = 0
        self._unclosed = 0
        self._is_cut = False

    @property
    def position(self) -> int:
        """How far the reader came."""
        return self._at

    def read_root(self) -> LenientObject | None:
        """Return the object, or None when it cannot be read."""
        try:
            value = self._read_object(1)
        except ReplyParseError:
            return None
        return LenientObject(without_surrogates(value, self._text), self._unclosed, self._is_cut)

    def _read_object(self, depth: int) -> dict[str, Any]:
        self._at += 1
        out: dict[str, Any] = {}
        while True:
            char = self._next_char(skip_commas=True)
            if char == "}":
                self._at += 1
                return out
            if char == "" or (char == "]" and self._open_lists):
                self._unclosed += not char
                return out
            key = self._read_key(char)
            if self._next_char() != ":":
                if self._at < len(self._text):
                    self._fail("a key without a value")
                self._is_cut = True
                continue
            self._at += 1
            if self._next_char() == "":
                self._is_cut = True
                continue
            out.pop(key, None)
            out[key] = self._read_value(depth, _END_IN_OBJECT)

    def _read_list(self, depth: int) -> list[Any]:
        self._at += 1
        self._open_lists += 1
        out: list[Any] = []
        while True:
            char = self._next_char(skip_commas=True)
            if char in ("]", "}", ""):
                self._at += char == "]"
                self._unclosed += not char
                self._open_lists -= 1
                return out
            out.append(self._read_value(depth, _END_IN_LIST))

    def _read_value(self, depth: int, end: re.Pattern[str]) -> Any:
        if depth >= MAX_DEPTH:
            self._fail("nested too deeply")
        char = self._text[self._at]
        if char == "{":
            return self._read_object(depth + 1)
        if char == "[":
            return self._read_list(depth + 1)
        if char in _CLOSING:
            return self._read_string(_CLOSING[char], end)
        return self._read_bare()

    def _read_key(self, char: str) -> str:
        if char in _CLOSING:
            return self._read_string(_CLOSING[char], None)
        match = _BARE.match(self._text, self._at)
        if match is None:
            self._fail("a key is missing")
        self._at = match.end()
        return match.group()

    def _read_bare(self) -> Any:
        match = _BARE.match(self._text, self._at)
        word = match.group() if match else ""
        self._at += len(word)
        if word in _WORDS:
            return _WORDS[word]
        found = _NUMBER.fullmatch(word)
        if found is None or len(word) > 4000:
            self._fail("a value is missing or has no quotes")
        self._is_cut = self._is_cut or self._at == len(self._text)
        return self._number(word) if found[1] or found[2] else int(word)

    def _read_string(self, quote: str, end: re.Pattern[str] | None) -> str:
        """Read to the closing quote; ``end`` None closes at the first one (keys)."""
        text, stops = self._text, _STOPS[quote]
        parts: list[str] = []
        self._at += 1
        while True:
            stop = stops.search(text, self._at)
            if stop is None:
                parts.append(text[self._at :])
                self._at, self._is_cut = len(text), True
                break
            parts.append(text[self._at : stop.start()])
            self._at = stop.end()
            if stop.group() == "\\":
                parts.append(self._read_escape())
            elif end is None or end.match(text, self._at):
                break
            else:
                parts.append(quote)
        return "".join(parts)

    def _read_escape(self) -> str:
        """Read what follows a backslash; an unknown escape stays as it is written."""
        char = self._text[self._at : self._at + 1]
        self._at += 1
        if char in _ESCAPES:
            return _ESCAPES[char]
        if char != "u":
            return "\\" + char
        digits = _HEX.match(self._text, self._at)
        if digits is None:
            return "\\u"
        self._at += 4
        code = int(digits.group(), 16)
        low = _HEX.match(self._text, self._at + 2) if self._text.startswith("\\u", self._at) else None
        if 0xD800 <= code < 0xDC00 and low and 0xDC00 <= int(low.group(), 16) < 0xE000:
            self._at += 6
            return chr(0x10000 + ((code - 0xD800) << 10) + int(low.group(), 16) - 0xDC00)
        return chr(code)

    def _next_char(self, *, skip_commas: bool = False) -> str:
        """Skip white space and comments and return the next character; blank at the end or at a closing fence."""
        while True:
            match = _SPACE.match(self._text, self._at)
            self._at = match.end() if match else self._at
            if self._text.startswith("```", self._at):
                self._text = self._text[: self._at]
            char = self._text[self._at : self._at + 1]
            if char != "," or not skip_commas:
                return char
            self._at += 1

    def _fail(self, problem: str) -> NoReturn:
        raise ReplyParseError(f"{problem} at character {self._at}")
