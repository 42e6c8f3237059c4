"""No key anywhere: a canary key per vendor is looked for in every artefact, log and traceback of runs that go wrong."""

from __future__ import annotations

import json
from collections.abc import Callable, Iterator
from dataclasses import replace

import pytest

from pytest_mindtrial.suite.keys import KEY_VARIABLES
from tests.support.loopback import Loopback, Received, Reply, json_reply
from tests.support.said import Said, wrapped
from tests.support.vendor_forms import form_of, respond

CANARIES = {vendor: f"sk-Canary-{vendor}-0123456789ABCDEF" for vendor in KEY_VARIABLES}
TASKS = """\
task-config:
  tasks:
    - {name: sum, prompt: What is 2 + 2?, response-result-format: single number, expected-result: "4"}
"""
EVERYTHING = (
    "-vv",
    "--showlocals",
    "--full-trace",
    "--log-level=DEBUG",
    "--log-file=debug.log",
    "--log-cli-level=DEBUG",
    "--junitxml=junit.xml",
    "--html=pytest.html",
    "--self-contained-html",
)


def config(url: str) -> str:
    """Return a configuration with every vendor; its keys are in the environment only."""
    entries = [
        {
            "name": vendor,
            "client-config": {"endpoint": f"{url}/{vendor}"},
            "retry-policy": {"max-retry-attempts": 1, "initial-delay-seconds": 0},
            "runs": [{"name": "r", "model": "m", "pricing": {"input-per-million": 1, "output-per-million": 1}}],
        }
        for vendor in CANARIES
    ]
    settings = {"output-dir": "results", "output-basename": "out", "task-source": "tasks.yaml", "log-file": "mt.log"}
    return json.dumps({"config": {**settings, "providers": entries}})


@pytest.fixture
def server() -> Iterator[Loopback]:
    with Loopback() as loopback:
        yield loopback


@pytest.fixture(autouse=True)
def keys(monkeypatch: pytest.MonkeyPatch) -> None:
    for vendor, variable in KEY_VARIABLES.items():
        monkeypatch.setenv(variable, CANARIES[vendor])


def key_in(request: Received) -> str:
    """Return the key that a request carried; the test would prove nothing if it carried none."""
    vendor = request.path.split("/")[1]
    assert CANARIES[vendor] in str(request.headers)
    return CANARIES[vendor]


def echoed(status: int) -> Callable[[Received], Reply]:
    def answer(request: Received) -> Reply:
        key = key_in(request)
        body = form_of(request).error(status, f"bad_key_{key}", f"Incorrect API key provided: {key}")
        headers = {"x-request-id": f"req_{key}", "www-authenticate": f"Bearer {key}", "location": f"/?key={key}"}
        return json_reply(body, status=status, headers=headers)

    return answer


def answer_with_key(request: Received) -> Reply:
    key = key_in(request)
    reply = respond(request, Said(wrapped(f"your key is {key}"), reasoning=key))
    return replace(reply, headers={**reply.headers, "x-request-id": f"req_{key}"})


def prose_with_key(request: Received) -> Reply:
    return respond(request, Said(f"no JSON, but a key: {key_in(request)}"))


SERVICES: dict[str, Callable[[Received], Reply]] = {
    "a wrong key": echoed(401),
    "a fault": echoed(500),
    "a redirect": echoed(307),
    "an error in a good reply": echoed(200),
    "garbage": lambda request: Reply(f"<html>{key_in(request)}</html>".encode()),
    "a broken head": lambda request: Reply(raw=f"HTTP/9.9 {key_in(request)}\r\n\r\n".encode()),
    "an answer": answer_with_key,
    "an unreadable answer": prose_with_key,
}


@pytest.mark.parametrize("name", SERVICES)
def test_the_canary_is_nowhere(project, server, name):
    server.respond(SERVICES[name])
    project.suite(TASKS, config(server.url))
    result = project.run("tasks.yaml", *EVERYTHING)
    asked = {request.path.split("/")[1] for request in server.requests}
    assert asked == set(CANARIES)
    assert len(project.entries()) == len(CANARIES)
    found = {"the terminal": result.stdout.str() + result.stderr.str()}
    for path in project.path.rglob("*"):
        if path.is_file():
            found[str(path.relative_to(project.path))] = path.read_bytes().decode("utf-8", "replace")
    assert {"results/out.json", "results/out.journal.jsonl", "junit.xml", "pytest.html", "debug.log"} <= set(found)
    assert [place for place, text in found.items() if "sk-canary" in text.lower()] == []


def test_a_key_in_a_prompt_does_not_reach_the_terminal(project, server):
    """Who pastes a key into a task sees its task file, but not every report and log of it."""
    server.respond(lambda request: respond(request, Said(wrapped("5"))))
    project.suite(TASKS.replace("What is 2 + 2?", CANARIES["openai"]), config(server.url))
    result = project.run("tasks.yaml", "-k", "openai", "-vv", "--junitxml=junit.xml", "--html=pytest.html")
    result.assert_outcomes(failed=1)
    result.stdout.fnmatch_lines(["*mindtrial conversation*", "*[[]user[]] *"])
    for text in (result.stdout.str(), *(path.read_text() for path in project.path.glob("*ml") if path.stem != "tasks")):
        assert "sk-canary" not in text.lower()
