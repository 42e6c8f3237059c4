"""Under pytest-xdist results come home, once each, from the worker that owns the provider; the controller writes."""

from __future__ import annotations

import json
import os
import signal
import subprocess
import sys
import time

import pytest

from pytest_mindtrial.results.journal_reader import read_journal
from pytest_mindtrial.results.lane_journals import read_session

CONFIG = """\
config:
  output-dir: results
  output-basename: out
  task-source: tasks.yaml
  providers:
    - name: mock
      runs: [{name: good, model: m}, {name: echo, model: m, model-parameters: {answers: {"*": "no"}}}]
    - name: openai
      client-config: {api-key: none}
      disabled: true
      runs: [{name: mini, model: gpt-4o-mini}]
"""

CRASH = """\
import os, time, pytest
from pathlib import Path

@pytest.fixture(autouse=True)
def crash(request):
    marker = Path("crashed")
    if request.node.name.startswith(@NAMES@) and (@ALWAYS@ or not marker.exists()):
        marker.touch()
        time.sleep(0.2)  # until xdist has sent what it holds, so that it blames the right item
        os._exit(7)
"""


def two_entries(count: int = 6) -> tuple[str, str]:
    """Return a suite of ``count`` tasks and a configuration with two mock entries."""
    tasks = [
        {"name": f"t{n:03}", "prompt": "q", "response-result-format": "w", "expected-result": "x"} for n in range(count)
    ]
    runs = [{"name": name, "runs": [{"name": run, "model": "m"}]} for name, run in (("mock", "a"), ("mock", "b"))]
    config = {"output-dir": "results", "output-basename": "out", "task-source": "tasks.yaml", "providers": runs}
    return json.dumps({"task-config": {"tasks": tasks}}), json.dumps({"config": config})


def crash_conftest(project, *names: str, always: bool = False) -> None:
    text = CRASH.replace("@NAMES@", repr(names)).replace("@ALWAYS@", repr(always))
    project.write("conftest.py", text)


def lane_files(project) -> list[str]:
    return [path.name for path in (project.path / "results").glob("*lane*")]


def test_two_workers_give_one_report(project):
    project.suite(config=CONFIG)
    result = project.run_workers("tasks.yaml", "-n2", "--mt-csv")
    result.assert_outcomes(passed=2, failed=2)
    assert len(project.entries()) == 4
    assert len({entry["Evaluation"]["Seed"] for entry in project.entries()}) == 1
    result.stdout.fnmatch_lines(
        ["mindtrial: 4 items on 1 of 2 workers*", "*got 'no', expected*", "*= mindtrial =*", "json:*out.json"]
    )
    assert len(project.attempts()) == 4
    assert project.journal()[-1] == {"v": 1, "type": "finished", "complete": True, "reason": ""}
    assert lane_files(project) == []


def test_each_entry_lives_on_one_worker_and_looks_ahead(project):
    tasks, config = two_entries(40)
    project.suite(tasks, config.replace('"model": "m"', '"model": "m", "model-parameters": {"delay": "50ms"}'))
    project.write("test_plain.py", "import pytest\n@pytest.mark.parametrize('n', range(12))\ndef test_plain(n): pass\n")
    result = project.run_workers("tasks.yaml", "test_plain.py", "-n2", "-v", "--mt-concurrency=20")
    result.assert_outcomes(passed=92)
    workers: dict[str, set[str]] = {}
    for line in result.stdout.lines:
        if "PASSED" in line and "[gw" in line:
            worker, nodeid = line.partition("]")[0].strip(" ["), line.rpartition("::")[2]
            run = nodeid.partition("[")[2].rstrip("] ") if nodeid.startswith("t0") else "plain"
            workers.setdefault(run, set()).add(worker)
    assert len(workers["mock-a"]) == len(workers["mock-b"]) == 1
    assert workers["mock-a"] != workers["mock-b"]
    assert len(project.attempts()) == 80
    # 40 attempts of 50 ms, 20 at a time: far apart if each had waited for its own item.
    starts = sorted(line["started_at"] for line in project.attempts() if line["run"] == "a")
    assert starts.index(starts[-1]) == 39
    assert json.loads((project.path / "results/out.json").read_text())["Results"]["mock"][0]["Task"] == "t000"


def test_a_crash_costs_one_item_and_pays_nothing_twice(project):
    project.suite(*two_entries(12))
    crash_conftest(project, "t004[mock-a]")
    result = project.run_workers("tasks.yaml", "-n2")
    result.assert_outcomes(passed=23, failed=1)
    entries = {(entry["Task"], entry["Run"]): entry for entry in project.entries()}
    assert len(project.entries()) == 24
    crashed = entries["t004", "a"]
    assert crashed["Kind"] == "Error"
    assert "crashed while running" in crashed["Details"]["Error"]["Message"]
    attempts = [(line["task"], line["run"]) for line in project.attempts() if line["kind"] == "Passed"]
    assert len(attempts) == len(set(attempts))
    assert lane_files(project) == []


