"""The commands that work on result files, each through `main`."""

from __future__ import annotations

import json
import sqlite3
from pathlib import Path
from typing import Any

import pytest

from pytest_mindtrial.core.secret import Redactor
from pytest_mindtrial.core.values import Kind
from pytest_mindtrial.results.evaluation import EvaluationInfo
from pytest_mindtrial.results.journal import Journal
from tests.support.sample_results import HOSTILE, attempt, full
from tests.unit.cli.conftest import save

DATA = Path(__file__).parents[3] / "../shared/data/mindtrial"
Command = Any


# merge-results


@pytest.mark.shared_data
@pytest.mark.skipif(not DATA.is_dir(), reason="the shared data folder is not here")
@pytest.mark.parametrize("name", ["results.json", "empty.json"])
def test_mindtrials_document_comes_back_byte_for_byte(mindtrial: Command, name: str) -> None:
    done = mindtrial("--input", str(DATA / name), "--html=false", "--json", "merge-results")
    assert done.out == (DATA / name).read_text()


def test_documents_go_to_stdout_and_progress_to_stderr(mindtrial: Command, results_json: str) -> None:
    done = mindtrial("--input", results_json, "--html=false", "--csv", "--json", "--verbose", "merge-results")
    assert done.status == 0
    table, brace, document = done.out.partition('{\n  "$schema"')
    assert table.startswith("TraceID,Provider,Run,Task")
    assert json.loads(brace + document)["FormatVersion"] == 1
    assert f"Loading results from file: {results_json}" in done.err
    assert "openai o<3: 1 results, 0 tasks updated" in done.err
    assert "  openai gpt wrong: Failed (openai/gpt/wrong/None)" in done.err


def test_the_html_report_is_the_default(mindtrial: Command, results_json: str) -> None:
    done = mindtrial("--input", results_json, "merge-results")
    assert done.out.lower().startswith("<!doctype html>")
    assert done.out.count("FormatVersion") <= 1


def test_files_with_placeholders(mindtrial: Command, results_json: str, tmp_path: Path) -> None:
    done = mindtrial(
        "--input", results_json, "--html=false", "--csv", "--json", "--output-dir=out/{{.Year}}", "--output-basename=m",
        "merge-results",
    )  # fmt: skip
    written = sorted(path.name for path in tmp_path.glob("out/2*/m.*"))
    assert (done.status, done.out, written) == (0, "", ["m.csv", "m.json"])
    assert "Results written to out/2" in done.err


def test_the_last_one_wins_and_evaluations_are_named(mindtrial: Command, tmp_path: Path) -> None:
    first = save(tmp_path / "a.json", [attempt("t", Kind.ERROR, seed="one"), attempt("u", seed="one")])
    second = save(tmp_path / "b.JSON", [attempt("t", Kind.PASSED, seed="two")])
    done = mindtrial("--input", first, "--input", second, "--html=false", "--json", "merge-results")
    document = json.loads(done.out)
    assert [(item["Task"], item["Kind"]) for item in document["Results"]["openai"]] == [
        ("t", "Passed"),
        ("u", "Passed"),
    ]
    assert document["AppName"] == "pytest-mindtrial"
    assert "openai gpt: 2 results, 1 tasks updated" in done.err
    assert f"1 result of evaluation two from {second}" in done.err


def test_our_journals_are_read(mindtrial: Command, tmp_path: Path) -> None:
    path = journal(tmp_path / "x.journal.jsonl", complete=True)
    done = mindtrial("--input", path, "--html=false", "--json", "merge-results")
    assert [item["Task"] for item in json.loads(done.out)["Results"]["mock"]] == ["free"]


def test_a_torn_journal_is_announced(mindtrial: Command, tmp_path: Path) -> None:
    path = journal(tmp_path / "x.jsonl", complete=False)
    with open(path, "a", encoding="utf-8") as file:
        file.write('{"type": "attempt", "resu')
    done = mindtrial("--input", path, "stats")
    assert done.status == 0
    assert "a line was cut off when its session was killed" in done.err


