"""Thousands of attempts against a service that misbehaves: each ends as it must, nothing is lost, nothing is left.

The service runs in its own process (`tests/support/chaos_server.py`); each seed is one pytest process.
"""

from __future__ import annotations

import json
import os
import random
import signal
import subprocess
import sys
import time
import urllib.request
from collections.abc import Callable, Iterator
from pathlib import Path

import pytest

from pytest_mindtrial.results.journal_reader import read_journal
from tests.support import chaos_server

TASKS = 1000
PER_MINUTE = 9000
PACE_S = 61 / PER_MINUTE
BURST = PER_MINUTE // 10

LEFT_BEHIND = """\
import json, os, threading
from pathlib import Path

def pytest_unconfigure(config):
    threads = [thread.name for thread in threading.enumerate() if thread.name.startswith("mindtrial")]
    links = [os.readlink(f"/proc/self/fd/{name}") for name in os.listdir("/proc/self/fd")
             if os.path.lexists(f"/proc/self/fd/{name}")]
    sockets = [link for link in links if link.startswith("socket:")]
    Path("left.json").write_text(json.dumps({"threads": threads, "sockets": sockets}))
"""


@pytest.fixture
def service() -> Iterator[Callable[[str], str]]:
    """Start services by seed; give their URLs."""
    processes = []

    def start(seed: str) -> str:
        process = subprocess.Popen(
            [sys.executable, chaos_server.__file__, seed], stdin=subprocess.PIPE, stdout=subprocess.PIPE, text=True
        )
        processes.append(process)
        assert process.stdout is not None
        return f"http://127.0.0.1:{process.stdout.readline().strip()}"

    yield start
    for process in processes:
        process.kill()
        process.communicate()


def suite(project, url: str, tasks: int = TASKS) -> None:
    items = [
        {"name": f"task-{n}", "prompt": f"do task-{n} now", "response-result-format": "w", "expected-result": "yes"}
        for n in range(tasks)
    ]
    common = {
        "max-parallel-requests-per-minute": PER_MINUTE,
        "retry-policy": {"max-retry-attempts": 2, "initial-delay-seconds": 1},
    }
    runs = {
        "openai": {"name": "mini", "model": "gpt-4.1-mini"},
        "moonshotai": {"name": "kimi", "model": "kimi-k3", "model-parameters": {"stream": True}},
    }
    providers = [
        {
            "name": name,
            "client-config": {"endpoint": f"{url}/{name}", "api-key": "k-canary-123", "request-timeout": "900ms"},
            "runs": [run],
            **common,
        }
        for name, run in runs.items()
    ]
    config = {"output-dir": "results", "output-basename": "out", "task-source": "tasks.yaml", "providers": providers}
    (project.path / "tasks.yaml").write_text(json.dumps({"task-config": {"tasks": items}}))
    (project.path / "config.yaml").write_text(json.dumps({"config": config}))


def start(project, *arguments: str) -> subprocess.Popen[str]:
    line = [sys.executable, "-m", "pytest", "tasks.yaml", "-q", "--tb=no", "-p", "no:cacheprovider", "-p", "mindtrial"]
    environment = {key: value for key, value in os.environ.items() if key != "PYTEST_ADDOPTS"}
    environment["PYTEST_DISABLE_PLUGIN_AUTOLOAD"] = "1"
    return subprocess.Popen(
        [*line, *arguments],
        cwd=project.path,
        stdout=subprocess.PIPE,
        stderr=subprocess.STDOUT,
        text=True,
        env=environment,
    )


def most_within(times: list[float], span: float) -> int:
    """Return the largest number of arrivals in any window of this length."""
    best = first = 0
    for last, moment in enumerate(times):
        while times[first] <= moment - span:
            first += 1
        best = max(best, last - first + 1)
    return best


@pytest.mark.parametrize("seed", ["one", "two", "three"])
def test_every_attempt_ends_as_it_must(project, service, seed):
    url = service(seed)
    suite(project, url)
    project.write("conftest.py", LEFT_BEHIND)
    process = start(project, "--mt-concurrency=200", "--mt-html=false")
    output, _ = process.communicate(timeout=120)
    assert process.returncode == pytest.ExitCode.TESTS_FAILED, output[-2000:]
    assert json.loads((project.path / "left.json").read_text()) == {"threads": [], "sockets": []}
    wrong = []
    for entry in project.entries():
        path = f"/{entry['Provider']}/chat/completions"
        name = chaos_server.fate(seed, path, entry["Task"])
        if entry["Kind"] != chaos_server.FATES[name][2]:
            wrong.append((entry["Provider"], entry["Task"], name, entry["Kind"]))
    assert wrong == []
    content = read_journal(project.path / "results/out.journal.jsonl")
    assert content.header.is_complete
    assert len({(result.provider, result.task) for result in content.results}) == len(content.results) == 2 * TASKS
    assert content.reported == {result.trace_id for result in content.results}
    with urllib.request.urlopen(f"{url}/stats") as reply:
        arrivals = sorted(json.load(reply))
    recorded = sum(len(result.requests) for result in content.results)
    assert recorded == len(arrivals)
    for span in (0.5, 2.0, 60.0):  # two providers, each with its own limit
        assert most_within(arrivals, span) <= 2 * (BURST + span / PACE_S + 20)


def test_kill_9_at_any_moment_leaves_every_finished_attempt(project, service):
    suite(project, service("kill"), 300)
    moments = random.Random("moments")
    journal = project.path / "results/out.journal.jsonl"
    for _ in range(5):
        journal.unlink(missing_ok=True)
        process = start(project, "--mt-concurrency=50")
        wait_for_lines(journal, moments.randrange(1, 400))
        process.kill()
        process.communicate(timeout=30)
        content = read_journal(journal)
        kinds = {(result.provider, result.task): result.kind.value for result in content.results}
        assert len(kinds) == len(content.results) > 0
        for (provider, task), kind in kinds.items():
            name = chaos_server.fate("kill", f"/{provider}/chat/completions", task)
            assert kind == chaos_server.FATES[name][2] or chaos_server.FATES[name][1]
        assert not content.header.is_complete
        assert sorted(path.name for path in journal.parent.iterdir()) == ["out.journal.jsonl"]


def wait_for_lines(path: Path, count: int) -> None:
    deadline = time.monotonic() + 30
    while time.monotonic() < deadline:
        if path.exists() and path.read_bytes().count(b"\n") > count:
            return
        time.sleep(0.01)
    pytest.fail("the sub-run made no progress")


def test_ctrl_c_in_the_middle_of_a_storm_ends_soon(project, service):
    suite(project, service("storm"), 400)
    process = start(project, "--mt-concurrency=100")
    wait_for_lines(project.path / "results/out.journal.jsonl", 50)
    started = time.monotonic()
    process.send_signal(signal.SIGINT)
    output, _ = process.communicate(timeout=30)
    assert time.monotonic() - started < 8
    assert process.returncode == pytest.ExitCode.INTERRUPTED, output[-2000:]
    content = read_journal(project.path / "results/out.journal.jsonl")
    assert content.header.incomplete_reason.startswith("interrupted from the keyboard")