def test_a_worker_that_always_crashes_ends_the_session(project):
    project.suite(*two_entries(8))
    crash_conftest(project, "t", always=True)
    started = time.monotonic()
    result = project.run_workers("tasks.yaml", "-n2", "--max-worker-restart=3")
    assert time.monotonic() - started < 60
    assert result.ret == pytest.ExitCode.TESTS_FAILED
    assert 1 <= len(project.entries()) < 16
    assert {entry["Kind"] for entry in project.entries()} == {"Error"}
    assert "of 16 items were reported" in (project.path / "results/out.html").read_text(encoding="utf-8")


def test_without_restarts_a_crash_leaves_an_incomplete_report_that_is_not_green(project):
    project.suite(*two_entries(8))
    crash_conftest(project, "t001[mock-a]")
    result = project.run_workers("tasks.yaml", "-n2", "--max-worker-restart=0")
    assert result.ret == pytest.ExitCode.TESTS_FAILED
    assert len(project.entries()) < 16
    assert project.journal()[-1]["complete"] is False


@pytest.mark.parametrize("option", ["-x", "--maxfail=3"])
def test_stopping_early_stops_all_workers(project, option):
    tasks, config = two_entries(200)
    parameters = '"model": "m", "model-parameters": {"answers": {"t005": "no", "*": "x"}, "delay": "5ms"}'
    project.suite(tasks, config.replace('"model": "m"', parameters))
    result = project.run_workers("tasks.yaml", "-n2", option, "--mt-concurrency=4")
    assert result.ret != 0
    failed = sum(entry["Kind"] == "Failed" for entry in project.entries())
    assert 1 <= failed <= 2
    if option == "-x":
        assert len(project.entries()) <= 40
        assert len(project.attempts()) <= 60
        assert "items were reported" in (project.path / "results/out.html").read_text(encoding="utf-8")


@pytest.mark.parametrize("dist", ["worksteal", "loadfile"])
def test_dist_values_apply_to_ordinary_tests_only(project, dist):
    project.suite(*two_entries(3))
    project.write(
        "test_plain.py",
        """
        import pytest
        seen = []
        @pytest.mark.parametrize("n", range(6))
        def test_plain(n):
            seen.append(n)
            assert len(seen) == n + 1
        """
        if dist != "worksteal"
        else "def test_plain(): pass\n",
    )
    result = project.run_workers("tasks.yaml", "test_plain.py", "-n2", f"--dist={dist}")
    result.assert_outcomes(passed=7 if dist == "worksteal" else 12)
    assert len(project.entries()) == 6


def test_dist_each_is_refused_before_anything_is_paid(project):
    project.suite(*two_entries(3))
    result = project.run_workers("tasks.yaml", "-n2", "--dist=each")
    assert result.ret == pytest.ExitCode.USAGE_ERROR
    result.stderr.fnmatch_lines(["ERROR: --dist=each would make*"])
    assert not [line for name in lane_files(project) for line in project.attempts(f"results/{name}")]


@pytest.mark.parametrize("spec", ["ssh=elsewhere", "popen//chdir=other"])
def test_remote_workers_are_refused_with_a_sentence(project, spec):
    project.suite()
    result = project.run_workers("tasks.yaml", "--dist=load", "--tx", spec)
    assert result.ret == pytest.ExitCode.USAGE_ERROR
    result.stderr.fnmatch_lines([f"ERROR: --tx {spec}: task files run on workers of this machine only*"])


def test_a_missing_key_is_one_clear_message(project, monkeypatch):
    monkeypatch.delenv("OPENAI_API_KEY", raising=False)
    project.suite(config=CONFIG.replace("client-config: {api-key: none}\n      disabled: true", "disabled: false"))
    result = project.run_workers("tasks.yaml", "-n2")
    assert result.ret == pytest.ExitCode.USAGE_ERROR
    result.stderr.fnmatch_lines(["ERROR: config.yaml:*provider 'openai' has no API key*"])
    assert "INTERNALERROR" not in result.stdout.str()


@pytest.mark.parametrize("walk", [False, True])
def test_a_wrong_configuration_is_a_usage_error(project, walk):
    project.suite(config=CONFIG.replace("providers:", "provider:"))
    arguments = ["-o", "mt_files=*.yaml"] if walk else ["tasks.yaml"]
    result = project.run_workers(*arguments, "-n2")
    assert result.ret == pytest.ExitCode.USAGE_ERROR
    result.stderr.fnmatch_lines(["ERROR: config.yaml: 2 problems", "*unknown key 'provider'*"])
    assert "INTERNALERROR" not in result.stdout.str()


