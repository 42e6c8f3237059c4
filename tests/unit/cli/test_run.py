from __future__ import annotations

import subprocess
from collections.abc import Sequence
from pathlib import Path
from typing import Any

import pytest

from pytest_mindtrial.cli import run as run_module
from pytest_mindtrial.cli import validate as validate_module
from tests.support.command_suite import CONFIG, TASKS, write_suite
from tests.support.sample_results import attempt
from tests.unit.cli.conftest import save

Command = Any


@pytest.fixture
def suite(tmp_path: Path) -> Path:
    return write_suite(tmp_path)


class Recorder:
    def __init__(self, status: int = 0, folder_content: Sequence[str] = ()) -> None:
        self.status = status
        self.arguments: list[str] = []
        self.log = ""
        self.is_to_stderr = False
        self._content = folder_content
        self.folder = Path()

    def __call__(self, arguments: Sequence[str], *, log: str = "", is_to_stderr: bool = False) -> int:
        self.arguments, self.log, self.is_to_stderr = list(arguments), log, is_to_stderr
        for word in arguments:
            if word.startswith("--mt-output-dir="):
                self.folder = Path(word.partition("=")[2])
        for name in self._content:
            (self.folder / name).write_text(f"<{name}>\n")
        return self.status


def record(monkeypatch: pytest.MonkeyPatch, recorder: Recorder) -> Recorder:
    monkeypatch.setattr(run_module, "run_pytest", recorder)
    return recorder


