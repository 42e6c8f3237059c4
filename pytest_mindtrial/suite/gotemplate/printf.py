"""``printf``: verbs, flags, width and precision as in Go's fmt.

Does not print Go's ``%!d(string=x)`` marks: a verb that does not fit its value, a missing or a surplus argument is an
error. Source: spec mindtrial 3.3; the documentation of Go's package fmt.
"""

from __future__ import annotations

import math
import re
from collections.abc import Sequence
from dataclasses import dataclass, replace
from typing import Any, NoReturn

from pytest_mindtrial.core.gonumbers import go_float
from pytest_mindtrial.suite.gotemplate.errors import TemplateFault
from pytest_mindtrial.suite.gotemplate.printing import describe, kind_of, sorted_items, whole_number

__all__ = ["printf"]

VERBS = "%s %v %d %q %t %f %e %g %x %X %o %b %c %%"
MAX_WIDTH = 10_000
"""Largest width or precision."""
MAX_DEPTH = 200

_DIRECTIVE = re.compile(r"%([-+# 0]*)(\*|\d+)?(?:\.(\*|\d+)?)?(.)?", re.DOTALL)
_INT_BASES = {"d": "d", "x": "x", "X": "X", "o": "o", "b": "b"}


@dataclass(frozen=True, slots=True)
class _Directive:
    """One parsed ``%`` directive."""

    source: str
    flags: str
    width: int | None
    precision: int | None
    verb: str

    def pad(self, text: str, *, zero: bool = False) -> str:
        """Fill to the width; zeros go behind a sign."""
        if self.width is None or len(text) >= self.width:
            return text
        if "-" in self.flags:
            return text.ljust(self.width)
        if not zero or "0" not in self.flags:
            return text.rjust(self.width)
        sign = text[:1] if text[:1] in ("+", "-", " ") else ""
        return sign + text[len(sign) :].rjust(self.width - len(sign), "0")


def printf(template: str, arguments: Sequence[Any], *, max_chars: int) -> str:
    """Return the formatted text.

    Raises:
        TemplateFault: A directive is unknown, does not fit its value, or the arguments do not match in number.
    """
    parts: list[str] = []
    offset = used = 0
    size = len(template)
    for match in _DIRECTIVE.finditer(template):
        parts.append(template[offset : match.start()])
        offset = match.end()
        piece = "%"
        if match[4] != "%":
            directive, used = _read(match, arguments, used)
            if used >= len(arguments):
                raise TemplateFault(f"printf has no argument for {match.group()!r}")
            piece = _format(directive, arguments[used], max_chars - size, 0)
            used += 1
        size += len(piece)
        if size > max_chars:
            raise TemplateFault("the text of printf is longer than a template may produce")
        parts.append(piece)
    if used < len(arguments):
        raise TemplateFault(f"printf {template!r} uses {used} of {len(arguments)} arguments")
    return "".join(parts) + template[offset:]


def _read(match: re.Match[str], arguments: Sequence[Any], used: int) -> tuple[_Directive, int]:
    flags, width, precision, verb = match.groups()
    source = match.group()
    if verb is None or verb not in "svdqtfFeEgGxXobc":
        raise TemplateFault(f"printf does not know {source!r}; supported are {VERBS} with flags, width and precision")
    sizes: list[int | None] = []
    for size in (width, precision if "." in source else None):
        if size == "*":
            value = arguments[used] if used < len(arguments) else None
            if kind_of(value) != "int":
                raise TemplateFault(f"the * of {source!r} needs an int argument, found {describe(value)}")
            used += 1
            sizes.append(value)
        else:
            sizes.append(int(size[:9]) if size else None)
    if "." in source and precision is None:
        sizes[1] = 0
    if sizes[0] is not None and sizes[0] < 0:
        flags, sizes[0] = flags + "-", -sizes[0]
    if sizes[1] is not None and sizes[1] < 0:
        sizes[1] = None
    if any(size is not None and size > MAX_WIDTH for size in sizes):
        raise TemplateFault(f"width and precision of {source!r} must not exceed {MAX_WIDTH}")
    return _Directive(source, flags, sizes[0], sizes[1], verb), used


def _format(directive: _Directive, value: Any, max_chars: int, depth: int) -> str:
    kind = kind_of(value)
    if kind in ("list", "map"):
        return _format_elements(directive, value, max_chars, depth)
    if kind == "nil":
        return directive.pad("<nil>") if directive.verb == "v" else _misfit(directive, value)
    if kind == "bool":
        return directive.pad(str(value).lower(), zero=True) if directive.verb in "tv" else _misfit(directive, value)
    if kind == "int":
        return _format_int(directive, value)
    return _format_float(directive, value) if kind == "float" else _format_text(directive, value)


