"""The conversation loop: classes of stops, tools, turn limits, what it leaves behind."""

from __future__ import annotations

import asyncio

import pytest

from pytest_mindtrial.core.errors import ApiError, EmptyReplyError, ReplyError, ReplyParseError, TurnLimitError
from pytest_mindtrial.core.record import RequestRecord
from pytest_mindtrial.core.values import StopClass, ToolCall, ToolResult, Usage
from pytest_mindtrial.engine.slots import Lane, Slot, current_slot
from pytest_mindtrial.engine.turns import Trail, converse, read_reply
from pytest_mindtrial.providers.base import Attachment, Prompt

PROMPT = Prompt(
    "t", "What?", "one word", system_prompt="Be brief.", attachments=(Attachment("a.png", "image/png", b""),)
)


class Tools:
    def __init__(self, exhausted=(), fails=False):
        self.exhausted = set(exhausted)
        self.fails = fails
        self.turns = []
        self.usage, self.calls = {}, ()

    async def call(self, call, turn):
        self.turns.append(turn)
        return ToolResult(call, f"{call.name} says hi", is_error=self.fails)


def run(client, *, tools=None, max_turns=0, trail=None):
    trail = trail or Trail()
    return asyncio.run(converse(client.start(PROMPT), trail, tools=tools, max_turns=max_turns)), trail


@pytest.fixture
def call_tools(say):
    def make(*names, **fields):
        calls = tuple(ToolCall(f"c{index}", name, "{}") for index, name in enumerate(names))
        return say(None, StopClass.TOOLS, tool_calls=calls, commentary="let me see", **fields)

    return make


def test_tools_are_answered_in_order_until_the_answer(fake_client, say, call_tools):
    client = fake_client([call_tools("add", "sub"), call_tools("add"), say("4")])
    tools = Tools()
    turn, trail = run(client, tools=tools)
    assert turn.text == "4"
    assert trail.turns == 3
    assert [result.content for result in client.results] == ["add says hi", "sub says hi", "add says hi"]
    assert tools.turns == [1, 1, 2]
    assert [message["role"] for message in trail.transcript] == [
        "assistant",
        "tool",
        "tool",
        "assistant",
        "tool",
        "assistant",
    ]
    assert trail.transcript[0]["text"] == "let me see"
    assert trail.transcript[1] == {"role": "tool", "name": "add", "arguments": "{}", "text": "add says hi"}


def test_without_tools_a_call_gets_a_text_and_no_crash(fake_client, say, call_tools):
    client = fake_client([call_tools("nope"), say("4")])
    assert run(client)[0].text == "4"
    (result,) = client.results
    assert result.is_error
    assert "no tool named nope" in result.content


def test_a_tool_called_again_after_it_was_used_up_is_withdrawn(fake_client, say, call_tools):
    client = fake_client([call_tools("add"), call_tools("add", "sub"), call_tools("sub"), say("4")])
    run(client, tools=Tools(exhausted=["add"], fails=True))
    assert client.withdrawn == ["add"]


def test_what_turns_cost_is_summed(fake_client, say, call_tools):
    client = fake_client(
        [
            call_tools("add", usage=Usage(input_tokens=5), duration_ns=10),
            say("4", usage=Usage(input_tokens=7, output_tokens=1), duration_ns=20),
        ]
    )
    _, trail = run(client, tools=Tools())
    assert (trail.usage.input_tokens, trail.usage.output_tokens, trail.duration_ns) == (12, 1, 30)
    assert len(trail.requests) == 2


@pytest.mark.parametrize("limit, works", [(0, True), (3, True), (2, False)])
def test_the_turn_limit_counts_requests(fake_client, say, call_tools, limit, works):
    client = fake_client([call_tools("add"), call_tools("add"), say("4")])
    if works:
        assert run(client, tools=Tools(), max_turns=limit)[0].text == "4"
    else:
        with pytest.raises(TurnLimitError, match="maximum conversation turns exceeded: exceeded limit of 2"):
            run(client, tools=Tools(), max_turns=limit)


def test_three_continues_in_a_row_are_followed_and_a_fourth_is_an_error(fake_client, say, call_tools):
    again = say(None, StopClass.CONTINUE, stop_reason="pause_turn")
    client = fake_client([again, again, again, call_tools("add"), again, again, again, say("4")])
    assert run(client)[0].text == "4"
    with pytest.raises(ReplyError, match="4 times in a row") as caught:
        run(fake_client([again] * 5))
    assert caught.value.details == {"Stop Reason": "pause_turn"}
    assert caught.value.cause == "continue"


@pytest.mark.parametrize(
    "stop", [StopClass.FINAL, StopClass.TRUNCATED, StopClass.FILTERED, StopClass.REFUSED, StopClass.FAILED]
)
def test_every_other_class_is_terminal(fake_client, say, stop):
    assert run(fake_client([say("x", stop)]))[0].stop is stop


def test_tool_calls_of_a_truncated_turn_are_not_run(fake_client, say):
    tools = Tools()
    run(fake_client([say(None, StopClass.TRUNCATED, tool_calls=(ToolCall("c", "add", "{"),))]), tools=tools)
    assert tools.turns == []


def test_requests_of_a_failed_turn_are_kept(fake_client, call_tools):
    error = ApiError("down", cause="http-500")
    error.requests = (RequestRecord(2, 1, cause="http-500"), RequestRecord(2, 2, cause="http-500"))
    trail = Trail("judge")
    with pytest.raises(ApiError):
        run(fake_client([call_tools("add"), error]), trail=trail)
    assert [request.cause for request in trail.requests] == ["", "http-500", "http-500"]
    assert {request.purpose for request in trail.requests} == {"judge"}


def test_the_opening_is_noted_as_sent():
    trail = Trail()
    trail.open(PROMPT)
    trail.add_user("try again")
    assert trail.transcript == [
        {"role": "system", "text": "Be brief."},
        {"role": "user", "text": "[file: a.png]\nWhat?"},
        {"role": "user", "text": "try again"},
    ]
    bare = Trail()
    bare.open(Prompt("t", "What?", "x"))
    assert bare.transcript == [{"role": "user", "text": "What?"}]


def test_the_slot_shows_the_turn(fake_client, say, call_tools):
    slot = Slot(Lane("p", 1, lambda *_: True), "r", "x", 0)
    token = current_slot.set(slot)
    try:
        run(fake_client([call_tools("add"), say("4")]), tools=Tools())
    finally:
        current_slot.reset(token)
    assert slot.turn == 2


@pytest.mark.parametrize(
    "fields, error",
    [
        ({"text": None}, EmptyReplyError),
        ({"text": "no json", "mode": "schema"}, ReplyParseError),
        ({"text": "partial", "stop": StopClass.FILTERED}, ReplyError),
    ],
)
def test_an_unreadable_reply_names_its_request(say, fields, error):
    turn = say(fields.pop("text"), **{"stop_reason": "why", "request_id": "req-9", **fields})
    with pytest.raises(error) as caught:
        read_reply(turn, "one word")
    assert caught.value.request_id == "req-9"
    assert caught.value.details["Stop Reason"] == "why"
