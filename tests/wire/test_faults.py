"""Every status and body class of spec providers 8, for every vendor's dialect, over a real socket."""

from __future__ import annotations

import json
import random
import socket
from collections.abc import Mapping, Sequence
from datetime import UTC, datetime, timedelta
from email.utils import format_datetime
from typing import Any

import pytest

from pytest_mindtrial.core.errors import ApiError, ProviderError, TransportError
from pytest_mindtrial.providers.base import ModelClient, Turn
from pytest_mindtrial.suite.model import RetryPolicy
from tests.support.loopback import Loopback, Reply, json_reply, sse_reply
from tests.support.said import Call, Said, wrapped
from tests.support.vendor_forms import FORMS, speak
from tests.support.wire_bodies import MODELS, vendor_of
from tests.support.wire_cases import PLAIN
from tests.wire.conftest import KEY, Talk
from tests.wire.test_http import one_answer

DONE = Said(wrapped())
RETRY = RetryPolicy(max_retry_attempts=1, initial_delay_seconds=3)
TRANSIENT = (408, 409, 425, 429, 500, 502, 503, 504, 506, 520, 521, 522, 523, 524, 529, 599)
PERMANENT = (301, 302, 307, 308, 400, 401, 402, 403, 404, 405, 410, 413, 415, 422, 451, 501, 505)


class Asking:
    """Asks one vendor's dialect through the scripted server."""

    def __init__(self, column: str, server: Loopback, talk: Talk) -> None:
        self.column = column
        self.server = server
        self.talk = talk
        self.form = FORMS[column]

    def __call__(self, *replies: Reply, stream: bool = False, retry: RetryPolicy | None = None, **client: Any) -> Turn:
        self.server.script(*replies)

        async def work(asked: ModelClient) -> Turn:
            return await asked.start(PLAIN).next_turn()

        if self.column == "openai-responses":
            client["api"] = "responses"
        vendor, model = vendor_of(self.column), MODELS[self.column]
        turn: Turn = self.talk(vendor, work, model=model, parameters={"stream": stream}, retry=retry, **client)
        return turn

    def error(self, *replies: Reply, **settings: Any) -> ProviderError:
        with pytest.raises(ProviderError) as caught:
            self(*replies, **settings)
        return caught.value

    def waited(self, headers: Mapping[str, str], status: int = 429, body: Any = None) -> float:
        """Return the seconds waited after an error with these headers."""
        body = body or self.form.error(status, "rate_limit_exceeded", "slow down")
        turn = self(json_reply(body, status=status, headers=headers), speak(self.form, DONE, stream=False), retry=RETRY)
        assert [record.cause for record in turn.requests] == [f"http-{status}", ""]
        return self.talk.clock.slept[-1]


@pytest.fixture(params=list(MODELS))
def ask(request: pytest.FixtureRequest, server: Loopback, talk: Talk) -> Asking:
    return Asking(request.param, server, talk)


@pytest.mark.parametrize("statuses, is_transient", [(TRANSIENT, True), (PERMANENT, False)])
def test_statuses(ask: Asking, statuses: Sequence[int], is_transient: bool) -> None:
    for status in statuses:
        error = ask.error(json_reply(ask.form.error(status, "some_word", "said the service"), status=status))
        assert isinstance(error, ApiError)
        assert (error.status, error.transient, error.cause) == (status, is_transient, f"http-{status}")
        assert "said the service" in error.message
        assert "said the service" in error.details["HTTP Response"]


BODIES = {
    "empty": b"",
    "html": b"<html><h1>Bad gateway</h1></html>",
    "half a JSON": b'{"error": {"message": "half',
    "a list": b"[]",
    "null": b"null",
    "a number": b"5",
    "no text": b"\xff\xfe\x00",
    "a text": b'"oops"',
    "odd types": b'{"error": {"message": 5, "code": null, "type": ["x"], "metadata": "m", "details": [1]}}',
    "long": b'{"error": "' + b"x" * 100_000 + b'"}',
}


@pytest.mark.parametrize("name", BODIES)
def test_error_bodies_of_any_shape(ask: Asking, name: str) -> None:
    for status, is_transient in ((503, True), (400, False)):
        error = ask.error(Reply(BODIES[name], status))
        assert (error.status, error.transient, error.cause) == (status, is_transient, f"http-{status}")
        assert len(error.details.get("HTTP Response", "")) <= 4096


@pytest.mark.parametrize("name", BODIES)
def test_good_statuses_with_bodies_of_any_shape(ask: Asking, name: str) -> None:
    for stream in (False, True):
        error = ask.error(Reply(BODIES[name]), stream=stream)
        assert error.cause in ("not-json", "stream-cut", "no-candidate", "error-in-reply")
        assert error.transient is (error.cause in ("not-json", "stream-cut"))


