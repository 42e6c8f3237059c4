"""Error classification (spec providers 8.1, 8.2 and 8.4, row by row)."""

from __future__ import annotations

import json
from datetime import UTC, datetime
from typing import Any

import pytest

from pytest_mindtrial.core.errors import ApiError
from pytest_mindtrial.providers.errors import BODY_LIMIT, api_error, error_in_reply, request_id_of

NOW = datetime(2026, 11, 30, 12, 0, 0, tzinfo=UTC)


def error(status: int, body: Any = b"", headers: dict[str, str] | None = None, **rest: Any) -> ApiError:
    raw = body if isinstance(body, bytes) else json.dumps(body).encode()
    return api_error(status, headers or {}, raw, now=NOW, **rest)


@pytest.mark.parametrize(
    "status", [408, 409, 425, 429, 500, 502, 503, 504, 520, 521, 522, 523, 524, 529, 506, 507, 511, 599]
)
def test_transient_statuses(status: int) -> None:
    assert error(status).transient is True
    assert error(status).cause == f"http-{status}"


@pytest.mark.parametrize("status", [301, 302, 307, 308, 400, 401, 402, 403, 404, 405, 410, 413, 418, 422, 501, 505])
def test_permanent_statuses(status: int) -> None:
    assert error(status).transient is False


@pytest.mark.parametrize(
    "status, wish, is_transient",
    [(400, "true", True), (429, "false", False), (500, "False", False), (500, "maybe", True), (501, "true", True)],
)
def test_x_should_retry_overrides_the_status(status: int, wish: str, is_transient: bool) -> None:
    assert error(status, headers={"x-should-retry": wish}).transient is is_transient


DAILY = {
    "error": {"status": "RESOURCE_EXHAUSTED", "details": [{"violations": [{"quotaId": "RequestsPerDayPerModel"}]}]}
}


@pytest.mark.parametrize(
    "body",
    [
        {"error": {"code": "insufficient_quota", "type": "insufficient_quota", "message": "pay"}},
        {"error": {"code": "billing_hard_limit_reached"}},
        {"error": {"type": "exceeded_current_quota_error"}},
        {"error": {"code": "Arrearage", "type": "Arrearage"}},
        DAILY,
        [DAILY],
    ],
)
def test_quota_bodies_are_permanent_even_on_429(body: Any) -> None:
    assert error(429, body).transient is False
    assert error(429, body, {"x-should-retry": "true", "retry-after": "3"}).transient is False


def test_other_google_quotas_are_transient() -> None:
    body = {"error": {"status": "RESOURCE_EXHAUSTED", "details": [{"violations": [{"quotaId": "PerMinute"}]}, 5]}}
    assert error(429, body).transient is True


@pytest.mark.parametrize(
    "word", ["content_filter", "content_policy_violation", "data_inspection_failed", "context_length_exceeded"]
)
def test_condemned_content_is_permanent_everywhere(word: str) -> None:
    assert error(500, {"error": {"code": word}}).transient is False
    assert error_in_reply({"error": {"code": word}}).transient is False  # type: ignore[union-attr]


@pytest.mark.parametrize(
    "word",
    [
        "engine_overloaded_error",
        "rate_limit_reached_error",
        "overloaded_error",
        "rate_limit_error",
        "timeout_error",
        "api_error",
        "server_error",
        "rate_limit_exceeded",
        "vector_store_timeout",
        "provider_overloaded",
        "provider_unavailable",
        "RESOURCE_EXHAUSTED",
        "UNAVAILABLE",
        "INTERNAL",
        "DEADLINE_EXCEEDED",
    ],
)
@pytest.mark.parametrize("key", ["code", "type", "status"])
def test_transient_words_in_good_replies(word: str, key: str) -> None:
    found = error_in_reply({"error": {key: word, "message": "m"}}, now=NOW)
    assert found is not None
    assert found.transient is True
    assert found.cause == word.lower()


@pytest.mark.parametrize(
    "word",
    ["invalid_request_error", "invalid_prompt", "authentication_error", "permission_error", "not_found_error", "odd"],
)
def test_other_words_in_good_replies_are_permanent(word: str) -> None:
    found = error_in_reply({"error": {"type": word, "message": "m"}})
    assert found is not None
    assert found.transient is False


@pytest.mark.parametrize(
    "code, is_transient, cause",
    [
        (502, True, "http-502"),
        ("503", True, "http-503"),
        (429, True, "http-429"),
        (402, False, "http-402"),
        (400, False, "http-400"),
        (True, False, "error-in-reply"),
        (7, False, "error-in-reply"),
    ],
)
def test_numeric_codes_in_good_replies_count_as_statuses(code: Any, is_transient: bool, cause: str) -> None:
    found = error_in_reply({"error": {"code": code, "message": "m"}})
    assert found is not None
    assert (found.transient, found.cause) == (is_transient, cause)


