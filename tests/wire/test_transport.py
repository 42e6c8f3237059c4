"""Whole requests through client, policy, transport and a real socket: the scenarios of spec providers 14.2."""

from __future__ import annotations

import asyncio
import json
import threading
from dataclasses import replace
from typing import Any

import pytest

from pytest_mindtrial.core.errors import ApiError, ProviderError, ReplyError, TransportError
from pytest_mindtrial.core.secret import Secret
from pytest_mindtrial.core.values import StopClass, ToolResult
from pytest_mindtrial.providers.base import ModelClient, Prompt, Turn
from pytest_mindtrial.providers.dialects.base import HttpCall
from pytest_mindtrial.providers.dialects.openai_chat import DIALECT
from pytest_mindtrial.providers.http import Http
from pytest_mindtrial.providers.transport import Transport, auth_headers
from pytest_mindtrial.suite.model import RetryPolicy
from tests.support.loopback import Loopback, Reply, json_reply, sse_reply
from tests.wire.conftest import Talk

ANSWER = '{"title":"Sum","explanation":"2+2","final_answer":"4"}'
GOOD = {
    "id": "r1",
    "choices": [{"index": 0, "finish_reason": "stop", "message": {"role": "assistant", "content": ANSWER}}],
    "usage": {"prompt_tokens": 40, "completion_tokens": 18},
}
CALL = {"id": "c1", "type": "function", "function": {"name": "add", "arguments": '{"a":2,"b":2}'}}
CALLING = {"role": "assistant", "content": None, "tool_calls": [CALL]}
CALLS = {"choices": [{"finish_reason": "tool_calls", "message": CALLING}]}
RETRY = RetryPolicy(max_retry_attempts=2, initial_delay_seconds=3)
STREAMED = [
    {"id": "r1", "choices": [{"index": 0, "delta": {"role": "assistant", "content": ANSWER[:9]}}]},
    {"id": "r1", "choices": [{"index": 0, "delta": {"content": ANSWER[9:]}, "finish_reason": "stop"}]},
    {"id": "r1", "choices": [], "usage": GOOD["usage"]},
]


def asking(prompt: Prompt) -> Any:
    async def work(client: ModelClient) -> Turn:
        return await client.start(prompt).next_turn()

    return work


def test_a_request_carries_key_headers_and_body(server: Loopback, talk: Talk, sum_prompt: Prompt) -> None:
    server.script(json_reply(GOOD, headers={"x-request-id": "req_1"}))

    turn = talk("openai", asking(sum_prompt), headers={"X-Team": "a", "User-Agent": "mine"})

    (seen,) = server.requests
    assert (seen.method, seen.path) == ("POST", "/chat/completions")
    assert seen.headers["authorization"] == "Bearer sk-loopback-0123456789"
    assert seen.headers["content-type"] == "application/json"
    assert seen.headers["accept"] == "application/json"
    assert (seen.headers["x-team"], seen.headers["user-agent"]) == ("a", "mine")
    assert seen.json["messages"][-1] == {"role": "user", "content": "What is 2+2?"}
    assert (turn.text, turn.stop, turn.request_id, turn.response_id) == (ANSWER, StopClass.FINAL, "req_1", "r1")
    (record,) = turn.requests
    assert (record.turn, record.attempt, record.status, record.cause) == (1, 1, 200, "")
    assert turn.duration_ns == record.duration_ns >= (record.first_byte_ns or 0) > 0


def test_the_user_agent_is_ours_and_attribution_is_sent(server: Loopback, talk: Talk, sum_prompt: Prompt) -> None:
    server.script(json_reply(GOOD))
    talk("openrouter", asking(sum_prompt))
    assert server.requests[0].headers["user-agent"].startswith("pytest-mindtrial/")
    assert server.requests[0].headers["x-title"] == "pytest-mindtrial"
    assert "http-referer" not in server.requests[0].headers


