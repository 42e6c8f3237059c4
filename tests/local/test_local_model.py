"""The real model: start, answers, grammar, stream, concurrency, silence, stopping."""

from __future__ import annotations

import json
import subprocess
import sys
import threading
import time
import urllib.error
import urllib.request
from collections.abc import Iterator
from typing import Any

import pytest

from pytest_mindtrial.core.errors import ConfigError
from pytest_mindtrial.providers import local
from pytest_mindtrial.providers.local_server import LocalOptions, ModelServer, ServerPool

pytestmark = pytest.mark.local_model

STORY = {"messages": [{"role": "user", "content": "Tell a long story about a dog."}], "temperature": 0}


@pytest.fixture(scope="module")
def url() -> Iterator[str]:
    yield local.ensure_server({"context": 2048, "slots": 2})
    local.stop_servers()


def post(url: str, body: dict[str, Any], timeout: float = 60.0) -> bytes:
    request = urllib.request.Request(
        f"{url}/chat/completions", json.dumps(body).encode(), {"content-type": "application/json"}
    )
    with urllib.request.urlopen(request, timeout=timeout) as reply:
        data: bytes = reply.read()
    return data


def ask(url: str, text: str, **settings: Any) -> dict[str, Any]:
    body = {"messages": [{"role": "user", "content": text}], "temperature": 0, "max_tokens": 24, **settings}
    reply: dict[str, Any] = json.loads(post(url, body))
    return reply


def test_it_answers_and_counts(url):
    reply = ask(url, "What is the opposite of hot?")
    assert "cold" in reply["choices"][0]["message"]["content"].lower()
    usage = reply["usage"]
    assert usage["prompt_tokens"] > 5
    assert 0 < usage["completion_tokens"] <= 24
    assert reply["model"].startswith("SmolLM2-135M")


def test_the_token_limit_is_reported(url):
    reply = ask(url, "Tell a long story.", max_tokens=3)
    assert (reply["choices"][0]["finish_reason"], reply["usage"]["completion_tokens"]) == ("length", 3)


def test_a_schema_binds_the_answer(url):
    schema = {
        "type": "object",
        "properties": {"colour": {"enum": ["red", "blue"]}, "count": {"type": "integer", "minimum": 0, "maximum": 9}},
        "required": ["colour", "count"],
        "additionalProperties": False,
    }
    form = {"type": "json_schema", "json_schema": {"name": "response", "strict": True, "schema": schema}}
    content = json.loads(ask(url, "Pick.", response_format=form, max_tokens=60)["choices"][0]["message"]["content"])
    assert content.keys() == {"colour", "count"}
    assert content["colour"] in ("red", "blue")
    assert content["count"] in range(10)


def test_a_stream_ends_with_usage(url):
    body = {**STORY, "max_tokens": 6, "stream": True, "stream_options": {"include_usage": True}}
    events = [line[6:] for line in post(url, body).decode().split("\n") if line.startswith("data: ")]
    assert events[-1] == "[DONE]"
    chunks = [json.loads(event) for event in events[:-1]]
    assert chunks[-1]["usage"]["completion_tokens"] == 6
    assert "".join(chunk["choices"][0]["delta"].get("content") or "" for chunk in chunks if chunk["choices"])


def test_more_requests_than_slots_are_all_answered(url):
    replies: list[dict[str, Any]] = []
    threads = [
        threading.Thread(target=lambda number=number: replies.append(ask(url, f"Say {number}.", max_tokens=8)))
        for number in range(5)
    ]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join(60)
    assert len(replies) == 5


def test_the_same_options_share_one_server_across_threads(url):
    found: set[str] = set()
    threads = [
        threading.Thread(target=lambda: found.add(local.ensure_server({"slots": 2, "context": 2048}))) for _ in range(4)
    ]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join(60)
    assert found == {url}


def test_one_slot_repeats_its_answers():
    server = ModelServer(LocalOptions(context=1024))
    try:
        first, second = (ask(server.url, "Tell a story.", seed=1)["choices"][0]["message"] for _ in range(2))
    finally:
        server.close()
    assert first == second


@pytest.mark.parametrize("stream", [False, True])
def test_stopping_cuts_running_requests_off_at_once(stream):
    server = ModelServer(LocalOptions(context=4096))
    outcome: list[object] = []

    def endless() -> None:
        try:
            outcome.append(post(server.url, {**STORY, "max_tokens": 3500, "ignore_eos": True, "stream": stream}))
        except Exception as error:
            outcome.append(error)

    thread = threading.Thread(target=endless)
    thread.start()
    _wait_until_busy(server.url)
    began = time.monotonic()
    server.close()
    assert time.monotonic() - began < 3
    thread.join(10)
    assert isinstance(outcome[0], Exception)
    server.close()


def _wait_until_busy(url: str) -> None:
    # The server takes requests in turn: one that is not answered soon tells that another is being computed.
    for _ in range(100):
        try:
            post(url, {**STORY, "max_tokens": 1}, timeout=0.5)
        except (TimeoutError, urllib.error.URLError):
            return
    pytest.fail("the server never got busy")


def test_a_pool_starts_again_after_closing_or_dying():
    pool = ServerPool()
    options = LocalOptions(context=512)
    first = pool.url(options)
    pool._entries[options].server._process.kill()
    pool._entries[options].server._process.wait()
    second = pool.url(options)
    assert ask(second, "Hi", max_tokens=1)["choices"]
    pool.close()
    assert first != second
    with pytest.raises(urllib.error.URLError):
        ask(second, "Hi", max_tokens=1)
    pool.close()


def test_a_file_that_is_no_model_is_the_users_mistake(tmp_path):
    path = tmp_path / "broken.gguf"
    path.write_bytes(b"no model")
    with pytest.raises(ConfigError, match=r"provider 'local' cannot serve broken\.gguf: .*"):
        local.ensure_server({"model-path": str(path)})


SCRIPT = """
import contextlib, sys, threading, urllib.request
from pytest_mindtrial.providers.local import ensure_server
url = ensure_server({"context": 512})
def ask():
    body = b'{"messages":[{"role":"user","content":"Hi"}],"max_tokens":400,"ignore_eos":true}'
    with contextlib.suppress(OSError):  # the end of the server cuts it off
        urllib.request.urlopen(urllib.request.Request(url + "/chat/completions", body)).read()
threading.Thread(target=ask, daemon=True).start()
print(url, flush=True)
if sys.argv[1] == "killed":
    sys.stdin.read()
"""


def test_it_prints_nothing_and_lets_the_interpreter_end():
    command = [sys.executable, "-c", SCRIPT, "ends"]
    done = subprocess.run(command, check=False, capture_output=True, text=True, timeout=60)
    assert (done.returncode, done.stderr) == (0, "")
    assert done.stdout.count("\n") == 1


def test_it_dies_with_its_owner():
    owner = subprocess.Popen(
        [sys.executable, "-c", SCRIPT, "killed"], stdin=subprocess.PIPE, stdout=subprocess.PIPE, text=True
    )
    with owner:
        url = owner.stdout.readline().strip()
        assert ask(url, "Hi", max_tokens=1)["choices"]
        owner.kill()
        owner.wait()
    deadline = time.monotonic() + 10
    while time.monotonic() < deadline:
        try:
            ask(url, "Hi", max_tokens=1)
        except OSError:
            return
    pytest.fail("the server outlived its owner")
