"""A full disk, a directory that cannot be written, a clock that jumps: a clear word, and what was finished is kept."""

from __future__ import annotations

import json
import os
import subprocess
import sys

import pytest

from pytest_mindtrial.results.journal_reader import read_journal


def many(count: int) -> str:
    tasks = [
        {"name": f"t{n:03}", "prompt": "q", "response-result-format": "w", "expected-result": "x"} for n in range(count)
    ]
    return json.dumps({"task-config": {"tasks": tasks}})


def run_limited(project, limit: int, *arguments: str) -> subprocess.CompletedProcess[str]:
    """Run in a process whose files cannot grow beyond a limit in bytes, as on a full disk."""
    code = f"""
import resource, signal, sys, pytest
signal.signal(signal.SIGXFSZ, signal.SIG_IGN)
resource.setrlimit(resource.RLIMIT_FSIZE, ({limit}, {limit}))
sys.exit(pytest.main(sys.argv[1:]))
"""
    line = [sys.executable, "-c", code, "-p", "mindtrial", "-p", "xdist", "-p", "no:cacheprovider", "tasks.yaml"]
    environment = {**os.environ, "PYTEST_DISABLE_PLUGIN_AUTOLOAD": "1", "PYTHONDONTWRITEBYTECODE": "1"}
    environment.pop("PYTEST_ADDOPTS", None)
    return subprocess.run(
        [*line, *arguments], cwd=project.path, capture_output=True, text=True, check=False, timeout=60, env=environment
    )


@pytest.mark.parametrize("workers", [[], ["-n2"]], ids=["plain", "xdist"])
def test_a_full_disk_stops_the_session_and_keeps_the_journal(project, workers):
    project.mock({"behaviour": "perfect", "delay": "5ms"}, many(400))
    done = run_limited(project, 100_000, "--mt-concurrency=10", *workers)
    output = done.stdout + done.stderr
    assert done.returncode == pytest.ExitCode.INTERRUPTED, output
    assert "cannot write the journal" in output
    assert "free space or choose another output directory" in output
    assert "INTERNALERROR" not in output
    finished = {
        result.nodeid
        for path in (project.path / "results").glob("*.journal.jsonl")
        for result in read_journal(path).results
    }
    assert 20 <= len(finished) < 400


def test_a_report_that_does_not_fit_is_said_and_the_journal_is_whole(project):
    project.mock({"behaviour": "perfect"}, many(20))
    done = run_limited(project, 60_000)
    assert "not written: " in done.stdout, done.stdout + done.stderr
    assert "INTERNALERROR" not in done.stdout + done.stderr
    assert len(read_journal(project.path / "results/out.journal.jsonl").results) == 20
    assert not list((project.path / "results").glob("*tmp*"))


@pytest.mark.parametrize("workers", [[], ["-n2"]], ids=["plain", "xdist"])
def test_an_output_directory_that_cannot_be_written_is_a_usage_error(project, workers):
    project.mock({"behaviour": "perfect"}, many(3))
    project.write("file", "")
    result = project.run_workers("tasks.yaml", "--mt-output-dir=file/results", *workers)
    assert result.ret == pytest.ExitCode.USAGE_ERROR
    result.stderr.fnmatch_lines(["ERROR: cannot open the journal *file/results/*"])
    assert "INTERNALERROR" not in result.stdout.str()


def test_a_wall_clock_that_jumps_back_changes_nothing(project):
    project.mock({"behaviour": "perfect", "delay": "20ms"}, many(40))
    project.write(
        "conftest.py",
        """
        import itertools, time
        real, real_ns, jumps = time.time, time.time_ns, itertools.count()
        time.time = lambda: real() - 3600 * (next(jumps) % 7)
        time.time_ns = lambda: int(time.time() * 1e9)

        def pytest_unconfigure():
            time.time, time.time_ns = real, real_ns
        """,
    )
    result = project.run_workers("tasks.yaml", "--mt-concurrency=5", "--durations=0", "--durations-min=60")
    result.assert_outcomes(passed=40)
    assert "tasks.yaml::" not in result.stdout.str().partition("slowest durations")[2]
    assert all(0 < entry["DurationNS"] < 5e9 for entry in project.entries())
    assert len({entry["TraceID"] for entry in project.entries()}) == 40
