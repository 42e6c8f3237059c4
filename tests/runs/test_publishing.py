"""Where people look: Markdown, GitHub's summary and annotations, history, properties, other report plugins."""

from __future__ import annotations

import json
import sqlite3
import xml.etree.ElementTree as ElementTree
from typing import Any

import pytest

from pytest_mindtrial.plugin.github import MAX_ANNOTATIONS, SUMMARY_BYTES

ESCAPES = "\x1b[31m::error::owned\r\n::add-mask::x\n##[debug]y % z"


@pytest.fixture(autouse=True)
def _outside_of_github(monkeypatch):
    for name in ("GITHUB_ACTIONS", "GITHUB_STEP_SUMMARY", "GITHUB_WORKSPACE"):
        monkeypatch.delenv(name, raising=False)


def tasks(count: int = 4, **more: Any) -> str:
    entries = [
        {"name": f"t{n}", "prompt": "q", "response-result-format": "w", "expected-result": "x"} | more
        for n in range(count)
    ]
    return "task-config:\n  tasks:\n" + "".join(f"  - {json.dumps(entry)}\n" for entry in entries)


def orders(result) -> list[str]:
    """Return the lines that GitHub's runner would obey."""
    return [line for line in result.stdout.lines if line.lstrip().startswith(("::", "##["))]


def test_markdown_goes_to_a_file(project):
    project.mock({"answers": {"t3": "no", "*": "x"}}, tasks())
    result = project.run("tasks.yaml", "--mt-markdown=out/report.md", "--mt-min-pass-rate=0.9")
    text = (project.path / "out/report.md").read_text(encoding="utf-8")
    assert text.startswith("### ❌ red: 3 of 4 passed\n")
    result.stdout.fnmatch_lines(["markdown: out/report.md"])


def test_the_job_summary_is_appended_to(project, monkeypatch):
    summary = project.write("summary.md", "# What another step said\n")
    monkeypatch.setenv("GITHUB_STEP_SUMMARY", str(summary))
    project.mock({"answers": {"*": "x"}}, tasks())
    project.run("tasks.yaml")
    text = summary.read_text(encoding="utf-8")
    assert text.startswith("# What another step said\n### 4 of 4 passed\n")


def test_a_summary_that_github_would_drop_is_not_written(project, monkeypatch):
    summary = project.path / "summary.md"
    summary.write_bytes(b"x" * SUMMARY_BYTES)
    monkeypatch.setenv("GITHUB_STEP_SUMMARY", str(summary))
    project.mock({"answers": {"*": "x"}}, tasks())
    result = project.run("tasks.yaml")
    assert result.ret == 0
    assert summary.stat().st_size == SUMMARY_BYTES
    result.stdout.fnmatch_lines([f"not written: job summary: * bytes; GitHub shows at most {SUMMARY_BYTES} per step"])


def test_a_summary_that_cannot_be_written_hides_nothing(project, monkeypatch):
    monkeypatch.setenv("GITHUB_STEP_SUMMARY", str(project.path))
    project.mock({"answers": {"*": "x"}}, tasks())
    result = project.run("tasks.yaml", "--mt-history=h.db")
    assert result.ret == 0
    result.stdout.fnmatch_lines(["history: *h.db", "not written: job summary: cannot write *"])


def test_an_ordinary_session_writes_no_summary(project, monkeypatch):
    summary = project.path / "summary.md"
    monkeypatch.setenv("GITHUB_STEP_SUMMARY", str(summary))
    monkeypatch.setenv("GITHUB_ACTIONS", "true")
    project.write("test_x.py", "def test_x(): assert 0\n")
    assert orders(project.run("test_x.py")) == []
    assert not summary.exists()


def test_annotations_stand_on_the_line_of_the_task(project, monkeypatch):
    monkeypatch.setenv("GITHUB_ACTIONS", "true")
    monkeypatch.setenv("GITHUB_WORKSPACE", str(project.path.parent))
    project.mock({"answers": {"t3": "no, 100%", "*": "x"}}, tasks())
    result = project.run("tasks.yaml")
    place = f"file={project.path.name}/tasks.yaml,line=6,col=5"
    assert orders(result) == [f"::error {place},title=t3 [mock-m]::got 'no, 100%25', expected 'x'"]


def test_failures_that_a_gate_accepts_are_warnings(project, monkeypatch):
    monkeypatch.setenv("GITHUB_ACTIONS", "true")
    project.mock({"answers": {"t3": "no", "*": "x"}}, tasks())
    assert orders(project.run("tasks.yaml", "--mt-min-pass-rate=0.5"))[0].startswith("::warning file=")
    assert orders(project.run("tasks.yaml", "--mt-min-pass-rate=0.8"))[0].startswith("::error file=")


