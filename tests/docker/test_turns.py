"""Seed 000, Tool Selection and Conversation Turn Limit: the turns of a conversation with real tool containers.

Each conversation is held twice: with a scripted mock, and in the chat dialect with a server on loopback.
"""

from __future__ import annotations

import itertools
import json
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from typing import Any

import pytest

from pytest_mindtrial.core.record import Result
from pytest_mindtrial.core.values import Kind
from pytest_mindtrial.engine.attempts import AttemptSettings
from pytest_mindtrial.engine.engine import Engine
from pytest_mindtrial.engine.plan import AttemptPlan
from pytest_mindtrial.suite.model import ClientConfig, Config, Provider, Run, Task
from tests.support.loopback import Loopback, Reply, json_reply

Call = tuple[str, dict[str, Any]]


@dataclass
class Conversation:
    """What became of a conversation, and the bodies of its requests where there were any."""

    result: Result
    bodies: list[dict[str, Any]]

    @property
    def told(self) -> list[str]:
        """What the model was told about its calls, in order."""
        return [str(turn["text"]) for turn in self.result.transcript if turn["role"] == "tool"]


def mock(turns: Sequence[Sequence[Call]], server: Loopback) -> Provider:
    calls = [[{"name": name, "arguments": arguments} for name, arguments in turn] for turn in turns]
    parameters = {"behaviour": "script", "tool-calls": {"*": calls}, "answers": {"*": "done"}}
    return Provider("mock", 0, ClientConfig(), (Run("r", "mock", "m", parameters),))


def chat(turns: Sequence[Sequence[Call]], server: Loopback) -> Provider:
    server.script(*(completion(*turn) for turn in turns), completion())
    client = ClientConfig(api_key="sk-loopback-0123456789", endpoint=f"{server.url}/v1")
    return Provider("openai", 0, client, (Run("r", "openai", "gpt-4.1-mini"),))


def completion(*calls: Call) -> Reply:
    """Return a reply that wishes for these calls, or the answer when there are none."""
    message: dict[str, Any] = {"role": "assistant", "content": None}
    if calls:
        message["tool_calls"] = [
            {"id": f"call_{index}", "type": "function", "function": {"name": name, "arguments": json.dumps(arguments)}}
            for index, (name, arguments) in enumerate(calls)
        ]
    else:
        message["content"] = json.dumps({"title": "t", "explanation": "e", "final_answer": "done"})
    choice = {"index": 0, "finish_reason": "tool_calls" if calls else "stop", "message": message}
    return json_reply({"id": "c1", "object": "chat.completion", "created": 1, "model": "m", "choices": [choice]})


@pytest.fixture(params=[mock, chat], ids=["mock", "chat"])
def talk(request: pytest.FixtureRequest, lab: Any) -> Callable[..., Conversation]:
    """Return what holds a conversation in which the model makes the given calls, turn by turn, then answers."""

    def hold(config: Config, turns: Sequence[Sequence[Call]], **fields: Any) -> Conversation:
        with Loopback() as server:
            provider = request.param(turns, server)
            config = Config(config.path, (provider,), tools=config.tools, services=config.services)
            task: Task = lab.task(config, expected=("done",), **fields)
            engine = Engine(
                configs=[config],
                providers=[(provider, provider.runs[0])],
                attempts=AttemptSettings(sandbox=lab.hub),
            )
            engine.start()
            try:
                result = engine.submit(AttemptPlan(task, provider.runs[0], provider, "eval-seed")).result(60)
            finally:
                engine.close()
            return Conversation(result, [received.json for received in server.requests])

    return hold


def echo(lab: Any, name: str = "say") -> Any:
    return lab.tool(
        name,
        command=("cat", "/in/text"),
        parameters={"type": "object", "properties": {"text": {"type": "string"}}, "required": ["text"]},
        parameter_files={"text": "/in/text"},
        description=f"{name}s a text.",
    )