def test_attribution_of_the_users_own_wins(server: Loopback, talk: Talk, sum_prompt: Prompt) -> None:
    server.script(json_reply(GOOD))
    own = {"x-TITLE": "Acme evaluations", "HTTP-Referer": "https://acme.example"}
    talk("openrouter", asking(sum_prompt), headers=own)
    seen = server.requests[0].headers
    assert (seen["x-title"], seen["http-referer"]) == ("Acme evaluations", "https://acme.example")


def test_a_custom_endpoint_without_a_key_gets_no_credentials(server: Loopback, talk: Talk, sum_prompt: Prompt) -> None:
    server.script(json_reply(GOOD))
    talk("openai", asking(sum_prompt), key=None, endpoint=server.url + "/v1/")
    assert server.requests[0].path == "/v1/chat/completions"
    assert "authorization" not in server.requests[0].headers


@pytest.mark.parametrize(
    "auth, headers",
    [
        ("bearer", {"authorization": "Bearer sk-1"}),
        ("x-api-key", {"x-api-key": "sk-1"}),
        ("x-goog-api-key", {"x-goog-api-key": "sk-1"}),
    ],
)
def test_how_keys_travel(auth: str, headers: dict[str, str]) -> None:
    assert auth_headers(auth, Secret("sk-1")) == headers


def test_text_of_all_planes_arrives(server: Loopback, talk: Talk, sum_prompt: Prompt) -> None:
    server.script(json_reply(GOOD))
    talk("openai", asking(replace(sum_prompt, text="ü 漢字 😀 \u2028 \ud800")))
    assert server.requests[0].json["messages"][-1]["content"] == "ü 漢字 😀 \u2028 ?"


@pytest.mark.parametrize("before", [b"\n\n \r\n", b"\xef\xbb\xbf"])
def test_blank_lines_and_a_byte_order_mark_before_the_json(
    server: Loopback, talk: Talk, sum_prompt: Prompt, before: bytes
) -> None:
    server.script(Reply(before + json.dumps(GOOD).encode()))
    assert talk("deepseek", asking(sum_prompt)).text == ANSWER


def test_a_reply_in_a_list_of_one_is_unwrapped(server: Loopback, talk: Talk, sum_prompt: Prompt) -> None:
    server.script(json_reply([GOOD]))
    assert talk("openai", asking(sum_prompt)).text == ANSWER


def test_a_stream_gives_the_same_turn(server: Loopback, talk: Talk, sum_prompt: Prompt) -> None:
    server.script(json_reply(GOOD), sse_reply([": keep-alive\n\n", *STREAMED]))
    plain = talk("moonshotai", asking(sum_prompt))
    streamed = talk("moonshotai", asking(sum_prompt), parameters={"stream": True})
    assert server.requests[1].headers["accept"] == "text/event-stream"
    assert server.requests[1].json["stream_options"] == {"include_usage": True}

    def bare(turn: Turn) -> Turn:
        return replace(turn, duration_ns=0, requests=())

    assert bare(streamed) == bare(plain)


def test_a_server_that_ignores_the_stream_switch_is_understood(
    server: Loopback, talk: Talk, sum_prompt: Prompt
) -> None:
    server.script(json_reply(GOOD))
    assert talk("alibaba", asking(sum_prompt), parameters={"stream": True}).text == ANSWER


def test_two_turns_with_a_tool(server: Loopback, talk: Talk, tool_prompt: Prompt) -> None:
    server.script(json_reply(CALLS), json_reply(GOOD))

    async def work(client: ModelClient) -> tuple[Turn, Turn]:
        conversation = client.start(tool_prompt)
        first = await conversation.next_turn()
        conversation.add_tool_results([ToolResult(first.tool_calls[0], "4")])
        conversation.withdraw_tool("add")
        second = await conversation.next_turn()
        conversation.add_feedback("Sure?")
        return first, second

    first, second = talk("openai", work)
    assert (first.stop, second.stop) == (StopClass.TOOLS, StopClass.FINAL)
    assert [turn.requests[0].turn for turn in (first, second)] == [1, 2]
    assert server.requests[1].json["messages"][1:] == [
        {"role": "assistant", "content": None, "tool_calls": [CALL]},
        {"role": "tool", "tool_call_id": "c1", "content": "4"},
    ]
    assert "tools" not in server.requests[1].json
    assert server.connections == 1


