"""The size of what is sent, in characters: the measure from which tokens are estimated.

Counts no tokens (``engine/estimate.py``).
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any

__all__ = ["MEDIA_WEIGHT", "text_weight"]

MEDIA_WEIGHT = 6000
"""Characters that stand for one attached picture or document: vendors bill them by the page or tile, not by bytes."""

_MEDIA_FROM = 2000


def text_weight(value: Any) -> int:
    """Return the size of a request's JSON in characters, encoded files counting as `MEDIA_WEIGHT`."""
    if isinstance(value, str):
        is_media = len(value) > _MEDIA_FROM and " " not in value[:_MEDIA_FROM]
        return MEDIA_WEIGHT if is_media else len(value)
    if isinstance(value, Mapping):
        return sum(len(str(key)) + 4 + text_weight(item) for key, item in value.items())
    if isinstance(value, Sequence):
        return sum(1 + text_weight(item) for item in value)
    return 4
