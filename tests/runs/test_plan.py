"""``--mt-plan``: a forecast with its error band, nothing sent, and what is not known."""

from __future__ import annotations

import json
import re

import pytest

PRICING = "{currency: EUR, input-per-million: 1000, output-per-million: 1000}"

CONFIG = f"""\
config:
  output-dir: results
  output-basename: out
  task-source: tasks.yaml
  judges:
    - name: j
      provider: {{name: mock, runs: [{{name: v, model: judge, pricing: {PRICING}}}]}}
  providers:
    - name: openai
      runs: [{{name: mini, model: gpt-4.1-mini, model-parameters: {{max-completion-tokens: 200}}, pricing: {PRICING}}}]
    - name: mock
      runs: [{{name: free, model: m}}]
"""


def tasks(count=3, **changes):
    entries = [
        {"name": f"t{n}", "prompt": "q" * 4000, "response-result-format": "w", "expected-result": "x"}
        for n in range(count)
    ]
    for entry in entries:
        entry.update(changes.get(entry["name"], {}))
    return json.dumps({"task-config": {"tasks": entries}})


def test_a_plan_sends_nothing_needs_no_key_and_says_what_it_stands_on(project, monkeypatch):
    monkeypatch.delenv("OPENAI_API_KEY", raising=False)
    project.suite(tasks(), CONFIG)
    result = project.run("tasks.yaml", "--mt-plan")
    assert result.ret == 0
    result.stdout.fnmatch_lines(
        [
            "*= mindtrial plan (nothing was sent) =*",
            "provider  run   items  requests  tokens in * tokens out * cost * basis",
            "openai    mini  3      3         3.3*k (2*k–5*k)  600 (90–600)  *EUR (*–*)  3 from sizes alone",
            "mock      free  3      3 *  0 *",
            "total: *EUR, probably * to *EUR",
            "learned from: nothing; no earlier journal was found",
        ]
    )
    assert not (project.path / "results").exists()


def test_earlier_results_narrow_the_forecast(project):
    tokens = {"input": 60, "output": 40}
    project.mock({"behaviour": "perfect", "tokens": tokens}, tasks(), pricing=json.loads(_json(PRICING)))
    project.run("tasks.yaml").assert_outcomes(passed=3)
    project.mock({"behaviour": "perfect", "tokens": tokens}, tasks(4), pricing=json.loads(_json(PRICING)))
    result = project.run("tasks.yaml", "--mt-plan", "-q")
    result.stdout.fnmatch_lines(
        ["mock      m *  4 * 3 from earlier results, 1 from similar items", "learned from: results/out.journal.jsonl"]
    )
    assert len(project.attempts()) == 3
    (project.path / "results/out.journal.jsonl").rename(project.path / "old.jsonl")
    result = project.run("tasks.yaml", "-k", "t0 or t1", "--mt-plan=old.jsonl")
    line = next(line for line in result.outlines if line.startswith("total: "))
    expected, low, high = map(float, re.findall(r"[0-9.]+", line))
    assert expected == pytest.approx(0.2)
    assert low < expected < high < 0.3
    result.stdout.fnmatch_lines(["learned from: old.jsonl"])


def _json(flow):
    return re.sub(r"([a-zA-Z-]+)(?=[:,}])|(?<=: )([A-Z]+)", lambda match: f'"{match[0]}"', flow)


def test_judges_are_forecast_too(project):
    rules = {"validation-rules": {"judge": {"enabled": True, "name": "j", "variant": "v"}}}
    project.suite(tasks(2, t0=rules), CONFIG)
    result = project.run("tasks.yaml", "-m", "mock", "--mt-plan")
    result.stdout.fnmatch_lines(["mock      j v   1 * EUR * 1 from sizes alone"])
    project.run("tasks.yaml", "-m", "mock").assert_outcomes(passed=2, deselected=2)
    result = project.run("tasks.yaml", "-m", "mock", "--mt-plan")
    result.stdout.fnmatch_lines(["mock      j v   1 * EUR * 1 from earlier results"])