@pytest.mark.parametrize(
    "bad, cause, waits",
    [
        (json_reply({"error": {"message": "slow"}}, status=429, headers={"retry-after": "7"}), "http-429", [7]),
        (json_reply({"error": {"message": "slow"}}, status=429, headers={"retry-after": "1"}), "http-429", [3]),
        (json_reply({}, status=500), "http-500", [3]),
        (Reply(b"<html>bad gateway</html>", 502), "http-502", [3]),
        (Reply(reset=True), "reset", [3]),
        (Reply(b"{}", cut_after=1), "stream-cut", [3]),
        (Reply(b'{"id": "cut'), "not-json", [3]),
        (Reply(b"<html>welcome to this hotel</html>"), "not-json", [3]),
        (Reply(b"[" * 100_000), "not-json", [3]),
        (Reply(b"[]"), "not-json", [3]),
        (Reply(b""), "not-json", [3]),
        (json_reply({"error": {"code": 502, "message": "down"}}), "http-502", [3]),
        (
            json_reply({"error": {"type": "server_error"}}, headers={"retry-after": "8", "x-request-id": "e"}),
            "server_error",
            [8],
        ),
        (
            json_reply({"choices": [{"finish_reason": "insufficient_system_resource", "message": {}}]}),
            "insufficient_system_resource",
            [3],
        ),
    ],
)
def test_transient_faults_are_tried_again(
    server: Loopback, talk: Talk, sum_prompt: Prompt, bad: Reply, cause: str, waits: list[float]
) -> None:
    server.script(bad, json_reply(GOOD))

    turn = talk("openai", asking(sum_prompt), retry=RETRY)

    assert turn.text == ANSWER
    assert [record.cause for record in turn.requests] == [cause, ""]
    assert talk.clock.slept == waits
    assert server.requests[0].body == server.requests[1].body


@pytest.mark.parametrize(
    "reply, cause",
    [
        (sse_reply(STREAMED[:1], done=False), "stream-cut"),
        (sse_reply([*STREAMED[:1], "data: {broken\n\n"]), "stream-cut"),
        (sse_reply(STREAMED, cut_after=30), "stream-cut"),
        (sse_reply([*STREAMED[:1], {"error": {"code": 503, "message": "down"}}], done=False), "http-503"),
        (sse_reply(['event: error\ndata: {"type": "overloaded_error"}\n\n'], done=False), "overloaded_error"),
    ],
)
def test_broken_streams_are_tried_again(
    server: Loopback, talk: Talk, sum_prompt: Prompt, reply: Reply, cause: str
) -> None:
    server.script(reply, sse_reply(STREAMED))
    turn = talk("alibaba", asking(sum_prompt), parameters={"stream": True}, retry=RETRY)
    assert turn.text == ANSWER
    assert [record.cause for record in turn.requests] == [cause, ""]


@pytest.mark.parametrize(
    "bad, cause",
    [
        (json_reply({"error": {"message": "no", "type": "invalid_request_error"}}, status=400), "http-400"),
        (json_reply({"error": {"code": "insufficient_quota"}}, status=429), "http-429"),
        (json_reply({}, status=429, headers={"retry-after": "7200"}), "http-429"),
        (json_reply({}, status=307, headers={"location": "/elsewhere"}), "http-307"),
        (json_reply({}, status=503, headers={"x-should-retry": "false"}), "http-503"),
        (json_reply({"error": {"code": "content_filter", "message": "no"}}), "content_filter"),
    ],
)
def test_permanent_faults_are_not(server: Loopback, talk: Talk, sum_prompt: Prompt, bad: Reply, cause: str) -> None:
    server.script(bad)
    with pytest.raises(ApiError) as caught:
        talk("openai", asking(sum_prompt), retry=RETRY)
    assert (caught.value.cause, caught.value.transient) == (cause, False)
    assert [record.cause for record in caught.value.requests] == [cause]
    assert talk.clock.slept == []