WORDS = {
    "overloaded_error": True,
    "rate_limit_error": True,
    "timeout_error": True,
    "api_error": True,
    "server_error": True,
    "engine_overloaded_error": True,
    "RESOURCE_EXHAUSTED": True,
    "UNAVAILABLE": True,
    "INTERNAL": True,
    "DEADLINE_EXCEEDED": True,
    "content_filter": False,
    "data_inspection_failed": False,
    "invalid_request_error": False,
    "context_length_exceeded": False,
    "authentication_error": False,
    "permission_error": False,
    "not_found_error": False,
}


@pytest.mark.parametrize("word", WORDS)
def test_words_in_a_good_reply_and_in_a_stream(ask: Asking, word: str) -> None:
    body = {"error": {"type": word, "message": "said the service"}}
    if ask.column == "anthropic":
        body["type"] = "error"  # type: ignore[assignment]  # only here
    begin = ask.form.events(DONE)[0]
    streamed = sse_reply([begin, f"event: error\ndata: {json.dumps(body)}\n\n"], done=False)
    for error in (ask.error(json_reply(body)), ask.error(streamed, stream=True)):
        assert (error.transient, error.cause, error.status) == (WORDS[word], word.lower(), 200)
        assert "said the service" in error.message


@pytest.mark.parametrize(
    "word", ["insufficient_quota", "billing_hard_limit_reached", "exceeded_current_quota_error", "Arrearage"]
)
def test_empty_accounts_are_permanent_even_on_429(ask: Asking, word: str) -> None:
    if ask.column == "google":
        body: Any = ask.form.error(429, "RESOURCE_EXHAUSTED", "no more")
        body["error"]["details"] = [{"violations": [{"quotaId": "RequestsPerDay"}]}]
    else:
        body = {"error": {"type": word, "message": "no more"}}
    error = ask.error(json_reply(body, status=429, headers={"retry-after": "1"}), retry=RETRY)
    assert (error.transient, len(error.requests)) == (False, 1)


def test_the_service_may_say_whether_to_retry(ask: Asking) -> None:
    for status, wish in ((400, "true"), (503, "false")):
        body = ask.form.error(status, "some_word", "x")
        error = ask.error(json_reply(body, status=status, headers={"x-should-retry": wish}))
        assert error.transient is (wish == "true")


def test_hints_raise_the_wait(ask: Asking) -> None:
    assert ask.waited({}) == 3
    assert ask.waited({"retry-after": "7.5"}) == 7.5
    assert ask.waited({"retry-after": "1"}) == 3
    assert ask.waited({"retry-after-ms": "4500", "retry-after": "100"}) == 4.5
    assert ask.waited({"retry-after": "later"}) == 3
    assert ask.waited({"retry-after": "9"}, status=503) == 9
    delay = {"error": {"code": 429, "message": "x", "details": [{"@type": "x/RetryInfo", "retryDelay": "37s"}]}}
    assert ask.waited({}, body=delay) == 37


def test_reset_headers_count_when_a_counter_is_used_up(ask: Asking) -> None:
    used_up = {"x-ratelimit-remaining-requests": "0", "x-ratelimit-reset-requests": "1m5s"}
    assert ask.waited(used_up) == 65
    assert ask.waited({**used_up, "x-ratelimit-remaining-requests": "1"}) == 3
    assert ask.waited(used_up, status=503) == 3
    soon = datetime.now(UTC) + timedelta(seconds=60)
    named = {"anthropic-ratelimit-tokens-remaining": "0", "anthropic-ratelimit-tokens-reset": soon.isoformat()}
    assert 50 < ask.waited(named) <= 60
    epoch = {"x-ratelimit-remaining": "0", "x-ratelimit-reset": str(int(soon.timestamp() * 1000))}
    assert 50 < ask.waited(epoch) <= 61


def test_wrong_clocks_do_no_harm(ask: Asking) -> None:
    """An instant long past means no wait; one far in the future means giving up with a reason."""
    now = datetime.now(UTC)
    past, future = (format_datetime(now + timedelta(hours=hours), usegmt=True) for hours in (-30, 30))
    assert ask.waited({"retry-after": past}) == 3
    body = ask.form.error(429, "rate_limit_exceeded", "x")
    for hint in (future, "901", "1e308"):
        error = ask.error(json_reply(body, status=429, headers={"retry-after": hint}), retry=RETRY)
        assert (error.transient, len(error.requests)) == (False, 1)
        assert "giving up" in error.message
    assert ask.waited({"retry-after": "-5"}) == 3
    assert ask.waited({"retry-after": "nan"}) == 3