def test_annotations_end_at_githubs_limit_and_say_so(project, monkeypatch):
    monkeypatch.setenv("GITHUB_ACTIONS", "true")
    project.mock({"answers": {"*": "no"}}, tasks(MAX_ANNOTATIONS + 3))
    lines = orders(project.run("tasks.yaml"))
    assert len(lines) == MAX_ANNOTATIONS + 1
    assert lines[-1].startswith("::notice title=mindtrial::3 more items did not pass")


def test_what_a_model_wrote_is_never_an_order(project, monkeypatch):
    monkeypatch.setenv("GITHUB_ACTIONS", "true")
    suite = tasks(1, prompt="q\n  ::add-mask::x\n##[debug]y").replace('"t0"', json.dumps("a,b:c\n::d % e"))
    project.mock({"answers": {"*": ESCAPES}}, suite)
    result = project.run("tasks.yaml", "--mt-markdown=r.md")
    (only,) = orders(result)
    assert only.startswith("::error file=")
    assert "title=a%2Cb%3Ac\\n%3A%3Ad %25 e [mock-m]::got" in only
    assert "\x1b" not in result.stdout.str()
    result.stdout.fnmatch_lines(["  \\::add-mask::x", "\\##[[]debug]y"])
    assert "::error::owned" not in (project.path / "r.md").read_text(encoding="utf-8")


def test_history_is_off_by_default_and_records_each_evaluation(project):
    project.mock({"answers": {"t3": "no", "*": "x"}}, tasks())
    project.run("tasks.yaml")
    assert not list(project.path.glob("*.db"))
    project.run("tasks.yaml", "--mt-history=deep/h.db")
    result = project.run("tasks.yaml", "--mt-history=deep/h.db")
    result.stdout.fnmatch_lines(["history: deep/h.db"])
    with sqlite3.connect(project.path / "deep/h.db") as database:
        rows = database.execute("SELECT evaluation_id, task, kind FROM result ORDER BY 1, 2").fetchall()
    database.close()
    assert [row[1:] for row in rows] == 2 * [("t0", "Passed"), ("t1", "Passed"), ("t2", "Passed"), ("t3", "Failed")]
    assert len({row[0] for row in rows}) == 2


def test_the_history_command_reads_what_the_option_wrote(project, capsys):
    from pytest_mindtrial.cli.main import main

    project.mock({"answers": {"t1": "no", "*": "x"}}, tasks())
    project.run("tasks.yaml", "--mt-history=h.db", "-x")
    capsys.readouterr()
    assert main(["history", "--file", str(project.path / "h.db"), "list"]) == 0
    assert "incomplete" in capsys.readouterr().out


def test_a_file_that_is_no_history_is_a_message_not_a_crash(project):
    project.write("h.db", "no database\n")
    project.mock({"answers": {"*": "x"}}, tasks())
    result = project.run("tasks.yaml", "--mt-history=h.db")
    assert result.ret == 0
    result.stdout.fnmatch_lines(["not written: cannot use the history file*"])


def properties(path) -> dict[str, dict[str, str]]:
    cases = ElementTree.parse(path).getroot().iter("testcase")
    return {case.attrib["name"]: {p.attrib["name"]: p.attrib["value"] for p in case.iter("property")} for case in cases}


@pytest.mark.parametrize("mode", [(), ("-n1",)], ids=["one-process", "n1"])
def test_junit_has_scalars_of_every_item(project, mode):
    pricing = {"currency": "USD", "input-per-million": 1.0, "output-per-million": 10.0}
    parameters = {
        "answers": {"t1": "no", "*": "x"},
        "tokens": {"input": 1000, "output": 100},
        "faults": {"t2": ["refusal"]},
    }
    project.mock(parameters, tasks(3, suite="core", repeat=1), pricing=pricing)
    project.run("tasks.yaml", "--junitxml=j.xml", *mode)
    found = properties(project.path / "j.xml")
    assert [entry["mt_kind"] for entry in found.values()] == ["Passed", "Failed", "Error"]
    first = next(iter(found.values()))
    assert float(first.pop("mt_seconds")) >= 0
    assert len(first.pop("mt_trace_id")) == 26
    assert first == {
        "mt_task": "t0",
        "mt_provider": "mock",
        "mt_run": "m",
        "mt_model": "mock-1",
        "mt_repeat": "1",
        "mt_suite": "core",
        "mt_input_tokens": "1000",
        "mt_output_tokens": "100",
        "mt_cost": "0.002",
        "mt_currency": "USD",
        "mt_kind": "Passed",
    }


def test_unknown_numbers_are_left_out(project):
    project.mock({"answers": {"*": "x"}, "tokens": "none"}, tasks(1))
    project.run("tasks.yaml", "--junitxml=j.xml")
    (found,) = properties(project.path / "j.xml").values()
    assert not {"mt_cost", "mt_currency", "mt_input_tokens", "mt_output_tokens", "mt_repeat"} & set(found)
