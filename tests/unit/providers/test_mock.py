"""The mock provider, seen through the interface the engine uses."""

import asyncio
import json
import time

import jsonschema
import pytest

from pytest_mindtrial.core.clock import FakeClock
from pytest_mindtrial.core.errors import ApiError, ConfigError, ProviderError, TransportError
from pytest_mindtrial.core.record import RequestRecord
from pytest_mindtrial.core.values import StopClass, ToolResult, Usage
from pytest_mindtrial.providers.base import Prompt, ToolDefinition
from pytest_mindtrial.providers.mock import JUDGE_TASK, MockClient
from pytest_mindtrial.suite.model import JudgePrompt, Rules, Run
from pytest_mindtrial.validators.base import Candidate
from pytest_mindtrial.validators.judge_prompt import render_judge_prompt


class Policy:
    """Tries again after transient errors, up to a number of times, and keeps what it saw."""

    def __init__(self, retries=0):
        self.retries = retries
        self.seen = []

    async def execute(self, send, *, turn, purpose, **_):
        for attempt in range(1, self.retries + 2):
            try:
                reply = await send()
            except ProviderError as error:
                self.seen.append((turn, purpose, error.cause))
                if attempt > self.retries or not error.transient:
                    raise
            else:
                self.seen.append((turn, purpose, reply.status))
                record = RequestRecord(
                    turn,
                    attempt,
                    purpose,
                    0,
                    reply.duration_ns,
                    reply.first_byte_ns,
                    reply.status,
                    "",
                    reply.request_id,
                )
                return reply, (record,)
        raise AssertionError


def client(policy=None, clock=None, run=None, **parameters):
    named = {name.replace("_", "-"): value for name, value in parameters.items()}
    run = run or Run("r1", "mock", "mock-1", parameters=named)
    return MockClient(run, policy or Policy(), clock=clock or FakeClock())


def text_prompt(**changes):
    return Prompt(
        **{
            "task": "sum",
            "text": "What is 2+2?",
            "response_format": "number",
            "expected": ("4",),
            "seed": "s",
            **changes,
        }
    )


def schema_prompt(expected, **changes):
    form = {"type": "object", "properties": {"n": {"type": "integer"}}, "required": ["n"]}
    return Prompt(**{"task": "obj", "text": "?", "response_format": form, "expected": expected, "seed": "s", **changes})


def turns(model, prompt, count=1):
    conversation = model.start(prompt)

    async def run():
        return [await conversation.next_turn() for _ in range(count)]

    return asyncio.run(run())


def final(turn):
    return json.loads(turn.text)["final_answer"]


def answer(prompt, **parameters):
    return final(turns(client(**parameters), prompt)[0])


def test_it_says_that_it_is_a_mock():
    assert client().is_mock is True


def test_checking_accepts_everything_and_closing_is_harmless():
    model = client()
    model.check(text_prompt())
    asyncio.run(model.close())


def test_a_script_mistake_is_found_when_the_client_is_built():
    with pytest.raises(ConfigError, match="unknown model parameter 'behavior'"):
        client(behavior="perfect")


def test_a_reply_is_the_wrapper():
    (turn,) = turns(client(), text_prompt())
    assert json.loads(turn.text).keys() == {"title", "explanation", "final_answer"}
    assert (turn.stop, turn.stop_reason, turn.mode) == (StopClass.FINAL, "stop", "schema")
    assert [record.request_id for record in turn.requests] == [turn.request_id]
    assert turn.request_id.startswith("mock-")


@pytest.mark.parametrize(
    "parameters, words",
    [
        ({}, "is told to be perfect"),
        ({"behaviour": "careless"}, "is told to be careless"),
        ({"behaviour": "echo"}, "repeats what it was told last"),
        ({"answers": {"*": "5"}}, "The script of the mock run"),
        ({"behaviour": "careless", "answers": {"*": "5"}}, "The script of the mock run"),
    ],
)
def test_the_explanation_says_where_the_answer_comes_from(parameters, words):
    (turn,) = turns(client(**parameters), text_prompt())
    assert words in json.loads(turn.text)["explanation"]


