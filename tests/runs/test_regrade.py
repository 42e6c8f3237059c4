"""``--mt-regrade``: stored answers under today's rules, no model call, the old verdict beside the new one."""

from __future__ import annotations

import json

import pytest

from tests.runs.test_http import completion, config
from tests.support.loopback import Loopback, json_reply

JOURNAL = "--mt-regrade=results/out.journal.jsonl"


@pytest.fixture
def server():
    with Loopback() as loopback:
        loopback.respond(lambda request: json_reply(completion("four")))
        yield loopback


def tasks(**changes):
    entries = [
        {"name": name, "prompt": "What is 2 + 2?", "response-result-format": "word", "expected-result": "4"}
        for name in ("a", "b", "c")
    ]
    for entry in entries:
        entry.update(changes.get(entry["name"], {}))
    return json.dumps({"task-config": {"tasks": entries}})


def results(project):
    """Return the last journalled state of every item."""
    return {attempt["task"]: attempt for attempt in project.attempts()}


def test_todays_rules_decide_and_the_old_verdict_stays(project, server):
    project.suite(tasks(c={"expected-result": "four"}), config(server))
    project.run("tasks.yaml").assert_outcomes(passed=1, failed=2)
    before = results(project)
    sent = len(server.requests)
    project.suite(tasks(a={"expected-result": ["4", "four"]}), config(server))
    result = project.run("tasks.yaml", JOURNAL)
    result.assert_outcomes(passed=1, failed=2)
    result.stdout.fnmatch_lines(["regraded: 3 answers, 2 verdicts changed (1 Failed → Passed, 1 Passed → Failed)"])
    assert len(server.requests) == sent
    after = results(project)
    assert {name: (after[name]["previous"]["kind"], after[name]["kind"]) for name in "abc"} == {
        "a": ("Failed", "Passed"),
        "b": ("Failed", "Failed"),
        "c": ("Passed", "Failed"),
    }
    assert after["a"]["previous"]["validation"] == before["a"]["validation"]
    assert {name: after[name]["trace_id"] for name in "abc"} == {name: before[name]["trace_id"] for name in "abc"}
    assert after["a"]["answer"]["expected"] == ["4", "four"]
    assert after["a"]["answer"]["usage"] == before["a"]["answer"]["usage"]
    assert project.kinds() == {"a": "Passed", "b": "Failed", "c": "Failed"}
    assert "Verdict before regrading" in (project.path / "results/out.html").read_text(encoding="utf-8")


def test_a_regraded_journal_can_be_resumed_and_regraded_again(project, server):
    project.suite(tasks(), config(server))
    project.run("tasks.yaml").assert_outcomes(failed=3)
    project.suite(tasks(a={"expected-result": "four"}), config(server))
    for _ in range(2):
        project.run("tasks.yaml", JOURNAL).assert_outcomes(passed=1, failed=2)
    project.run("tasks.yaml", "--mt-resume=results/out.journal.jsonl").assert_outcomes(passed=1, failed=2)
    assert len(server.requests) == 3


def test_neither_key_nor_server_is_needed(project, server, monkeypatch):
    text = config(server).replace("sk-canary-0123456789abcdef", '"{{.Env.SOME_KEY}}"')
    monkeypatch.setenv("SOME_KEY", "sk-0123456789")
    project.suite(tasks(), text)
    project.run("tasks.yaml")
    monkeypatch.delenv("SOME_KEY")
    server.close()
    project.run("tasks.yaml", JOURNAL).assert_outcomes(failed=3)


def test_what_cannot_be_judged_is_skipped_with_the_reason(project, server):
    project.suite(tasks(), config(server))
    project.run("tasks.yaml::a[openai-mini]", "tasks.yaml::b[openai-mini]")
    project.suite(tasks(b={"prompt": "What is 2 + 3?"}), config(server))
    result = project.run("tasks.yaml", JOURNAL, "-rs")
    result.assert_outcomes(failed=1, skipped=2)
    result.stdout.fnmatch_lines(
        ["SKIPPED *the question has changed since: prompt", "SKIPPED *there is no result of it in the journal"]
    )
    # What was paid for is still there.
    project.suite(tasks(), config(server))
    project.run("tasks.yaml", "--mt-resume=results/out.journal.jsonl").assert_outcomes(failed=3)
    assert len(server.requests) == 3


