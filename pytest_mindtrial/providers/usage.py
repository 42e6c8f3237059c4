"""Token counters out of a vendor's usage object, by paths that are data.

Does not sum and does not price (`core.values.Usage`, ``results/``). Source: spec providers 7.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any

from pytest_mindtrial.core.values import CacheAccounting, ReasoningAccounting, Usage

__all__ = ["UsagePaths", "read_usage"]

Path = tuple[str, ...]


@dataclass(frozen=True, slots=True)
class UsagePaths:
    """Where the counters are. Several paths of one counter are tried in order; none = the vendor has no such counter.

    Attributes:
        cache: Whether ``input`` contains the cache counters.
        thinking: Whether ``output`` contains the reasoning tokens.
    """

    input: Path
    output: Path
    reasoning: tuple[Path, ...] = ()
    cache_read: tuple[Path, ...] = ()
    cache_write: tuple[Path, ...] = ()
    cache: CacheAccounting = "cache_tokens_included"
    thinking: ReasoningAccounting = "reasoning_tokens_included"


def read_usage(paths: UsagePaths, usage: Any) -> Usage:
    """Return the counters of one reply; anything but an object reports nothing (all None)."""
    if not isinstance(usage, Mapping) or not usage:
        return Usage()
    return Usage(
        _number(usage, (paths.input,)),
        _number(usage, (paths.output,)),
        _number(usage, paths.reasoning),
        _number(usage, paths.cache_write),
        _number(usage, paths.cache_read),
        paths.cache,
        paths.thinking,
        (usage,),
    )


def _number(usage: Mapping[str, Any], paths: tuple[Path, ...]) -> int | None:
    for path in paths:
        value: Any = usage
        for key in path:
            value = value.get(key) if isinstance(value, Mapping) else None
        if isinstance(value, int | float) and not isinstance(value, bool) and value == value // 1:
            return int(value)
    return None
