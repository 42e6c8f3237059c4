"""Where people look: Markdown, GitHub's summary and annotations, history, properties, other report plugins."""

from __future__ import annotations

import base64
import html
import json
import sqlite3
import sys
import xml.etree.ElementTree as ElementTree
from types import SimpleNamespace
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


def html_rows(path) -> dict[str, dict[str, Any]]:
    page = html.unescape(path.read_text(encoding="utf-8"))
    data, _ = json.JSONDecoder().raw_decode(page, page.index('data-jsonblob="') + len('data-jsonblob="'))
    return {name: rows[0] for name, rows in data["tests"].items()}


def test_pytest_html_gets_columns_and_extras(project):
    picture = base64.b64decode("R0lGODlhAQABAAAAACwAAAAAAQABAAACAkQBADs=")
    (project.path / "dot.gif").write_bytes(picture)
    files = [{"name": "dot", "uri": "dot.gif"}, {"name": "far", "uri": "https://example.org/x.png"}]
    pricing = {"currency": "USD", "input-per-million": 1.0, "output-per-million": 10.0}
    suite = tasks(1) + tasks(1, name="<i>bad</i>", files=files[:1], prompt="<script>q").partition("tasks:\n")[2]
    parameters = {"answers": {"<i>*": {"a": "<b>"}, "*": "x"}, "tokens": {"input": 1000, "output": 100}}
    project.mock(parameters, suite, pricing=pricing)
    project.write("test_x.py", "def test_x(): pass\n")
    project.run("tasks.yaml", "test_x.py", "--html=page.html", "--self-contained-html")
    rows = html_rows(project.path / "page.html")
    right, wrong, other = rows.values()
    assert right["resultsTableRow"][2:6] == [
        "<td>mock-m</td>",
        "<td>Passed</td>",
        "<td>1000 / 100</td>",
        "<td>0.002 USD</td>",
    ]
    assert other["resultsTableRow"][2:6] == ["<td></td>"] * 4
    assert wrong["resultsTableRow"][1] == '<td class="col-testId">tasks.yaml::&lt;i&gt;bad&lt;/i&gt;[mock-m]</td>'
    assert [extra["name"] for extra in wrong["extras"]] == ["prompt", "answer", "diff", "picture"]
    assert wrong["extras"][3]["content"].endswith(base64.b64encode(picture).decode())
    assert "<script>q" not in (project.path / "page.html").read_text(encoding="utf-8")


def test_pages_of_other_sessions_stay_as_they_are(project):
    project.write("test_x.py", "def test_x(): pass\n")
    project.run("test_x.py", "--html=page.html", "--self-contained-html")
    assert "Tokens in / out" not in (project.path / "page.html").read_text(encoding="utf-8")
    (row,) = html_rows(project.path / "page.html").values()
    assert len(row["resultsTableRow"]) == 4


class Allure:
    """What our hooks call of allure-pytest, recorded; the real one is tested in test_compatibility.py."""

    attachment_type = SimpleNamespace(TEXT="text")

    def __init__(self) -> None:
        self.parameters: list[tuple[str, Any]] = []
        self.attached: list[tuple[Any, str, str]] = []
        self.dynamic = SimpleNamespace(parameter=lambda name, value: self.parameters.append((name, value)))

    def attach(self, content: Any, name: str, attachment_type: str, extension: str = "") -> None:
        self.attached.append((content, name, extension or attachment_type))


def test_allure_is_told_the_run_and_given_the_answer(project, monkeypatch):
    allure = Allure()
    monkeypatch.setitem(sys.modules, "allure", allure)
    project.write("dot.png", "dot")
    (project.path / "big.png").write_bytes(b"x" * 3_000_000)
    files = [{"name": "dot", "uri": "dot.png"}, {"name": "big", "uri": "big.png"}]
    project.mock({"answers": {"*": "no"}}, tasks(1, repeat=1, files=files))
    project.write("test_x.py", "def test_x(): pass\n")
    project.write(
        "conftest.py", "def pytest_addoption(parser):\n    parser.addoption('--alluredir', dest='allure_report_dir')\n"
    )
    project.run("tasks.yaml", "test_x.py", "--alluredir=a").assert_outcomes(passed=1, failed=1)
    assert allure.parameters == [("run", "mock-m"), ("repeat", 1)]
    assert [entry for entry in allure.attached if entry[1] != "diff"] == [
        ("[file: dot]\n[file: big]\nq", "prompt", "text"),
        ("no", "answer", "text"),
        (b"dot", "picture", "png"),
    ]
    assert "- x\n+ no" in next(content for content, name, _ in allure.attached if name == "diff")


def test_long_answers_are_cut_in_what_others_show(project):
    project.mock({"answers": {"*": "a" * 150_000}}, tasks(1))
    project.run("tasks.yaml", "--html=page.html", "--self-contained-html")
    (row,) = html_rows(project.path / "page.html").values()
    answer = base64.b64decode(row["extras"][1]["content"].partition("base64,")[2]).decode()
    assert answer.endswith("… (150000 characters; the journal has them all)")