def test_a_word_of_a_permanent_family_beats_a_numeric_code_but_not_a_status() -> None:
    body = {"error": {"code": 503, "type": "invalid_request_error"}}
    found = error_in_reply(body)
    assert found is not None
    assert found.transient is False
    assert error(503, body).transient is True


@pytest.mark.parametrize(
    "reply", [{}, {"error": None}, {"error": ""}, {"error": {}}, {"object": "chat.completion"}, {"type": "message"}]
)
def test_good_replies_carry_no_error(reply: dict[str, Any]) -> None:
    assert error_in_reply(reply) is None


def test_openrouter_error_in_a_200() -> None:
    body = {
        "error": {
            "code": 502,
            "message": "Provider returned error",
            "metadata": {"error_type": "provider_unavailable"},
        }
    }
    found = error_in_reply(body)
    assert found is not None
    assert (found.transient, found.cause, found.status) == (True, "provider_unavailable", 200)
    assert found.message == "error 502 in the reply provider_unavailable: Provider returned error"
    assert json.loads(found.details["HTTP Response"]) == body


@pytest.mark.parametrize(
    "body, said, words",
    [
        ({"error": {"message": "m", "type": "t", "param": None, "code": "c"}}, "m", "c"),
        ({"type": "error", "error": {"type": "overloaded_error", "message": "m"}}, "m", "overloaded_error"),
        ([{"error": {"code": 429, "status": "RESOURCE_EXHAUSTED", "message": "m"}}], "m", "RESOURCE_EXHAUSTED"),
        ({"object": "error", "message": "m", "type": "t", "param": None, "code": "1500"}, "m", "t"),
        ({"detail": [{"loc": ["body"], "msg": "missing", "type": "x"}]}, '[{"loc": ["body"]', ""),
        ({"detail": "not found"}, "not found", ""),
        ({"code": "invalid-argument", "error": "wrong key"}, "wrong key", "invalid-argument"),
        ({"message": "bare"}, "bare", ""),
    ],
)
def test_message_and_word_of_every_body_shape(body: Any, said: str, words: str) -> None:
    found = error(429, body)
    assert said in found.message
    assert found.message.startswith(f"HTTP 429 {words}" if words else "HTTP 429:")


@pytest.mark.parametrize("body", [b"", b"<html>oops</html>", b'{"error": {"mess', b"[]", b"null", b"\xff\xfe", b"5"])
def test_strange_bodies_do_no_harm(body: bytes) -> None:
    found = error(500, body)
    assert found.message == "HTTP 500"
    assert found.transient is True
    assert ("HTTP Response" in found.details) is bool(body)


def test_the_body_in_the_report_is_redacted_first_and_cut_then() -> None:
    body = b"x" * (BODY_LIMIT - 3) + b"sk-secret-key" + b"y" * 99
    found = error(400, body, redact=lambda text: text.replace("sk-secret-key", "***"))
    assert found.details["HTTP Response"] == "x" * (BODY_LIMIT - 3) + "***"


def test_the_message_is_redacted() -> None:
    found = error(401, {"error": {"message": "bad key sk-1"}}, redact=lambda text: text.replace("sk-1", "***"))
    assert "sk-1" not in f"{found} {found.details}"


def test_a_hint_is_kept_for_transient_errors_only() -> None:
    assert error(429, headers={"retry-after": "7"}).retry_after_s == 7
    assert error(503, headers={"retry-after": "7"}).retry_after_s == 7
    assert error(400, headers={"retry-after": "7"}).retry_after_s is None


def test_a_hint_of_more_than_fifteen_minutes_ends_the_retries() -> None:
    assert error(429, headers={"retry-after": "900"}).transient is True
    found = error(429, headers={"retry-after": "901"})
    assert found.transient is False
    assert "asks to wait 901 s, longer than 15 minutes" in found.message


def test_retry_info_inside_a_stream_error() -> None:
    body = {"error": {"code": 429, "status": "RESOURCE_EXHAUSTED", "details": [{"retryDelay": "3s"}]}}
    found = error_in_reply(body)
    assert found is not None
    assert found.retry_after_s == 3


@pytest.mark.parametrize(
    "headers, body, identity",
    [
        ({"x-request-id": "a", "request-id": "b"}, None, "a"),
        ({"request-id": "b"}, {"request_id": "c"}, "b"),
        ({}, {"request_id": "c"}, "c"),
        ({}, {"error": {"request_id": "d"}}, "d"),
        ({}, {"error": "text"}, None),
        ({}, None, None),
    ],
)
def test_request_id(headers: dict[str, str], body: Any, identity: str | None) -> None:
    assert request_id_of(headers, body) == identity
    assert error(500, body, headers).request_id == identity
