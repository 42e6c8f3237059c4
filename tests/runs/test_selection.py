"""Node ids, ``-k``, ``-m``, ``--lf``, ``--ff``, ``--nf``, ``--sw``, ``--deselect``, collection."""

from __future__ import annotations

import json

import pytest

HOSTILE = [
    "plain",
    "with space",
    "数学",
    "emoji 🎉",
    "slash/inside",
    "at@sign.dot(paren)",
    "[v2] bracket",
    "a::b",
    "quote'\"",
    "percent%20",
    "ümlaut",
    "tab\tinside",
]


def suite_of(names: list[str]) -> str:
    tasks = [{"name": name, "prompt": "q", "response-result-format": "word", "expected-result": "x"} for name in names]
    return json.dumps({"task-config": {"tasks": tasks}}, ensure_ascii=False)


def ids(result: pytest.RunResult) -> list[str]:
    return [line for line in result.outlines if "::" in line]


def test_every_hostile_name_selects_itself(project):
    project.mock({"behaviour": "perfect"}, suite_of(HOSTILE))
    collected = ids(project.run("tasks.yaml", "--collect-only", "-q"))
    assert len(collected) == len(HOSTILE)
    for nodeid in collected:
        result = project.run(nodeid, "--collect-only", "-q")
        assert ids(result) == [nodeid]


def test_ids_have_the_documented_form(project):
    project.mock({"behaviour": "perfect"}, suite_of(["one two", "a::b"]))
    assert ids(project.run("tasks.yaml", "--collect-only", "-q")) == [
        "tasks.yaml::one two[mock-m]",
        "tasks.yaml::a:b[mock-m]",
    ]


@pytest.mark.parametrize("flag", ["--lf", "--ff"])
def test_last_failed(project, flag):
    project.mock({"answers": {"bad": "no", "*": "x"}}, suite_of(["ok1", "bad", "ok2"]))
    project.run("tasks.yaml").assert_outcomes(passed=2, failed=1)
    result = project.run("tasks.yaml", flag, "-v")
    if flag == "--lf":
        result.assert_outcomes(failed=1)
        result.stdout.fnmatch_lines(["*1 failed*"])
    else:
        result.assert_outcomes(passed=2, failed=1)
        runs = [line for line in result.outlines if "::" in line and "%]" in line]
        assert "bad[mock-m]" in runs[0]


def test_new_first_and_stepwise(project):
    project.mock({"answers": {"bad": "no", "*": "x"}}, suite_of(["ok1", "bad", "ok2"]))
    project.run("tasks.yaml", "--nf").assert_outcomes(passed=2, failed=1)
    project.run("tasks.yaml", "--sw").assert_outcomes(passed=1, failed=1)
    result = project.run("tasks.yaml", "--sw")
    result.assert_outcomes(failed=1, deselected=1)


LABELLED = """\
task-config:
  tasks:
    - name: first
      suite: Core Suite
      category: math
      difficulty: easy
      tags: [smoke, "team:a"]
      prompt: q
      response-result-format: word
      expected-result: x
    - name: second
      category: code
      tags: [smoke, skip]
      prompt: q
      response-result-format: word
      expected-result: x
    - {name: third, prompt: q, response-result-format: word, expected-result: x}
"""


@pytest.mark.parametrize(
    ("arguments", "names"),
    [
        (["-m", "math"], ["first"]),
        (["-m", "smoke"], ["first", "second"]),
        (["-m", "smoke and not code"], ["first"]),
        (["-m", "Core-Suite"], ["first"]),
        (["-m", "team-a"], ["first"]),
        (["-m", "mt_skip"], ["second"]),
        (["-m", "mock"], ["first", "second", "third"]),
        (["-m", "mindtrial"], ["first", "second", "third"]),
        (["-k", "first or third"], ["first", "third"]),
        (["-k", "easy"], ["first"]),
        (["-k", "mock and not smoke"], ["third"]),
        (["--deselect", "tasks.yaml::first[mock-m]"], ["second", "third"]),
        (["--deselect", "tasks.yaml::first"], ["second", "third"]),
    ],
)
def test_selection_by_label(project, arguments, names):
    project.mock({"behaviour": "perfect"}, LABELLED)
    result = project.run("tasks.yaml", "--strict-markers", "--strict-config", "--collect-only", "-q", *arguments)
    assert [nodeid.partition("::")[2].partition("[")[0] for nodeid in ids(result)] == names


def test_a_tag_named_skip_does_not_skip(project):
    project.mock({"behaviour": "perfect"}, LABELLED)
    project.run("tasks.yaml").assert_outcomes(passed=3)


def test_a_task_selects_all_its_runs(project):
    project.suite(
        config="""\
config:
  output-dir: results
  task-source: tasks.yaml
  providers:
    - name: mock
      runs:
        - {name: a, model: m}
        - {name: b, model: m}
"""
    )
    assert ids(project.run("tasks.yaml::sum", "--collect-only", "-q")) == [
        "tasks.yaml::sum[mock-a]",
        "tasks.yaml::sum[mock-b]",
    ]


def test_a_directory_walk_collects_nothing_by_default(project):
    project.suite()
    result = project.run(".")
    assert result.ret == pytest.ExitCode.NO_TESTS_COLLECTED
    assert not (project.path / "results").exists()


def test_mt_files_makes_a_walk_collect(project):
    project.suite()
    project.write("pytest.ini", "[pytest]\nmt_files =\n    tasks.yaml\n    *.tasks.yaml\n")
    project.run(".").assert_outcomes(passed=2)


def test_collect_only_needs_no_key_and_writes_nothing(project, monkeypatch):
    monkeypatch.delenv("OPENAI_API_KEY", raising=False)
    project.suite(
        config="""\
config:
  output-dir: results
  task-source: tasks.yaml
  providers:
    - name: openai
      runs: [{name: mini, model: gpt-4o-mini}]
"""
    )
    result = project.run("tasks.yaml", "--collect-only", "-q")
    assert result.ret == 0
    assert len(ids(result)) == 2
    assert not (project.path / "results").exists()


def test_setup_plan_runs_nothing(project):
    project.suite()
    result = project.run("tasks.yaml", "--setup-plan")
    assert result.ret == 0
    result.stdout.fnmatch_lines(["*SETUP*mt_provider*", "*SETUP*mt_result*"])
    assert not (project.path / "results").exists()


def test_fixtures_per_test_lists_ours(project):
    project.suite()
    result = project.run("tasks.yaml", "--fixtures-per-test", "-k", "sum")
    result.stdout.fnmatch_lines(["*mt_result*"])


def test_durations_show_the_models_time_not_the_wait(project):
    project.mock({"behaviour": "perfect", "delay": "120ms"}, suite_of([f"t{n}" for n in range(5)]))
    result = project.run("tasks.yaml", "--durations=5", "--durations-min=0.05", "-vv")
    shown = [line for line in result.outlines if "s setup" in line and "::" in line]
    assert len(shown) == 5
    assert all(line.startswith("0.1") for line in shown)
