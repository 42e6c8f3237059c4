"""Under xdist all workers share one spending limit: the service counts, and the session ends as it does alone."""

from __future__ import annotations

import json
import re
import tempfile
import threading
from collections.abc import Callable

import pytest

from tests.support.loopback import Loopback, Received, Reply, json_reply

TOKENS = 100
"""What every request takes: 60 in, 40 out, or 0.1 EUR."""

PRICING = {"currency": "EUR", "input-per-million": 1000, "output-per-million": 1000}

CRASH = """\
import os, pytest, time
from pathlib import Path

@pytest.hookimpl(wrapper=True)
def pytest_runtest_makereport(item, call):
    report = yield
    if item.name == "t03[openai-a]" and call.when == "setup" and not Path("crashed").exists():
        Path("crashed").touch()
        while not Path("in-flight").exists():
            time.sleep(0.01)
        time.sleep(0.2)  # until xdist has sent what it holds, so that it blames the right item
        os._exit(7)
    return report
"""


class Service:
    """Answers every request with the same usage.

    Attributes:
        asked: Requests by model.
        gate: Called with the model and the task; returns what the reply waits for.
    """

    def __init__(self) -> None:
        self.asked: dict[str, int] = {}
        self.gate: Callable[[str, str], threading.Event | None] = lambda model, task: None
        self._lock = threading.Lock()

    def __call__(self, request: Received) -> Reply:
        model, task = request.json["model"], re.findall(rb"question (t\d+)", request.body)[-1].decode()
        with self._lock:
            self.asked[model] = self.asked.get(model, 0) + 1
            gate = self.gate(model, task)
        text = json.dumps({"title": "t", "explanation": "e", "final_answer": "x"})
        choice = {"index": 0, "finish_reason": "stop", "message": {"role": "assistant", "content": text}}
        usage = {"prompt_tokens": 60, "completion_tokens": 40, "total_tokens": TOKENS}
        reply = {"id": "c", "object": "chat.completion", "choices": [choice], "usage": usage}
        return json_reply(reply, gate=gate)

    @property
    def requests(self) -> int:
        return sum(self.asked.values())


@pytest.fixture
def service():
    with Loopback() as server:
        found = Service()
        found.url = server.url
        server.respond(found)
        yield found


@pytest.fixture(autouse=True)
def temporary(monkeypatch, tmp_path):
    """Let the controller's temporary files be ours alone, and see that none stays."""
    path = tmp_path / "temporary"
    path.mkdir()
    monkeypatch.setattr(tempfile, "tempdir", str(path))
    yield path
    assert not list(path.glob("pytest-mindtrial-budget-*"))


def write(project, service, count, pricing=PRICING, names="ab", **run):
    """Write a suite of two accounts, one run each, so that each has a worker of its own."""
    entries = [
        {"name": f"t{n:02}", "prompt": f"question t{n:02}", "response-result-format": "w", "expected-result": "x"}
        for n in range(count)
    ]
    parameters = {"model-parameters": {"max-completion-tokens": 40}}
    providers = [
        {
            "name": "openai",
            "client-config": {"endpoint": f"{service.url}/v1", "api-key": f"sk-account-{name}-0123456789"},
            "runs": [{"name": name, "model": name, "pricing": pricing, **parameters, **run}],
        }
        for name in names
    ]
    config = {"output-dir": "results", "output-basename": "out", "task-source": "tasks.yaml", "providers": providers}
    (project.path / "tasks.yaml").write_text(json.dumps({"task-config": {"tasks": entries}}))
    (project.path / "config.yaml").write_text(json.dumps({"config": config}))


def hold_until_both_are_asked(service):
    both = threading.Event()

    def gate(model, task):
        if len(service.asked) == 2:
            both.set()
        return both

    service.gate = gate


def hold_at_the_crash(project, service):
    """Hold three requests of worker a when it crashes, and let go when its replacement asks."""
    project.write("conftest.py", CRASH)
    go_on, held = threading.Event(), []

    def gate(model, task):
        if model == "b" or task < "t06":
            return None
        held.append(task)
        if len(held) == 3:
            (project.path / "in-flight").touch()
        if len(held) > 3:
            go_on.set()
        return go_on

    service.gate = gate


