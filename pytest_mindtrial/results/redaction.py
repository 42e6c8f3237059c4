"""Keeping secrets out of what is written: every text of a result passes the redactor before any writer sees it.

Redacting a finished document is not enough: a secret with a quotation mark, a backslash or a ``<`` looks different
once it is JSON or CSV. Does not know which texts are secret (`core.secret.Redactor`).

Source: design D17; field pain 23.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Mapping
from typing import Any

from pytest_mindtrial.core.jsontext import cut_depth
from pytest_mindtrial.core.record import Result
from pytest_mindtrial.core.wire import from_wire, to_wire

__all__ = ["redact_results", "redacted"]


def redacted(value: Any, redact: Callable[[str], str]) -> Any:
    """Return plain data with every text and every key redacted."""
    if isinstance(value, str):
        return redact(value)
    if isinstance(value, Mapping):
        return {redact(key): redacted(item, redact) for key, item in value.items()}
    if isinstance(value, list):
        return [redacted(item, redact) for item in value]
    return value


def redact_results(results: Iterable[Result], redact: Callable[[str], str]) -> list[Result]:
    """Return the results as they may be written; lists inside answers come back as lists."""
    return [_redact_result(result, redact) for result in results]


def _redact_result(result: Result, redact: Callable[[str], str]) -> Result:
    wire = cut_depth(to_wire(result))
    # The kind decides what the result is; it is ours, never a secret.
    return from_wire(Result, redacted(wire, redact) | {"kind": wire["kind"]})
