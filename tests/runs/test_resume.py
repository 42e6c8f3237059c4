"""``--mt-resume``: what is used again, what runs, why, and that nothing that was paid for is lost or counted twice."""

from __future__ import annotations

import contextlib
import json
import os
import random
import shlex
import signal
import subprocess
import sys
import time
from collections import Counter

import pytest

from tests.support.loopback import Loopback, json_reply

JOURNAL = "results/out.journal.jsonl"


def tasks(count=4, **changes):
    entries = [
        {"name": f"t{n}", "prompt": f"q{n}", "response-result-format": "w", "expected-result": "x"}
        for n in range(count)
    ]
    for entry in entries:
        entry.update(changes.get(entry["name"], {}))
    return json.dumps({"task-config": {"tasks": entries}})


def made(project, name=JOURNAL):
    """Return the node ids of attempts that were really made, in the order of finishing."""
    return [attempt["nodeid"] for attempt in project.attempts(name) if not attempt.get("reused_from")]


def test_finished_attempts_are_used_again_and_errors_run(project):
    project.mock({"answers": {"t1": "no", "*": "x"}, "faults": {"t2": ["http-500"]}}, tasks())
    project.run("tasks.yaml").assert_outcomes(passed=2, failed=1, errors=1)
    first = {attempt["task"]: attempt for attempt in project.attempts()}
    os.rename(project.path / JOURNAL, project.path / "old.jsonl")
    result = project.run("tasks.yaml", "--mt-resume=old.jsonl", "--mt-explain")
    result.assert_outcomes(passed=2, failed=1, errors=1)
    result.stdout.fnmatch_lines(
        [
            "mindtrial: resumes old.jsonl: 3 reused, 1 to run (1 ended in an error)",
            "reuse tasks.yaml::t0[[]mock-m]: passed at 20*",
            "reuse tasks.yaml::t1[[]mock-m]: failed at 20*",
            "run   tasks.yaml::t2[[]mock-m]: ended in an error (http-500)",
            "reused: 3 of 4 results from old.jsonl*",
        ]
    )
    assert made(project) == ["tasks.yaml::t2[mock-m]"]
    second = {attempt["task"]: attempt for attempt in project.attempts()}
    assert {name for name in second if second[name].get("reused_from") == "old.jsonl"} == {"t0", "t1", "t3"}
    assert {name for name in second if second[name]["trace_id"] == first[name]["trace_id"]} == {"t0", "t1", "t3"}
    assert {entry["Evaluation"]["Seed"] for entry in project.entries()} == {first["t0"]["evaluation_seed"]}
    assert "old.jsonl" in (project.path / "results/out.html").read_text(encoding="utf-8")


@pytest.mark.parametrize("rerun, expected", [("error", 1), ("failed", 2), ("all", 4)])
def test_rerun_chooses(project, rerun, expected):
    project.mock({"answers": {"t1": "no", "*": "x"}, "faults": {"t2": ["http-500"]}}, tasks())
    project.run("tasks.yaml")
    project.run("tasks.yaml", f"--mt-resume={JOURNAL}", f"--mt-rerun={rerun}")
    assert len(made(project)) == 4 + expected


def test_what_has_changed_runs_and_is_named(project):
    project.write("notes.txt", "one")
    file = {"files": [{"name": "notes", "uri": "notes.txt"}]}
    project.mock({"behaviour": "perfect"}, tasks(6, t1=file))
    project.run("tasks.yaml").assert_outcomes(passed=6)
    project.write("notes.txt", "another")
    changes = {
        "t1": file,
        "t2": {"prompt": "new", "expected-result": "y"},
        "t3": {"tags": ["only-a-label"]},
        "t4": {"validation-rules": {"case-sensitive": True}},
        "t5": {"name": "renamed"},
    }
    project.mock({"behaviour": "perfect"}, tasks(6, **changes))
    result = project.run("tasks.yaml", f"--mt-resume={JOURNAL}", "--mt-explain", "-q")
    result.stdout.fnmatch_lines(
        [
            "reuse tasks.yaml::t0*",
            "run   tasks.yaml::t1[[]mock-m]: changed: files",
            "run   tasks.yaml::t2[[]mock-m]: changed: prompt, expected-result",
            "reuse tasks.yaml::t3*",
            "run   tasks.yaml::t4[[]mock-m]: changed: validation-rules",
            "run   tasks.yaml::renamed[[]mock-m]: not in the journal",
        ]
    )
    project.mock({"behaviour": "echo"}, tasks(6, **changes))
    result = project.run("tasks.yaml", f"--mt-resume={JOURNAL}", "--mt-explain", "--collect-only")
    result.stdout.fnmatch_lines(["run   tasks.yaml::t0[[]mock-m]: changed: model-parameters"])