@pytest.mark.parametrize(
    "prompt, expected",
    [
        (text_prompt(expected=("4", "four")), "4"),
        (text_prompt(expected=("GRAPE\nPEACH\n",)), "GRAPE\nPEACH"),
        (text_prompt(expected=(4,)), "4"),
        (text_prompt(expected=()), "I do not know"),
        (text_prompt(expected=({"type": "string", "pattern": "^#[0-9]{2}$"},)), "#00"),
        (schema_prompt(({"n": 5}, {"n": 6})), {"content": {"n": 5}}),
        (schema_prompt(()), {"content": {"n": 0}}),
        (schema_prompt(({"type": "object", "properties": {"n": {"minimum": 7}}, "required": ["n"]},)),
         {"content": {"n": 7}}),
        (schema_prompt(({"type": "circle"},), response_format={"type": "object", "properties": {"type": {}}}),
         {"content": {"type": "circle"}}),
        (schema_prompt(([1, 2],), response_format={"type": "array"}), {"content": [1, 2]}),
        (schema_prompt(({},), response_format={"type": "object"}), {"content": {}}),
    ],
    ids=lambda value: str(value)[:60],
)  # fmt: skip
def test_perfect(prompt, expected):
    assert answer(prompt) == expected


@pytest.mark.parametrize(
    "expected",
    [
        ("4",),
        ("4", "5", "6"),
        ("GRAPE, PEACH", "grape,peach"),
        ("ok",),
        ("ok", "I do not know"),
        ("ok", "i do not know", "IDONOTKNOW(2)"),
        ("abcd", "abd", "abc", "I do not know"),
    ],
)
def test_wrong_text_answers_are_wrong_for_the_most_tolerant_rules(expected):
    got = answer(text_prompt(expected=expected), behaviour="careless", accuracy=0)
    loose = {"".join(value.split()).casefold() for value in expected}
    assert "".join(got.split()).casefold() not in loose


@pytest.mark.parametrize(
    "value",
    [5, 0.5, "text", True, None, [], {}, [1, "a"], {"a": {"b": [True]}}, {"a": None, "b": 1}, [None]],
    ids=str,
)
def test_wrong_structured_answers_differ(value):
    got = answer(schema_prompt((value,), response_format={}), behaviour="careless", accuracy=0)["content"]
    assert got != value
    assert type(got) is not type(value) or value not in (None, {})


def test_wrong_structured_answers_avoid_all_alternatives():
    got = answer(schema_prompt((1, 2, [1, 1])), behaviour="careless", accuracy=0)["content"]
    assert got not in (1, 2, [1, 1])


@pytest.mark.parametrize(
    "schema",
    [
        {"type": "number", "minimum": 9.9, "maximum": 10.1},
        {"type": "string"},
        {"type": "string", "pattern": "^I"},
        {"$schema": "https://json-schema.org/draft/2020-12/schema", "type": "object", "required": ["n"]},
        {"type": ["string", "number", "null"]},
        {"type": "string", "pattern": "(?=x)x"},
    ],
    ids=str,
)
def test_wrong_answers_to_schema_validation_are_rejected(schema):
    prompt = schema_prompt((schema,), response_format={"type": "number"})
    got = answer(prompt, behaviour="careless", accuracy=0)["content"]
    assert not jsonschema.Draft202012Validator(schema).is_valid(got)


def test_a_schema_that_accepts_everything_still_gets_an_answer():
    assert answer(schema_prompt(({"title": "any"},)), behaviour="careless", accuracy=0) == {"content": "I do not know"}


def test_careless_is_deterministic_and_hits_its_accuracy():
    def right(seed, run="r1"):
        model = client(run=Run(run, "mock", "m", parameters={"behaviour": "careless", "accuracy": 0.7}))
        return [final(turns(model, text_prompt(task=f"t{i}", seed=seed))[0]) == "4" for i in range(400)]

    first = right("a")
    assert first == right("a")
    assert first != right("b")
    assert first != right("a", run="r2")
    assert 0.6 < sum(first) / len(first) < 0.8


def test_repeats_of_a_careless_run_differ():
    got = {answer(text_prompt(repeat=i), behaviour="careless", accuracy=0.5) for i in range(1, 20)}
    assert got == {"4", "5"}


def test_echo_says_what_it_heard_last():
    conversation = client(behaviour="echo", tool_calls={"sum": [{"name": "add"}]}).start(text_prompt())

    async def talk():
        called = await conversation.next_turn()
        conversation.add_tool_results([ToolResult(called.tool_calls[0], "tool says 4")])
        after_tool = await conversation.next_turn()
        conversation.add_feedback("try again")
        return final(after_tool), final(await conversation.next_turn())

    assert asyncio.run(talk()) == ("tool says 4", "try again")
    assert answer(text_prompt(), behaviour="echo") == "What is 2+2?"


