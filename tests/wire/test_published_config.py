"""MindTrial's own configuration, 63 runs, three text tasks each, against one server that answers in every form."""

from __future__ import annotations

import json
import re
from collections import Counter
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
from pytest_mindtrial.providers.profiles import choose_dialect, profile_of
from pytest_mindtrial.suite.config import load_config
from pytest_mindtrial.suite.keys import KEY_VARIABLES
from pytest_mindtrial.suite.model import ClientConfig, Config, Provider, Suite, Task
from pytest_mindtrial.suite.tasks import load_suite
from tests.support.loopback import Loopback, Received, Reply
from tests.support.said import Call, Said, wrapped
from tests.support.vendor_forms import respond

SHARED = Path(__file__).parents[2] / "../shared/data/mindtrial"
KEYS = {variable: f"sk-test-{vendor}" for vendor, variable in KEY_VARIABLES.items()}
AUTH = {"anthropic": "x-api-key", "google": "x-goog-api-key"}

pytestmark = [
    pytest.mark.shared_data,
    pytest.mark.skipif(not SHARED.is_dir(), reason="the shared data is not here"),
]


@pytest.fixture(scope="module")
def config() -> Config:
    return load_config(SHARED / "config.yaml")


@pytest.fixture(scope="module")
def tasks() -> tuple[Task, ...]:
    suite: Suite = load_suite(SHARED / "tasks.yaml")
    text_tasks = [task for task in suite.tasks if not task.files and isinstance(task.response_format, str)]
    return tuple(text_tasks[:3])


def at(server: Loopback, config: Config) -> list[Provider]:
    """Return the provider entries with the server as endpoint; openai's runs keep the API of their model."""
    entries = []
    for entry in config.providers:
        profile = profile_of(entry.name)
        for api in ("chat", "responses") if entry.name == "openai" else ("auto",):
            runs = [run for run in entry.runs if api in ("auto", choose_dialect(profile, ClientConfig(), run.model))]
            client = replace(entry.client, endpoint=f"{server.url}/{entry.name}", api=api)
            entries.append(replace(entry, client=client, runs=tuple(runs), index=len(entries)))
    return entries


def answer(request: Received, answers: dict[str, str]) -> Reply:
    """Give the right answer, in the form and the structure that the request asks for."""
    body = json.dumps(request.json, ensure_ascii=False)
    vendor = request.path.split("/")[1]
    prompt = max((prompt for prompt in answers if json.dumps(prompt, ensure_ascii=False)[1:-1] in body), key=len)
    text = wrapped(answers[prompt])
    if '"submit_response"' in body:
        return respond(request, Said(calls=(Call("s1", "submit_response", json.loads(text)),), end="tools"), vendor)
    if not re.search(r"json_schema|json_object|responseJsonSchema|JSON Schema", body):
        text = answers[prompt]
    return respond(request, Said(text, reasoning="thinking"), vendor if vendor in KEY_VARIABLES else "openai")


def test_every_run_answers_the_first_three_text_tasks(config: Config, tasks: tuple[Task, ...]) -> None:
    assert (sum(len(entry.runs) for entry in config.providers), len(tasks)) == (63, 3)
    answers = {task.prompt: str(next(iter(task.expected))) for task in tasks}
    with Loopback() as server:
        server.respond(lambda request: answer(request, answers))
        entries = at(server, config)
        assert sum(len(entry.runs) for entry in entries) == 63
        settings = AttemptSettings(clients=ClientSettings(environ=KEYS))
        plans = [AttemptPlan(task, run, entry, "seed") for entry in entries for run in entry.runs for task in tasks]
        engine = Engine(configs=[replace(config, providers=tuple(entries))], attempts=settings, clock=FakeClock())
        engine.start()
        try:
            results = [future.result(60) for future in engine.submit_many(plans)]
        finally:
            engine.close(2)
    check(results, server)


def check(results: list[Result], server: Loopback) -> None:
    assert len(results) == 189
    errors = [(result.run, result.kind, result.error) for result in results if result.kind is not Kind.PASSED]
    assert errors == []
    asked = Counter(request.path.split("/")[1] for request in server.requests)
    assert set(asked) == set(KEY_VARIABLES)
    assert sum(asked.values()) == 189
    for request in server.requests:
        vendor = request.path.split("/")[1]
        key = f"sk-test-{vendor}"
        name: Any = AUTH.get(vendor)
        assert request.headers[name or "authorization"] == (key if name else f"Bearer {key}")
    assert {"/responses", "/chat/completions"} <= {request.path.removeprefix("/openai") for request in server.requests}
    assert any(request.json.get("stream") for request in server.requests if request.path.endswith("/messages"))
