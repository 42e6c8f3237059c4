"""Under pytest-xdist results come home, once each, and the controller alone writes."""

from __future__ import annotations

CONFIG = """\
config:
  output-dir: results
  output-basename: out
  task-source: tasks.yaml
  providers:
    - name: mock
      runs: [{name: good, model: m}, {name: echo, model: m, model-parameters: {answers: {"*": "no"}}}]
    - name: openai
      client-config: {api-key: none}
      disabled: true
      runs: [{name: mini, model: gpt-4o-mini}]
"""


def test_two_workers_give_one_report(project):
    project.suite(config=CONFIG)
    result = project.run_process("tasks.yaml", "-n2", "--mt-csv")
    result.assert_outcomes(passed=2, failed=2)
    assert len(project.entries()) == 4
    assert len({entry["Evaluation"]["Seed"] for entry in project.entries()}) == 1
    result.stdout.fnmatch_lines(["*got 'no', expected*", "*= mindtrial =*", "json:*out.json"])


def test_a_missing_key_is_still_one_clear_message(project, monkeypatch):
    monkeypatch.delenv("OPENAI_API_KEY", raising=False)
    project.suite(config=CONFIG.replace("client-config: {api-key: none}\n      disabled: true", "disabled: false"))
    result = project.run_process("tasks.yaml", "-n2")
    result.assert_outcomes(passed=2, failed=2, errors=2)
    text = result.stdout.str() + result.stderr.str()
    assert "OPENAI_API_KEY" in text


def test_without_xdist_loaded_nothing_breaks(project):
    project.suite()
    project.run("tasks.yaml", "-p", "no:xdist").assert_outcomes(passed=2)
