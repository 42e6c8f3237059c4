"""Runs over real HTTP on loopback: an OpenAI-compatible endpoint, its faults, and what the report says of them."""

from __future__ import annotations

import json
import threading
import time

import pytest

from tests.support.loopback import Loopback, Reply, json_reply, sse_reply

KEY = "sk-canary-0123456789abcdef"


def config(server: Loopback, *, parameters: str = "{}", extra: str = "", run: str = "") -> str:
    return f"""\
config:
  output-dir: results
  output-basename: out
  task-source: tasks.yaml
  providers:
    - name: openai
      client-config: {{endpoint: "{server.url}/v1", api-key: {KEY}}}
      {extra}
      runs:
        - name: mini
          model: gpt-4.1-mini
          model-parameters: {parameters}
          {run}
"""


TASK = """\
task-config:
  tasks:
    - {name: sum, prompt: What is 2 + 2?, response-result-format: single number, expected-result: "4"}
"""


def completion(answer: object = "4", **changes: object) -> dict[str, object]:
    content = json.dumps({"title": "Sum", "explanation": "counted", "final_answer": answer})
    choice = {"index": 0, "finish_reason": "stop", "message": {"role": "assistant", "content": content}}
    choice.update(changes)
    return {
        "id": "c1",
        "object": "chat.completion",
        "created": 1,
        "model": "m",
        "choices": [choice],
        "usage": {"prompt_tokens": 40, "completion_tokens": 18, "total_tokens": 58},
    }


@pytest.fixture
def server():
    with Loopback() as loopback:
        yield loopback


def test_an_endpoint_answers(project, server):
    server.script(json_reply(completion()))
    project.suite(TASK, config(server))
    project.run("tasks.yaml").assert_outcomes(passed=1)
    request = server.requests[0]
    assert request.path == "/v1/chat/completions"
    assert request.headers["authorization"] == f"Bearer {KEY}"
    assert request.json["messages"][-1] == {"role": "user", "content": "What is 2 + 2?"}
    entry = project.entries()[0]
    assert entry["Details"]["Answer"]["Usage"]["InputTokens"] == 40
    assert entry["DurationNS"] > 0


FAULTS = {
    "500": ([json_reply({"error": {"message": "boom"}}, status=500)], "http-500", "Error"),
    "401": ([json_reply({"error": {"message": "bad key"}}, status=401)], "http-401", "Error"),
    "quota": (
        [json_reply({"error": {"message": "no money", "code": "insufficient_quota"}}, status=429)],
        "http-429",
        "Error",
    ),
    "reset": ([Reply(reset=True)], "reset", "Error"),
    "cut": ([Reply(b'{"choices": [{"mess', cut_after=10)], "stream-cut", "Error"),
    "half a JSON": ([Reply(b'{"choices": [', headers={"content-type": "application/json"})], "", "Error"),
    "not JSON": ([Reply(b"<html>gateway</html>", headers={"content-type": "text/html"})], "", "Error"),
    "no choices": ([json_reply({"choices": []})], "", "Error"),
    "refusal": (
        [json_reply(completion(message={"role": "assistant", "content": None, "refusal": "I will not"}))],
        "",
        "Error",
    ),
    "filtered": (
        [json_reply(completion(finish_reason="content_filter", message={"role": "assistant", "content": None}))],
        "",
        "Error",
    ),
    "unreadable answer": (
        [json_reply(completion(message={"role": "assistant", "content": "no json here"}))],
        "",
        "Error",
    ),
    "wrong answer": ([json_reply(completion("5"))], "", "Failed"),
    "scalar answer": ([json_reply(completion(4))], "", "Passed"),
}


@pytest.mark.parametrize("name", FAULTS)
def test_faults_end_as_the_contract_says(project, server, name):
    replies, cause, kind = FAULTS[name]
    server.script(*replies)
    project.suite(TASK, config(server))
    result = project.run("tasks.yaml")
    entry = project.entries()[0]
    assert entry["Kind"] == (kind or "Error")
    attempt = project.attempts()[0]
    if cause:
        assert attempt["requests"][-1]["cause"] == cause
        assert cause in result.stdout.str()
    everything = "".join(path.read_text(encoding="utf-8") for path in (project.path / "results").iterdir())
    assert KEY not in everything + result.stdout.str() + result.stderr.str()


def test_429_with_retry_after_is_waited_for_and_recorded(project, server):
    server.script(json_reply({"error": {"message": "slow down"}}, status=429, headers={"retry-after": "0.2"}))
    server.script(json_reply(completion()))
    project.suite(TASK, config(server, extra="retry-policy: {max-retry-attempts: 2, initial-delay-seconds: 1}"))
    started = time.monotonic()
    project.run("tasks.yaml").assert_outcomes(passed=1)
    assert time.monotonic() - started >= 0.2
    attempt = project.attempts()[0]
    assert [(request["attempt"], request.get("cause", "")) for request in attempt["requests"]] == [
        (1, "http-429"),
        (2, ""),
    ]


def test_a_server_that_is_down_is_an_error_with_the_cause(project):
    with Loopback() as gone:
        text = config(gone)
    project.suite(TASK, text)
    result = project.run("tasks.yaml")
    result.assert_outcomes(errors=1)
    result.stdout.fnmatch_lines(["tries: #1 connect"])


def test_a_slow_first_byte_ends_at_the_deadline(project, server):
    server.script(Reply(gate=threading.Event()))
    text = config(server).replace("api-key:", "request-timeout: 300ms, api-key:")
    project.suite(TASK, text)
    result = project.run("tasks.yaml")
    result.assert_outcomes(errors=1)
    result.stdout.fnmatch_lines(["tries: #1 timeout*"])