def journal(path: Path, *, complete: bool) -> str:
    writer = Journal(path, EvaluationInfo(seed="s"), Redactor())
    for result in full():
        writer.attempt(result)
    if complete:
        writer.finished(EvaluationInfo(seed="s"))
    writer.close()
    return str(path)


@pytest.mark.parametrize(
    "arguments, status, message",
    [
        (["--input", "r.xml"], 1, 'unsupported input format: "xml" (r.xml); allowed: json, jsonl'),
        (["--input", "r"], 1, 'unsupported input format: ""'),
        (["--input", "none.json"], 1, "failed to read results: none.json: No such file"),
        (["--input", "none.jsonl"], 1, "cannot read the journal none.jsonl"),
        (["--input", "{json}", "--output-basename={{.Nope}}"], 1, "Nope"),
        (
            ["--input", "{json}", "--html=false", "--csv", "--output-dir={json}", "--output-basename=x"],
            3,
            "cannot write",
        ),
    ],
)
def test_mistakes(mindtrial: Command, results_json: str, arguments: list[str], status: int, message: str) -> None:
    done = mindtrial(*(word.replace("{json}", results_json) for word in arguments), "merge-results")
    assert (done.status, done.out) == (status, "")
    assert message in done.err
    assert "Traceback" not in done.err


@pytest.mark.parametrize("command, message", [("merge-results", "Nothing to merge"), ("stats", "Nothing to analyze")])
def test_no_inputs(mindtrial: Command, command: str, message: str) -> None:
    done = mindtrial(command)
    assert done.status == 0
    assert done.out.startswith(message)


# stats


def test_stats(mindtrial: Command, results_json: str) -> None:
    done = mindtrial(
        "--input", results_json, "--group-by=Tag", "--stats-format=jsonl", "--tag=a", "--tag=b", "--tag-mode=any",
        "--status=passed", "--extended", "stats",
    )  # fmt: skip
    rows = [json.loads(line) for line in done.out.splitlines()]
    assert [(row["Dimensions"]["tag"], row["Count"]) for row in rows] == [("a", 2), ("b", 2)]
    assert [row["EstimatedJudgeCost"] for row in rows] == [0.0021, 0.0021]
    assert done.err == f"Loading results from file: {results_json}\n"


@pytest.mark.parametrize(
    "flag, message",
    [
        ("--group-by=x", "invalid group-by dimension: 'x'"),
        ("--stats-format=xml", "invalid stats-format: 'xml'"),
        ("--tag-mode=x", "invalid tag-mode: 'x'"),
        ("--status=x", "invalid status: 'x'"),
    ],
)
def test_stats_options_are_checked_before_files(mindtrial: Command, flag: str, message: str) -> None:
    done = mindtrial("--input", "missing.json", flag, "stats")
    assert done.status == 1
    assert message in done.err
    assert "Loading" not in done.err


def test_stats_names_mixed_evaluations(mindtrial: Command, tmp_path: Path) -> None:
    paths = [save(tmp_path / f"{name}.json", [attempt(name, seed=name)]) for name in "ab"]
    done = mindtrial("--input", paths[0], "--input", paths[1], "stats")
    assert "come from 2 different evaluations" in done.err


# compare, gate, convert


@pytest.mark.parametrize("output", ["text", "json", "markdown"])
def test_compare(mindtrial: Command, worse_json: str, output: str) -> None:
    done = mindtrial("compare", "better.json", worse_json, "--format", output)
    assert done.status == 0
    assert "exact McNemar" in done.out


def test_compare_pairs(mindtrial: Command, tmp_path: Path) -> None:
    path = save(tmp_path / "r.json", [attempt("t", run="a"), attempt("t", Kind.FAILED, run="b/c")])
    done = mindtrial("compare", path, path, "--pair", "openai/a=openai/b/c")
    assert done.out.startswith("openai/a → openai/b/c\n  1 broken")


