"""``-x``, ``--maxfail``, Ctrl-C and kill -9: what was started, reported, journalled and written."""

from __future__ import annotations

import json
import os
import re
import signal
import subprocess
import sys
import threading
import time
from pathlib import Path

import pytest

from pytest_mindtrial.results.journal_reader import read_journal


def many(count: int) -> str:
    tasks = [
        {"name": f"t{n:03}", "prompt": "q", "response-result-format": "w", "expected-result": "x"} for n in range(count)
    ]
    return json.dumps({"task-config": {"tasks": tasks}})


def test_x_stops_and_the_report_says_incomplete(project):
    project.mock({"answers": {"t005": "no", "*": "x"}, "delay": "20ms"}, many(60))
    result = project.run("tasks.yaml", "-x", "--mt-concurrency=4")
    result.assert_outcomes(passed=5, failed=1)
    assert len(project.entries()) == 6
    finished = project.attempts()
    assert 6 <= len(finished) <= 6 + 2 * 4
    page = (project.path / "results/out.html").read_text(encoding="utf-8")
    assert "6 of 60 items were reported" in page
    result.stdout.fnmatch_lines(["incomplete: stopping after 1 failures; 6 of 60 items were reported"])


def test_x_never_starts_far_ahead(project):
    project.mock({"answers": {"t000": "no", "*": "x"}}, many(200))
    project.run("tasks.yaml", "-x", "--mt-concurrency=3")
    assert len(project.attempts()) <= 8


def test_concurrency_one_keeps_file_order(project):
    project.mock({"behaviour": "perfect"}, many(20))
    project.run("tasks.yaml", "--mt-concurrency=1").assert_outcomes(passed=20)
    assert [line["task"] for line in project.attempts()] == [f"t{n:03}" for n in range(20)]


def test_no_thread_is_left(project):
    project.mock({"behaviour": "perfect"}, many(3))
    project.run("tasks.yaml")
    assert not [thread for thread in threading.enumerate() if thread.name.startswith("mindtrial")]


def start(project, *arguments: str) -> subprocess.Popen[str]:
    return subprocess.Popen(
        [sys.executable, "-m", "pytest", "tasks.yaml", "-p", "no:cacheprovider", *arguments],
        cwd=project.path,
        stdout=subprocess.PIPE,
        stderr=subprocess.STDOUT,
        text=True,
        env={key: value for key, value in os.environ.items() if key != "PYTEST_ADDOPTS"},
    )


def wait_for_attempts(path: Path, count: int) -> None:
    deadline = time.monotonic() + 30
    while time.monotonic() < deadline:
        if path.exists() and path.read_text(encoding="utf-8").count('"type":"attempt"') >= count:
            return
        time.sleep(0.02)
    pytest.fail("the sub-run made no progress")


def test_ctrl_c_writes_incomplete_reports_and_the_journal(project):
    project.mock({"behaviour": "perfect", "delay": "300ms"}, many(400))
    process = start(project, "--mt-concurrency=10")
    wait_for_attempts(project.path / "results/out.journal.jsonl", 12)
    started = time.monotonic()
    process.send_signal(signal.SIGINT)
    output, _ = process.communicate(timeout=30)
    assert time.monotonic() - started < 4
    assert process.returncode == pytest.ExitCode.INTERRUPTED
    assert "KeyboardInterrupt" in output
    reported = len(project.entries())
    finished = project.attempts()
    assert 0 < reported <= len(finished) < 400
    assert {entry["Task"] for entry in project.entries()} <= {line["task"] for line in finished}
    assert "interrupted from the keyboard" in (project.path / "results/out.html").read_text(encoding="utf-8")


def test_kill_9_leaves_a_journal_that_parses_and_no_half_report(project):
    project.mock({"behaviour": "perfect", "delay": "30ms"}, many(400))
    process = start(project, "--mt-concurrency=10")
    journal = project.path / "results/out.journal.jsonl"
    wait_for_attempts(journal, 30)
    process.kill()
    process.communicate(timeout=30)
    content = read_journal(journal)
    assert len(content.results) >= 30
    assert sorted(path.name for path in journal.parent.iterdir()) == ["out.journal.jsonl"]


COLLECTOR = """
import gc
import pytest

@pytest.fixture
def mt_validator():
    return lambda answer: print("RUN", gc.get_freeze_count() > 0) or True

def pytest_terminal_summary():
    print("SUMMARY", gc.get_freeze_count())
"""


def test_the_collector_is_ordinary_again_when_plugins_end(project):
    project.suite()
    project.write("conftest.py", COLLECTOR)
    result = project.run_process("tasks.yaml", "-s", "-p", "no:hypothesispytest")
    result.assert_outcomes(passed=2)
    result.stdout.fnmatch_lines(["*RUN True*", "SUMMARY 0"])


def test_the_collector_is_left_alone_beside_other_tests(project):
    project.suite()
    project.write("conftest.py", COLLECTOR)
    project.write("test_x.py", "def test_x():\n    pass\n")
    result = project.run_process("tasks.yaml", "test_x.py", "-s", "-p", "no:hypothesispytest")
    result.assert_outcomes(passed=3)
    result.stdout.fnmatch_lines(["*RUN False*", "SUMMARY 0"])


ENABLED = """
import atexit
import gc

atexit.register(lambda: print("END", gc.isenabled()))

def pytest_collection_finish():
    print("COLLECTED", gc.isenabled())

def pytest_runtest_setup():
    print("SETUP", gc.isenabled())
"""


@pytest.mark.parametrize(
    ("arguments", "expected"),
    [
        (("tasks.yaml",), ["COLLECTED False", "SETUP True", "END True"]),
        (("tasks.yaml", "test_x.py"), ["COLLECTED False", "SETUP True", "END True"]),
        (("tasks.yaml", "--collect-only"), ["COLLECTED False", "END True"]),
        (("tasks.yaml", "broken.yaml"), ["COLLECTED False", "END True"]),
        (("test_x.py",), ["COLLECTED True", "SETUP True", "END True"]),
    ],
    ids=["tasks", "mixed", "collect only", "broken", "no tasks"],
)
def test_the_collector_pauses_from_the_first_task_file_to_the_first_item(project, arguments, expected):
    project.suite()
    project.write("conftest.py", ENABLED)
    project.write("test_x.py", "def test_x():\n    pass\n")
    project.write("broken.yaml", "task-config: {tasks: [{}]}\n")
    result = project.run_process(*arguments, "-s", "-p", "no:hypothesispytest")
    said = re.findall(r"(?:COLLECTED|SETUP|END) (?:True|False)", result.stdout.str())
    assert list(dict.fromkeys(said)) == expected
