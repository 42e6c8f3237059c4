"""The form in which answers are compared.

Pure functions; no tolerance for numbers, no sets, no regular expressions. Character classes are Go's, because
MindTrial's are: its strip set is not Python's, its lower case knows no final sigma. Source: spec mindtrial 5.1.
"""

from __future__ import annotations

import re
from collections.abc import Hashable, Iterable, Mapping
from typing import Any

from pytest_mindtrial.suite.model import Rules

__all__ = ["STRIPPED", "canonical", "comparison_key", "trimmed", "unique"]

STRIPPED = "".join(
    map(
        chr,
        (*range(0x09, 0x0E), 0x20, 0x85, 0xA0, 0x1680, *range(0x2000, 0x200B), 0x2028, 0x2029, 0x202F, 0x205F, 0x3000),
    )
)
"""Stripped from both ends; unlike `str.strip`, without U+001C to U+001F."""

_LINE_BREAK = re.compile(r"\r?\n")
_ASCII_SPACE = re.compile(r"[\t\n\f\r ]+")
_INT_LIMIT = 2.0**63


def canonical(value: Any, rules: Rules) -> Any:
    """Return a value in the form that is compared under the rules.

    Text is trimmed, stripped of white space and lower-cased as the rules say, at every depth; keys of objects never
    are. Whole floats become whole numbers. Everything else stays.

    Invariant: doing it twice changes nothing.
    """
    if isinstance(value, str):
        return _canonical_text(value, rules)
    if isinstance(value, Mapping):
        return {key: canonical(item, rules) for key, item in value.items()}
    if isinstance(value, list | tuple):
        return [canonical(item, rules) for item in value]
    if isinstance(value, float) and value.is_integer() and -_INT_LIMIT <= value < _INT_LIMIT:
        return int(value)
    return value


def trimmed(value: Any) -> Any:
    """Return text without white space at both ends; anything else as it is."""
    return value.strip(STRIPPED) if isinstance(value, str) else value


def _canonical_text(text: str, rules: Rules) -> str:
    if rules.trim_lines and not rules.ignore_whitespace:
        text = "\n".join(line.strip(STRIPPED) for line in _LINE_BREAK.split(text))
    text = _ASCII_SPACE.sub("", text) if rules.ignore_whitespace else text.strip(STRIPPED)
    return text if rules.case_sensitive else _lower(text)


def _lower(text: str) -> str:
    """Lower each character by itself: Python would write a final sigma and split U+0130 into two characters."""
    return text.replace("\u0130", "i").replace("\u03a3", "\u03c3").lower()


def comparison_key(value: Any) -> Hashable:
    """Return a key that is equal for two canonical values exactly when they count as equal.

    Kinds never mix: true is not 1, "4" is not 4. A whole float too large to be canonical equals no whole number.
    """
    if isinstance(value, Mapping):
        return ("map", frozenset((key, comparison_key(item)) for key, item in value.items()))
    if isinstance(value, list | tuple):
        return ("list", tuple(comparison_key(item) for item in value))
    if isinstance(value, str):
        return ("text", str(value))
    return (type(value), value)


def unique(values: Iterable[Any]) -> tuple[Any, ...]:
    """Return canonical values without repetitions, in their first order."""
    found: dict[Hashable, Any] = {}
    for value in values:
        found.setdefault(comparison_key(value), value)
    return tuple(found.values())
