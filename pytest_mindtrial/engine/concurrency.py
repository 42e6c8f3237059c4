"""How many attempts of a provider may run at once: one number, ``auto``, or one of them per provider name.

Does not enforce anything (``engine/slots.py``) and does not find levels (``engine/adaptive.py``). Source: design D3.
"""

from __future__ import annotations

from collections.abc import Mapping
from typing import TypeAlias

from pytest_mindtrial.engine.adaptive import AUTO, START, Auto
from pytest_mindtrial.suite.model import Provider

__all__ = ["DEFAULT_CONCURRENCY", "Concurrency", "limit_of", "setting_of"]

DEFAULT_CONCURRENCY = 10
"""Attempts of one provider entry that run at once unless the user says otherwise."""

Concurrency: TypeAlias = int | Auto | Mapping[str, int | Auto]
"""For all providers, or by provider name, where ``""`` stands for all others."""


def setting_of(concurrency: Concurrency, provider: Provider) -> int | Auto:
    """Return what is set for a provider entry: a number from 1, or ``auto``."""
    if isinstance(concurrency, Mapping):
        concurrency = concurrency.get(provider.name, concurrency.get("", DEFAULT_CONCURRENCY))
    return concurrency if concurrency == AUTO else max(1, int(concurrency))


def limit_of(concurrency: Concurrency, provider: Provider) -> int:
    """Return the concurrency of a provider entry as a number, at least 1; of ``auto`` the one it starts with."""
    setting = setting_of(concurrency, provider)
    return START if setting == AUTO else int(setting)
