"""How long a service asks us to wait: retry headers, Google's RetryInfo and rate-limit reset headers.

Does not decide whether to retry (``providers/errors.py``) and does not wait (engine). Source: spec providers 8.3.
"""

from __future__ import annotations

import math
import re
from collections.abc import Iterator, Mapping
from datetime import UTC, datetime
from email.utils import parsedate_to_datetime
from typing import Any

__all__ = ["retry_after_s"]

_DURATION = re.compile(r"(\d+(?:\.\d+)?)(ms|h|m|s)")
_UNITS = {"ms": 0.001, "s": 1.0, "m": 60.0, "h": 3600.0}
_ANTHROPIC_COUNTERS = ("requests", "tokens", "input-tokens", "output-tokens")


def retry_after_s(status: int | None, headers: Mapping[str, str], body: Any, now: datetime) -> float | None:
    """Return the seconds the service asks us to wait, the first hint found; None = no usable hint.

    Args:
        status: HTTP status; reset headers count on 429 only.
        headers: By lower-case name.
        body: Parsed error body, any shape.
        now: Wall time with a zone, for hints that are instants.
    """
    for hint in (
        _milliseconds(headers.get("retry-after-ms")),
        _seconds_or_date(headers.get("retry-after"), now),
        _google_delay(body),
        _reset(headers, now) if status == 429 else None,
    ):
        if hint is not None:
            return max(0.0, hint)
    return None


def _float(text: str | None) -> float | None:
    try:
        value = float(text) if text is not None else math.nan
    except ValueError:
        return None
    return value if math.isfinite(value) else None


def _milliseconds(text: str | None) -> float | None:
    value = _float(text)
    return None if value is None else value / 1000


def _seconds_or_date(text: str | None, now: datetime) -> float | None:
    value = _float(text)
    if value is not None or text is None:
        return value
    try:
        moment = parsedate_to_datetime(text)
    except ValueError:
        return None
    return (_with_zone(moment) - now).total_seconds()


def _with_zone(moment: datetime) -> datetime:
    return moment if moment.tzinfo else moment.replace(tzinfo=UTC)


def _duration(text: str | None) -> float | None:
    """Return the seconds of ``20ms``, ``1s``, ``6m0s``, ``1h2m``; a bare number is seconds."""
    if text is None:
        return None
    parts = _DURATION.findall(text.strip())
    if not parts or "".join(number + unit for number, unit in parts) != text.strip():
        return _float(text)
    return sum(float(number) * _UNITS[unit] for number, unit in parts)


def _google_delay(body: Any) -> float | None:
    error = body.get("error") if isinstance(body, Mapping) else None
    details = error.get("details") if isinstance(error, Mapping) else None
    for detail in details if isinstance(details, list) else ():
        delay = detail.get("retryDelay") if isinstance(detail, Mapping) else None
        if isinstance(delay, str):
            return _duration(delay)
    return None


def _reset(headers: Mapping[str, str], now: datetime) -> float | None:
    """Return the longest wait of the counters that stand at zero."""
    return max(_resets(headers, now), default=None)


def _resets(headers: Mapping[str, str], now: datetime) -> Iterator[float]:
    for kind in ("requests", "tokens"):
        if _float(headers.get(f"x-ratelimit-remaining-{kind}")) == 0:
            seconds = _duration(headers.get(f"x-ratelimit-reset-{kind}"))
            if seconds is not None:
                yield seconds
    for kind in _ANTHROPIC_COUNTERS:
        if _float(headers.get(f"anthropic-ratelimit-{kind}-remaining")) == 0:
            moment = _instant(headers.get(f"anthropic-ratelimit-{kind}-reset"))
            if moment is not None:
                yield (moment - now).total_seconds()
    if _float(headers.get("x-ratelimit-remaining")) == 0:
        epoch_ms = _float(headers.get("x-ratelimit-reset"))
        if epoch_ms is not None:
            yield epoch_ms / 1000 - now.timestamp()


def _instant(text: str | None) -> datetime | None:
    try:
        return _with_zone(datetime.fromisoformat(text)) if text else None
    except ValueError:
        return None
