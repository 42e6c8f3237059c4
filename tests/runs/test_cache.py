"""``--mt-cache``: what is answered without a request, what never is, and what the reports say of it."""

from __future__ import annotations

import json

import pytest

from tests.runs.test_http import KEY, TASK, completion, config
from tests.support.loopback import Loopback, Reply, json_reply

PRICES = "pricing: {input-per-million: 100, output-per-million: 1000}"
CACHE = "--mt-cache=cache"


@pytest.fixture
def server():
    with Loopback() as loopback:
        yield loopback


def files(project):
    return [path for path in (project.path / "cache").rglob("*") if path.is_file()]


def test_the_second_session_sends_nothing_and_says_what_it_saved(project, server):
    server.script(json_reply(completion()))
    project.suite(TASK, config(server, run=PRICES))
    project.run("tasks.yaml", CACHE).assert_outcomes(passed=1)
    result = project.run("tasks.yaml", CACHE, "--durations=0", "-vv")
    result.assert_outcomes(passed=1)
    assert len(server.requests) == 1
    # 40 × 100 + 18 × 1,000 per million
    result.stdout.fnmatch_lines(
        [
            "cached: 1 reply came from the response cache (worth 0.0220 USD, not spent again)",
            "spent now: 0.0000 USD",
        ]
    )
    first, second = project.attempts()
    assert second["requests"][0]["cached"] is True
    assert (second["cached"], second["saved"], second["cost"]) == (1, pytest.approx(0.022), pytest.approx(0.022))
    assert second["duration_ns"] == first["duration_ns"]
    assert second["answer"]["usage"] == first["answer"]["usage"]
    assert "came from the response cache" in (project.path / "results/out.html").read_text(encoding="utf-8")
    content = "".join(path.read_text() for path in files(project))
    assert KEY not in content
    assert '"final_answer' in content.replace("\\", "")


@pytest.mark.parametrize(
    "reply",
    [
        json_reply({"error": {"message": "boom"}}, status=500),
        Reply(b'{"choices": [{"mess', cut_after=10),
        json_reply(completion(message={"role": "assistant", "content": None, "refusal": "I will not"})),
        json_reply(completion(finish_reason="content_filter", message={"role": "assistant", "content": None})),
        json_reply(completion(message={"role": "assistant", "content": "no json here"})),
        json_reply(completion(message={"role": "assistant", "content": ""})),
        json_reply({"choices": []}),
    ],
    ids=["500", "cut", "refusal", "filter", "unreadable", "empty", "no choices"],
)
def test_errors_and_refusals_are_never_kept(project, server, reply):
    server.script(reply, json_reply(completion()))
    project.suite(TASK, config(server))
    project.run("tasks.yaml", CACHE).assert_outcomes(errors=1)
    assert files(project) == []
    project.run("tasks.yaml", CACHE).assert_outcomes(passed=1)
    assert len(server.requests) == 2


def test_a_wrong_answer_is_an_answer(project, server):
    server.script(json_reply(completion("5")))
    project.suite(TASK, config(server))
    project.run("tasks.yaml", CACHE).assert_outcomes(failed=1)
    project.run("tasks.yaml", CACHE).assert_outcomes(failed=1)


def test_repeats_are_different_requests(project, server):
    server.respond(lambda request: json_reply(completion()))
    project.suite(TASK.replace("name: sum,", "name: sum, repeat: 3,"), config(server))
    for _ in range(2):
        project.run("tasks.yaml", CACHE).assert_outcomes(passed=3)
    assert len(server.requests) == len(files(project)) == 3


def test_whatever_is_sent_counts(project, server):
    server.respond(lambda request: json_reply(completion()))
    for text in (
        config(server),
        config(server, parameters="{temperature: 0.5}"),
        config(server).replace("/v1", "/v2"),
        config(server).replace("api-key:", "headers: {x-variant: b}, api-key:"),
        config(server).replace(KEY, "sk-another-key-987654"),  # the key alone makes no other request
    ):
        project.suite(TASK, text)
        project.run("tasks.yaml", CACHE).assert_outcomes(passed=1)
    assert len(server.requests) == 4


def test_read_only_needs_no_key_and_a_miss_is_an_error_that_says_so(project, server, monkeypatch):
    server.script(json_reply(completion()))
    text = config(server).replace(KEY, '"{{.Env.SOME_KEY}}"')
    monkeypatch.setenv("SOME_KEY", KEY)
    project.suite(TASK, text)
    project.run("tasks.yaml", CACHE)
    monkeypatch.delenv("SOME_KEY")
    two = TASK + '    - {name: other, prompt: "What is 3?", response-result-format: number, expected-result: "3"}\n'
    project.suite(two, text)
    result = project.run("tasks.yaml", CACHE, "--mt-cache-mode=read-only")
    result.assert_outcomes(passed=1, errors=1)
    result.stdout.fnmatch_lines(["what:  the reply is not in the response cache *cache, and in read-only*"])
    assert len(server.requests) == 1
    assert [attempt["error"]["cause"] for attempt in project.attempts() if "error" in attempt] == ["cache-miss"]


