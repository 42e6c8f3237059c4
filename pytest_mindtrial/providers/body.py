"""Model parameters into request bodies, by the target paths of the parameter table.

Does not check values (``suite/parameters.py`` did) and does not decide modes, streaming or thinking (the dialects do).
Source: spec providers 10 to 13.
"""

from __future__ import annotations

import hashlib
from collections.abc import Mapping
from typing import Any

from pytest_mindtrial.providers.profiles import DialectName, Profile
from pytest_mindtrial.suite.model import Run

__all__ = ["ignored_parameters", "prompt_cache_key", "put", "put_parameters"]


def put(body: dict[str, Any], path: str, value: Any) -> None:
    """Set the value at a dotted path, making the objects on the way."""
    *parents, last = path.split(".")
    for key in parents:
        body = body.setdefault(key, {})
    body[last] = value


def put_parameters(body: dict[str, Any], profile: Profile, run: Run, dialect: DialectName) -> None:
    """Write every parameter that the table gives a path in this dialect; explicit zeros and false are sent."""
    rows = profile.parameters.by_name
    for name, value in run.parameters.items():
        row = rows.get(name)
        target = row.target_in(dialect) if row is not None else None
        if row is not None and target is not None and value is not None:
            put(body, target, row.sent(value))


def ignored_parameters(profile: Profile, run: Run, dialect: DialectName) -> tuple[str, ...]:
    """Return the names of set parameters that this dialect cannot carry."""
    rows: Mapping[str, Any] = profile.parameters.by_name
    return tuple(name for name in run.parameters if name in rows and dialect in rows[name].ignored_in)


def prompt_cache_key(run: Run) -> str:
    """Return the key under which a vendor may find cached prompts of this run configuration again.

    Source: spec providers 10.2 (a prefix and 32 hex digits of SHA-256 over run name and model).
    """
    return "mt-" + hashlib.sha256(f"{run.name}\0{run.model}".encode()).hexdigest()[:32]
