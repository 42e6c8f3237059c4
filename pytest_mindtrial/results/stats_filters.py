"""Which results a statistic is about: dimensions, filters, groups.

Does not compute metrics (``results/stats.py``). Source: spec mindtrial 8.2.
"""

from __future__ import annotations

import itertools
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, field

from pytest_mindtrial.core.errors import ConfigError
from pytest_mindtrial.core.record import Result
from pytest_mindtrial.core.values import Kind
from pytest_mindtrial.suite.suggest import allowed_list, near_match

__all__ = [
    "DIMENSIONS",
    "UNSPECIFIED",
    "Filters",
    "dimension_values",
    "equals_fold",
    "group_results",
    "parse_group_by",
]

DIMENSIONS = ("provider", "run", "model", "suite", "category", "difficulty", "tag")
UNSPECIFIED = "(unspecified)"
"""Stands for a missing or blank value, in groups and in filters."""

_STATUSES = tuple(kind.value.lower() for kind in Kind)


def parse_group_by(text: str) -> tuple[str, ...]:
    """Read a comma-separated list of dimensions; blanks around and between names do not matter.

    Raises:
        ConfigError: A name is unknown or repeated, or there is none.
    """
    names = [name.strip().lower() for name in text.split(",") if name.strip()]
    if not names:
        raise ConfigError(f"invalid group-by dimension: {text!r} names none; allowed: {', '.join(DIMENSIONS)}")
    for position, name in enumerate(names):
        if name not in DIMENSIONS:
            raise ConfigError(f"invalid group-by dimension: {name!r}{_allowed(name, DIMENSIONS)}")
        if name in names[:position]:
            raise ConfigError(f"invalid group-by dimension: {name!r} is given twice; each may appear once")
    return tuple(names)


def _allowed(name: str, allowed: Sequence[str]) -> str:
    return f"; allowed: {allowed_list(allowed)}{near_match(name, allowed)}"


@dataclass(frozen=True, slots=True)
class Filters:
    """Which results are wanted. Values of one dimension are alternatives; dimensions all have to match.

    Attributes:
        values: dimension → accepted values; a dimension without values does not restrict. ``tag`` follows ``tag_mode``.
        statuses: Lower-case kinds; empty = all.
        tag_mode: ``all``: every tag value must be present; ``any``: one of them.
    """

    values: Mapping[str, Sequence[str]] = field(default_factory=dict)
    statuses: Sequence[str] = ()
    tag_mode: str = "all"

    def __post_init__(self) -> None:
        for status in self.statuses:
            if status.lower() not in _STATUSES:
                raise ConfigError(f"invalid status: {status!r}{_allowed(status.lower(), _STATUSES)}")
        if self.tag_mode not in ("all", "any"):
            raise ConfigError(f"invalid tag-mode: {self.tag_mode!r}{_allowed(self.tag_mode, ('all', 'any'))}")

    def __call__(self, result: Result) -> bool:
        """Return whether the result is wanted."""
        if self.statuses and result.kind.value.lower() not in {status.lower() for status in self.statuses}:
            return False
        for dimension, wanted in self.values.items():
            if not wanted:
                continue
            present = {_fold(value) for value in dimension_values(result, dimension)}
            matches = (_fold(value) in present for value in wanted)
            needs_all = dimension == "tag" and self.tag_mode == "all"
            if not (all(matches) if needs_all else any(matches)):
                return False
        return True


def equals_fold(first: str, second: str) -> bool:
    """Compare without case, character by character: ``Straße`` is ``STRAßE`` but not ``STRASSE``."""
    return _fold(first) == _fold(second)


def _fold(text: str) -> str:
    return text.lower() if text.isascii() else "".join(map(_fold_character, text))


def _fold_character(character: str) -> str:
    """Return Unicode's simple case folding: where the full one is longer, the lower case if that is one character."""
    folded = character.casefold()
    if len(folded) > 1:
        folded = character.lower()
    return folded if len(folded) == 1 else character


def dimension_values(result: Result, dimension: str) -> tuple[str, ...]:
    """Return the values a result has in a dimension: one, or for ``tag`` one per distinct tag; never empty."""
    if dimension == "tag":
        tags = tuple(dict.fromkeys(tag for tag in result.metadata.tags if tag.strip()))
        return tags or (UNSPECIFIED,)
    if dimension == "model":
        value = str((result.run_config or {}).get("Model") or "")
    elif dimension in ("provider", "run"):
        value = getattr(result, dimension)
    else:
        value = getattr(result.metadata, dimension)
    return (value if value.strip() else UNSPECIFIED,)


def group_results(
    results: Iterable[Result], dimensions: Sequence[str]
) -> list[tuple[tuple[str, ...], tuple[Result, ...]]]:
    """Group results; one with several tags belongs to several groups when ``tag`` is a dimension.

    Returns:
        Pairs of dimension values (in the order of ``dimensions``) and results in their order, sorted by the values'
        bytes.
    """
    groups: dict[tuple[str, ...], list[Result]] = {}
    for result in results:
        for key in itertools.product(*(dimension_values(result, name) for name in dimensions)):
            groups.setdefault(key, []).append(result)
    ordered = sorted(groups.items(), key=lambda item: [part.encode("utf-8", "surrogatepass") for part in item[0]])
    return [(key, tuple(members)) for key, members in ordered]