def _format_elements(directive: _Directive, value: Any, max_chars: int, depth: int) -> str:
    """Apply the directive to every element, as Go does; map keys are formatted too."""
    if depth > MAX_DEPTH:
        raise TemplateFault(f"a value nested deeper than {MAX_DEPTH} levels cannot be printed")
    if directive.verb == "v" and "#" in directive.flags:
        _misfit(directive, value)
    parts: list[str] = []
    size = 0
    is_map = kind_of(value) == "map"
    for item in sorted_items(value) if is_map else value:
        piece = ""
        if is_map:
            key, item = item  # noqa: PLW2901 - the pair is split
            piece = _format(directive, key, max_chars - size, depth + 1) + ":"
        piece += _format(directive, item, max_chars - size, depth + 1)
        size += len(piece) + 1
        if size > max_chars:
            raise TemplateFault("the text of printf is longer than a template may produce")
        parts.append(piece)
    return f"{'map' if is_map else ''}[{' '.join(parts)}]"


def _format_int(directive: _Directive, value: int) -> str:
    verb, flags = directive.verb, directive.flags
    if verb in "cq":
        char = chr(value) if 0 <= value < 0x110000 and not 0xD800 <= value <= 0xDFFF else "\ufffd"
        return directive.pad(char if verb == "c" else _quote_char(char), zero=True)
    if verb == "v":
        directive = replace(directive, verb="d", flags=flags.replace("+", ""))
        verb, flags = directive.verb, directive.flags
    if verb not in _INT_BASES or (verb == "d" and "#" in flags):
        _misfit(directive, value)
    digits = whole_number(abs(value)) if verb == "d" else format(abs(value), _INT_BASES[verb])
    sign = "-" if value < 0 else "+" if "+" in flags else " " if " " in flags else ""
    if directive.precision is not None:
        digits = "" if directive.precision == 0 and value == 0 else digits.rjust(directive.precision, "0")
        if not digits:
            return directive.pad("")
    elif "0" in flags and "-" not in flags and directive.width:
        digits = digits.rjust(directive.width - len(sign), "0")
    prefix = {"x": "0x", "X": "0X", "o": "0", "b": "0b"}.get(verb, "") if "#" in flags else ""
    if verb == "o" and digits.startswith("0"):
        prefix = ""
    return directive.pad(sign + prefix + digits)


def _format_float(directive: _Directive, value: float) -> str:
    verb = "g" if directive.verb == "v" else directive.verb
    if verb not in "feEgGF" or "#" in directive.flags:
        _misfit(directive, value)
    plus = "+" in directive.flags and directive.verb != "v"
    if not math.isfinite(value):
        text = go_float(value)
        text = text if plus or text[0] == "-" else text.lstrip("+")
        text = "+NaN" if plus and text == "NaN" else text
        text = "+Inf" if text == "Inf" and directive.verb == "v" else text
        return directive.pad(text)
    if verb in "gG" and directive.precision is None:
        text = go_float(value)
        text = text.upper() if verb == "G" else text
    else:
        text = f"%.{6 if directive.precision is None else directive.precision}{verb}" % value
    if text[0] != "-":
        text = ("+" if plus else " " if " " in directive.flags else "") + text
    return directive.pad(text, zero=True)


def _format_text(directive: _Directive, value: str) -> str:
    verb, flags, precision = directive.verb, directive.flags, directive.precision
    if verb in "xX":
        return directive.pad(_hex(value.encode("utf-8", "surrogatepass")[:precision], verb, flags), zero=True)
    if verb not in "svq" or (verb == "v" and "#" in flags):
        _misfit(directive, value)
    text = str(value)[:precision]
    if verb == "q":
        is_raw = "#" in flags and "`" not in text and all(char == "\t" or char.isprintable() for char in text)
        text = f"`{text}`" if is_raw else quote(text, ascii_only="+" in flags)
    return directive.pad(text, zero=True)


def _hex(data: bytes, verb: str, flags: str) -> str:
    pairs = [f"{byte:02{verb}}" for byte in data]
    prefix = f"0{verb}" if "#" in flags and pairs else ""
    if " " in flags:
        return " ".join(prefix + pair for pair in pairs)
    return prefix + "".join(pairs)


def quote(text: str, *, ascii_only: bool = False) -> str:
    """Return the text as a Go string literal in double quotes."""
    return '"' + "".join(_quoted(char, '"', ascii_only) for char in text) + '"'


def _quote_char(char: str) -> str:
    return "'" + _quoted(char, "'", ascii_only=False) + "'"


_ESCAPES = {"\a": "\\a", "\b": "\\b", "\f": "\\f", "\n": "\\n", "\r": "\\r", "\t": "\\t", "\v": "\\v", "\\": "\\\\"}


def _quoted(char: str, quotes: str, ascii_only: bool) -> str:
    if char in _ESCAPES:
        return _ESCAPES[char]
    if char == quotes:
        return "\\" + char
    if char.isprintable() and (not ascii_only or char.isascii()):
        return char
    code = ord(char)
    if code < 0x80:
        return f"\\x{code:02x}"
    if 0xD800 <= code <= 0xDFFF:
        return "\\ufffd"
    return f"\\u{code:04x}" if code < 0x10000 else f"\\U{code:08x}"


def _misfit(directive: _Directive, value: Any) -> NoReturn:
    raise TemplateFault(
        f"printf {directive.source!r} does not fit {describe(value)}; supported are {VERBS}, "
        f"%d %x %X %o %b %c for ints, %f %e %g for floats, %s %q %x for strings, %t for bools, %v for all"
    )