def test_a_wrong_suite_is_one_collection_error(project):
    project.suite(tasks="task-config:\n  tasks:\n    - {name: a, promt: b}\n")
    result = project.run_workers("tasks.yaml", "-n2")
    assert result.ret != 0
    assert "INTERNALERROR" not in result.stdout.str()
    assert result.stdout.str().count("_ ERROR collecting") == 1
    result.stdout.fnmatch_lines(["*tasks.yaml:3:*promt*"])


def test_a_walk_over_matching_files_shares_lanes_too(project):
    project.suite(*two_entries(4))
    project.write("more.tasks.yaml", (project.path / "tasks.yaml").read_text())
    result = project.run_workers("-n2", "-o", "mt_files=*tasks.yaml")
    result.assert_outcomes(passed=16)
    assert len(project.entries()) == 16


def test_a_killed_session_is_resumed_from_the_journals_of_all_its_workers(project):
    tasks, config = two_entries(60)
    project.suite(tasks, config.replace('"model": "m"', '"model": "m", "model-parameters": {"delay": "100ms"}'))
    line = [sys.executable, "-m", "pytest", "-p", "xdist", "-p", "mindtrial", "tasks.yaml", "-n2", "--mt-concurrency=4"]
    environment = {**os.environ, "PYTEST_DISABLE_PLUGIN_AUTOLOAD": "1"}
    process = subprocess.Popen(line, cwd=project.path, env=environment, start_new_session=True, stdout=subprocess.PIPE)
    deadline = time.monotonic() + 30
    while sum((project.path / "results" / name).read_bytes().count(b"\n") for name in lane_files(project)) < 30:
        assert time.monotonic() < deadline
        time.sleep(0.02)
    os.killpg(process.pid, signal.SIGKILL)
    process.communicate()
    journal = project.path / "results/out.journal.jsonl"
    before = {result.nodeid: result.trace_id for result in read_session(journal).results}
    assert 20 <= len(before) < 120
    assert {result.nodeid for result in read_journal(journal).results} <= set(before)
    resumed = project.run_workers("tasks.yaml", "-n2", f"--mt-resume={journal}", "--mt-output-basename=again")
    resumed.assert_outcomes(passed=120)
    after = {
        result.nodeid: result.trace_id for result in read_session(project.path / "results/again.journal.jsonl").results
    }
    assert len(after) == 120
    assert {nodeid: after[nodeid] for nodeid in before} == before


def test_results_beyond_the_limit_of_the_channel_stay_in_the_journal_until_the_end(project):
    project.mock({"answers": {"sum": "y" * 400_000}})
    project.write(
        "conftest.py",
        "import pytest\n@pytest.fixture\ndef mt_provider(mt_task, mt_provider):\n"
        "    return mt_provider if mt_task.name == 'sum' else lambda prompt: '\\ud800 Paris'\n",
    )
    result = project.run_workers("tasks.yaml", "-n2")
    result.assert_outcomes(failed=2)
    assert len(project.entries()[0]["Details"]["Answer"]["ActualAnswer"][0]) == 400_000
    assert {line["task"]: len(line["answer"]["content"]) for line in project.attempts()} == {
        "sum": 400_000,
        "capital": 7,
    }


def test_sessions_without_task_files_keep_xdists_own_scheduler(project):
    project.write("test_plain.py", "def test_plain(): pass\n")
    result = project.run_workers("test_plain.py", "-n2", "-v")
    result.assert_outcomes(passed=1)
    result.stdout.fnmatch_lines(["scheduling tests via LoadScheduling"])


def test_without_xdist_loaded_nothing_breaks(project):
    project.suite()
    project.run("tasks.yaml", "-p", "no:xdist").assert_outcomes(passed=2)


def test_without_xdist_installed_nothing_breaks(project, monkeypatch):
    monkeypatch.setenv("PYTEST_DISABLE_PLUGIN_AUTOLOAD", "1")
    project.suite()
    project.write(
        "main.py",
        """
        import sys
        class Missing:
            def find_spec(self, name, path=None, target=None):
                if name.partition(".")[0] in ("xdist", "execnet"):
                    raise ModuleNotFoundError(name)
        sys.meta_path.insert(0, Missing())
        import pytest
        sys.exit(pytest.main(["-p", "mindtrial", "tasks.yaml"]))
        """,
    )
    line = [sys.executable, "main.py"]
    done = subprocess.run(line, cwd=project.path, capture_output=True, text=True, check=False, timeout=60)
    assert done.returncode == 0, done.stdout + done.stderr
