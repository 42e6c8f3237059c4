"""Mistakes in files: one clear message each with a position, the right exit status, no traceback, nothing written."""

from __future__ import annotations

import pytest

GOOD = "response-result-format: w, expected-result: x"

TASK_MISTAKES = {
    "misspelt key": (
        f"task-config:\n  tasks:\n    - {{name: a, promt: q, {GOOD}}}\n",
        ["*tasks.yaml:3:17*promt*prompt*"],
    ),
    "duplicate key": (
        f"task-config:\n  tasks:\n    - {{name: a, name: b, prompt: q, {GOOD}}}\n",
        ["*tasks.yaml:3:17*name*already*"],
    ),
    "wrong type": (
        f"task-config:\n  tasks:\n    - {{name: [a], prompt: q, {GOOD}}}\n",
        ["*tasks.yaml:3:14*list*"],
    ),
    "unquoted number": (
        "task-config:\n  tasks:\n    - {name: a, prompt: q, response-result-format: w, expected-result: 4}\n",
        ["*tasks.yaml:3:*plain text*"],
    ),
    "schema that is no schema": (
        "task-config:\n  tasks:\n"
        "    - {name: a, prompt: q, response-result-format: {type: 3}, expected-result: {x: 1}}\n",
        ["*tasks.yaml:3:*schema*"],
    ),
    "missing picture": (
        f"task-config:\n  tasks:\n    - {{name: a, prompt: q, {GOOD}, files: [{{name: p, uri: no.png}}]}}\n",
        ["*tasks.yaml:3:*no.png*"],
    ),
    "missing template field": (
        "task-config:\n  system-prompt: {template: '{{.Nope}}'}\n"
        f"  tasks:\n    - {{name: a, prompt: q, {GOOD}}}\n",
        ["*tasks.yaml:2:*Nope*ResponseResultFormat*"],
    ),
    "judge that does not exist": (
        "task-config:\n  tasks:\n    - name: a\n      prompt: q\n      response-result-format: w\n"
        "      expected-result: x\n      validation-rules: {judge: {enabled: true, name: nobody, variant: v}}\n",
        ["*tasks.yaml:*nobody*"],
    ),
    "two tasks of one name": (
        f"task-config:\n  tasks:\n    - {{name: a, prompt: q, {GOOD}}}\n    - {{name: a, prompt: r, {GOOD}}}\n",
        ["*tasks.yaml:4:*a*tasks.yaml:3:*"],
    ),
    "names that collide in ids": (
        f"task-config:\n  tasks:\n    - {{name: 'a::b', prompt: q, {GOOD}}}\n"
        f"    - {{name: 'a:b', prompt: r, {GOOD}}}\n",
        ["*tasks.yaml:4:*two items would have the id*tasks.yaml:3:*"],
    ),
    "empty file": ("", ["*tasks.yaml*empty*"]),
    "only comments": ("# nothing\n", ["*tasks.yaml*empty*"]),
    "a YAML list": ("- a\n- b\n", ["*tasks.yaml:1:1*task-config*list*"]),
    "no YAML": ("task-config: [\n", ["*tasks.yaml:*"]),
}


@pytest.mark.parametrize("name", TASK_MISTAKES)
def test_a_mistake_in_the_task_file_is_a_collection_error(project, name):
    text, lines = TASK_MISTAKES[name]
    project.mock({"behaviour": "perfect"}, text)
    result = project.run("tasks.yaml", "--mt-config=config.yaml")
    assert result.ret == pytest.ExitCode.INTERRUPTED
    result.assert_outcomes(errors=1)
    result.stdout.fnmatch_lines(lines)
    assert "Traceback" not in result.stdout.str() + result.stderr.str()
    assert ".py:" not in result.stdout.str()
    assert not (project.path / "results").exists()


def test_a_binary_file_gets_one_message(project):
    project.mock({"behaviour": "perfect"})
    (project.path / "tasks.yaml").write_bytes(bytes(range(256)) * 4)
    result = project.run("tasks.yaml", "--mt-config=config.yaml")
    assert result.ret == pytest.ExitCode.INTERRUPTED
    result.stdout.fnmatch_lines(["*tasks.yaml*binary*"])


def test_a_huge_file_gets_one_message(project):
    project.mock({"behaviour": "perfect"})
    with (project.path / "tasks.yaml").open("wb") as stream:
        stream.write(b"task-config:\n  tasks: []\n#")
        stream.truncate(50 * 1024 * 1024)
    result = project.run("tasks.yaml", "--mt-config=config.yaml")
    assert result.ret == pytest.ExitCode.INTERRUPTED
    result.stdout.fnmatch_lines(["*tasks.yaml*32*"])


def test_all_mistakes_of_a_file_come_at_once(project):
    project.mock(
        {"behaviour": "perfect"},
        f"task-config:\n  tasks:\n    - {{name: a, promt: q, {GOOD}}}\n    - {{nam: b, prompt: q, {GOOD}}}\n",
    )
    result = project.run("tasks.yaml")
    result.stdout.fnmatch_lines(["*tasks.yaml:3:*promt*", "*tasks.yaml:4:*nam*"])


def one_run(provider: str, parameters: str) -> str:
    run = f"{{name: a, model: m, model-parameters: {parameters}}}"
    return f"config: {{output-dir: r, providers: [{{name: {provider}, runs: [{run}]}}]}}\n"


CONFIG_MISTAKES = {
    "misspelt provider": (
        "config: {output-dir: r, providers: [{name: opnai, runs: []}]}\n",
        "*config.yaml:1:*opnai*openai*",
    ),
    "misspelt parameter": (
        one_run("openai", "{tempratur: 1}"),
        "*config.yaml:1:*tempratur*temperature*",
    ),
    "out of range": (
        one_run("openai", "{temperature: 3}"),
        "*config.yaml:1:*temperature*2*",
    ),
    "two runs of one name": (
        "config: {output-dir: r, providers: [{name: mock, runs: [{name: a, model: m}, {name: a, model: m}]}]}\n",
        "*config.yaml:1:*a*",
    ),
    "mock parameter": (
        one_run("mock", "{behaviuor: x}"),
        "*behaviuor*behaviour*",
    ),
}


@pytest.mark.parametrize("name", CONFIG_MISTAKES)
def test_a_mistake_in_the_configuration_is_a_usage_error(project, name):
    text, line = CONFIG_MISTAKES[name]
    project.suite(config=text)
    result = project.run("tasks.yaml")
    assert result.ret == pytest.ExitCode.USAGE_ERROR
    result.stderr.fnmatch_lines([line])
    assert "Traceback" not in result.stdout.str() + result.stderr.str()
    assert not (project.path / "r").exists()
    assert not (project.path / "results").exists()


def test_a_suite_without_enabled_tasks_runs_nothing(project):
    project.mock(
        {"behaviour": "perfect"}, f"task-config:\n  disabled: true\n  tasks:\n    - {{name: a, prompt: q, {GOOD}}}\n"
    )
    result = project.run("tasks.yaml")
    assert result.ret == pytest.ExitCode.NO_TESTS_COLLECTED
    result.stdout.fnmatch_lines(["*nothing to run: no enabled task or no enabled run*"])