def test_the_defaults(mindtrial: Command, suite: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    pytest_run = record(monkeypatch, Recorder())
    done = mindtrial("run")
    tasks, *rest = pytest_run.arguments
    assert done.status == 0
    assert Path(tasks).resolve() == suite / "tasks.yaml"
    assert rest == ["--mt-config=config.yaml", "--mt-html=true", "--mt-csv=false", "--mt-json=false"]
    assert done.out == ""
    assert f"Working directory: {suite}" in done.err
    assert f"Configuration: {suite / 'config.yaml'}" in done.err
    assert f"Tasks: {suite / 'tasks.yaml'}" in done.err


@pytest.mark.parametrize(
    "flags, words",
    [
        (["--tasks=other.yaml"], ["other.yaml"]),
        (["--output-dir=d"], ["--mt-output-dir=d"]),
        (["--output-basename=b"], ["--mt-output-basename=b"]),
        (["--csv", "--json", "--html=false"], ["--mt-csv=true", "--mt-json=true", "--mt-html=false"]),
        (["--evaluation-seed=s"], ["--mt-seed=s"]),
        (["--verbose"], ["-v"]),
        (["--debug"], ["-vv", "--log-level=DEBUG"]),
    ],
)
def test_flags_become_options(
    mindtrial: Command, suite: Path, monkeypatch: pytest.MonkeyPatch, flags: list[str], words: list[str]
) -> None:
    pytest_run = record(monkeypatch, Recorder())
    mindtrial(*flags, "run")
    assert set(words) <= set(pytest_run.arguments)


def test_what_follows_two_dashes_goes_to_pytest(
    mindtrial: Command, suite: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    pytest_run = record(monkeypatch, Recorder())
    mindtrial("run", "--", "-k", "sum", "--csv")
    assert pytest_run.arguments[-3:] == ["-k", "sum", "--csv"]


def test_a_blank_seed_is_random(mindtrial: Command, suite: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    pytest_run = record(monkeypatch, Recorder())
    mindtrial("--evaluation-seed=", "run")
    assert not any("seed" in word for word in pytest_run.arguments)


def test_interactive_needs_a_terminal(mindtrial: Command, suite: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    pytest_run = record(monkeypatch, Recorder())
    done = mindtrial("--interactive", "run")
    assert done.status == 1
    assert "interactive mode requires a terminal environment" in done.err
    mindtrial("--interactive", "run", terminal=True)
    assert "--mt-interactive" in pytest_run.arguments


def test_on_the_screen_disabled_runs_can_be_chosen(
    mindtrial: Command, suite: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    pytest_run = record(monkeypatch, Recorder())
    (suite / "config.yaml").write_text(CONFIG.replace("- name: mock", "- name: mock\n      disabled: true"))
    mindtrial("--interactive", "run", terminal=True)
    assert "--mt-interactive" in pytest_run.arguments


def test_a_log_would_take_the_terminal_away(mindtrial: Command, suite: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    pytest_run = record(monkeypatch, Recorder())
    done = mindtrial("--interactive", "--log=run.log", "run", terminal=True)
    assert (pytest_run.log, "run.log: not written" in done.err) == ("", True)


@pytest.mark.parametrize(
    "status, mindtrials, pytests", [(0, 0, 0), (1, 0, 1), (2, 1, 2), (3, 1, 3), (4, 1, 4), (5, 0, 5), (137, 1, 137)]
)
def test_exit_styles(
    mindtrial: Command, suite: Path, monkeypatch: pytest.MonkeyPatch, status: int, mindtrials: int, pytests: int
) -> None:
    record(monkeypatch, Recorder(status))
    assert mindtrial("run").status == mindtrials
    assert mindtrial("--exit-style=pytest", "run").status == pytests


def test_nothing_to_run(mindtrial: Command, suite: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    record(monkeypatch, Recorder(5))
    assert mindtrial("run").out == "Nothing to run: no task is enabled.\n"
    (suite / "config.yaml").write_text(CONFIG.replace("- name: mock", "- name: mock\n      disabled: true"))
    assert mindtrial("run").out == "Nothing to run: every run is disabled.\n"


@pytest.mark.parametrize(
    "flags, message",
    [
        (["--config=none.yaml"], "none.yaml"),
        (["--exit-style=go"], "invalid exit-style: 'go'; allowed: mindtrial, pytest"),
    ],
)
def test_mistakes(mindtrial: Command, suite: Path, flags: list[str], message: str) -> None:
    done = mindtrial(*flags, "run")
    assert done.status == 1
    assert message in done.err


def test_no_task_file(mindtrial: Command, suite: Path) -> None:
    (suite / "config.yaml").write_text(CONFIG.replace("  task-source: tasks.yaml\n", ""))
    for command in ("run", "validate"):
        done = mindtrial(command)
        assert done.status == 1
        assert "task-source" in done.err


@pytest.mark.parametrize("status, expected", [(0, 0), (5, 0), (1, 1), (4, 1)])
def test_validate(mindtrial: Command, suite: Path, monkeypatch: pytest.MonkeyPatch, status: int, expected: int) -> None:
    (suite / "tasks.yaml").write_text(TASKS.replace("expected-result:", "repeat: 3\n      expected-result:"))
    lines: list[list[str]] = []

    def pytest_run(line: list[str], **_: object) -> subprocess.CompletedProcess[bytes]:
        lines.append(line)
        return subprocess.CompletedProcess(line, status, b"what pytest said", b"")

    monkeypatch.setattr(validate_module.subprocess, "run", pytest_run)
    past = [attempt("sum", provider="mock", run="good")]
    done = mindtrial("validate", "tasks.yaml", "--baseline", save(suite / "old.json", past))
    assert done.status == expected
    assert {"--collect-only", "tasks.yaml", "--mt-config=config.yaml"} <= set(lines[0])
    if expected:
        assert (done.out, "what pytest said" in done.err) == ("", True)
    else:
        assert done.out.splitlines() == [
            "tasks.yaml: 3 tasks × 2 runs = 6 items, valid",
            "cost forecast: 0.0180 USD for 3 of 6 items; 3 more have no earlier result with a known cost",
        ]


def test_the_log(mindtrial: Command, suite: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    pytest_run = record(monkeypatch, Recorder())
    mindtrial("--log=a.log", "run")
    assert pytest_run.log == "a.log"
    (suite / "config.yaml").write_text(CONFIG.replace("output-dir: out", "output-dir: out\n  log-file: b.log"))
    mindtrial("run")
    assert Path(pytest_run.log).resolve() == suite / "b.log"


def test_a_blank_base_name_prints_the_documents(
    mindtrial: Command, suite: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    pytest_run = record(monkeypatch, Recorder(1, ["results.csv", "results.json", "results.html"]))
    done = mindtrial("--output-basename=", "--html=false", "--json", "--csv", "run")
    assert (done.status, done.out) == (0, "<results.csv>\n<results.json>\n")
    assert pytest_run.is_to_stderr
    assert not pytest_run.folder.exists()


def test_a_missing_document_is_status_3(mindtrial: Command, suite: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    record(monkeypatch, Recorder(0))
    done = mindtrial("--output-basename=", "run")
    assert done.status == 3
    assert "the session wrote no results.html" in done.err


def test_an_unfinished_session_keeps_its_folder(
    mindtrial: Command, suite: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    pytest_run = record(monkeypatch, Recorder(2, ["results.journal.jsonl"]))
    done = mindtrial("--output-basename=", "run")
    assert (done.status, done.out) == (1, "")
    assert f"what is known stands in {pytest_run.folder}" in done.err
    assert (pytest_run.folder / "results.journal.jsonl").exists()


def test_a_log_that_cannot_be_written(tmp_path: Path, mindtrial: Command, suite: Path) -> None:
    done = mindtrial(f"--log={tmp_path}", "run")
    assert done.status == 3
    assert "cannot write the log file" in done.err


def test_validate_locates_mistakes(suite: Path, mindtrial: Command) -> None:
    (suite / "tasks.yaml").write_text(TASKS.replace("prompt:", "promt:"))
    done = mindtrial("validate")
    assert done.status == 1
    assert "tasks.yaml:4" in done.err
    assert "prompt" in done.err
