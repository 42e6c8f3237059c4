"""Retry hints: every header form, and which one counts (spec providers 8.3)."""

from __future__ import annotations

from datetime import UTC, datetime
from typing import Any

import pytest

from pytest_mindtrial.providers.retry_hints import retry_after_s

NOW = datetime(2026, 11, 30, 12, 0, 0, tzinfo=UTC)
RETRY_INFO = {"error": {"code": 429, "details": [{"@type": "x"}, {"@type": "RetryInfo", "retryDelay": "37s"}]}}


def hint(headers: dict[str, str], body: Any = None, status: int = 429) -> float | None:
    return retry_after_s(status, headers, body, NOW)


@pytest.mark.parametrize(
    "headers, seconds",
    [
        ({}, None),
        ({"retry-after-ms": "1500"}, 1.5),
        ({"retry-after-ms": "1500", "retry-after": "9"}, 1.5),
        ({"retry-after-ms": "soon", "retry-after": "9"}, 9.0),
        ({"retry-after": "2.5"}, 2.5),
        ({"retry-after": "-3"}, 0.0),
        ({"retry-after": "nan"}, None),
        ({"retry-after": "inf"}, None),
        ({"retry-after": "tomorrow"}, None),
        ({"retry-after": "Mon, 30 Nov 2026 12:00:07 GMT"}, 7.0),
        ({"retry-after": "Mon, 30 Nov 2026 12:00:07 -0000"}, 7.0),
        ({"retry-after": "Mon, 30 Nov 2026 11:00:00 GMT"}, 0.0),
        ({"x-ratelimit-remaining-requests": "0", "x-ratelimit-reset-requests": "1s"}, 1.0),
        ({"x-ratelimit-remaining-tokens": "0", "x-ratelimit-reset-tokens": "6m0s"}, 360.0),
        ({"x-ratelimit-remaining-tokens": "0", "x-ratelimit-reset-tokens": "20ms"}, 0.02),
        ({"x-ratelimit-remaining-tokens": "0", "x-ratelimit-reset-tokens": "1h2m3.5s"}, 3723.5),
        ({"x-ratelimit-remaining-tokens": "0", "x-ratelimit-reset-tokens": "12"}, 12.0),
        ({"x-ratelimit-remaining-tokens": "0", "x-ratelimit-reset-tokens": "12 parsecs"}, None),
        ({"x-ratelimit-remaining-tokens": "0"}, None),
        ({"x-ratelimit-remaining-tokens": "7", "x-ratelimit-reset-tokens": "1s"}, None),
        (
            {
                "x-ratelimit-remaining-requests": "0",
                "x-ratelimit-reset-requests": "1s",
                "x-ratelimit-remaining-tokens": "0",
                "x-ratelimit-reset-tokens": "5s",
            },
            5.0,
        ),
        (
            {
                "anthropic-ratelimit-input-tokens-remaining": "0",
                "anthropic-ratelimit-input-tokens-reset": "2026-11-30T12:00:11Z",
            },
            11.0,
        ),
        ({"anthropic-ratelimit-requests-remaining": "0", "anthropic-ratelimit-requests-reset": "late"}, None),
        ({"anthropic-ratelimit-requests-remaining": "0"}, None),
        ({"x-ratelimit-remaining": "0", "x-ratelimit-reset": str(int(NOW.timestamp() * 1000) + 4000)}, 4.0),
        ({"x-ratelimit-remaining": "0"}, None),
        ({"x-ratelimit-remaining": "3", "x-ratelimit-reset": "99999999999999"}, None),
    ],
)
def test_headers(headers: dict[str, str], seconds: float | None) -> None:
    got = hint(headers)
    assert got == (seconds if seconds is None else pytest.approx(seconds))


def test_google_delay_comes_after_headers_and_before_reset() -> None:
    reset = {"x-ratelimit-remaining-requests": "0", "x-ratelimit-reset-requests": "1s"}
    assert hint(reset, RETRY_INFO) == 37.0
    assert hint({"retry-after": "2"}, RETRY_INFO) == 2.0
    assert hint({}, {"error": {"details": "none"}}) is None
    assert hint({}, ["unexpected"]) is None


def test_reset_headers_count_on_429_only() -> None:
    reset = {"x-ratelimit-remaining-requests": "0", "x-ratelimit-reset-requests": "1s"}
    assert hint(reset, status=503) is None
    assert hint({"retry-after": "2"}, status=503) == 2.0
