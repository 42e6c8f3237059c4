"""``--mt-interactive`` in a real terminal, from the first screen to the reports."""

from __future__ import annotations

import os
import pty
import re
import select
import subprocess
import sys
import time
from pathlib import Path
from types import SimpleNamespace

import pytest

from pytest_mindtrial.plugin.interactive import check_terminal

CONFIG = """\
config:
  output-dir: results
  output-basename: out
  task-source: tasks.yaml
  providers:
    - name: mock
      runs:
        - {name: on, model: m, model-parameters: {delay: DELAY}}
        - {name: off, model: m, disabled: true}
"""
TASKS = """\
task-config:
  tasks:
    - {name: one, prompt: q, response-result-format: w, expected-result: x}
    - {name: two, prompt: q, response-result-format: w, expected-result: x}
    - {name: three, prompt: q, response-result-format: w, expected-result: x, disabled: true}
"""


def in_terminal(directory: Path, command: list[str], steps: list[tuple[str, bytes]]) -> tuple[int, str]:
    """Run a command in a pseudo terminal; press keys as soon as a text has appeared.

    Returns:
        Exit status and all output.
    """
    ours, theirs = pty.openpty()
    environment = {key: value for key, value in os.environ.items() if key not in ("PYTEST_ADDOPTS", "NO_COLOR")}
    environment |= {"TERM": "xterm-256color", "COLUMNS": "100", "LINES": "30", "TEXTUAL_ANIMATIONS": "none"}
    process = subprocess.Popen(
        command, cwd=directory, stdin=theirs, stdout=theirs, stderr=theirs, env=environment, start_new_session=True
    )
    os.close(theirs)
    output, waiting, seen = "", list(steps), 0
    deadline = time.monotonic() + 60
    while time.monotonic() < deadline:
        ready, _, _ = select.select([ours], [], [], 0.1)
        if ready:
            try:
                output += os.read(ours, 65536).decode(errors="replace")
            except OSError:  # the other end is closed: the process has ended
                break
        if waiting and (place := output.find(waiting[0][0], seen)) >= 0:
            seen = place + len(waiting[0][0])
            os.write(ours, waiting.pop(0)[1])
    else:
        process.kill()
        pytest.fail(f"the session hangs; still waiting for {waiting}; output:\n{output[-3000:]}")
    os.close(ours)
    return process.wait(30), output


@pytest.fixture
def interactive(project):
    pytest.importorskip("textual", reason="the extra tui is not installed")

    def run(steps: list[tuple[str, bytes]], *, delay: str = "0s", mindtrial: bool = False) -> tuple[int, str]:
        project.suite(TASKS, CONFIG.replace("DELAY", delay))
        words = ["pytest_mindtrial.cli.main", "--interactive", "--json", "run"]
        pytest_words = ["pytest", "tasks.yaml", "--mt-interactive", "-p", "no:cacheprovider"]
        return in_terminal(project.path, [sys.executable, "-m", *(words if mindtrial else pytest_words)], steps)

    return run


@pytest.mark.parametrize("mindtrial", [False, True], ids=["pytest", "mindtrial"])
def test_what_is_chosen_runs(project, interactive, mindtrial):
    # On the first screen everything, on the second all but the first task.
    steps = [("Select Provider", b" \r"), ("Select Tasks", b"a \r")]
    status, output = interactive(steps, mindtrial=mindtrial)
    assert status == 0, output
    found = {(entry["Run"], entry["Task"]) for entry in project.entries()}
    assert found == {("on", "two"), ("on", "three"), ("off", "two"), ("off", "three")}
    assert "4 passed, 2 deselected" in output


def test_leaving_the_screens_runs_what_the_files_enable(project, interactive):
    status, output = interactive([("Select Provider", b"q"), ("Select Tasks", b"q")])
    assert status == 0, output
    assert [(entry["Run"], entry["Task"]) for entry in project.entries()] == [("on", "one"), ("on", "two")]


def test_ctrl_c_on_a_screen_starts_nothing(project, interactive):
    status, output = interactive([("Select Provider", b"\x03")])
    assert status == pytest.ExitCode.INTERRUPTED
    assert "nothing was started" in output
    assert not (project.path / "results").exists()


def test_closing_the_progress_lets_attempts_go_on(project, interactive):
    steps = [("Select Provider", b"\r"), ("Select Tasks", b"\r"), ("Task Progress", b"q")]
    status, _ = interactive(steps, delay="1500ms")
    assert status == 0
    assert len(project.entries()) == 2


def test_ctrl_c_on_the_progress_cancels_and_writes_no_report(project, interactive):
    steps = [("Select Provider", b"\r"), ("Select Tasks", b"\r"), ("Task Progress", b"\x03")]
    status, output = interactive(steps, delay="20s")
    assert status == pytest.ExitCode.INTERRUPTED
    assert "no reports are written" in output
    assert sorted(path.name for path in (project.path / "results").iterdir()) == ["out.journal.jsonl"]


