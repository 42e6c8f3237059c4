"""How ``--mt-concurrency`` is written: one number or ``auto`` for all providers, and exceptions by name.

Does not enforce anything (``engine/slots.py``).
"""

from __future__ import annotations

from collections.abc import Mapping
from typing import Literal

import pytest

from pytest_mindtrial.plugin.options import DEFAULT_CONCURRENCY

__all__ = ["concurrency_text", "parse_concurrency"]

Setting = int | Literal["auto"]


def parse_concurrency(text: str) -> dict[str, Setting]:
    """Return the concurrency by provider name, from text such as ``10,openai=50,local=2``; ``""`` = all others.

    Raises:
        pytest.UsageError: The text is something else.
    """
    found: dict[str, Setting] = {}
    for part in text.split(","):
        name, separator, value = part.rpartition("=")
        name, setting = name.strip(), _setting(value.strip())
        if separator and not name:
            raise pytest.UsageError(f"--mt-concurrency: {part!r} has no provider's name before the =")
        if name in found:
            what = f"{name} is there twice" if name else "there is more than one number for all providers"
            raise pytest.UsageError(f"--mt-concurrency: {text!r}: {what}")
        found[name] = setting
    return {**DEFAULT_CONCURRENCY, **found}


def _setting(value: str) -> Setting:
    if value == "auto":
        return "auto"
    if not value.isdecimal() or int(value) < 1:
        raise pytest.UsageError(f"--mt-concurrency: {value!r} is not a whole number from 1, nor auto")
    return int(value)


def concurrency_text(concurrency: Mapping[str, Setting]) -> str:
    """Return it as the user would write it, without what goes without saying."""
    exceptions = [f"{name}={value}" for name, value in concurrency.items() if name and (name, value) != ("local", 1)]
    return ",".join([str(concurrency[""]), *exceptions])
