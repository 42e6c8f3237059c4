"""The live status in real sessions: on a terminal, in pipes, under -q; the dump on a signal; adaptive concurrency."""

from __future__ import annotations

import fcntl
import json
import os
import pty
import re
import struct
import sys
import termios
import threading

import pytest

from pytest_mindtrial.plugin.progress import PeriodicLines
from tests.support.loopback import Loopback, json_reply
from tests.support.screen import Screen

ARGUMENTS = ("-p", "no:hypothesispytest", "-p", "no:pytest_cov", "--color=no", "tasks.yaml")
TASK_COUNT = 12


def slow_suite(project, delay="250ms", count=TASK_COUNT):
    tasks = [
        {"name": f"t{number}", "prompt": "p", "response-result-format": "x", "expected-result": "y"}
        for number in range(count)
    ]
    project.mock({"delay": delay}, json.dumps({"task-config": {"tasks": tasks}}))


def on_terminal(project, *arguments, rows=24, **environ):
    """Run pytest on a terminal of 80 columns; return its output and what a person sees in the end."""
    pid, descriptor = pty.fork()
    if pid == 0:
        os.chdir(project.path)
        os.environ.pop("CI", None)
        os.environ.pop("BUILD_NUMBER", None)
        os.environ.update({"TERM": "xterm", **environ})
        os.execv(sys.executable, [sys.executable, "-m", "pytest", *ARGUMENTS, *arguments])
    fcntl.ioctl(descriptor, termios.TIOCSWINSZ, struct.pack("HHHH", rows, 80, 0, 0))
    parts = []
    while True:
        try:
            part = os.read(descriptor, 65536)
        except OSError:  # how Linux says that the other side has ended
            break
        if not part:
            break
        parts.append(part)
    os.waitpid(pid, 0)
    os.close(descriptor)
    output = b"".join(parts).decode()
    screen = Screen(rows)
    screen.write(output)
    return output, screen.text


@pytest.mark.parametrize("rows", [24, 6])
def test_the_status_is_live_on_a_terminal_and_gone_in_the_end(project, rows):
    slow_suite(project)
    output, seen = on_terminal(project, "--mt-concurrency=2", rows=rows)
    assert re.search(r"mock: \d+ of 12 done · 2 in flight", output)
    assert "about " in output
    assert "in flight" not in seen
    assert re.search(r"^tasks\.yaml \.{12} +\[100%\]$", seen, re.MULTILINE)
    assert "12 passed in" in seen


def test_the_lines_of_v_stay_whole(project):
    slow_suite(project)
    output, seen = on_terminal(project, "--mt-concurrency=2", "-v")
    assert "in flight" in output
    lines = [line for line in seen.splitlines() if line.startswith("tasks.yaml::")]
    assert [re.sub(r" +", " ", line).split(" [")[0] for line in lines] == [
        f"tasks.yaml::t{number}[mock-m] PASSED" for number in range(TASK_COUNT)
    ]
    assert "in flight" not in seen


@pytest.mark.parametrize(("arguments", "environ"), [(("-q",), {}), (("-s",), {}), ((), {"CI": "1"})])
def test_there_is_no_live_status_where_it_would_disturb(project, arguments, environ):
    slow_suite(project, delay="600ms", count=2)
    output, _ = on_terminal(project, "--mt-concurrency=1", *arguments, **environ)
    assert "2 passed" in output
    assert "in flight" not in output
    assert "\x1b[J" not in output


def test_there_is_none_in_a_pipe(project):
    slow_suite(project, delay="600ms", count=2)
    output = project.run("tasks.yaml", "--mt-concurrency=1").stdout.str()
    assert "2 passed" in output
    assert "in flight" not in output
    assert "\x1b" not in output


def test_a_session_without_a_terminal_reporter_works(project):
    project.suite()
    assert project.run("tasks.yaml", "-p", "no:terminal").ret == 0


def test_a_pipe_gets_a_line_after_a_silence(project, monkeypatch):
    monkeypatch.setattr(PeriodicLines, "interval_s", 0.1)
    slow_suite(project, delay="600ms", count=2)
    result = project.run("tasks.yaml", "--mt-concurrency=1")
    result.stdout.fnmatch_lines(["mindtrial: mock: 0 of 2 done · 1 in flight*", "*2 passed*"])


SIGNALLING = """
import os, signal, threading

def pytest_runtest_setup(item):
    if item.name.startswith("t0"):
        threading.Timer(0.5, os.kill, (os.getpid(), signal.SIGUSR1)).start()
"""


def test_a_signal_dumps_what_is_in_flight(project):
    project.write("conftest.py", SIGNALLING)
    slow_suite(project, delay="1500ms", count=3)
    result = project.run_process(*ARGUMENTS, "-q")
    result.assert_outcomes(passed=3)
    pattern = r"\nmindtrial: 3 attempts in flight\n(  .*t\d.*: \d+\.\d s, turn 1\n){3}"
    assert re.fullmatch(pattern, result.stderr.str() + "\n")


CONFIG = """\
config:
  output-dir: results
  output-basename: out
  task-source: tasks.yaml
  providers:
    - name: openai
      client-config: {{endpoint: "{url}/v1", api-key: sk-loopback-0123456789}}
      runs:
        - {{name: r, model: m, retry-policy: {{max-retry-attempts: 8, initial-delay-seconds: 1}}}}
"""


def test_auto_finds_the_level_of_a_service_and_every_item_passes(project):
    """The service takes six requests at once and refuses more, without any hint how long to wait."""
    text = json.dumps({"title": "t", "explanation": "e", "final_answer": "y"})
    message = {"role": "assistant", "content": text}
    good = json_reply({"choices": [{"finish_reason": "stop", "message": message}], "usage": {"prompt_tokens": 1}})
    busy = json_reply({"error": {"message": "too much"}}, status=429)
    lock, level = threading.Lock(), {"now": 0, "most": 0, "refused": 0}

    def respond(received):
        with lock:
            level["now"] += 1
            level["most"] = max(level["most"], level["now"])
            is_refused = level["now"] > 6
            level["refused"] += is_refused
        threading.Event().wait(0.02)
        with lock:
            level["now"] -= 1
        return busy if is_refused else good

    tasks = [
        {"name": f"t{number}", "prompt": "p", "response-result-format": "x", "expected-result": "y"}
        for number in range(80)
    ]
    with Loopback() as server:
        server.respond(respond)
        project.suite(json.dumps({"task-config": {"tasks": tasks}}), CONFIG.format(url=server.url))
        project.run("tasks.yaml", "--mt-concurrency=auto").assert_outcomes(passed=80)
    assert level["refused"] > 0
    assert level["most"] < 40