def test_broken_connections_are_tried_again(ask: Asking) -> None:
    good = speak(ask.form, DONE, stream=False)
    whole = json.dumps(ask.form.plain(DONE)).encode()
    faults = {
        "reset": Reply(reset=True),
        "stream-cut": Reply(whole, cut_after=len(whole) // 2),
        "bad-http": Reply(raw=b"good morning\r\n\r\n"),
        "not-json": Reply(whole[: len(whole) // 2]),
    }
    for cause, fault in faults.items():
        turn = ask(fault, good, retry=RETRY)
        assert [record.cause for record in turn.requests] == [cause, ""]


def test_streams_cut_anywhere_are_tried_again(ask: Asking) -> None:
    events = ask.form.events(DONE)
    ends = range(len(events) - (2 if events[-1].startswith("data: [DONE]") else 1))
    for keep in ends:
        turn = ask(sse_reply(events[:keep], done=False), sse_reply(events, done=False), stream=True, retry=RETRY)
        assert [record.cause for record in turn.requests] == ["stream-cut", ""], keep
    half = sse_reply([*events[:-1], events[-1][:9]], cut_after=40)
    turn = ask(half, sse_reply(events, done=False), stream=True, retry=RETRY)
    assert turn.requests[0].cause == "stream-cut"


def test_streams_in_any_chunking_with_comments_give_the_same_turn(ask: Asking) -> None:
    events = ask.form.events(DONE)
    text = ": keep-alive\n\n".join(["", *events]).encode()
    randomly = random.Random(7)
    places = sorted(randomly.sample(range(1, len(text)), 25))
    chunks = [text[a:b] for a, b in zip([0, *places], [*places, len(text)], strict=True)]
    head = {"content-type": "text/event-stream; charset=utf-8"}
    whole = ask(sse_reply(events, done=False), stream=True)
    for reply in (Reply(headers=head, chunks=chunks), Reply(text.replace(b"\n", b"\r\n"), headers=head)):
        assert ask(reply, stream=True).text == whole.text == wrapped()


def test_packed_replies(ask: Asking) -> None:
    assert ask(speak(ask.form, DONE, stream=False, compress=True)).text == wrapped()
    text = "".join(ask.form.events(DONE)).encode()
    packed = Reply(text, headers={"content-type": "text/event-stream"}, compress=True)
    assert ask(packed, stream=True).text == wrapped()


def test_ten_megabytes(ask: Asking) -> None:
    said = Said(wrapped("x" * 10_000_000))
    for stream in (False, True):
        assert ask(speak(ask.form, said, stream=stream), stream=stream).text == said.text


def test_nobody_there(ask: Asking, monkeypatch: pytest.MonkeyPatch) -> None:
    with Loopback() as gone:
        address = gone.url
    error = ask.error(endpoint=address)
    assert isinstance(error, TransportError)
    assert (error.cause, error.transient) == ("connect", True)
    error = ask.error(endpoint=address.replace("http:", "https:"))
    assert (error.cause, error.transient) == ("connect", True)

    def unknown(*_: Any, **__: Any) -> Any:
        raise socket.gaierror(socket.EAI_NONAME, "Name or service not known")

    monkeypatch.setattr(socket, "getaddrinfo", unknown)
    error = ask.error(endpoint="http://no.such.host.invalid")
    assert (error.cause, error.transient) == ("dns", True)


def test_no_tls_there(ask: Asking) -> None:
    with one_answer(b"HTTP/1.1 400 Bad Request\r\n\r\n") as port:
        error = ask.error(endpoint=f"https://127.0.0.1:{port}")
    assert (error.cause, error.transient) == ("tls", True)


def test_a_key_in_a_reply_is_masked_wherever_it_stands(server: Loopback, talk: Talk) -> None:
    key = KEY.reveal()
    wrapper = {"title": key, "explanation": "e", "final_answer": {"content": [key]}}
    submit = Said(key, (Call("s1", "submit_response", wrapper),), end="tools")
    calling = Said(key, (Call("c1", arguments={"a": key}),), end="tools")

    async def work(client: ModelClient) -> Turn:
        return await client.start(PLAIN).next_turn()

    for said, parameters in ((submit, {"legacy-structured-output": True}), (calling, {})):
        server.script(speak(FORMS["anthropic"], said, stream=True))
        turn = talk("anthropic", work, parameters=parameters)
        assert key not in repr(turn)
        assert "**********" in repr(turn)
    assert turn.commentary == "**********"
