"""Identifiers: trace ids (ULID), evaluation seeds and stable digests.

Does not know what is identified. Source: spec mindtrial 6.7; the ULID specification (Crockford base 32, 48-bit
milliseconds + 80 random bits).
"""

from __future__ import annotations

import hashlib
import json
import random
import secrets
import threading
import time
from typing import Any

__all__ = ["TraceIds", "content_digest", "new_evaluation_seed"]

_CROCKFORD = "0123456789ABCDEFGHJKMNPQRSTVWXYZ"
_SHIFTS = range(125, -1, -5)


class TraceIds:
    """A source of ULIDs that sort in the order of their making, within one millisecond too.

    Args:
        seed: When given, ids are reproducible: the time part is ``start_ms`` and the random part from the seed.
        start_ms: Fixed Unix milliseconds for the time part; only with a seed.
    """

    def __init__(self, seed: str | None = None, start_ms: int | None = None) -> None:
        # Ids must differ, not be secret: one system call for the seed, none per id.
        self._random = random.Random(seed if seed is not None else secrets.randbits(256))
        self._fixed_ms = start_ms
        self._lock = threading.Lock()
        self._last = 0

    def __call__(self) -> str:
        """Return the next id, 26 characters."""
        with self._lock:
            stamp = self._fixed_ms if self._fixed_ms is not None else time.time_ns() // 1_000_000
            entropy = self._random.getrandbits(79)
            value = (stamp << 80) | entropy
            if value <= self._last:
                value = self._last + 1
            self._last = value
        return "".join([_CROCKFORD[(value >> shift) & 31] for shift in _SHIFTS])


def new_evaluation_seed() -> str:
    """Return 16 random bytes as 32 lower-case hexadecimal digits."""
    return secrets.token_hex(16)


def content_digest(*parts: Any) -> str:
    """Return the SHA-256 hex digest of JSON-able parts; key order does not matter, everything else does."""
    return hashlib.sha256(_encode(parts).encode()).hexdigest()


def _digestible(value: Any) -> Any:
    if isinstance(value, bytes):
        return hashlib.sha256(value).hexdigest()
    if isinstance(value, set | frozenset):
        return sorted(value)
    if hasattr(value, "isoformat"):
        return value.isoformat()
    raise TypeError(f"cannot digest {type(value).__name__}")


_encode = json.JSONEncoder(sort_keys=True, separators=(",", ":"), default=_digestible).encode