def test_what_is_not_known_is_said(project):
    project.write("notes.txt", "word " * 4000)
    files = [
        {"name": "notes", "uri": "notes.txt"},
        {"name": "picture", "uri": "http://127.0.0.1:9/p.png"},
    ]
    project.suite(
        tasks(1, t0={"files": files}),
        CONFIG.replace("name: free, model: m", "name: free, model: m, retry-policy: {max-retry-attempts: 2}").replace(
            f", pricing: {PRICING}}}]\n    - name: mock", "}]\n    - name: mock"
        ),
    )
    result = project.run("tasks.yaml", "--mt-plan", "--mt-cache=cache")
    result.stdout.fnmatch_lines(
        [
            "openai    mini *unknown *",
            "not known: the prices of openai mini",
            "not known: the size of remote files, which are not fetched for a plan",
            "not known: how many requests will have to be repeated",
            "not known: which replies are in the response cache; they would cost nothing",
        ]
    )
    row = next(line for line in result.outlines if line.startswith("openai"))
    assert row.split()[4].startswith(("7.", "8."))  # the text file counts with its size, the picture as one


def test_a_resumed_session_plans_only_what_is_left(project):
    project.mock({"faults": {"t1": ["http-500"]}, "behaviour": "perfect"}, tasks())
    project.run("tasks.yaml")
    result = project.run("tasks.yaml", "--mt-plan", "--mt-resume=results/out.journal.jsonl")
    result.stdout.fnmatch_lines(["mock      m    1 * 1 from similar items"])


@pytest.mark.parametrize(
    "options, message",
    [
        (["--mt-plan=none"], "--mt-plan: *none: there is no such file"),
        (["--mt-plan=other.txt"], "*other.txt is not a journal*"),
        (["--mt-plan", "-n2"], "--mt-plan plans in one process; leave out -n"),
    ],
)
def test_mistakes_are_usage_errors(project, options, message):
    project.suite()
    project.write("other.txt", "")
    result = project.run("tasks.yaml", *options)
    assert result.ret == pytest.ExitCode.USAGE_ERROR
    result.stderr.fnmatch_lines([f"ERROR: {message}"])


def test_a_task_file_in_the_place_of_the_journal_is_explained(project):
    project.suite()
    result = project.run("--mt-plan", "tasks.yaml")
    assert result.ret == pytest.ExitCode.USAGE_ERROR
    result.stderr.fnmatch_lines(["ERROR: --mt-plan: tasks.yaml is a task file, not a journal; write --mt-plan=*"])


def test_the_history_file_is_learned_from(project):
    project.mock({"behaviour": "perfect", "tokens": {"input": 60, "output": 40}}, tasks())
    project.run("tasks.yaml", "--mt-history=history.db").assert_outcomes(passed=3)
    project.mock({"behaviour": "perfect"}, tasks())
    result = project.run("tasks.yaml", "--mt-plan", "--mt-history=history.db", "--mt-output-dir=elsewhere")
    result.stdout.fnmatch_lines(["mock      m * 3 from earlier results", "learned from: history.db"])
    project.write("history.db", "this is no history")
    result = project.run("tasks.yaml", "--mt-plan", "--mt-history=history.db")
    assert result.ret == pytest.ExitCode.USAGE_ERROR
    result.stderr.fnmatch_lines(["ERROR: *history.db*"])


def test_a_file_that_only_looks_like_the_journal_is_left_alone(project):
    project.mock({"behaviour": "perfect"}, tasks())
    project.write("results/out.journal.jsonl", "not a journal\n")
    result = project.run("tasks.yaml", "--mt-plan")
    assert result.ret == 0
    result.stdout.fnmatch_lines(["mock      m * 3 from sizes alone"])


def test_tools_and_missing_judges_are_said_to_be_unknown(project):
    tool = {"name": "calc", "image": "calc", "description": "d", "parameters": {"type": "object"}}
    text = json.dumps({"config": {"tools": [tool]}})[12:-2]
    config = CONFIG + "  tools: " + text.partition(": ")[2] + "\n"
    project.suite(tasks(1, t0={"tool-selector": {"tools": [{"name": "calc"}]}}), config)
    result = project.run("tasks.yaml", "-m", "mock", "--mt-plan")
    result.stdout.fnmatch_lines(["not known: how often tools are called: *"])