def test_errors_stay_errors_unless_there_is_an_answer(project, server):
    project.mock({"faults": {"a": ["http-500"]}, "answers": {"*": "4"}}, tasks())
    project.run("tasks.yaml").assert_outcomes(errors=1, passed=2)
    project.run("tasks.yaml", JOURNAL).assert_outcomes(errors=1, passed=2)


JUDGES = """\
  judges:
    - name: j
      provider: {name: mock, runs: [{name: v, model: judge, model-parameters: {verdicts: [%s]}, pricing: %s}]}
"""
RULES = {"validation-rules": {"judge": {"enabled": True, "name": "j", "variant": "v"}}}
PRICING = "{input-per-million: 1000, output-per-million: 1000}"


def judged(server, verdict):
    return config(server, run=f"pricing: {PRICING}") + JUDGES % (f"{{contains: four, verdict: {verdict}}}", PRICING)


def test_judges_are_asked_only_when_they_may_be(project, server):
    project.suite(tasks(a=RULES), judged(server, "{correct: false}"))
    project.run("tasks.yaml").assert_outcomes(failed=3)
    project.suite(tasks(a=RULES), judged(server, "{correct: true}"))
    result = project.run("tasks.yaml", JOURNAL, "-rs")
    result.assert_outcomes(failed=2, skipped=1)
    result.stdout.fnmatch_lines(["*; 1 not regraded", "SKIPPED *its judge is a model; --mt-regrade-judges*"])
    result = project.run("tasks.yaml", JOURNAL, "--mt-regrade-judges")
    result.assert_outcomes(passed=1, failed=2)
    result.stdout.fnmatch_lines(["*1 Failed → Passed*"])
    last = results(project)["a"]
    assert [request.get("purpose", "candidate") for request in last["requests"]] == ["candidate", "judge"]
    assert last["judge_cost"] > 0
    spent = next(line for line in result.outlines if line.startswith("spent now: "))
    assert float(spent.split()[2]) == pytest.approx(last["judge_cost"], abs=1e-4)
    assert len(server.requests) == 3


def test_a_judge_that_cannot_decide_leaves_an_error(project, server):
    project.suite(tasks(a=RULES), judged(server, "{correct: true}"))
    project.run("tasks.yaml").assert_outcomes(passed=1, failed=2)
    project.suite(tasks(a=RULES), judged(server, '"?"'))
    project.run("tasks.yaml", JOURNAL, "--mt-regrade-judges").assert_outcomes(errors=1, failed=2)
    last = results(project)["a"]
    assert (last["kind"], last["previous"]["kind"], last["error"]["from_validation"]) == ("Error", "Passed", True)


def test_an_overriding_validator_judges_and_a_python_test_may_not_ask(project, server):
    project.suite(tasks(), config(server))
    project.run("tasks.yaml").assert_outcomes(failed=3)
    project.write(
        "conftest.py",
        "import pytest\n@pytest.fixture\ndef mt_validator():\n    return lambda answer: answer == 'four'\n",
    )
    project.write("test_it.py", "def test_it(mindtrial):\n    mindtrial.ask('hello')\n")
    result = project.run("tasks.yaml", "test_it.py", JOURNAL)
    result.assert_outcomes(passed=3, failed=1)
    result.stdout.fnmatch_lines(["*--mt-regrade makes no model calls*"])
    assert len(server.requests) == 3


def test_judges_without_regrading_is_a_usage_error(project):
    project.suite()
    result = project.run("tasks.yaml", "--mt-regrade-judges")
    assert result.ret == pytest.ExitCode.USAGE_ERROR
