"""Options and ini keys: where the configuration comes from, what is written and where, seed, concurrency."""

from __future__ import annotations

import csv
import re

import pytest

from pytest_mindtrial.plugin.concurrency import parse_concurrency
from pytest_mindtrial.plugin.options import OPTIONS


def test_every_option_is_in_the_help_and_an_ini_key(project):
    text = project.run("--help").stdout.str()
    flat = " ".join(text.split())
    for option in OPTIONS:
        if option.command_line:
            assert f"--mt-{option.name}" in text
        assert f"{option.key} (" in text
        assert " ".join(option.help.split()) in flat


def test_the_config_beside_the_suite_is_used(project):
    project.suite()
    project.run("tasks.yaml").assert_outcomes(passed=2)


def test_no_config_is_a_usage_error_that_shows_how_to_start(project):
    project.suite()
    (project.path / "config.yaml").unlink()
    result = project.run("tasks.yaml")
    assert result.ret == pytest.ExitCode.USAGE_ERROR
    result.stderr.fnmatch_lines(["ERROR: tasks.yaml: no configuration*", "*config: {output-dir*", "*{name: mock*"])
    assert not (project.path / "results").exists()


def test_the_two_lines_of_that_message_work(project):
    project.suite()
    (project.path / "config.yaml").unlink()
    text = project.run("tasks.yaml").stderr.str()
    lines = re.findall(r"^  (.+)$", text, re.MULTILINE)
    project.write("config.yaml", "\n".join(lines) + "\n")
    project.run("tasks.yaml").assert_outcomes(passed=2)


def test_a_missing_config_file_is_a_usage_error(project):
    project.suite()
    result = project.run("tasks.yaml", "--mt-config=nope.yaml")
    assert result.ret == pytest.ExitCode.USAGE_ERROR
    result.stderr.fnmatch_lines(["ERROR: --mt-config: nope.yaml: there is no such file"])


def test_a_path_after_an_equals_sign_leaves_the_root_directory_alone(project, tmp_path_factory):
    """As the guide says (trouble.md); a path after a space moves it, which is pytest's doing."""
    project.suite()
    elsewhere = tmp_path_factory.mktemp("elsewhere")
    result = project.run_process("tasks.yaml", f"--mt-output-dir={elsewhere}")
    result.assert_outcomes(passed=2)
    result.stdout.fnmatch_lines([f"rootdir: {project.path}"])
    result = project.run_process("tasks.yaml", "--mt-output-dir", str(elsewhere))
    result.assert_outcomes(passed=2)
    assert f"rootdir: {project.path}\n" not in result.stdout.str()
    assert (elsewhere / "out.json").exists()


def test_json_and_html_are_written_by_default(project):
    project.suite()
    result = project.run("tasks.yaml")
    names = sorted(path.name for path in (project.path / "results").iterdir())
    assert names == ["out.html", "out.journal.jsonl", "out.json"]
    result.stdout.fnmatch_lines(
        ["json:*results/out.json", "html:*results/out.html", "journal:*results/out.journal.jsonl"]
    )


def test_formats_can_be_switched(project):
    project.suite()
    project.run("tasks.yaml", "--mt-csv", "--no-mt-html", "--mt-json=false")
    names = sorted(path.name for path in (project.path / "results").iterdir())
    assert names == ["out.csv", "out.journal.jsonl"]
    rows = list(csv.DictReader((project.path / "results/out.csv").read_text(encoding="utf-8").splitlines()))
    assert [row["Task"] for row in rows] == ["sum", "capital"]


def test_ini_keys_work_and_the_command_line_beats_them(project):
    project.suite()
    project.write(
        "pytest.ini",
        "[pytest]\nmt_output_dir = from-ini\nmt_output_basename = ini-{{.Year}}\nmt_csv = true\nmt_html = false\n",
    )
    project.run("tasks.yaml", "--strict-config")
    names = sorted(path.suffix for path in (project.path / "from-ini").iterdir())
    assert names == [".csv", ".json", ".jsonl"]
    project.run("tasks.yaml", "--mt-output-dir=from-cli", "--mt-output-basename=x")
    assert (project.path / "from-cli/x.json").exists()


def test_the_seed_is_recorded_and_random_otherwise(project):
    project.suite()
    project.run("tasks.yaml", "--mt-seed=abc")
    assert {entry["Evaluation"]["Seed"] for entry in project.entries()} == {"abc"}
    project.run("tasks.yaml")
    first = {entry["Evaluation"]["Seed"] for entry in project.entries()}
    assert len(first) == 1
    assert re.fullmatch("[0-9a-f]{32}", first.pop())