def test_workers_stop_together_when_the_money_is_used_up(project, service):
    write(project, service, 100)
    hold_until_both_are_asked(service)
    project.write("test_plain.py", "def test_first(): pass\n")
    result = project.run_workers("tasks.yaml", "test_plain.py", "-n2", "--mt-max-cost=3 EUR", "--mt-concurrency=4")
    assert result.ret == pytest.ExitCode.TESTS_FAILED
    assert 20 <= service.requests <= 30
    assert set(service.asked) == {"a", "b"}
    attempts = project.attempts()
    assert len(attempts) == service.requests
    assert {attempt["kind"] for attempt in attempts} == {"Passed"}
    passed = len(project.entries())
    assert passed >= 20
    result.assert_outcomes(passed=passed + 1)
    cost = f"{service.requests / 10:.4f} EUR of 3 EUR in {service.requests} requests"
    result.stdout.fnmatch_lines(
        [
            f"coverage: {passed} of 200 items reported *",
            f"not run: {200 - passed} items: --mt-max-cost is used up: {cost}; the next request *",
            f"incomplete: --mt-max-cost is used up: {cost}; *; {passed} of 200 items were reported",
            f"budget: {cost}",
            "!*--mt-max-cost is used up: *!",
        ]
    )
    assert "Interrupted" not in result.stdout.str()
    page = (project.path / "results/out.html").read_text(encoding="utf-8")
    assert "--mt-max-cost is used up" in page
    finished = project.journal()[-1]
    assert (finished["type"], finished["complete"]) == ("finished", False)


def test_what_was_left_can_be_resumed_by_workers(project, service):
    write(project, service, 20)
    project.run_workers("tasks.yaml", "-n2", "--mt-max-tokens=1500")
    done = service.requests
    assert 5 <= done <= 15
    arguments = ("--mt-resume=results/out.journal.jsonl", "--mt-max-tokens=9000")
    result = project.run_workers("tasks.yaml", "-n2", *arguments)
    result.assert_outcomes(passed=40)
    assert result.ret == 0
    assert service.requests == 40
    left = 40 - done
    result.stdout.fnmatch_lines([f"budget: {left * TOKENS:,} of 9,000 tokens in {left} requests"])


def test_a_limit_that_is_not_reached_changes_nothing(project, service):
    write(project, service, 10)
    result = project.run_workers("tasks.yaml", "-n2", "--mt-max-cost=50", "--mt-max-tokens=90000")
    result.assert_outcomes(passed=20)
    assert result.ret == 0
    result.stdout.fnmatch_lines(["budget: 2.0000 EUR of 50 EUR and 2,000 of 90,000 tokens in 20 requests"])
    assert "not run" not in result.stdout.str()


def test_a_gate_is_not_green_when_the_budget_has_stopped_the_session(project, service):
    write(project, service, 40)
    result = project.run_workers("tasks.yaml", "-n2", "--mt-max-tokens=3000", "--mt-min-pass-rate=0.1")
    assert result.ret == pytest.ExitCode.TESTS_FAILED


def test_ordinary_tests_are_not_begun_after_the_end(project, service):
    write(project, service, 40)
    project.write(
        "test_plain.py",
        """
        import pytest, time
        @pytest.mark.parametrize("n", range(400))
        def test_plain(n): time.sleep(0.02)
        """,
    )
    result = project.run_workers("tasks.yaml", "test_plain.py", "-n2", "--mt-max-tokens=300")
    assert result.ret == pytest.ExitCode.TESTS_FAILED
    assert service.requests <= 3
    assert result.parseoutcomes()["passed"] < 400


