"""The whole engine on a real loop: mock and HTTP providers, keys, slots that are lent, nothing left behind."""

from __future__ import annotations

import asyncio
import concurrent.futures
import threading
import time
from dataclasses import replace
from pathlib import Path

import pytest

from pytest_mindtrial.core.errors import ConfigError
from pytest_mindtrial.core.record import Result
from pytest_mindtrial.core.values import Kind
from pytest_mindtrial.core.wire import from_wire, to_wire
from pytest_mindtrial.engine.attempts import AttemptSettings
from pytest_mindtrial.engine.clients import ClientSettings
from pytest_mindtrial.engine.engine import Engine
from pytest_mindtrial.engine.plan import AttemptPlan
from pytest_mindtrial.suite.model import (
    ClientConfig,
    Config,
    Judge,
    JudgeSelection,
    Provider,
    RetryPolicy,
    Rules,
    Run,
    Task,
)
from tests.support.loopback import Loopback, json_reply


def config_of(*runs, name="mock", judges=(), **client):
    entry = Provider(name, 0, ClientConfig(**client), runs)
    return Config(Path("config.yaml"), (entry,), judges), entry


def plan_of(entry, number=0, run=None, **task):
    the_task = Task(f"t{number}", "What?", "one word", **{"expected": ("yes",), **task})
    return AttemptPlan(the_task, run or entry.runs[0], entry, "seed", nodeid=f"t{number}")


@pytest.fixture
def engines():
    made = []

    def make(config, **options):
        engine = Engine(configs=[config], **options)
        made.append(engine)
        engine.start()
        return engine

    yield make
    for engine in made:
        assert engine.close(2)


def chat_reply(text="yes", **fields):
    wrapper = '{"title": "t", "explanation": "e", "final_answer": "%s"}' % text  # noqa: UP031 - braces
    message = {"role": "assistant", "content": wrapper}
    body = {
        "id": "x",
        "choices": [{"index": 0, "finish_reason": "stop", "message": message}],
        "usage": {"prompt_tokens": 5, "completion_tokens": 2},
    }
    return json_reply(body, **fields)


def test_mock_attempts_pass_and_travel(engines):
    config, entry = config_of(Run("r", "mock", "m"))
    heard = []
    engine = engines(config, on_result=heard.append, providers=[(entry, entry.runs[0])])
    results = [future.result(10) for future in engine.submit_many(plan_of(entry, number) for number in range(30))]
    assert {result.kind for result in results} == {Kind.PASSED}
    assert len({result.trace_id for result in results}) == 30
    assert sorted(heard, key=lambda result: result.trace_id) == sorted(results, key=lambda result: result.trace_id)
    assert from_wire(Result, to_wire(results[0])) == results[0]
    assert results[0].is_mock


def test_keys_of_selected_runs_are_checked_before_the_start():
    config, entry = config_of(Run("r", "xai", "m"), name="xai")
    settings = AttemptSettings(clients=ClientSettings(environ={}))
    with pytest.raises(ConfigError, match="XAI_API_KEY"):
        Engine(configs=[config], providers=[(entry, entry.runs[0])], attempts=settings)
    Engine(configs=[config], attempts=settings)  # not selected, not needed


def test_a_retry_over_http_is_recorded_and_the_key_is_redacted(engines):
    with Loopback() as server:
        server.script(json_reply({"error": {"message": "busy"}}, status=429, headers={"retry-after-ms": "30"}),
                      chat_reply())  # fmt: skip
        run = Run("r", "xai", "grok", retry_policy=RetryPolicy(2, 0))
        config, entry = config_of(run, name="xai", endpoint=server.url, api_key="sk-loopback-key")
        engine = engines(config, attempts=AttemptSettings(clients=ClientSettings(environ={})))
        result = engine.submit(plan_of(entry)).result(10)
        assert server.requests[0].headers["authorization"] == "Bearer sk-loopback-key"
    assert result.kind is Kind.PASSED
    assert [request.cause for request in result.requests] == ["http-429", ""]
    assert result.requests[1].waited_ns > 0.9e9
    assert result.answer.usage.input_tokens == 5
    assert 0 < result.duration_ns < 0.9e9
    assert "sk-loopback-key" not in engine.redact("Bearer sk-loopback-key")