def test_the_judge_counts(project):
    config = """\
config:
  output-dir: results
  output-basename: out
  task-source: tasks.yaml
  judges:
    - name: j
      provider: {name: mock, runs: [{name: a, model: %s}]}
  providers: [{name: mock, runs: [{name: m, model: mock}]}]
"""
    rules = {"validation-rules": {"judge": {"enabled": True, "name": "j", "variant": "a"}}}
    project.suite(tasks(2, t0=rules), config % "one")
    project.run("tasks.yaml").assert_outcomes(passed=2)
    project.suite(tasks(2, t0=rules), config % "two")
    result = project.run("tasks.yaml", f"--mt-resume={JOURNAL}", "--mt-explain")
    result.stdout.fnmatch_lines(["run   *t0[[]mock-m]: changed: judge", "reuse *t1*"])


def test_no_key_and_no_request_is_needed_for_what_is_used_again(project, monkeypatch):
    from tests.runs.test_http import TASK, completion, config

    with Loopback() as server:
        server.respond(lambda request: json_reply(completion()))
        text = config(server).replace("sk-canary-0123456789abcdef", '"{{.Env.SOME_KEY}}"')
        project.suite(TASK, text)
        monkeypatch.setenv("SOME_KEY", "sk-abcdefghijk")
        project.run("tasks.yaml").assert_outcomes(passed=1)
        monkeypatch.delenv("SOME_KEY")
        project.run("tasks.yaml", f"--mt-resume={JOURNAL}").assert_outcomes(passed=1)
        assert len(server.requests) == 1


def test_overridden_objects_are_never_taken_for_the_real_ones(project):
    project.mock({"behaviour": "perfect"}, tasks(2))
    project.write("conftest.py", "import pytest\n@pytest.fixture\ndef mt_provider():\n    return lambda text: 'x'\n")
    project.run("tasks.yaml").assert_outcomes(passed=2)
    (project.path / "conftest.py").unlink()
    result = project.run("tasks.yaml", f"--mt-resume={JOURNAL}", "--mt-explain", "-p", "no:cacheprovider")
    result.stdout.fnmatch_lines(["run   *t0*: changed: fixtures"])


@pytest.mark.parametrize(
    "options, message",
    [
        (["--mt-resume=none.jsonl"], "--mt-resume: *none.jsonl: there is no such file"),
        (["--mt-resume=config.yaml"], "--mt-resume: config.yaml is a task file, not a journal*"),
        (["--mt-resume=pytest.ini"], "*pytest.ini is not a journal*"),
        (["--mt-explain"], "--mt-explain needs --mt-resume=JOURNAL"),
        (["--mt-rerun=all"], "--mt-rerun needs --mt-resume=JOURNAL"),
        (["--mt-resume=pytest.ini", "--mt-rerun=some"], "mt_rerun: 'some' is not one of error, failed, all"),
        (
            ["--mt-resume=pytest.ini", "--mt-regrade=pytest.ini"],
            "--mt-resume and --mt-regrade cannot be used together*",
        ),
    ],
)
def test_mistakes_are_usage_errors(project, options, message):
    project.suite()
    project.write("pytest.ini", "")
    result = project.run("tasks.yaml", *options)
    assert result.ret == pytest.ExitCode.USAGE_ERROR
    result.stderr.fnmatch_lines([f"ERROR: {message}"])