def test_scripted_answers_win_over_the_behaviour():
    assert answer(text_prompt(), answers={"s*": "five"}) == "five"
    assert answer(text_prompt(), answers={"s*": 5}) == "5"
    assert answer(schema_prompt(({"n": 1},)), answers={"obj": {"n": 9}}) == {"content": {"n": 9}}


def test_scripted_answers_go_on_with_every_answer():
    got = turns(client(answers={"sum": ["1", "2"]}), text_prompt(), count=3)
    assert [final(turn) for turn in got] == ["1", "2", "2"]


def test_a_script_without_the_task_is_a_permanent_error():
    with pytest.raises(ApiError, match="run 'r1' has no answer for task 'sum': add it to answers") as caught:
        turns(client(behaviour="script", answers={"other": "x"}), text_prompt())
    assert caught.value.transient is False


def test_a_schema_that_is_too_hard_asks_for_a_scripted_answer():
    with pytest.raises(ApiError, match=r"cannot invent an answer for task 'obj' .*: add it to answers"):
        turns(client(), schema_prompt((), response_format={"$ref": "elsewhere.json"}))


def test_tool_calls_come_before_the_answer():
    calls = {
        "sum": [[{"name": "add", "arguments": {"a": "ä"}}, {"name": "add", "arguments": "{broken"}], {"name": "b"}]
    }
    first, second, third = turns(
        client(tool_calls=calls), text_prompt(tools=(ToolDefinition("add", "Adds", {}),)), count=3
    )
    assert [(call.id, call.name, call.arguments) for call in first.tool_calls] == [
        ("call_1_1", "add", '{"a": "ä"}'),
        ("call_1_2", "add", "{broken"),
    ]
    assert (first.stop, first.text) == (StopClass.TOOLS, None)
    assert [call.id for call in second.tool_calls] == ["call_2_1"]
    assert (third.stop, final(third)) == (StopClass.FINAL, "4")


def test_a_withdrawn_tool_does_not_change_the_script():
    conversation = client(tool_calls={"sum": [{"name": "add"}]}).start(text_prompt())
    conversation.withdraw_tool("add")
    assert asyncio.run(conversation.next_turn()).tool_calls[0].name == "add"


@pytest.mark.parametrize(
    "fault, kind, cause, transient, status",
    [
        ("http-429", ApiError, "http-429", True, 429),
        ("http-500", ApiError, "http-500", True, 500),
        ("http-501", ApiError, "http-501", False, 501),
        ("http-599", ApiError, "http-599", True, 599),
        ("http-401", ApiError, "http-401", False, 401),
        ("reset", TransportError, "connect", True, None),
        ("timeout", TransportError, "timeout", True, None),
    ],
)
def test_request_faults(fault, kind, cause, transient, status):
    with pytest.raises(kind) as caught:
        turns(client(faults={"*": [fault]}), text_prompt())
    error = caught.value
    assert (error.cause, error.transient, error.status) == (cause, transient, status)


def test_the_retry_hint_is_passed_on():
    with pytest.raises(ApiError) as caught:
        turns(client(faults={"sum": [{"fault": "http-429", "retry-after": 2}]}), text_prompt())
    assert caught.value.retry_after_s == 2.0


def test_faults_count_requests_so_that_retries_get_past_them():
    policy = Policy(retries=2)
    model = client(policy, faults={"sum": ["reset", "http-503", "ok", "http-500"]})
    got = turns(model, text_prompt(), count=2)
    assert [final(turn) for turn in got] == ["4", "4"]
    assert policy.seen == [
        (1, "candidate", "connect"),
        (1, "candidate", "http-503"),
        (1, "candidate", 200),
        (2, "candidate", "http-500"),
        (2, "candidate", 200),
    ]
    assert got[0].requests[0].attempt == 3


@pytest.mark.parametrize(
    "fault, stop, reason",
    [
        ("refusal", StopClass.REFUSED, "refusal"),
        ("truncated", StopClass.TRUNCATED, "length"),
        ("invalid-json", StopClass.FINAL, "stop"),
        ("empty", StopClass.FINAL, "stop"),
    ],
)
def test_reply_faults(fault, stop, reason):
    (turn,) = turns(client(faults={"sum": [fault]}), text_prompt())
    assert (turn.stop, turn.stop_reason) == (stop, reason)
    if fault in ("refusal", "empty"):
        assert turn.text is None
    else:
        with pytest.raises(json.JSONDecodeError):
            json.loads(turn.text)


