"""Vendors under the engine: judges of any provider with their own limits, schemas refused before anything is sent."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace
from pathlib import Path
from typing import Any

import pytest

from pytest_mindtrial.core.clock import FakeClock
from pytest_mindtrial.core.record import Result
from pytest_mindtrial.core.values import Kind
from pytest_mindtrial.engine.attempts import AttemptSettings
from pytest_mindtrial.engine.clients import ClientSettings
from pytest_mindtrial.engine.engine import Engine
from pytest_mindtrial.engine.plan import AttemptPlan
from pytest_mindtrial.suite.model import ClientConfig, Config, Judge, JudgeSelection, Provider, Rules, Run, Task
from tests.support.loopback import Loopback, Received, Reply
from tests.support.said import Said, wrapped
from tests.support.vendor_forms import respond
from tests.support.wire_bodies import MODELS, vendor_of

CANDIDATE = Run("good", "mock", "mock-1", {"behaviour": "perfect"})
TASK = Task("poem", "Write a line about the sea.", "one line", expected=("The sea sleeps.",))
JUDGED = replace(TASK, rules=Rules(judge=JudgeSelection(True, "strict", "big")))


def entry_of(column: str, url: str | None, **settings: Any) -> Provider:
    api: Any = "responses" if column.endswith("-responses") else "auto"
    run = Run(settings.pop("name", "big"), vendor_of(column), MODELS[column], **settings)
    return Provider(run.provider, 1, ClientConfig("sk-1", url, api=api), (run,))


def results_of(
    entry: Provider, tasks: Sequence[Task], judges: tuple[Judge, ...] = (), clock: FakeClock | None = None
) -> list[Result]:
    settings = AttemptSettings(clients=ClientSettings(environ={}))
    config = Config(Path("config.yaml"), (entry,), judges)
    engine = Engine(configs=[config], attempts=settings, clock=clock or FakeClock())
    engine.start()
    try:
        plans = [AttemptPlan(task, entry.runs[0], entry, "seed") for task in tasks]
        return [future.result(30) for future in engine.submit_many(plans)]
    finally:
        engine.close(2)


@pytest.mark.parametrize("column", MODELS)
def test_any_vendor_judges_with_limits_of_its_own(column: str, server: Loopback) -> None:
    def answer(request: Received) -> Reply:
        assert "The sea sleeps." in str(request.json)
        return respond(request, Said(wrapped({"content": {"correct": True}})), vendor_of(column))

    server.respond(answer)
    judging = entry_of(column, server.url, max_requests_per_minute=2)
    candidate = Provider("mock", 0, ClientConfig(), (CANDIDATE,))
    clock = FakeClock()
    begin = clock.monotonic_ns()
    tasks = [replace(JUDGED, name=f"poem {number}") for number in range(3)]
    results = results_of(candidate, tasks, (Judge("strict", judging),), clock)
    assert [result.kind for result in results] == [Kind.PASSED] * 3
    for result in results:
        assert result.validation is not None
        assert result.validation.semantic is not None
        assert result.validation.semantic.provider == vendor_of(column)
        assert (result.validation.usage.input_tokens, result.validation.usage.output_tokens) == (40, 20)
        assert result.requests[-1].purpose == "judge"
    assert len(server.requests) == 3
    assert clock.monotonic_ns() - begin >= 60_000_000_000


OPEN_OBJECT = {"type": "object", "properties": {"items": {"type": "array", "items": {"type": "object"}}}}
TREE = {"$ref": "#/$defs/n", "$defs": {"n": {"type": "object", "properties": {"next": {"$ref": "#/$defs/n"}}}}}


@pytest.mark.parametrize("model", ["gpt-4.1-mini", "gpt-5.2"])
def test_a_schema_that_openai_would_refuse_is_an_error_with_its_place_and_nothing_is_sent(
    model: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    entry = entry_of("openai", None)
    entry = replace(entry, runs=(replace(entry.runs[0], model=model),))
    monkeypatch.setattr("pytest_mindtrial.providers.http.Http.send", _never)
    (result,) = results_of(entry, [replace(TASK, response_format=OPEN_OBJECT, expected=({"items": []},))])
    assert result.kind is Kind.ERROR
    assert result.error is not None
    assert "strict mode" in result.error.message
    assert "an object needs 'additionalProperties: false'" in result.error.message
    assert result.requests == ()


def test_a_server_of_ones_own_gets_such_a_schema_unchanged(server: Loopback) -> None:
    server.respond(lambda request: respond(request, Said(wrapped({"content": {"items": []}}))))
    task = replace(TASK, response_format=OPEN_OBJECT, expected=({"items": []},))
    (result,) = results_of(entry_of("openai", server.url), [task])
    assert result.kind is Kind.PASSED
    (request,) = server.requests
    schema = request.json["response_format"]["json_schema"]["schema"]
    assert schema["properties"]["final_answer"]["properties"]["content"] == OPEN_OBJECT


def test_a_schema_that_anthropic_cannot_enforce_is_an_error_and_nothing_is_sent(server: Loopback) -> None:
    task = replace(TASK, response_format=TREE, expected=({"next": {}},))
    (result,) = results_of(entry_of("anthropic", server.url), [task])
    assert result.kind is Kind.ERROR
    assert result.error is not None
    assert "refers to itself" in result.error.message
    assert server.requests == []


@pytest.mark.parametrize("column", ["anthropic", "google"])
def test_answers_are_held_to_the_authors_schema_where_a_weaker_one_is_sent(column: str, server: Loopback) -> None:
    schema = {"type": "object", "properties": {"n": {"type": "integer", "maximum": 5, "multipleOf": 2}}}
    task = replace(TASK, response_format=schema, expected=(schema,), rules=Rules(schema_validation=True))
    server.script()
    for number, kind in ((4, Kind.PASSED), (9, Kind.FAILED)):
        server.respond(lambda request, n=number: respond(request, Said(wrapped({"content": {"n": n}}))))
        (result,) = results_of(entry_of(column, server.url), [task])
        assert result.kind is kind, result.error


async def _never(*_: Any, **__: Any) -> Any:
    raise AssertionError("something was sent")