def test_two_workers_take_over_what_is_finished_and_share_the_cache(project):
    from tests.runs.test_http import completion, config

    with Loopback() as server:
        server.respond(lambda request: json_reply(completion("x")))
        project.suite(tasks(4), config(server))
        project.run("tasks.yaml::t0[openai-mini]", "tasks.yaml::t1[openai-mini]").assert_outcomes(passed=2)
        options = ("tasks.yaml", "-n2", f"--mt-resume={JOURNAL}", "--mt-cache=cache")
        result = project.run_process(*options)
        result.assert_outcomes(passed=4)
        result.stdout.fnmatch_lines([f"reused: 2 of 4 results from {JOURNAL}*"])
        assert len(server.requests) == 4
        assert len(project.entries()) == 4
        project.run_process("tasks.yaml", "-n2", "--mt-cache=cache").assert_outcomes(passed=4)
        assert len(server.requests) == 6  # t0 and t1 were not made with a cache
        attempts = [attempt["nodeid"] for attempt in project.attempts() if not attempt.get("reused_from")]
        assert len(attempts) == 8


def test_killed_twenty_times_every_finished_attempt_is_used_again_and_none_is_made_twice(project):
    count, dice = 480, random.Random(20)  # more than twenty sessions make before they are killed
    project.mock({"behaviour": "perfect", "delay": "10ms"}, tasks(count))
    journal = project.path / JOURNAL
    with Sessions(project) as sessions:
        for _ in range(20):
            size = journal.stat().st_size if journal.exists() else 0
            session = sessions.start(*([f"--mt-resume={JOURNAL}"] if size else []))
            _wait_for_attempts(journal, size, dice.randrange(12))
            time.sleep(dice.random() * 0.02)
            sessions.kill(session)
        assert sessions.wait(sessions.start(f"--mt-resume={JOURNAL}")) == 0, sessions.output()
    attempts = [line["result"]["nodeid"] for line in _whole_lines(journal) if line["type"] == "attempt"]
    assert len(attempts) == count
    assert max(Counter(attempts).values()) == 1
    assert set(project.kinds().values()) == {"Passed"}
    assert len(project.entries()) == count


class Sessions:
    """Starts sessions in processes that are forked from one that has imported everything: up in no time."""

    PROGRAM = """
import importlib, os, pkgutil, shlex, sys
import pytest, pytest_mindtrial
for module in pkgutil.walk_packages(pytest_mindtrial.__path__, "pytest_mindtrial."):
    importlib.import_module(module.name)
OPTIONS = ["tasks.yaml", "-q", "-p", "pytest_mindtrial.plugin.hooks", "-p", "no:cacheprovider", "--no-mt-html"]
for line in sys.stdin:
    word, _, rest = line.strip().partition(" ")
    if word == "wait":
        print(os.waitstatus_to_exitcode(os.waitpid(int(rest), 0)[1]), flush=True)
        continue
    child = os.fork()
    if not child:
        out = os.open("output.txt", os.O_WRONLY | os.O_CREAT | os.O_TRUNC)
        os.dup2(out, 1), os.dup2(out, 2)
        os._exit(pytest.main(OPTIONS + shlex.split(rest)))
    print(child, flush=True)
"""

    def __init__(self, project):
        self._path = project.path

    def __enter__(self):
        environment = {key: value for key, value in os.environ.items() if key != "PYTEST_ADDOPTS"}
        self._server = subprocess.Popen(
            [sys.executable, "-c", self.PROGRAM],
            cwd=self._path,
            stdin=subprocess.PIPE,
            stdout=subprocess.PIPE,
            text=True,
            env={**environment, "PYTEST_DISABLE_PLUGIN_AUTOLOAD": "1"},
        )
        return self

    def __exit__(self, *_):
        self._server.communicate(timeout=30)

    def start(self, *arguments):
        return int(self._ask(f"start {shlex.join(arguments)}"))

    def wait(self, session):
        return int(self._ask(f"wait {session}"))

    def kill(self, session):
        os.kill(session, signal.SIGKILL)
        assert self.wait(session) == -signal.SIGKILL, self.output()

    def output(self):
        return (self._path / "output.txt").read_text(encoding="utf-8")

    def _ask(self, line):
        self._server.stdin.write(f"{line}\n")
        self._server.stdin.flush()
        return self._server.stdout.readline()


def _wait_for_attempts(journal, start, count):
    """Return as soon as so many attempts were written behind a place in the journal."""
    deadline = time.monotonic() + 20
    while time.monotonic() < deadline:
        if journal.exists() and journal.read_bytes()[start:].count(b'"type":"attempt"') >= count:
            return
        time.sleep(0.002)
    pytest.fail("the session made no progress")


def _whole_lines(journal):
    for line in journal.read_bytes().split(b"\n"):
        with contextlib.suppress(ValueError):
            yield json.loads(line)