STREAM_TASK_CONFIG = """\
config:
  output-dir: results
  output-basename: out
  task-source: tasks.yaml
  providers:
    - name: moonshotai
      client-config: {{endpoint: "{url}/v1"}}
      runs: [{{name: kimi, model: kimi-k3, model-parameters: {{stream: true}}}}]
"""


def chunk(**delta: object) -> dict[str, object]:
    finish = delta.pop("finish", None)
    return {
        "id": "x",
        "object": "chat.completion.chunk",
        "choices": [{"index": 0, "delta": delta, "finish_reason": finish}],
    }


def test_a_streamed_answer_and_a_truncated_stream(project, server, monkeypatch):
    monkeypatch.delenv("MOONSHOT_API_KEY", raising=False)
    body = json.dumps({"title": "t", "explanation": "e", "final_answer": "4"})
    whole = [chunk(role="assistant", content=body[:9]), chunk(content=body[9:]), chunk(finish="stop")]
    server.script(sse_reply(whole))
    project.suite(TASK, STREAM_TASK_CONFIG.format(url=server.url))
    project.run("tasks.yaml").assert_outcomes(passed=1)
    server.script(sse_reply(whole[:2], done=False))
    result = project.run("tasks.yaml")
    result.assert_outcomes(errors=1)
    result.stdout.fnmatch_lines(["tries: #1 stream-cut"])


def test_forty_requests_are_in_flight_together(project, server):
    gate = threading.Event()
    server.respond(lambda request: json_reply(completion(), gate=gate))
    tasks = [{"name": f"t{n}", "prompt": "q", "response-result-format": "w", "expected-result": "4"} for n in range(60)]
    project.suite(json.dumps({"task-config": {"tasks": tasks}}), config(server))
    watcher = threading.Thread(target=lambda: (server.wait_for(40), gate.set()))
    watcher.start()
    project.run("tasks.yaml", "--mt-concurrency=40").assert_outcomes(passed=60)
    watcher.join(10)
    assert len(server.requests) == 60


JUDGED = """\
task-config:
  tasks:
    - name: poem
      prompt: Write a line about the sea.
      response-result-format: one line
      expected-result: mentions the sea
      validation-rules: {judge: {enabled: true, name: strict, variant: big}}
"""


def test_a_judge_decides_and_its_usage_is_apart(project, server):
    server.script(json_reply(completion("The sea sleeps.")), json_reply(completion({"content": {"correct": True}})))
    text = (
        config(server)
        + f"""\
  judges:
    - name: strict
      provider:
        name: openai
        client-config: {{endpoint: "{server.url}/v1", api-key: {KEY}}}
        runs: [{{name: big, model: gpt-4.1}}]
"""
    )
    project.suite(JUDGED, text)
    project.run("tasks.yaml").assert_outcomes(passed=1)
    entry = project.entries()[0]
    assert entry["Details"]["Validation"]["Semantic"]["JudgeName"] == "strict"
    assert entry["Details"]["Validation"]["Usage"]["InputTokens"] == 40
    assert entry["Details"]["Answer"]["Usage"]["InputTokens"] == 40
    assert "The sea sleeps." in json.dumps(server.requests[1].json)


def test_an_unreadable_judge_is_an_error_never_a_verdict(project, server):
    server.script(json_reply(completion("The sea sleeps.")))
    server.script(json_reply(completion(message={"role": "assistant", "content": "correct"})))
    text = (
        config(server)
        + f"""\
  judges:
    - name: strict
      provider:
        name: openai
        client-config: {{endpoint: "{server.url}/v1", api-key: {KEY}}}
        runs: [{{name: big, model: gpt-4.1}}]
"""
    )
    project.suite(JUDGED, text)
    result = project.run("tasks.yaml")
    result.assert_outcomes(errors=1)
    entry = project.entries()[0]
    assert entry["Details"]["Error"]["FromValidation"] is True
    assert entry["Details"]["Answer"]["ActualAnswer"] == ["The sea sleeps."]


def test_a_structured_answer_that_does_not_fit_its_schema_says_why(project, server):
    schema = {"type": "object", "properties": {"sum": {"type": "integer"}}, "required": ["sum"]}
    task = {"name": "sum", "prompt": "2+2", "response-result-format": schema, "expected-result": {"sum": 4}}
    server.script(json_reply(completion({"content": {"sum": "four"}})))
    project.suite(json.dumps({"task-config": {"tasks": [task]}}), config(server))
    result = project.run("tasks.yaml")
    result.assert_outcomes(failed=1)
    result.stdout.fnmatch_lines(["schema: *'four' is not of type 'integer'*"])
    (problem,) = project.attempts()[0]["answer"]["problems"]
    assert "'four'" in problem
    assert "'four' is not of type" in (project.path / "results/out.html").read_text(encoding="utf-8")


def test_the_endpoint_is_part_of_the_definition(project, server):
    server.respond(lambda request: json_reply(completion()))
    project.suite(TASK, config(server))
    project.run("tasks.yaml")
    project.suite(TASK, config(server).replace("/v1", "/v2"))
    project.run("tasks.yaml")
    first, second = project.attempts()
    assert first["definition"] != second["definition"]
    assert {
        name
        for name in first["definition_parts"]
        if first["definition_parts"][name] != second["definition_parts"][name]
    } == {"endpoint"}