@pytest.mark.parametrize("value", ["0", "-1", "many", "1.5", "", "5,openai=none", "5,"])
def test_bad_concurrency_is_a_usage_error(project, value):
    project.suite()
    result = project.run("tasks.yaml", f"--mt-concurrency={value}")
    assert result.ret == pytest.ExitCode.USAGE_ERROR
    result.stderr.fnmatch_lines(["*mt-concurrency: *not a whole number from 1, nor auto*"])


@pytest.mark.parametrize(
    ("value", "complaint"),
    [("5,6", "more than one number"), ("5,openai=1,openai=2", "openai is there twice"), ("=4", "no provider's name")],
)
def test_concurrency_that_contradicts_itself_is_a_usage_error(project, value, complaint):
    project.suite()
    result = project.run("tasks.yaml", f"--mt-concurrency={value}")
    assert result.ret == pytest.ExitCode.USAGE_ERROR
    result.stderr.fnmatch_lines([f"ERROR: --mt-concurrency: *{complaint}*"])


@pytest.mark.parametrize(
    ("value", "expected", "shown"),
    [
        ("4", {"": 4, "local": 1}, "4"),
        ("auto", {"": "auto", "local": 1}, "auto"),
        ("openai=50", {"": 10, "local": 1, "openai": 50}, "10,openai=50"),
        ("10, openai=50 ,local=2", {"": 10, "local": 2, "openai": 50}, "10,local=2,openai=50"),
        ("3,mock=auto", {"": 3, "local": 1, "mock": "auto"}, "3,mock=auto"),
    ],
)
def test_concurrency_per_provider(project, value, expected, shown):
    assert parse_concurrency(value) == expected
    project.suite()
    result = project.run("tasks.yaml", f"--mt-concurrency={value}")
    result.assert_outcomes(passed=2)
    result.stdout.fnmatch_lines([f"* · concurrency {shown} · *"])
    assert project.journal()[0]["evaluation"]["concurrency"] == shown


def test_an_output_dir_that_cannot_be_written_stops_before_anything_is_sent(project):
    project.suite()
    project.write("results", "a file where the directory should be")
    result = project.run("tasks.yaml")
    assert result.ret == pytest.ExitCode.USAGE_ERROR
    result.stderr.fnmatch_lines(["ERROR: *results*"])


def test_a_missing_key_of_a_selected_run_is_a_usage_error(project, monkeypatch):
    monkeypatch.delenv("OPENAI_API_KEY", raising=False)
    project.suite(
        config="""\
config:
  output-dir: results
  task-source: tasks.yaml
  providers:
    - name: openai
      runs: [{name: mini, model: gpt-4o-mini}]
    - name: mock
      runs: [{name: free, model: mock}]
"""
    )
    result = project.run("tasks.yaml")
    assert result.ret == pytest.ExitCode.USAGE_ERROR
    result.stderr.fnmatch_lines(["ERROR: *OPENAI_API_KEY*"])
    assert not (project.path / "results").exists()
    project.run("tasks.yaml", "-m", "mock").assert_outcomes(passed=2, deselected=2)


def test_header_and_summary(project):
    project.suite()
    result = project.run("tasks.yaml", "--mt-seed=0123456789abcdef")
    result.stdout.fnmatch_lines(
        [
            "mindtrial: 2 tasks × 1 run → 2 items · seed 0123456789abcdef · concurrency 10 · results → results",
            "*= mindtrial =*",
            "*provider*run*passed*",
            "*mock*good*2*0*0*0*100*",
        ]
    )


def test_the_seed_of_the_header_repeats_a_session(project):
    task = "    - {name: t, prompt: q, response-result-format: w, expected-result: Paris, repeat: 20}\n"
    project.mock({"behaviour": "careless", "accuracy": 0.5}, f"task-config:\n  tasks:\n{task}")
    first = project.run("tasks.yaml")
    (seed,) = re.findall(r"seed (\S+) ·", first.stdout.str())
    kinds = [entry["Kind"] for entry in project.entries()]
    assert len(set(kinds)) == 2
    project.run("tasks.yaml", f"--mt-seed={seed}")
    assert [entry["Kind"] for entry in project.entries()] == kinds


def test_quiet_shows_no_header(project):
    project.suite()
    assert "concurrency" not in project.run("tasks.yaml", "-q").stdout.str()


def test_a_walk_past_a_task_file_says_how_to_run_it(project):
    project.suite()
    result = project.run()
    assert result.ret == pytest.ExitCode.NO_TESTS_COLLECTED
    result.stdout.fnmatch_lines(["mindtrial: tasks.yaml was not run*pytest tasks.yaml"])


def test_a_walk_with_tests_gives_no_hint(project):
    project.suite()
    project.write("test_x.py", "def test_x():\n    pass\n")
    assert "was not run" not in project.run().stdout.str()
