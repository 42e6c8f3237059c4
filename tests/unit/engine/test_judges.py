"""Asking a judge through the conversation loop."""

from __future__ import annotations

import asyncio

import pytest

from pytest_mindtrial.core.errors import ApiError, EmptyReplyError, ReplyParseError
from pytest_mindtrial.core.record import RequestRecord
from pytest_mindtrial.core.values import StopClass, Usage
from pytest_mindtrial.engine.judges import VariantAsk
from pytest_mindtrial.suite.model import Pricing, Run

RUN = Run("strict", "openai", "gpt", {"seed": 1}, 5, pricing=Pricing("USD", 1, 2))
FORMAT = {"type": "object", "properties": {"correct": {"type": "boolean"}}, "required": ["correct"]}
GOOD = '{"title": "t", "explanation": "because", "final_answer": {"content": {"correct": true}}}'


def test_a_question_is_a_task_of_its_own(fake_client, say):
    client = fake_client([say(GOOD, mode="schema", usage=Usage(3, 4))])
    ask = VariantAsk("judge", RUN, client)
    reply = asyncio.run(ask("Is it right?", FORMAT))
    assert (reply.verdict, reply.explanation, reply.usage) == ({"correct": True}, "because", Usage(3, 4))
    assert [request.purpose for request in reply.requests] == ["judge"]
    (prompt,) = client.prompts
    assert (prompt.task, prompt.text, prompt.response_format) == ("response assessment", "Is it right?", FORMAT)
    assert (prompt.system_prompt, prompt.attachments, prompt.tools) == (None, (), ())


def test_it_says_which_judge_it_is(fake_client):
    ask = VariantAsk("judge", RUN, fake_client())
    assert (ask.judge_name, ask.provider, ask.variant) == ("judge", "openai", "strict")
    assert ask.variant_config["Model"] == "gpt"
    assert ask.pricing == RUN.pricing


@pytest.mark.parametrize(
    "turn, error",
    [({"text": "yes it is"}, ReplyParseError), ({"text": None}, EmptyReplyError)],
)
def test_a_useless_reply_carries_what_it_cost(fake_client, say, turn, error):
    again = say(None, StopClass.CONTINUE, usage=Usage(1, 1))
    client = fake_client([again, say(**turn, mode="schema", usage=Usage(3, 4))])
    with pytest.raises(error) as caught:
        asyncio.run(VariantAsk("judge", RUN, client)("Is it right?", FORMAT))
    assert caught.value.usage == Usage(4, 5)
    assert [request.purpose for request in caught.value.requests] == ["judge", "judge"]


def test_a_failed_request_carries_all_tries(fake_client):
    error = ApiError("busy", transient=True)
    error.requests = (RequestRecord(1, 1, cause="http-429"), RequestRecord(1, 2, cause="http-429"))
    with pytest.raises(ApiError) as caught:
        asyncio.run(VariantAsk("judge", RUN, fake_client([error]))("Is it right?", FORMAT))
    assert [request.purpose for request in caught.value.requests] == ["judge", "judge"]
    assert caught.value.usage == Usage()
