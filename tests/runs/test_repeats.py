"""``repeat`` and ``--mt-repeat``: items, identity, pass@k and pass^k in every report."""

from __future__ import annotations

import pytest

TASKS = """\
task-config:
  tasks:
    - {name: sum, prompt: q, response-result-format: w, expected-result: "4", repeat: 2}
    - {name: capital, prompt: q, response-result-format: w, expected-result: Paris}
"""
ANSWERS = {"answers": {"sum": {"by-repeat": ["4", "5", "4"]}, "capital": "Paris"}}


def test_a_task_is_tried_as_often_as_it_says(project):
    project.mock(ANSWERS, TASKS)
    result = project.run("tasks.yaml", "-v")
    result.assert_outcomes(passed=2, failed=1)
    result.stdout.fnmatch_lines(
        [
            "tasks.yaml::sum[[]mock-m-r1[]] PASSED*",
            "tasks.yaml::sum[[]mock-m-r2[]] FAILED*",
            "tasks.yaml::capital[[]mock-m[]] PASSED*",
            "repeats: mock m: 1 task × 2: pass@2 100.0 % *, pass^2 0.0 % *",
            "  1 flaky: sum (1/2)",
        ]
    )
    attempts = project.attempts()
    assert [line.get("repeat") for line in attempts if line["task"] == "sum"] == [1, 2]
    assert len({line["definition"] for line in attempts}) == 3
    page = (project.path / "results/out.html").read_text(encoding="utf-8")
    assert '"flaky":[["sum",1,2]]' in page


def test_the_option_beats_the_task(project):
    project.mock(ANSWERS, TASKS)
    result = project.run("tasks.yaml", "--mt-repeat=3", "-n0")
    result.assert_outcomes(passed=5, failed=1)
    result.stdout.fnmatch_lines(["repeats: mock m: 2 tasks × 3: pass@3 100.0 % *, pass^3 50.0 % *"])
    assert len(project.attempts()) == 6


def test_the_tries_of_a_careless_mock_differ(project):
    tasks = TASKS.replace(", repeat: 2", "").replace('"4"', '"4", repeat: 12')
    project.mock({"behaviour": "careless", "accuracy": 0.5}, tasks)
    project.run("tasks.yaml", "--mt-seed=fixed", "-k", "sum")
    kinds = {line["kind"] for line in project.attempts()}
    assert kinds == {"Passed", "Failed"}


def test_one_repeat_can_be_selected(project):
    project.mock(ANSWERS, TASKS)
    project.run("tasks.yaml::sum[mock-m-r2]").assert_outcomes(failed=1)


@pytest.mark.parametrize("value", ["0", "many"])
def test_a_wrong_count_is_a_usage_error(project, value):
    project.suite()
    result = project.run("tasks.yaml", f"--mt-repeat={value}")
    assert result.ret == pytest.ExitCode.USAGE_ERROR
    result.stderr.fnmatch_lines([f"ERROR: --mt-repeat: '{value}' is not a whole number from 1"])


def test_repeats_stay_in_one_lane(project):
    project.mock(ANSWERS, TASKS)
    project.run_workers("tasks.yaml", "-n2", "--mt-repeat=2").assert_outcomes(passed=3, failed=1)
    assert sorted((line["task"], line["repeat"]) for line in project.attempts()) == [
        ("capital", 1),
        ("capital", 2),
        ("sum", 1),
        ("sum", 2),
    ]