def test_a_crash_counts_once_and_what_was_in_flight_counts_as_spent(project, service):
    """Worker a crashes with three requests in flight: they are asked and paid again; what has finished is not."""
    write(project, service, 20)
    hold_at_the_crash(project, service)
    result = project.run_workers("tasks.yaml", "-n2", "--mt-max-tokens=90000", "--mt-concurrency=3")
    result.assert_outcomes(passed=39, failed=1)
    assert service.asked == {"a": 9 + 14, "b": 20}
    (line,) = [line for line in result.stdout.lines if line.startswith("budget: ")]
    assert line.endswith(" of 90,000 tokens in 43 requests")
    spent = int(line.removeprefix("budget: ").partition(" ")[0].replace(",", ""))
    assert 43 * TOKENS <= spent <= 43 * TOKENS + 3 * 5  # three by their estimate, which rounds up


def test_a_replacement_goes_on_with_the_same_limit(project, service):
    write(project, service, 40)
    hold_at_the_crash(project, service)
    result = project.run_workers("tasks.yaml", "-n2", "--mt-max-tokens=6500", "--mt-concurrency=3")
    assert result.ret == pytest.ExitCode.TESTS_FAILED
    assert 55 <= service.requests <= 65
    result.stdout.fnmatch_lines([f"budget: * of 6,500 tokens in {service.requests} requests"])


def test_requests_of_a_worker_that_is_not_replaced_do_not_stop_the_others_for_ever(project, service):
    """Worker b waits for room that only the end of a's requests can make; a dies while the service holds them."""
    write(project, service, 20)
    never, go_on = threading.Event(), threading.Event()

    def gate(model, task):
        if service.asked.get("a") == 3:
            go_on.set()
        return never if model == "a" else go_on

    service.gate = gate
    project.write(
        "conftest.py",
        """
        import os, pytest, threading

        @pytest.hookimpl(wrapper=True)
        def pytest_runtest_protocol(item):
            if item.name == "t00[openai-a]":
                threading.Timer(1.0, os._exit, (7,)).start()
            return (yield)
        """,
    )
    arguments = ("-n2", "--max-worker-restart=0", "--mt-max-tokens=1400", "--mt-concurrency=3")
    result = project.run_workers("tasks.yaml", *arguments)
    assert result.ret == pytest.ExitCode.TESTS_FAILED
    assert service.asked["a"] == 3
    assert service.requests <= 10
    result.stdout.fnmatch_lines([f"budget: * of 1,400 tokens in {service.requests} requests"])


def test_prices_in_two_currencies_are_refused_although_each_worker_knows_one(project, service):
    write(project, service, 3)
    text = (project.path / "config.yaml").read_text()
    (project.path / "config.yaml").write_text(text.replace("EUR", "USD", 1))
    result = project.run_workers("tasks.yaml", "-n2", "--mt-max-cost=5")
    assert result.ret == pytest.ExitCode.USAGE_ERROR
    result.stderr.fnmatch_lines(["ERROR: --mt-max-cost: the selected runs have prices in EUR, USD; *"])
    assert service.requests == 0


def test_a_run_without_prices_is_refused(project, service):
    write(project, service, 3, pricing={"input-per-million": 1})
    result = project.run_workers("tasks.yaml", "-n2", "--mt-max-cost=5")
    assert result.ret == pytest.ExitCode.USAGE_ERROR
    result.stderr.fnmatch_lines(["ERROR: --mt-max-cost: what these runs cost is unknown: *"])
    assert service.requests == 0


@pytest.mark.parametrize("value", ["much", "0"])
def test_an_amount_that_is_none_is_refused_before_workers_start(project, service, value):
    write(project, service, 3)
    result = project.run_workers("tasks.yaml", "-n2", f"--mt-max-cost={value}")
    assert result.ret == pytest.ExitCode.USAGE_ERROR
    result.stderr.fnmatch_lines([f"ERROR: --mt-max-cost: '{value}' is not an amount above 0*"])


def test_remote_workers_have_no_part_in_a_limit(project, service):
    write(project, service, 3)
    result = project.run_workers("tasks.yaml", "--dist=load", "--tx=ssh=elsewhere", "--mt-max-cost=5")
    assert result.ret == pytest.ExitCode.USAGE_ERROR
    result.stderr.fnmatch_lines(["ERROR: --tx ssh=elsewhere: task files run on workers of this machine only*"])
