"""Words for "did you mean" in messages about unknown names.

Does not decide what is allowed.
"""

from __future__ import annotations

import difflib
from collections.abc import Iterable

__all__ = ["allowed_list", "near_match"]


def near_match(name: str, allowed: Iterable[str]) -> str:
    """Return ``; did you mean 'x'?`` for the closest allowed name, or nothing when none is close."""
    names = list(allowed)
    plain = name.strip().lower().replace("_", "-")
    close = difflib.get_close_matches(plain, [item.lower() for item in names], n=1, cutoff=0.6)
    if not close:
        return ""
    match = next(item for item in names if item.lower() == close[0])
    return f"; did you mean {match!r}?"


def allowed_list(names: Iterable[str]) -> str:
    """Return names for a message: comma-separated, in the given order, or ``none``."""
    return ", ".join(names) or "none"
