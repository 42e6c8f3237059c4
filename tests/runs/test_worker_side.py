"""One xdist worker, seen from inside: its lanes, its predecessor's results, what it says when it cannot run."""

from __future__ import annotations

import json
from datetime import UTC, datetime
from typing import Any

import pytest

from pytest_mindtrial.core.record import Result
from pytest_mindtrial.core.secret import Redactor
from pytest_mindtrial.core.values import Kind
from pytest_mindtrial.core.wire import from_wire
from pytest_mindtrial.plugin.recorder import USAGE_ERROR
from pytest_mindtrial.results.evaluation import EvaluationInfo
from pytest_mindtrial.results.journal import Journal
from pytest_mindtrial.results.journal_reader import read_journal

JUDGED = """\
task-config:
  tasks:
    - name: "a :: b"
      prompt: q
      response-result-format: w
      expected-result: x
      validation-rules: {judge: {enabled: true, name: strict, variant: v}}
    - {name: plain, prompt: q, response-result-format: w, expected-result: x}
"""
CONFIG = """\
config:
  output-dir: results
  task-source: tasks.yaml
  providers:
    - {name: mock, runs: [{name: one, model: m}, {name: "one-r2", model: m}]}
    - {name: mock, runs: [{name: two, model: m}]}
    - {name: openai, client-config: {api-key: "k-123456"}, disabled: true, runs: [{name: mini, model: gpt-4.1}]}
  judges:
    - {name: strict, provider: {name: mock, runs: [{name: v, model: m, max-requests-per-minute: 600}]}}
"""


class Worker:
    """Makes a session believe that it is a worker, and keeps what it would have sent."""

    def __init__(self, stem: str, slot: int, slots: int = 2, settled: tuple[int, ...] = ()) -> None:
        started = datetime(2026, 11, 30, tzinfo=UTC).isoformat()
        shared: dict[str, Any] = {"seed": "s", "started_at": started, "stem": stem, "options": {"mt_concurrency": "3"}}
        lanes = {"slot": slot, "slots": slots, "session": "ab12", "settled": list(settled)}
        self.input = {"workerid": "gw0", "mindtrial": {**shared, **lanes}}
        self.results: list[Result] = []
        self.errors: list[str] = []

    @pytest.hookimpl(tryfirst=True)
    def pytest_configure(self, config: Any) -> None:
        config.workerinput = self.input

    def pytest_runtest_logreport(self, report: Any) -> None:
        if hasattr(report, "mindtrial"):
            self.results.append(from_wire(Result, json.loads(report.mindtrial["result"])))

    def pytest_collectreport(self, report: Any) -> None:
        self.errors += [getattr(report, USAGE_ERROR)] if hasattr(report, USAGE_ERROR) else []


def run(project, worker: Worker, *arguments: str) -> pytest.RunResult:
    return project.pytester.runpytest_inprocess("-p", "no:xdist", "tasks.yaml", *arguments, plugins=[worker])


def test_a_worker_looks_ahead_in_its_lanes_only(project):
    tasks = JUDGED.replace("enabled: true", "enabled: false")
    project.suite(tasks, CONFIG)
    stem = str(project.path / "elsewhere" / "out")
    worker = Worker(stem, slot=1)
    run(project, worker, "-k", "not one").assert_outcomes(passed=2, deselected=4)
    assert [result.run for result in worker.results] == ["two", "two"]
    assert {result.evaluation_seed for result in worker.results} == {"s"}
    lane = project.path / "elsewhere/out.ab12-lane1.journal.jsonl"
    content = read_journal(lane)
    assert len(content.results) == 2
    assert str(content.header.concurrency) == "3"
    assert [path.name for path in lane.parent.iterdir()] == [lane.name]


def test_a_replacement_uses_what_its_predecessor_finished(project):
    project.suite(JUDGED.replace("enabled: true", "enabled: false"), CONFIG)
    stem = project.path / "out"
    lane = project.path / "out.ab12-lane0.journal.jsonl"
    earlier = Result("T" * 26, Kind.FAILED, "plain", "mock", "one", nodeid="tasks.yaml::plain[mock-one]")
    journal = Journal(lane, EvaluationInfo(), Redactor())
    journal.attempt(earlier)
    journal.close()
    worker = Worker(str(stem), slot=0, slots=1)
    run(project, worker, "-k", "plain").assert_outcomes(passed=2, failed=1, deselected=3)
    assert earlier in worker.results
    assert len(read_journal(lane).results) == 3


def test_a_damaged_journal_of_a_predecessor_is_not_worth_a_session(project):
    project.suite(JUDGED.replace("enabled: true", "enabled: false"), CONFIG)
    (project.path / "out.ab12-lane0.journal.jsonl").write_text("damaged\nmore\n")
    worker = Worker(str(project.path / "out"), slot=0, slots=1)
    run(project, worker, "-k", "plain").assert_outcomes(passed=3, deselected=3)


def test_settled_items_and_surplus_workers_get_no_look_ahead(project):
    project.suite(JUDGED.replace("enabled: true", "enabled: false"), CONFIG)
    worker = Worker(str(project.path / "out"), slot=2, slots=2)
    run(project, worker, "--collect-only")
    assert not list(project.path.glob("out*"))
    assert worker.errors == []


def test_tasks_of_one_limited_judge_are_one_lane(project):
    project.suite(JUDGED, CONFIG)
    first, second = Worker(str(project.path / "a"), slot=0), Worker(str(project.path / "b"), slot=1)
    run(project, first, "--collect-only")
    run(project, second, "--collect-only")
    assert (project.path / "a.ab12-lane0.journal.jsonl").exists()
    assert not list(project.path.glob("b*"))


@pytest.mark.parametrize("problem", ["configuration", "key"])
def test_a_worker_that_cannot_run_says_so_before_anything_is_sent(project, problem, monkeypatch):
    monkeypatch.delenv("OPENAI_API_KEY", raising=False)
    text = CONFIG.replace('client-config: {api-key: "k-123456"}, disabled: true', "disabled: false")
    project.suite(JUDGED, text if problem == "key" else CONFIG.replace("providers:", "provider:"))
    worker = Worker(str(project.path / "out"), slot=0, slots=1)
    run(project, worker, "--collect-only")
    (error,) = worker.errors
    assert ("OPENAI_API_KEY" if problem == "key" else "unknown key 'provider'") in error
