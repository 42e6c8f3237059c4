"""Durations as Go writes them: ``1m30s``, ``1.5h``, ``500ms``.

Does not measure time. Source: spec mindtrial 0.3 (reading), 7.4 and A.6 (writing); Go's ``time.ParseDuration`` and
``Duration.String``.
"""

from __future__ import annotations

import re
from decimal import Decimal

__all__ = ["MAX_DURATION_NS", "format_duration", "parse_duration", "round_duration"]

MAX_DURATION_NS = 2**63 - 1
"""Longest duration, about 292 years: Go keeps nanoseconds in 64 bits."""

_UNITS_NS = {
    "ns": 1,
    "us": 1_000,
    "µs": 1_000,
    "μs": 1_000,
    "ms": 1_000_000,
    "s": 1_000_000_000,
    "m": 60_000_000_000,
    "h": 3_600_000_000_000,
}
_PART = re.compile(r"([0-9]+(?:\.[0-9]*)?|\.[0-9]+)(ns|us|µs|μs|ms|s|m|h)")
_WHOLE = re.compile(rf"[+-]?(?:{_PART.pattern})+")
_MAX_CHARS = 64


def parse_duration(text: str) -> int:
    """Return the nanoseconds of a Go duration text.

    Args:
        text: An optional sign and one or more numbers with a unit (``ns us µs ms s m h``), or ``0``.

    Raises:
        ValueError: The text is none; its message says what was found and what is allowed.
    """
    if text in ("0", "+0", "-0"):
        return 0
    if len(text) > _MAX_CHARS or not _WHOLE.fullmatch(text):
        shown = text if len(text) <= _MAX_CHARS else f"{text[:_MAX_CHARS]}…"
        raise ValueError(f"{shown!r} is not a duration; write numbers with units, such as 90s, 1m30s or 1.5h")
    total = sum(int(Decimal(number) * _UNITS_NS[unit]) for number, unit in _PART.findall(text))
    if total > MAX_DURATION_NS:
        raise ValueError(f"{text!r} is longer than 292 years")
    return -total if text[0] == "-" else total


def format_duration(nanoseconds: int) -> str:
    """Return a duration in Go's form with full precision: ``0s``, ``1.5s``, ``1h0m0s``, ``999.999µs``."""
    if nanoseconds == 0:
        return "0s"
    sign = "-" if nanoseconds < 0 else ""
    rest = abs(nanoseconds)
    if rest < 1_000_000_000:
        unit = "ns" if rest < 1_000 else "µs" if rest < 1_000_000 else "ms"
        return f"{sign}{_fraction(rest, _UNITS_NS[unit])}{unit}"
    hours, rest = divmod(rest, _UNITS_NS["h"])
    minutes, rest = divmod(rest, _UNITS_NS["m"])
    seconds = f"{_fraction(rest, _UNITS_NS['s'])}s"
    if hours:
        return f"{sign}{hours}h{minutes}m{seconds}"
    return f"{sign}{minutes}m{seconds}" if minutes else sign + seconds


def round_duration(nanoseconds: int, unit_ns: int = 1_000_000) -> int:
    """Return a duration rounded to whole units (milliseconds), half away from zero."""
    half = unit_ns // 2
    whole = (abs(nanoseconds) + half) // unit_ns * unit_ns
    return -whole if nanoseconds < 0 else whole


def _fraction(value: int, unit: int) -> str:
    whole, rest = divmod(value, unit)
    if not rest:
        return str(whole)
    digits = len(str(unit)) - 1
    return f"{whole}.{rest:0{digits}d}".rstrip("0")
