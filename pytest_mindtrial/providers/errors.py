"""What a failed request means: transient or permanent, for how long, and what the report says.

Reads the error bodies of all vendors, wherever they arrive: beside a status, inside a 200, in a stream. Does not retry
and does not wait (engine). Source: spec providers 8.1 to 8.3.

The order of the rules, first match wins: payment and quota bodies (permanent even on 429); ``x-should-retry``; words
that condemn the content of the request; without an error status, the words of the transient list, then those of the
permanent families; the status. The families (``invalid_*`` …) do not overrule a status, because DeepSeek writes
``invalid_request_error`` beside any of them.
"""

from __future__ import annotations

import json
from collections.abc import Callable, Iterator, Mapping
from datetime import UTC, datetime
from typing import Any

from pytest_mindtrial.core.errors import ApiError
from pytest_mindtrial.providers.retry_hints import retry_after_s

__all__ = ["BODY_LIMIT", "api_error", "error_in_reply", "request_id_of"]

BODY_LIMIT = 4096
"""Characters of an error body that reach the report."""

_LONGEST_WAIT_S = 15 * 60
_TRANSIENT_STATUSES = frozenset((408, 409, 425, 429))
_PERMANENT_5XX = frozenset((501, 505))
_QUOTA_WORDS = frozenset(
    ("insufficient_quota", "billing_hard_limit_reached", "exceeded_current_quota_error", "arrearage")
)
_CONDEMNING_WORDS = frozenset(
    ("content_filter", "content_policy_violation", "data_inspection_failed", "context_length_exceeded")
)
_TRANSIENT_WORDS = frozenset(
    (
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
        "resource_exhausted",
        "unavailable",
        "internal",
        "deadline_exceeded",
    )
)
_REQUEST_ID_HEADERS = ("x-request-id", "request-id", "x-ds-trace-id", "x-goog-request-id", "apim-request-id")


def request_id_of(headers: Mapping[str, str], body: Any = None) -> str | None:
    """Return the service's own id of a request, from the headers or the error body."""
    for name in _REQUEST_ID_HEADERS:
        if headers.get(name):
            return headers[name]
    if isinstance(body, Mapping):
        for holder in (body, body.get("error")):
            value = holder.get("request_id") if isinstance(holder, Mapping) else None
            if isinstance(value, str) and value:
                return value
    return None


def api_error(
    status: int,
    headers: Mapping[str, str],
    body: bytes,
    *,
    redact: Callable[[str], str] = str,
    now: datetime | None = None,
) -> ApiError:
    """Classify a reply with an error status (or a redirect).

    Args:
        status: HTTP status.
        headers: By lower-case name.
        body: As received; may be JSON, HTML, empty or cut off.
        redact: Masks secrets; applied to everything the error says.
        now: Wall time with a zone; None = the machine's.
    """
    text = body.decode("utf-8", "replace").removeprefix("\ufeff")
    return _build(status, headers, _parsed(text), redact(text), redact, now or datetime.now(UTC))


def error_in_reply(
    reply: Mapping[str, Any],
    *,
    status: int = 200,
    headers: Mapping[str, str] | None = None,
    redact: Callable[[str], str] = str,
    now: datetime | None = None,
) -> ApiError | None:
    """Return the error that a body with a good status, or a stream event, carries; None = it carries none.

    An object counts as an error when its ``error`` is filled or its ``object``/``type`` says ``error``.
    """
    if not reply.get("error") and reply.get("object") != "error" and reply.get("type") != "error":
        return None
    text = redact(json.dumps(reply, ensure_ascii=False, default=str))
    return _build(status, headers or {}, reply, text, redact, now or datetime.now(UTC))


def _parsed(text: str) -> Any:
    try:
        body = json.loads(text)
    except ValueError:
        return None
    return body[0] if isinstance(body, list) and len(body) == 1 else body