@pytest.mark.parametrize("pair", ["a", "a=b", "openai/a", "openai/a=b", "/a=b/c", "a/b=c/d=e/f"])
def test_compare_pair_mistakes(mindtrial: Command, pair: str) -> None:
    done = mindtrial("compare", "x.json", "y.json", "--pair", pair)
    assert done.status == 1
    assert "write PROVIDER/RUN=PROVIDER/RUN" in done.err


@pytest.mark.parametrize(
    "arguments, status, word",
    [
        (["better.json", "--gate", "pass-rate >= 0.9"], 0, "GREEN"),
        (["worse.json", "--gate", "pass-rate >= 0.9"], 1, "RED"),
        (["worse.json", "--gate", "pass^2 >= 0.9"], 1, "UNDECIDED"),
        (["worse.json", "--gate", "pass^2 >= 0.9", "--undecided=green"], 0, "UNDECIDED"),
        (["worse.json", "--baseline", "better.json"], 1, "RED"),
        (["better.json", "--baseline", "worse.json"], 0, "GREEN"),
        (["better.json", "--baseline", "better.json", "--gate", "cost <= 1"], 0, "GREEN"),
    ],
)
def test_gate(mindtrial: Command, worse_json: str, arguments: list[str], status: int, word: str) -> None:
    done = mindtrial("gate", *arguments)
    assert done.status == status
    assert done.out.splitlines()[-1] == f"gate: {word} (exit status {status})"


def test_gate_formats(mindtrial: Command, worse_json: str) -> None:
    line = ("gate", worse_json, "--gate", "pass-rate >= 0.9", "--baseline", "better.json", "--format")
    assert json.loads(mindtrial(*line, "json").out)["answer"] == "red"
    assert mindtrial(*line, "markdown").out.startswith("### ❌ red: 0 of 6 passed")


def test_a_gate_on_an_unfinished_journal_is_never_green(mindtrial: Command, tmp_path: Path) -> None:
    path = journal(tmp_path / "x.jsonl", complete=False)
    done = mindtrial("gate", path, "--gate", "pass-rate >= 0", "--undecided=green")
    assert done.status == 1
    assert "not evaluated: the run was interrupted" in done.out


def test_an_empty_gate_is_never_green(mindtrial: Command, tmp_path: Path) -> None:
    path = save(tmp_path / "none.json", [])
    assert mindtrial("gate", path, "--gate", "pass-rate >= 0", "--undecided=green").status == 1


def test_gate_mistakes(mindtrial: Command, results_json: str) -> None:
    assert mindtrial("gate", results_json).status == 2
    done = mindtrial("gate", results_json, "--gate", "pass-rat >= 1")
    assert done.status == 1
    assert "did you mean 'pass-rate'" in done.err


@pytest.mark.parametrize("output", ["html", "csv", "json", "markdown"])
def test_convert(mindtrial: Command, results_json: str, tmp_path: Path, output: str) -> None:
    shown = mindtrial("convert", results_json, "--to", output)
    stored = mindtrial("convert", results_json, "--to", output, "--output", "out.x")
    assert (shown.status, stored.status, stored.out) == (0, 0, "")
    assert (tmp_path / "out.x").read_bytes().decode() == shown.out


def test_convert_into_a_directory(mindtrial: Command, results_json: str, tmp_path: Path) -> None:
    done = mindtrial("convert", results_json, "--to", "csv", "--output", str(tmp_path))
    assert done.status == 3
    assert "cannot write" in done.err