def test_without_structured_output_the_reply_is_the_bare_answer():
    run = Run("r1", "mock", "m", disable_structured_output=True)
    (turn,) = turns(client(run=run), text_prompt())
    assert (turn.text, turn.mode) == ("4", "off")


def test_delay_and_jitter_use_the_clock():
    clock = FakeClock()
    (turn,) = turns(client(clock=clock, delay="100ms", jitter="50ms"), text_prompt())
    (slept,) = clock.slept
    assert 0.1 <= slept < 0.15
    assert turn.duration_ns == turn.requests[0].first_byte_ns == round(slept * 1e9)
    turns(client(clock=clock, delay="100ms", jitter="50ms"), text_prompt())
    assert clock.slept == [slept, slept]


def test_without_delay_nothing_sleeps():
    clock = FakeClock()
    turns(client(clock=clock), text_prompt())
    assert clock.slept == []


def test_usage_is_derived_from_lengths_and_grows_with_the_conversation():
    first, second = turns(client(), text_prompt(system_prompt="1234"), count=2)
    assert first.usage.input_tokens == 4  # 16 characters
    assert first.usage.output_tokens == -(-len(first.text) // 4)
    assert second.usage.input_tokens == -(-(16 + len(first.text)) // 4)


def test_usage_can_be_fixed_or_missing():
    (turn,) = turns(client(tokens={"input": 10, "reasoning": 2, "cache-read": 3, "cache-write": 1}), text_prompt())
    assert (turn.usage.input_tokens, turn.usage.output_tokens, turn.usage.reasoning_tokens) == (10, None, 2)
    assert (turn.usage.cache_read_tokens, turn.usage.cache_write_tokens) == (3, 1)
    (turn,) = turns(client(tokens="none"), text_prompt())
    assert turn.usage == Usage()


VERDICT = {"type": "object", "properties": {"correct": {"type": "boolean"}}, "required": ["correct"]}


def judge_prompt(answer, verdict_format=VERDICT):
    asked = JudgePrompt(verdict_format=verdict_format)
    candidate = Candidate("t", "Capital?", "one word", ("Paris", "City of\n- Paris"), Rules(), answer)
    text = render_judge_prompt(asked, candidate)
    return Prompt(task=JUDGE_TASK, text=text, response_format=verdict_format)


@pytest.mark.parametrize(
    "candidate, verdict_format, expected",
    [
        (" paris", VERDICT, {"content": {"correct": True}}),
        ("City of", VERDICT, {"content": {"correct": True}}),
        ("London", VERDICT, {"content": {"correct": False}}),
        ("", VERDICT, {"content": {"correct": False}}),
        ("Paris", {"type": "boolean"}, {"content": True}),
        ("Paris", {"enum": ["good", "bad"]}, {"content": "good"}),
        ("Paris", "one word", "correct"),
        ("Rome", "one word", "incorrect"),
    ],
)
def test_as_a_judge_it_compares(candidate, verdict_format, expected):
    policy = Policy()
    (turn,) = turns(client(policy), judge_prompt(candidate, verdict_format))
    assert final(turn) == expected
    assert policy.seen == [(1, "judge", 200)]


def test_a_judge_prompt_without_sections_is_judged_incorrect():
    prompt = Prompt(task=JUDGE_TASK, text="is it good?", response_format=VERDICT)
    assert answer(prompt) == {"content": {"correct": False}}
    rules = [{"contains": "GOOD", "verdict": {"correct": True}}]
    assert answer(prompt, verdicts=rules) == {"content": {"correct": True}}


def test_verdicts_can_be_scripted():
    rules = [{"contains": "london", "verdict": {"correct": True}}, {"verdict": {"correct": False}}]
    assert answer(judge_prompt("It is London."), verdicts=rules) == {"content": {"correct": True}}
    assert answer(judge_prompt("Paris"), verdicts=rules) == {"content": {"correct": False}}


def test_a_rule_is_not_misled_by_the_accepted_answers():
    rules = [{"contains": "Paris", "verdict": {"correct": True}}]
    assert answer(judge_prompt("Rome"), verdicts=rules) == {"content": {"correct": False}}


def test_a_call_costs_under_a_tenth_of_a_millisecond():
    model = client()

    async def many(count):
        for index in range(count):
            await model.start(text_prompt(repeat=index)).next_turn()

    asyncio.run(many(50))
    best = min(_cpu(many, 200) for _ in range(5))
    assert best < 0.1e-3


def _cpu(many, count):
    began = time.thread_time()
    asyncio.run(many(count))
    return (time.thread_time() - began) / count