def test_used_up_retries_tell_every_try(server: Loopback, talk: Talk, sum_prompt: Prompt) -> None:
    server.script(*[json_reply({}, status=500, headers={"x-request-id": f"req_{number}"}) for number in range(3)])
    with pytest.raises(ProviderError) as caught:
        talk("openai", asking(sum_prompt), retry=RETRY)
    assert [record.request_id for record in caught.value.requests] == ["req_0", "req_1", "req_2"]
    assert talk.clock.slept == [3, 6]


def test_a_reply_without_candidates_keeps_its_records(server: Loopback, talk: Talk, sum_prompt: Prompt) -> None:
    server.script(json_reply({"choices": []}, headers={"x-request-id": "req_1"}))
    with pytest.raises(ReplyError) as caught:
        talk("openai", asking(sum_prompt), retry=RETRY)
    assert caught.value.request_id == "req_1"
    assert [record.status for record in caught.value.requests] == [200]


def test_the_request_timeout_ends_a_try(server: Loopback, talk: Talk, sum_prompt: Prompt) -> None:
    gate = threading.Event()
    server.script(Reply(gate=gate))
    with pytest.raises(TransportError) as caught:
        talk("openai", asking(sum_prompt), request_timeout_s=0.05)
    gate.set()
    assert (caught.value.cause, caught.value.transient) == ("timeout-total", True)


@pytest.mark.parametrize("status", [200, 401])
def test_keys_never_reach_an_error(server: Loopback, talk: Talk, sum_prompt: Prompt, status: int) -> None:
    text = "your key sk-loopback-0123456789 and token team-secret are wrong"
    server.script(json_reply({"error": {"message": text, "code": "invalid_api_key"}}, status=status))
    with pytest.raises(ApiError) as caught:
        talk("openai", asking(sum_prompt), headers={"X-Api-Key": "team-secret"})
    shown = f"{caught.value} {caught.value.message} {caught.value.args} {caught.value.details}"
    assert "sk-loopback" not in shown
    assert "team-secret" not in shown
    assert "**********" in shown


def test_an_address_that_a_function_finds_is_found_once(server: Loopback) -> None:
    server.respond(lambda _: json_reply(GOOD))
    asked = []

    def locate() -> str:
        asked.append(threading.current_thread() is threading.main_thread())
        return server.url + "/v1"

    async def main() -> str:
        http = Http()
        transport = Transport(http, locate, DIALECT, {})
        call = HttpCall("/x", {"a": 1}, headers={"X-Call": "1"})
        await asyncio.gather(*(transport.send(call) for _ in range(3)))
        await http.close()
        return transport.address

    assert asyncio.run(main()) == ""
    assert asked == [False]
    assert {seen.path for seen in server.requests} == {"/v1/x"}
    assert server.requests[0].headers["x-call"] == "1"


def test_an_address_that_was_not_found_is_asked_for_again(server: Loopback) -> None:
    server.respond(lambda _: json_reply(GOOD))
    outcomes: list[Any] = [OSError("not yet"), server.url]

    def locate() -> str:
        outcome = outcomes.pop(0)
        if isinstance(outcome, OSError):
            raise outcome
        return str(outcome)

    async def main() -> int:
        http = Http()
        transport = Transport(http, locate, DIALECT, {})
        with pytest.raises(OSError, match="not yet"):
            await transport.send(HttpCall("/x", {}))
        status = (await transport.send(HttpCall("/x", {}))).status
        await http.close()
        return status

    assert asyncio.run(main()) == 200