@pytest.mark.parametrize("text", HOSTILE.values(), ids=HOSTILE)
def test_hostile_names_in_progress_messages(mindtrial: Command, tmp_path: Path, text: str) -> None:
    path = save(tmp_path / "h.json", [attempt(text, provider=text, run=text, seed=text)])
    done = mindtrial("--input", path, "--html=false", "--verbose", "merge-results")
    assert done.status == 0
    assert len(done.err.splitlines()) == 3
    assert not any(mark in done.err for mark in "\x1b\x00\u202e")


@pytest.mark.parametrize("text", HOSTILE.values(), ids=HOSTILE)
@pytest.mark.parametrize("output", ["csv", "json", "markdown"])
def test_hostile_text_survives_conversion(mindtrial: Command, tmp_path: Path, text: str, output: str) -> None:
    path = save(tmp_path / "h.json", [attempt(text, Kind.FAILED, provider=text, run=text, suite=text, tags=(text,))])
    done = mindtrial("convert", path, "--to", output)
    assert done.status == 0
    if output == "json":
        assert json.loads(done.out)["Results"][text][0]["Task"] == text


# history, schema, docker


def test_history(mindtrial: Command, worse_json: str, results_json: str) -> None:
    added = mindtrial("history", "add", "better.json", worse_json, results_json, "--label", "one")
    again = mindtrial("history", "add", "better.json")
    assert (added.status, added.out) == (0, "")
    assert "better.json: 6 results recorded" in added.err
    assert "better.json: these results are recorded already" in again.err
    listed = mindtrial("history", "list").out.splitlines()
    assert listed[0].split() == ["id", "recorded_at", "label", "seed", "source", "results", "passed"]
    assert len(listed) == 4
    flaky = [json.loads(line) for line in mindtrial("history", "--format=jsonl", "flaky").out.splitlines()]
    assert [(row["task"], row["flips"]) for row in flaky] == [(f"t{index}", 1) for index in range(6)]
    assert len(mindtrial("history", "trend", "--task=t1", "--last=2").out.splitlines()) == 2
    assert "sum" in mindtrial("history", "stale", "--at-least=1").out
    assert mindtrial("history", "forget", "1").status == 0
    assert mindtrial("history", "forget", "1").status == 1
    assert mindtrial("history", "flaky").out == ""


def test_history_without_a_file(mindtrial: Command, tmp_path: Path) -> None:
    done = mindtrial("history", "list")
    assert done.status == 1
    assert "there is no history file mindtrial-history.db" in done.err
    assert not list(tmp_path.iterdir())


def test_history_of_another_program(mindtrial: Command) -> None:
    connection = sqlite3.connect("x.db")
    connection.execute("CREATE TABLE x (y)")
    connection.commit()
    connection.close()
    assert "another program" in mindtrial("history", "--file=x.db", "list").err


@pytest.mark.parametrize("kind", ["tasks", "config"])
def test_schema(mindtrial: Command, kind: str) -> None:
    done = mindtrial("schema", kind)
    assert done.status == 0
    assert json.loads(done.out)["$schema"].startswith("https://json-schema.org/")


@pytest.mark.parametrize("problems, status", [((), 0), (("net x: busy",), 1)])
def test_docker_sweep(
    mindtrial: Command, monkeypatch: pytest.MonkeyPatch, problems: tuple[str, ...], status: int
) -> None:
    from pytest_mindtrial.sandbox import sweep

    monkeypatch.setattr(sweep, "sweep_orphans", lambda: sweep.SweepReport((), 2, problems))
    done = mindtrial("docker", "sweep")
    assert (done.status, done.out) == (status, "0 removed, 2 kept for live sessions\n")
    assert done.err == "".join(f"{problem}\n" for problem in problems)


def test_docker_sweep_without_an_engine(mindtrial: Command, monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> None:
    monkeypatch.setenv("DOCKER_HOST", f"unix://{tmp_path}/docker.sock")
    done = mindtrial("docker", "sweep")
    assert (done.status, done.out) == (1, "")
    assert done.err.startswith("mindtrial: no Docker engine answers at ")
    assert "Traceback" not in done.err