def test_read_only_fetches_no_files(project, server):
    (project.path / "cache").mkdir()
    files = [{"name": "f", "uri": f"{server.url}/f.txt", "type": "text/plain"}]
    task = {"name": "t", "prompt": "q", "response-result-format": "w", "expected-result": "x", "files": files}
    project.mock({"behaviour": "perfect"}, json.dumps({"task-config": {"tasks": [task]}}))
    result = project.run("tasks.yaml", CACHE, "--mt-cache-mode=read-only")
    result.assert_outcomes(errors=1)
    result.stdout.fnmatch_lines(["what:  *--mt-cache-mode=read-only fetches nothing*"])
    assert server.requests == []


def test_refresh_asks_again_and_replaces(project, server):
    server.script(json_reply(completion("4")), json_reply(completion("5")))
    project.suite(TASK, config(server))
    project.run("tasks.yaml", CACHE).assert_outcomes(passed=1)
    project.run("tasks.yaml", CACHE, "--mt-cache-mode=refresh").assert_outcomes(failed=1)
    project.run("tasks.yaml", CACHE).assert_outcomes(failed=1)
    assert len(server.requests) == 2


def test_a_damaged_entry_is_ignored_with_a_note(project, server):
    server.respond(lambda request: json_reply(completion()))
    project.suite(TASK, config(server))
    project.run("tasks.yaml", CACHE)
    (file,) = files(project)
    file.write_text(file.read_text()[:-30])
    result = project.run("tasks.yaml", CACHE)
    result.assert_outcomes(passed=1)
    result.stdout.fnmatch_lines(["response cache: 1 damaged entry was ignored: *"])
    assert len(server.requests) == 2


def test_cached_replies_wait_for_no_rate_limit(project, server):
    server.respond(lambda request: json_reply(completion()))
    tasks = [
        {"name": f"t{n}", "prompt": f"q{n}", "response-result-format": "w", "expected-result": "4"} for n in range(20)
    ]
    suite = json.dumps({"task-config": {"tasks": tasks}})
    project.suite(suite, config(server))
    project.run("tasks.yaml", CACHE).assert_outcomes(passed=20)
    # One request a minute would take twenty minutes.
    project.suite(suite, config(server, run="max-requests-per-minute: 1"))
    project.run("tasks.yaml", CACHE).assert_outcomes(passed=20)
    assert len(server.requests) == 20


JUDGED = """\
task-config:
  tasks:
    - name: sum
      prompt: What is 2 + 2?
      response-result-format: text
      expected-result: four
      validation-rules: {judge: {enabled: true, name: j, variant: a}}
"""


def test_judges_are_cached_and_counted_too(project, server):
    def answer(request):
        is_judge = "four" in json.dumps(request.json["messages"])
        return json_reply(completion({"correct": True} if is_judge else "4"))

    server.respond(answer)
    judge = f"""\
  judges:
    - name: j
      provider:
        name: openai
        client-config: {{endpoint: "{server.url}/v1", api-key: {KEY}}}
        runs: [{{name: a, model: judge-1, {PRICES}}}]
"""
    project.suite(JUDGED, config(server, run=PRICES) + judge)
    project.run("tasks.yaml", CACHE).assert_outcomes(passed=1)
    result = project.run("tasks.yaml", CACHE)
    result.assert_outcomes(passed=1)
    assert len(server.requests) == 2
    result.stdout.fnmatch_lines(["cached: 2 replies came from the response cache (worth 0.0440 USD, not spent again)"])
    result.stdout.fnmatch_lines(["spent now: 0.0000 USD"])


@pytest.mark.parametrize(
    "options, message",
    [
        (
            ["--mt-cache=read-only"],
            "--mt-cache takes a directory, found 'read-only'; write --mt-cache=DIR*",
        ),
        (["--mt-cache-mode=read-only"], "--mt-cache-mode=read-only needs --mt-cache=DIR"),
        ([CACHE, "--mt-cache-mode=read-only"], "--mt-cache: *cache: there is no such directory*"),
        ([CACHE, "--mt-cache-mode=off"], "mt_cache_mode: 'off' is not one of read-write, read-only, refresh"),
        (["--mt-cache=tasks.yaml"], "--mt-cache: *tasks.yaml cannot be used: *"),
    ],
)
def test_mistakes_are_usage_errors(project, options, message):
    project.suite()
    result = project.run("tasks.yaml", *options)
    assert result.ret == pytest.ExitCode.USAGE_ERROR
    result.stderr.fnmatch_lines([f"ERROR: {message}"])
