"""What an unquoted YAML scalar means, by the rules of Go's yaml.v3.

Does not parse YAML. They differ from Python's loaders: ``yes`` and ``1:30`` are text, ``1e3`` is a float, ``0o777`` an
integer, ``08`` a float. Source: spec mindtrial 0.3 (measured against yaml.v3 3.0.1).
"""

from __future__ import annotations

import base64
import binascii
import datetime as dt
import math
import re
from typing import Any

__all__ = ["ScalarError", "read_bool", "resolve_plain", "resolve_tagged"]

_WORDS: dict[str, Any] = {
    "": None,
    "~": None,
    "null": None,
    "Null": None,
    "NULL": None,
    "true": True,
    "True": True,
    "TRUE": True,
    "false": False,
    "False": False,
    "FALSE": False,
    **dict.fromkeys((".nan", ".NaN", ".NAN"), math.nan),
    **dict.fromkeys((".inf", ".Inf", ".INF", "+.inf", "+.Inf", "+.INF"), math.inf),
    **dict.fromkeys(("-.inf", "-.Inf", "-.INF"), -math.inf),
}
_TRUE_WORDS = frozenset(("y", "Y", "yes", "Yes", "YES", "on", "On", "ON"))
_FALSE_WORDS = frozenset(("n", "N", "no", "No", "NO", "off", "Off", "OFF"))

_FIRST = frozenset("0123456789+-.~nNtTfF")
"""First characters of everything that is not text."""

_DECIMAL = re.compile(r"[+-]?[1-9][0-9]*|[+-]?0")
_PREFIXED = re.compile(r"([+-]?)(?:0[xX]([0-9a-fA-F]+)|0[oO]?([0-7]+)|0[bB]([01]+))")
_FLOAT = re.compile(r"[-+]?(?:\.[0-9]+|[0-9]+(?:\.[0-9]*)?)(?:[eE][-+]?[0-9]+)?")
_DOT_FLOAT = re.compile(r"\.[0-9](?:_?[0-9])*(?:[eE][-+]?[0-9](?:_?[0-9])*)?")
_TIMESTAMP = re.compile(
    r"([0-9]{4})-([0-9]{1,2})-([0-9]{1,2})"
    r"(?:(?:[Tt]([0-9]{1,2}):([0-9]{1,2}):([0-9]{1,2})(?:[.,]([0-9]+))?(Z|[+-][0-9]{2}:[0-9]{2}))"
    r"|(?:[ ]+([0-9]{1,2}):([0-9]{1,2}):([0-9]{1,2})(?:[.,]([0-9]+))?))?"
)
_INT64_MIN, _UINT64_MAX = -(2**63), 2**64 - 1

_CORE = "tag:yaml.org,2002:"


class ScalarError(ValueError):
    """A scalar does not fit its explicit tag."""


def resolve_plain(text: str) -> Any:
    """Return what an unquoted, untagged scalar means: None, bool, int, float, date, datetime or str."""
    if text and text[0] not in _FIRST:
        return text
    if text in _WORDS:
        return _WORDS[text]
    first = text[0]
    if first == ".":
        return _finite(text.replace("_", ""), text) if _DOT_FLOAT.fullmatch(text) else text
    if first not in "0123456789+-":
        return text
    if len(text) > 4 and text[4] == "-":
        stamp = _timestamp(text)
        if stamp is not None:
            return stamp
    return _number(text)


def resolve_tagged(text: str, tag: str) -> Any:
    """Return what a scalar with an explicit tag means; unknown tags leave it text.

    Raises:
        ScalarError: The text does not fit the tag.
    """
    if not tag.startswith(_CORE) or tag == f"{_CORE}str":
        return text
    name = tag.removeprefix(_CORE)
    if name == "binary":
        return _binary(text)
    value = resolve_plain(text)
    if name == "float" and type(value) is int:
        return float(value)
    kinds = {"null": type(None), "bool": bool, "int": int, "float": float, "timestamp": dt.date}
    kind = kinds.get(name)
    if kind is None:
        return text
    if not isinstance(value, kind) or (kind is int and isinstance(value, bool)):
        raise ScalarError(f"{text!r} cannot be read as !!{name}")
    return value


def read_bool(text: str, value: Any) -> bool | None:
    """Return the truth a boolean field sees, or None when it is none.

    Args:
        text: The scalar's literal text.
        value: What it means in an untyped place. Words of YAML 1.1 (``yes``, ``Off``) count in boolean fields only.
    """
    if isinstance(value, bool):
        return value
    if isinstance(value, str):
        if text in _TRUE_WORDS:
            return True
        if text in _FALSE_WORDS:
            return False
    return None


def _number(text: str) -> Any:
    plain = text.replace("_", "")
    if _DECIMAL.fullmatch(plain):
        if len(plain) <= 21:
            value = int(plain)
            if _INT64_MIN <= value <= _UINT64_MAX:
                return value
    else:
        match = _PREFIXED.fullmatch(plain)
        if match and len(plain) <= 80:
            sign, hexadecimal, octal, binary = match.groups()
            value = int(hexadecimal or octal or binary, 16 if hexadecimal else 8 if octal else 2)
            value = -value if sign == "-" else value
            if _INT64_MIN <= value <= _UINT64_MAX:
                return value
    return _finite(plain, text) if _FLOAT.fullmatch(plain) else text


def _finite(plain: str, text: str) -> Any:
    value = float(plain)
    return text if math.isinf(value) else value


def _timestamp(text: str) -> dt.date | None:
    match = _TIMESTAMP.fullmatch(text)
    if not match:
        return None
    year, month, day = (int(part) for part in match.group(1, 2, 3))
    hour, minute, second, fraction = match.group(4, 5, 6, 7) if match[4] else match.group(9, 10, 11, 12)
    try:
        if hour is None:
            return dt.date(year, month, day)
        micro = int((fraction or "0")[:6].ljust(6, "0"))
        zone = _zone(match[8])
        return dt.datetime(year, month, day, int(hour), int(minute), int(second), micro, zone)
    except ValueError:
        return None


def _zone(text: str | None) -> dt.timezone:
    if text is None or text == "Z":
        return dt.UTC
    minutes = int(text[1:3]) * 60 + int(text[4:6])
    return dt.timezone(dt.timedelta(minutes=-minutes if text[0] == "-" else minutes))


def _binary(text: str) -> str:
    try:
        return base64.b64decode("".join(text.split()), validate=True).decode()
    except (binascii.Error, UnicodeDecodeError) as error:
        raise ScalarError(f"!!binary holds no base64 of UTF-8 text: {error}") from None