def test_a_judge_asks_over_its_own_client(engines):
    with Loopback() as server:
        verdict = chat_reply().body.replace(b'\\"yes\\"', b'{\\"content\\": {\\"correct\\": true}}')
        server.script(chat_reply("Yes indeed"), replace(chat_reply(), body=verdict))
        judging = Provider("xai", 0, ClientConfig("k", server.url), (Run("v", "xai", "judge-model"),))
        config, entry = config_of(
            Run("r", "xai", "grok"), name="xai", endpoint=server.url, judges=(Judge("j", judging),)
        )
        engine = engines(config, attempts=AttemptSettings(clients=ClientSettings(environ={})))
        plan = plan_of(entry, rules=Rules(judge=JudgeSelection(True, "j", "v")))
        result = engine.submit(plan).result(10)
        assert [request.json["model"] for request in server.requests] == ["grok", "judge-model"]
    assert result.kind is Kind.PASSED
    assert result.validation.usage.input_tokens == 5
    assert result.answer.usage.input_tokens == 5
    assert result.validation.semantic.judge_name == "j"


def test_sleeping_retries_hold_no_slot(engines):
    """Half of the attempts back off; the others do not wait for them."""
    faults = {f"t{number}": ["http-429"] for number in range(0, 20, 2)}
    run = Run("r", "mock", "m", {"faults": faults}, retry_policy=RetryPolicy(1, 1))
    config, entry = config_of(run)
    engine = engines(config, concurrency=10)
    finished = []
    futures = engine.submit_many(plan_of(entry, number) for number in range(20))
    for future in futures:
        future.add_done_callback(lambda future: finished.append(future.result().task))
    began = time.monotonic()
    concurrent.futures.wait(futures[1::2], 5)
    assert time.monotonic() - began < 0.9
    concurrent.futures.wait(futures, 5)
    assert set(finished[:10]) == {f"t{number}" for number in range(1, 20, 2)}


def test_hooks_supply_models_and_validators(engines):
    class Own:
        name, method = "own", "exact"

        async def validate(self, candidate):
            return await engine.validator_of(plan.task, entry.runs[1]).validate(candidate)

    config, entry = config_of(Run("r", "mock", "m"), Run("plain", "mock", "m"))
    engine = engines(
        config,
        client_hook=lambda provider, run: (lambda text: f"{text} yes") if run.name == "r" else None,
        validator_hook=lambda task, run: Own() if run.name == "r" else None,
    )
    plan = plan_of(entry, expected=("what? yes",))
    result = engine.submit(plan).result(10)
    assert result.kind is Kind.PASSED
    assert not result.is_mock
    assert result.validation.validator == "value match"

    async def client():
        return engine.client_of(entry, entry.runs[1])

    assert engine.run(client).result(5).is_mock
    assert engine.hub_of(config).session is None


def test_close_in_the_middle_of_requests_leaves_no_thread_and_no_socket(recwarn):
    before = set(threading.enumerate())
    gate = threading.Event()
    with Loopback() as server:
        server.respond(lambda received: replace(chat_reply(), gate=gate))
        config, entry = config_of(Run("r", "xai", "grok"), name="xai", endpoint=server.url)
        engine = Engine(configs=[config], attempts=AttemptSettings(clients=ClientSettings(environ={})))
        engine.start()
        futures = engine.submit_many(plan_of(entry, number) for number in range(15))
        deadline = time.monotonic() + 5
        while len(server.requests) < 10 and time.monotonic() < deadline:
            time.sleep(0.005)
        assert len(server.requests) == 10
        began = time.monotonic()
        assert engine.close(2)
        assert time.monotonic() - began < 1.5
        assert all(future.cancelled() for future in futures)
        gate.set()
    assert set(threading.enumerate()) <= before
    assert not [warning for warning in recwarn.list if "unclosed" in str(warning.message)]


def test_attempts_cost_little(engines):
    """The whole way of a mock attempt; the engine's own share is measured in test_loop."""
    config, entry = config_of(Run("r", "mock", "m"))
    engine = engines(config, concurrency=50)
    plans = [plan_of(entry, number) for number in range(1000)]
    concurrent.futures.wait(engine.submit_many(plans[:50]), 10)
    began = time.process_time()
    concurrent.futures.wait(engine.submit_many(plans), 30)
    assert (time.process_time() - began) / 1000 < 2e-3


def test_asyncio_of_the_test_is_not_touched(engines):
    """The engine has its own loop in its own thread: it works inside a running one."""
    config, entry = config_of(Run("r", "mock", "m"))
    engine = engines(config)

    async def inside():
        return await asyncio.wrap_future(engine.submit(plan_of(entry)))

    assert asyncio.run(inside()).kind is Kind.PASSED