def _build(
    status: int,
    headers: Mapping[str, str],
    body: Any,
    text: str,
    redact: Callable[[str], str],
    now: datetime,
) -> ApiError:
    words = tuple(_words(body))
    code = _numeric_code(body)
    is_transient = _is_transient(status, headers, body, words, code)
    hint = retry_after_s(status if status >= 300 else code, headers, body, now) if is_transient else None
    message = _headline(status, words, code)
    if said := _message(body):
        message += f": {redact(said)[:BODY_LIMIT]}"
    if hint is not None and hint > _LONGEST_WAIT_S:
        is_transient = False
        message += f" (the service asks to wait {hint:,.0f} s, longer than {_LONGEST_WAIT_S // 60} minutes; giving up)"
    return ApiError(
        message,
        transient=is_transient,
        cause=_cause(status, words, code),
        status=status,
        retry_after_s=hint,
        details={"HTTP Response": text[:BODY_LIMIT]} if text.strip() else {},
        request_id=request_id_of(headers, body),
    )


def _error_objects(body: Any) -> Iterator[Mapping[str, Any]]:
    if isinstance(body, Mapping):
        error = body.get("error")
        if isinstance(error, Mapping):
            yield error
            if isinstance(error.get("metadata"), Mapping):
                yield error["metadata"]
        yield body


def _words(body: Any) -> Iterator[str]:
    """Yield the code words of an error body, the most specific first."""
    for item in _error_objects(body):
        for key in ("code", "type", "status", "error_type", "provider_code"):
            value = item.get(key)
            if isinstance(value, str) and value and value != "error" and not value.isdigit():
                yield value


def _numeric_code(body: Any) -> int | None:
    for item in _error_objects(body):
        code = item.get("code")
        if isinstance(code, str) and code.isdigit():
            code = int(code)
        if isinstance(code, int) and not isinstance(code, bool) and 300 <= code <= 599:
            return code
    return None


def _message(body: Any) -> str:
    for item in _error_objects(body):
        for key in ("message", "error", "detail"):
            value = item.get(key)
            if isinstance(value, str) and value.strip():
                return value.strip()
            if key == "detail" and value:
                return json.dumps(value, ensure_ascii=False)
    return ""


def _headline(status: int, words: tuple[str, ...], code: int | None) -> str:
    where = f"HTTP {status}" if status >= 300 else f"error {code} in the reply" if code else "error in the reply"
    return f"{where} {words[0]}" if words else where


def _cause(status: int, words: tuple[str, ...], code: int | None) -> str:
    if status >= 300:
        return f"http-{status}"
    if words:
        return words[0].lower()
    return f"http-{code}" if code else "error-in-reply"


def _is_transient(status: int, headers: Mapping[str, str], body: Any, words: tuple[str, ...], code: int | None) -> bool:
    lower = {word.lower() for word in words}
    if 402 in (status, code) or lower & _QUOTA_WORDS or _is_daily_quota(body):
        return False
    wish = headers.get("x-should-retry", "").strip().lower()
    if wish in ("true", "false"):
        return wish == "true"
    if lower & _CONDEMNING_WORDS:
        return False
    if status >= 300:
        return _status_is_transient(status)
    if lower & _TRANSIENT_WORDS:
        return True
    return not any(map(_is_permanent_family, lower)) and code is not None and _status_is_transient(code)


def _is_permanent_family(word: str) -> bool:
    return word.startswith(("invalid_", "authentication", "permission", "not_found"))


def _status_is_transient(status: int) -> bool:
    return status in _TRANSIENT_STATUSES or (500 <= status <= 599 and status not in _PERMANENT_5XX)


def _is_daily_quota(body: Any) -> bool:
    error = body.get("error") if isinstance(body, Mapping) else None
    details = error.get("details") if isinstance(error, Mapping) else None
    for detail in details if isinstance(details, list) else ():
        violations = detail.get("violations") if isinstance(detail, Mapping) else None
        for violation in violations if isinstance(violations, list) else ():
            if isinstance(violation, Mapping) and "PerDay" in str(violation.get("quotaId", "")):
                return True
    return False