def test_without_a_terminal_it_is_a_usage_error(project):
    project.suite()
    result = project.run_process("tasks.yaml", "--mt-interactive")
    assert result.ret == pytest.ExitCode.USAGE_ERROR
    result.stderr.fnmatch_lines(["ERROR: interactive mode requires a terminal environment"])


@pytest.mark.parametrize(
    "module, options, message",
    [
        ("textual", {}, "--mt-interactive needs the extra tui: pip install 'pytest-mindtrial[tui]'"),
        ("", {"numprocesses": 2}, "--mt-interactive shows one process at work; leave out -n"),
        ("", {"tx": ["popen"]}, "--mt-interactive shows one process at work; leave out -n"),
    ],
)
def test_what_else_it_needs(monkeypatch, module, options, message):
    monkeypatch.setattr("sys.stdout", SimpleNamespace(isatty=lambda: True))
    monkeypatch.setattr("importlib.util.find_spec", lambda name: None if name == module else object())
    with pytest.raises(pytest.UsageError, match=re.escape(message)):
        check_terminal(SimpleNamespace(getoption=options.get))


@pytest.fixture
def screens(monkeypatch):
    """Stand-ins for the screens within this process: what the user does on them is a function."""
    pytest.importorskip("textual", reason="the extra tui is not installed")
    from pytest_mindtrial.plugin.picker.progress import ProgressApp
    from pytest_mindtrial.plugin.picker.screens import PickerApp

    monkeypatch.setattr("pytest_mindtrial.plugin.interactive.check_terminal", lambda config: None)

    def use(pick, watch=lambda app: True) -> None:
        monkeypatch.setattr(PickerApp, "run", pick)
        monkeypatch.setattr(ProgressApp, "run", watch)

    return use


def test_what_is_not_chosen_is_deselected(project, screens):
    def pick(app) -> bool:
        (two,) = [task for task in app._tasks.tasks if task.name == "two"]
        app._tasks.toggle(two)
        return True

    project.suite(TASKS, CONFIG.replace("DELAY", "0s"))
    project.write("test_ordinary.py", "def test_ordinary(): pass\n")
    screens(pick)
    result = project.run("tasks.yaml", "test_ordinary.py", "--mt-interactive")
    result.assert_outcomes(passed=2, deselected=5)
    assert project.kinds() == {"one": "Passed"}


def test_labels_reach_the_screen(project, screens):
    seen = []

    def pick(app) -> bool:
        seen.extend(app._tasks.tasks)
        return True

    task = '{name: one, prompt: q, response-result-format: w, expected-result: x, suite: core, tags: [a, "b c"]}'
    project.suite(f"task-config: {{tasks: [{task}]}}", CONFIG.replace("DELAY", "0s"))
    screens(pick)
    project.run("tasks.yaml", "--mt-interactive").assert_outcomes(passed=1, deselected=1)
    (only,) = seen
    assert (only.suite, only.category, only.tags) == ("core", "", ("a", "b c"))


def test_the_progress_screen_is_fed(project, screens):
    seen: dict[str, object] = {}

    def watch(app) -> bool:
        deadline = time.monotonic() + 20
        while time.monotonic() < deadline:
            done, total, _ = app._progress()
            seen["status"] = list(app._status())
            if done == total:
                break
        seen.update(total=total, lines=sorted(app._feed.lines()))
        return True

    project.suite(TASKS, CONFIG.replace("DELAY", "200ms"))
    screens(lambda app: True, watch)
    project.run("tasks.yaml", "--mt-interactive").assert_outcomes(passed=2, deselected=4)
    assert seen["total"] == 2
    assert [line.partition(" (")[0] for line in seen["lines"]] == ["Passed  mock-on: one", "Passed  mock-on: two"]
    assert seen["status"][0].startswith("mock: ")


def test_giving_up_on_the_progress_writes_no_report(project, screens):
    project.suite(TASKS, CONFIG.replace("DELAY", "10s"))
    screens(lambda app: True, lambda app: False)
    result = project.run("tasks.yaml", "--mt-interactive", "--mt-min-pass-rate=0.1")
    assert result.ret == pytest.ExitCode.INTERRUPTED
    assert sorted(path.name for path in (project.path / "results").iterdir()) == ["out.journal.jsonl"]


def test_sessions_without_task_files_show_no_screen(project, screens):
    def never(app) -> bool:
        raise AssertionError("a screen was shown")

    screens(never, never)
    project.write("test_ordinary.py", "def test_ordinary(): pass\n")
    project.run("test_ordinary.py", "--mt-interactive").assert_outcomes(passed=1)
