"""Finds the accepted answer that a wrong answer comes closest to, for failure texts.

Never decides anything: what it finds does not change a verdict. Work is bounded: the first 1,000 characters of a text,
and a careful comparison for at most 20 candidates. Only texts that begin alike are looked at as a whole.
"""

from __future__ import annotations

import difflib
import json
import re
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Any

from pytest_mindtrial.validators.canonical import comparison_key

__all__ = ["Nearest", "nearest_accepted"]

MAX_CHARS = 1000
MAX_CAREFUL = 20

# What may carry meaning in a number stays: a sign before a digit, a point or comma between digits.
_LETTERS = re.compile(r"[^\W_]+")
_FORMATTING = re.compile(r"(?!(?<!\w)[+-](?=\d)|(?<=\d)[.,](?=\d))[\W_]")


@dataclass(frozen=True, slots=True)
class Nearest:
    """The accepted answer that is most like the answer.

    Attributes:
        value: The accepted answer.
        index: Its place among the accepted answers.
        ratio: Likeness of the texts, 0 to 1.
        passes_without_formatting: True when both are equal once white space, case and punctuation are ignored.
    """

    value: Any
    index: int
    ratio: float
    passes_without_formatting: bool


def nearest_accepted(got: Any, want: Sequence[Any]) -> Nearest | None:
    """Return the nearest accepted answer, the first one of equally near ones; None when there are none.

    Args:
        got: The answer.
        want: The accepted answers.
    """
    if not want:
        return None
    alike = [index for index, value in enumerate(want) if _begin_alike(got, value)]
    loose = comparison_key(_loose(got)) if alike else None
    for index in alike:
        if comparison_key(_loose(want[index])) == loose:
            return Nearest(want[index], index, _ratio(_text(got), _text(want[index])), True)
    text = _text(got)
    places: list[int] = list(range(len(want)))
    if len(want) > MAX_CAREFUL:
        places = sorted(places, key=lambda place: -_rough_ratio(text, _text(want[place])))[:MAX_CAREFUL]
    index = max(sorted(places), key=lambda place: _ratio(text, _text(want[place])))
    return Nearest(want[index], index, _ratio(text, _text(want[index])), False)


def _begin_alike(got: Any, value: Any) -> bool:
    """Tell whether two values may be equal without formatting: of texts, the first letters and digits say that."""
    if not (isinstance(got, str) and isinstance(value, str)):
        return True
    one, other = ("".join(_LETTERS.findall(text[:MAX_CHARS].casefold())) for text in (got, value))
    common = min(len(one), len(other))
    return one[:common] == other[:common]


def _loose(value: Any) -> Any:
    """Return the value with every leaf as text without formatting; keys stay."""
    if isinstance(value, Mapping):
        return {key: _loose(item) for key, item in value.items()}
    if isinstance(value, list | tuple):
        return [_loose(item) for item in value]
    text = value if isinstance(value, str) else json.dumps(value, default=str)
    bare = _FORMATTING.sub("", text.casefold())
    return bare or "".join(text.split())


def _text(value: Any) -> str:
    text = value if isinstance(value, str) else json.dumps(value, ensure_ascii=False, sort_keys=True, default=str)
    return text[:MAX_CHARS]


def _ratio(text: str, other: str) -> float:
    return difflib.SequenceMatcher(None, text, other, autojunk=False).ratio()


def _rough_ratio(text: str, other: str) -> float:
    return difflib.SequenceMatcher(None, text, other, autojunk=False).quick_ratio()