def test_results_go_back_to_the_model_and_the_conversation_goes_on(lab: Any, talk: Any) -> None:
    said = talk(lab.config(echo(lab)), [[("say", {"text": "one"})], [("say", {"text": "two"})]])
    assert (said.result.kind, said.told) == (Kind.PASSED, ["one", "two"])
    assert [(call.turn, call.status) for call in said.result.answer.tool_calls] == [(1, "success"), (2, "success")]
    assert said.result.answer.tool_usage["say"].call_count == 2
    if said.bodies:
        assert said.bodies[0]["tools"][0]["function"]["name"] == "say"
        assert said.bodies[0]["tools"][0]["function"]["description"] == "says a text."
        assert said.bodies[1]["messages"][-1] == {"role": "tool", "tool_call_id": "call_0", "content": "one"}


def test_the_conversation_ends_at_its_turn_limit(lab: Any, talk: Any) -> None:
    said = talk(lab.config(echo(lab)), [[("say", {"text": str(turn)})] for turn in range(4)], max_turns=2)
    assert said.result.kind is Kind.ERROR
    assert said.result.error.message == "maximum conversation turns exceeded: exceeded limit of 2"
    assert said.told == ["0", "1"]
    assert len(said.bodies) in (0, 2)  # the mock sends none
    assert said.result.error.tool_usage["say"].call_count == 2


def test_a_limit_that_is_not_reached_changes_nothing(lab: Any, talk: Any) -> None:
    said = talk(lab.config(echo(lab)), [[("say", {"text": "one"})]], max_turns=2)
    assert said.result.kind is Kind.PASSED


def test_a_tool_that_is_used_up_is_refused_and_then_withdrawn(lab: Any, talk: Any) -> None:
    config = lab.config(echo(lab), echo(lab, "shout"))
    said = talk(config, [[("say", {"text": str(turn)})] for turn in range(3)], max_calls=1)
    refusal = "Tool error: say may be called at most 1 times in this task; do not call it again."
    assert (said.result.kind, said.told) == (Kind.PASSED, ["0", refusal, refusal])
    assert [call.status for call in said.result.answer.tool_calls] == ["success"]
    offered = [[tool["function"]["name"] for tool in body["tools"]] for body in said.bodies]
    assert offered in ([], [["say", "shout"], ["say", "shout"], ["say", "shout"], ["shout"]])


def test_calls_of_one_turn_run_in_order_and_are_answered_together(lab: Any, talk: Any) -> None:
    config = lab.config(echo(lab), echo(lab, "shout"))
    wishes = [("say", {"text": "a"}), ("shout", {"text": "b"}), ("say", {"text": "c"})]
    said = talk(config, [wishes])
    assert (said.result.kind, said.told) == (Kind.PASSED, ["a", "b", "c"])
    calls = said.result.answer.tool_calls
    assert [(call.tool, call.turn) for call in calls] == [("say", 1), ("shout", 1), ("say", 1)]
    assert all(before.completed_at <= after.started_at for before, after in itertools.pairwise(calls))
    if said.bodies:
        answers = said.bodies[1]["messages"][-3:]
        assert [(each["tool_call_id"], each["content"]) for each in answers] == [
            ("call_0", "a"),
            ("call_1", "b"),
            ("call_2", "c"),
        ]


def test_tools_that_do_not_exist_and_wrong_arguments_are_told_to_the_model(lab: Any, talk: Any) -> None:
    wishes = [("sing", {"text": "a"}), ("say", {"words": "a"}), ("say", {"text": "b"})]
    said = talk(lab.config(echo(lab)), [wishes])
    assert said.result.kind is Kind.PASSED
    assert said.told[0] == "Tool error: there is no tool named sing."
    assert said.told[1].startswith("Tool error: the arguments of say are not valid: $: 'text' is a required property")
    assert said.told[2] == "b"
    assert [call.status for call in said.result.answer.tool_calls] == ["invalid_arguments", "success"]


def test_a_service_that_is_gone_ends_the_conversation_as_an_error(lab: Any, talk: Any) -> None:
    config = lab.config(lab.counter(), lab.client())
    said = talk(config, [[("get", {"path": "/stop"})], [("get", {"path": "/"})]])
    assert said.result.kind is Kind.ERROR
    assert "service 'counter' stopped with exit code 7 during the attempt" in said.result.error.message
    assert len(said.bodies) in (0, 1)
