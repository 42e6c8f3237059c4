"""Reads the constants of the template language: quoted text, characters, numbers.

Does not find them (lexer). Source: spec mindtrial 3.3; Go's rules for interpreted strings and for numbers without a
declared type.
"""

from __future__ import annotations

import re

from pytest_mindtrial.suite.gotemplate.errors import TemplateFault

__all__ = ["read_character", "read_number", "read_text"]

_ESCAPE = re.compile(
    r"\\(?:([abfnrtv\\'\"])|([0-7]{3})|x([0-9A-Fa-f]{2})|u([0-9A-Fa-f]{4})|U([0-9A-Fa-f]{8})|(?s:(.))?)"
)
_SIMPLE = {"a": "\a", "b": "\b", "f": "\f", "n": "\n", "r": "\r", "t": "\t", "v": "\v"}
_SEPARATED = re.compile(r"[+-]?(?:0[xXbBoO]_?)?[0-9A-Fa-f.pPeE+-]+(?:_[0-9A-Fa-f.pPeE+-]+)*")
_MAX_INT = 2**63


def read_text(literal: str) -> str:
    """Return the text of a quoted literal (double quotes or back quotes).

    Raises:
        TemplateFault: An escape is not one of Go's.
    """
    if literal[0] == "`":
        return literal[1:-1].replace("\r", "")
    return _unescape(literal[1:-1], quote='"')


def read_character(literal: str) -> int:
    """Return the code point of a character literal.

    Raises:
        TemplateFault: It does not hold exactly one character.
    """
    text = _unescape(literal[1:-1], quote="'")
    if len(text) != 1:
        raise TemplateFault(
            f"the character constant {literal} must hold exactly one character; text takes double quotes"
        )
    return ord(text)


def _unescape(body: str, quote: str) -> str:
    out = bytearray()
    offset = 0
    for match in _ESCAPE.finditer(body):
        out += body[offset : match.start()].encode("utf-8", "surrogatepass")
        out += _escaped_bytes(match, quote)
        offset = match.end()
    out += body[offset:].encode("utf-8", "surrogatepass")
    return out.decode("utf-8", "replace")


def _escaped_bytes(match: re.Match[str], quote: str) -> bytes:
    simple, octal, byte, short, long, other = match.groups()
    if simple and simple not in "'\"":
        return _SIMPLE.get(simple, "\\").encode()
    if simple == quote:
        return quote.encode()
    if octal and int(octal, 8) < 256:
        return bytes([int(octal, 8)])
    if byte:
        return bytes([int(byte, 16)])
    if short or long:
        code = int(short or long, 16)
        if code < 0x110000 and not 0xD800 <= code <= 0xDFFF:
            return chr(code).encode()
    raise TemplateFault(
        f"unknown escape {match.group()!r}; known are \\a \\b \\f \\n \\r \\t \\v \\\\ \\{quote} "
        f"\\ooo \\xhh \\uhhhh \\Uhhhhhhhh{'' if other or simple else ' with a valid code point'}"
    )


def read_number(literal: str) -> int | float:
    """Return the value of a number: whole unless it has a point or an exponent.

    Raises:
        TemplateFault: It is malformed or does not fit 64 bits.
    """
    try:
        if not _SEPARATED.fullmatch(literal):
            raise ValueError
        value = _number(literal.replace("_", "").lower())
    except (ValueError, OverflowError):
        raise TemplateFault(f"bad number {literal!r}") from None
    if isinstance(value, int) and not -_MAX_INT <= value < _MAX_INT:
        raise TemplateFault(f"the number {literal} does not fit 64 bits")
    return value


def _number(text: str) -> int | float:
    digits = text.lstrip("+-")
    if digits.startswith("0x"):
        return _checked(float.fromhex(text)) if "." in text or "p" in text else int(text, 16)
    if "." in digits or "e" in digits:
        return _checked(float(text))
    if digits.startswith("0") and digits.isdigit():
        return int(text, 8)
    return int(text, 0)


def _checked(value: float) -> float:
    if value in (float("inf"), float("-inf")):
        raise OverflowError
    return value
