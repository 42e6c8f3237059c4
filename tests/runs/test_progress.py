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


def two_slow_entries(project, delay="250ms", count=TASK_COUNT):
    """Write a suite of two mock entries, so that each has a worker of its own."""
    slow_suite(project, delay, count)
    path = project.path / "config.yaml"
    content = json.loads(path.read_text())
    content["config"]["providers"] *= 2
    content["config"]["providers"][1] = {
        "name": "mock",
        "runs": [{"name": "n", "model": "mock-1", "model-parameters": {"delay": delay}}],
    }
    path.write_text(json.dumps(content))


def test_workers_tell_their_status_to_the_controllers_terminal(project):
    two_slow_entries(project, count=20)
    output, seen = on_terminal(project, "--mt-concurrency=2", "-n2")
    assert len(set(re.findall(r"mock: \d+ of 20 done · [12] in flight", output))) >= 2
    assert re.search(r"mock: \d+ of 20 done [^\n]*\r\nmock: \d+ of 20 done", output)
    assert "about " in output
    assert "in flight" not in seen
    assert re.search(r"^\.{40} +\[100%\]$", seen, re.MULTILINE)
    assert "40 passed in" in seen


def test_the_lines_of_v_stay_whole_under_xdist(project):
    two_slow_entries(project)
    output, seen = on_terminal(project, "--mt-concurrency=2", "-n2", "-v", rows=40)
    assert "in flight" in output
    lines = [line.rstrip() for line in seen.splitlines() if line.startswith("[gw")]
    assert len(lines) == 24
    for line in lines:
        assert re.fullmatch(r"\[gw\d\] \[ *\d+%\] PASSED tasks\.yaml::t\d+\[mock-[mn]\]", line)
    assert "in flight" not in seen


@pytest.mark.parametrize(("arguments", "environ"), [(("-q",), {}), (("-s",), {}), ((), {"CI": "1"})])
def test_workers_say_nothing_where_it_would_disturb(project, arguments, environ):
    two_slow_entries(project, delay="600ms", count=2)
    project.write("conftest.py", SPYING)
    output, _ = on_terminal(project, "--mt-concurrency=1", "-n2", *arguments, **environ)
    assert "4 passed" in output
    assert "in flight" not in output
    assert "\x1b[J" not in output
    assert not (project.path / "told").exists()


SPYING = """
from pathlib import Path
from pytest_mindtrial.plugin import worker_status

def spy(self, message, _send=worker_status.StatusSender._send):
    Path("told").touch()
    _send(self, message)

worker_status.StatusSender._send = spy
"""


def test_the_spy_would_see_it(project):
    two_slow_entries(project, delay="600ms", count=2)
    project.write("conftest.py", SPYING)
    on_terminal(project, "--mt-concurrency=1", "-n2")
    assert (project.path / "told").exists()


def test_a_worker_that_crashes_leaves_the_screen_whole(project):
    two_slow_entries(project)
    project.write(
        "conftest.py",
        """
        import os, time
        from pathlib import Path

        def pytest_runtest_setup(item):
            if item.name == "t6[mock-m]" and not Path("crashed").exists():
                Path("crashed").touch()
                time.sleep(0.3)
                os._exit(7)
        """,
    )
    output, seen = on_terminal(project, "--mt-concurrency=2", "-n2", rows=60)
    assert "in flight" in output
    assert "in flight" not in seen
    assert re.search(r"replacing crashed worker gw\d$", seen, re.MULTILINE)
    assert re.search(r"node down: Not properly terminated$", seen, re.MULTILINE)
    assert "1 failed, 23 passed in" in seen


def test_a_signal_to_the_controller_dumps_what_all_workers_do(project):
    """No terminal, so nobody tells anything unasked; one worker is in the middle of a test of Python."""
    two_slow_entries(project, delay="3s", count=2)
    project.write(
        "conftest.py",
        """
        import os, signal, threading

        def pytest_configure(config):
            if not hasattr(config, "workerinput"):
                config.pluginmanager.register(Signalling())

        class Signalling:
            def pytest_xdist_node_collection_finished(self):
                if not hasattr(self, "timer"):
                    self.timer = threading.Timer(2.5, os.kill, (os.getpid(), signal.SIGUSR1))
                    self.timer.start()
        """,
    )
    result = project.run_process(*ARGUMENTS, "-q", "-n2")
    result.assert_outcomes(passed=4)
    pattern = r"\nmindtrial: 4 attempts in flight\n(  \[gw\d\] .*t\d.*: \d+\.\d s, turn 1\n){4}"
    found = re.search(pattern, result.stderr.str() + "\n")
    assert found, result.stderr.str()
    assert {"[gw0]", "[gw1]"} == set(re.findall(r"\[gw\d\]", found[0]))


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
