"""The experiments: what is run, what is measured, and the goal of each number.

Each experiment is a function that returns rows; a row is one number with its goal. Everything that is compared runs in
turn within one repetition, so that all see the same load. Does not print.

Source: ``docs/performance.md``.
"""

from __future__ import annotations

import shutil
import statistics
import sys
import tempfile
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from benchmarks.processes import ROOT, Measured, Service, measure
from benchmarks.server import ANSWER
from benchmarks.suites import PROMPT, pytest_command, run_command, write_config, write_suite


@dataclass(frozen=True, slots=True)
class Row:
    """One number.

    Attributes:
        goal: What it should not exceed (or, with ``at_least``, not fall below); None = for information.
    """

    what: str
    value: float
    unit: str
    goal: float | None = None
    at_least: bool = False

    @property
    def is_met(self) -> bool:
        """True when the goal is reached or there is none."""
        return self.goal is None or (self.value >= self.goal if self.at_least else self.value <= self.goal)


@dataclass(frozen=True, slots=True)
class Ran:
    """One run of a suite: the process, and what the service saw of it."""

    process: Measured
    seen: dict[str, Any]

    @property
    def first_request_s(self) -> float:
        """Seconds from the start of the process to the first request."""
        return float(self.seen["first"] - self.process.started)

    @property
    def tail_s(self) -> float:
        """Seconds from the last reply to the end of the process."""
        return float(self.process.ended - self.seen["last_reply"])


@contextmanager
def folder() -> Iterator[Path]:
    """Give an empty directory."""
    path = Path(tempfile.mkdtemp(prefix="mindtrial-benchmark-"))
    try:
        yield path
    finally:
        shutil.rmtree(path, ignore_errors=True)


def run_suite(
    tasks: int,
    concurrency: int,
    service: Service | None,
    *args: str,
    runs: int = 1,
    per_minute: int = 0,
    retries: int = 0,
) -> Ran:
    """Run a whole pytest process over tasks × runs, reports included.

    Args:
        tasks: Number of tasks; 0 = a session without items.
        concurrency: Attempts in flight.
        service: What the requests go to; None = the mock.
        args: Further arguments of pytest.
        runs: Runs of the provider.
        per_minute: Limit of each run; 0 = none.
        retries: Of the retry policy; 0 = no policy.

    Raises:
        RuntimeError: Not every item passed.
    """
    with folder() as path:
        write_suite(path, tasks)
        url = service.url if service else None
        write_config(path, url, runs=runs, per_minute=per_minute, retries=retries)
        process = measure(run_command(concurrency, args), path)
    wanted = f"{tasks * runs} passed" if tasks else "no tests"
    if wanted not in process.output:
        raise RuntimeError(f"expected {wanted!r}:\n{process.output[-3000:]}")
    return Ran(process, service.stats() if service else {})


def run_floor(kind: str, requests: int, concurrency: int, service: Service) -> Measured:
    """Run a floor in a process of its own."""
    command = [sys.executable, "-m", "benchmarks.floors", kind, str(service.port), str(requests), str(concurrency)]
    floor = measure(command)
    seen = service.stats()["requests"]
    if floor.status or seen != requests:
        raise RuntimeError(f"the floor sent {seen} of {requests} requests:\n{floor.output[-2000:]}")
    return floor


def repeat(times: int, *steps: Callable[[], Any]) -> list[list[Any]]:
    """Run the steps in turn, so many times; return the outcomes per step."""
    outcomes: list[list[Any]] = [[] for _ in steps]
    for _ in range(times):
        for step, collected in zip(steps, outcomes, strict=True):
            collected.append(step())
    return outcomes


def median(values: Any) -> float:
    """Return the median as a float."""
    return float(statistics.median(values))


# Latency of a second ------------------------------------------------------------------------------------------------


def at_200(times: int) -> list[Row]:
    """1,000 × 1.0 s at 200, with both floors."""
    with Service(1.0) as service:
        threads, protocol, ours = repeat(
            times,
            lambda: run_floor("threads", 1000, 200, service),
            lambda: run_floor("asyncio", 1000, 200, service),
            lambda: run_suite(1000, 200, service),
        )
    wall, floor = median(run.process.wall_s for run in ours), median(run.wall_s for run in threads)
    return [
        Row("floor: threads + http.client, wall ÷ ideal", floor / 5.0, "×"),
        Row("floor: asyncio protocol, wall ÷ ideal", median(run.wall_s for run in protocol) / 5.0, "×"),
        Row("wall ÷ ideal (5.0 s)", wall / 5.0, "×", 1.20),
        Row("wall − threads floor", wall - floor, "s", 0.8),
        Row("first request after", median(run.first_request_s for run in ours), "s", 0.9),
        Row("tail after the last reply", median(run.tail_s for run in ours), "s", 0.4),
        Row("CPU of the whole process", median(run.process.cpu_s for run in ours), "s"),
        Row("peak memory", median(run.process.rss_mb for run in ours), "MB", 110),
    ]


def at_1000(times: int) -> list[Row]:
    """1,000 × 1.0 s at 1,000."""
    with Service(1.0) as service:
        threads, ours = repeat(
            times, lambda: run_floor("threads", 1000, 1000, service), lambda: run_suite(1000, 1000, service)
        )
    return [
        Row("floor: threads + http.client, wall", median(run.wall_s for run in threads), "s"),
        Row("wall (ideal 1.0 s)", median(run.process.wall_s for run in ours), "s", 3.0),
        Row("most requests open at once", median(run.seen["most_open"] for run in ours), ""),
    ]


def four_models(times: int) -> list[Row]:
    """1,000 tasks × 4 models × 1.0 s at 200."""
    with Service(1.0) as service:
        (ours,) = repeat(times, lambda: run_suite(1000, 200, service, runs=4))
    return [Row("wall ÷ ideal (20 s)", median(run.process.wall_s for run in ours) / 20, "×", 1.06)]


def ten_thousand(times: int) -> list[Row]:
    """10,000 × 1.0 s at 200."""
    with Service(1.0) as service:
        (ours,) = repeat(times, lambda: run_suite(10_000, 200, service))
    return [
        Row("wall ÷ ideal (50 s)", median(run.process.wall_s for run in ours) / 50, "×", 1.06),
        Row("first request after", median(run.first_request_s for run in ours), "s"),
        Row("tail after the last reply", median(run.tail_s for run in ours), "s"),
        Row("peak memory", median(run.process.rss_mb for run in ours), "MB", 220),
    ]


def refusals(times: int) -> list[Row]:
    """4,000 × 1.0 s at 200, 20 % of the first tries refused with 429 and Retry-After 2 s."""
    with Service(1.0, refuse_every=5, retry_after_s=2.0) as service:
        (ours,) = repeat(times, lambda: run_suite(1000, 200, service, runs=4, retries=3))
    return [
        Row("wall (ideal 20 s)", median(run.process.wall_s for run in ours), "s", 24),
        Row("refused first tries", median(run.seen["refused"] for run in ours), ""),
        Row("retries before Retry-After", max(run.seen["early_retries"] for run in ours), "", 0),
    ]


# Zero latency -------------------------------------------------------------------------------------------------------


def cpu_per_item(times: int) -> list[Row]:
    """CPU of 2,000 items minus that of none, over HTTP and with the mock."""
    with Service() as service:
        floor, none, http, mock = repeat(
            times,
            lambda: run_floor("threads", 2000, 50, service),
            lambda: run_suite(0, 50, service),
            lambda: run_suite(2000, 50, service),
            lambda: run_suite(2000, 50, None),
        )
    fixed = median(run.process.cpu_s for run in none)
    rate = 2000 / median(run.process.wall_s for run in http)
    return [
        Row("floor: threads + http.client", median(run.cpu_s for run in floor) / 2, "ms"),
        Row("a session without items", fixed * 1000, "ms"),
        Row("CPU per item over HTTP", (median(run.process.cpu_s for run in http) - fixed) / 2, "ms", 1.2),
        Row("CPU per item with the mock", (median(run.process.cpu_s for run in mock) - fixed) / 2, "ms", 1.0),
        Row("items per second over HTTP, whole process", rate, "/s"),
    ]


_HAND_WRITTEN = """
import json

import httpx
import pytest

client = httpx.Client()

@pytest.mark.parametrize("number", range({tasks}))
def test_item(number):
    prompt = {prompt!r}.format(number=number)
    body = {{"model": "m", "messages": [{{"role": "user", "content": prompt}}]}}
    reply = client.post({url!r} + "/chat/completions", json=body)
    content = json.loads(reply.json()["choices"][0]["message"]["content"])
    assert content["final_answer"] == {answer!r}
"""


def hand_written(times: int) -> list[Row]:
    """1,000 × no latency at 50, against the tests one would write by hand: one after the other, nothing recorded."""

    def by_hand() -> Measured:
        with folder() as path:
            text = _HAND_WRITTEN.format(tasks=1000, prompt=PROMPT, url=service.url, answer=ANSWER)
            (path / "test_items.py").write_text(text, "utf-8")
            process = measure(pytest_command("-q", "--rootdir=."), path)
        if "1000 passed" not in process.output:
            raise RuntimeError(f"expected 1000 passed:\n{process.output[-3000:]}")
        return process

    with Service() as service:
        theirs, ours = repeat(times, by_hand, lambda: run_suite(1000, 50, service).process)
    rate, own = (1000 / median(run.wall_s for run in runs) for runs in (theirs, ours))
    return [
        Row("hand-written pytest and httpx, whole process", rate, "/s"),
        Row("ours, whole process", own, "/s"),
        Row("ours ÷ hand-written", own / rate, "×", 1.0, at_least=True),
    ]


def parts(times: int) -> list[Row]:
    """CPU per item by parts, from sessions of 2,000 items that leave parts out; differences of rows are the parts."""

    def plain(tests: int) -> Measured:
        with folder() as path:
            text = f"import pytest\n@pytest.mark.parametrize('n', range({tests}))\ndef test(n): pass\n"
            (path / "test_plain.py").write_text(text, "utf-8")
            return measure(pytest_command("-q", "--rootdir=."), path)

    def collected(tasks: int) -> Measured:
        with folder() as path:
            write_suite(path, tasks)
            write_config(path, None)
            return measure(pytest_command("tasks.yaml", "--mt-config=config.yaml", "--collect-only", "-qq"), path)

    bare = ("--no-mt-json", "--no-mt-html")
    with Service() as service:
        outcomes = repeat(
            times,
            lambda: plain(2000).cpu_s - plain(1).cpu_s,
            lambda: collected(2000).cpu_s - collected(0).cpu_s,
            lambda: run_suite(2000, 50, None, *bare).process.cpu_s - run_suite(0, 50, None).process.cpu_s,
            lambda: run_suite(2000, 50, None).process.cpu_s - run_suite(0, 50, None).process.cpu_s,
            lambda: run_suite(2000, 50, service).process.cpu_s - run_suite(0, 50, service).process.cpu_s,
        )
    names = (
        "pytest itself: def test(n): pass",
        "collection of an item",
        "an item with the mock, without JSON and HTML",
        "an item with the mock",
        "an item over HTTP",
    )
    return [Row(name, median(costs) / 2, "ms") for name, costs in zip(names, outcomes, strict=True)]


def growth(times: int) -> list[Row]:
    """CPU per item at 10,000 against 1,000 items, and at concurrency 1,000 against 50."""
    with Service() as service:
        none, small, large, narrow, wide = repeat(
            times,
            lambda: run_suite(0, 50, service),
            lambda: run_suite(1000, 50, service),
            lambda: run_suite(10_000, 50, service),
            lambda: run_suite(3000, 50, service),
            lambda: run_suite(3000, 1000, service),
        )
    fixed = median(run.process.cpu_s for run in none)

    def per_item(runs: list[Ran], items: int) -> float:
        return (median(run.process.cpu_s for run in runs) - fixed) / items

    return [
        Row("CPU per item, 10,000 ÷ 1,000 items", per_item(large, 10_000) / per_item(small, 1000), "×", 1.15),
        Row("CPU per item, concurrency 1,000 ÷ 50", per_item(wide, 3000) / per_item(narrow, 3000), "×", 1.3),
        Row("CPU per item at 10,000", per_item(large, 10_000) * 1000, "ms"),
        Row("peak memory at 10,000", median(run.process.rss_mb for run in large), "MB", 220),
    ]


# Without any request ------------------------------------------------------------------------------------------------


def collecting(times: int) -> list[Row]:
    """``--collect-only -q`` of 10,000 items, and of the MindTrial pair where it is present."""
    pair = ROOT / "../shared/data/mindtrial"
    with folder() as path:
        write_suite(path, 10_000)
        write_config(path, None)
        collect = pytest_command("tasks.yaml", "--collect-only", "-q", "--rootdir=.")
        (ours,) = repeat(times, lambda: measure(collect, path))
        rows = [
            Row("10,000 items, wall", median(run.wall_s for run in ours), "s", 3),
            Row("10,000 items, CPU", median(run.cpu_s for run in ours), "s"),
            Row("10,000 items, peak memory", median(run.rss_mb for run in ours), "MB", 150),
        ]
        if pair.is_dir():
            files = f"{pair}/tasks.yaml", f"--mt-config={pair}/config.yaml"
            command = pytest_command(*files, "--collect-only", "-q", "-p", "no:cacheprovider")
            (ours,) = repeat(times, lambda: measure(command, path))
            listed = sum("::" in line for line in ours[0].output.splitlines())
            rows += [
                Row("MindTrial's own pair, items", listed, "", 6111, at_least=True),
                Row("MindTrial's own pair, wall", median(run.wall_s for run in ours), "s", 3),
            ]
    return rows


_COUNT_MODULES = """
import sys
def pytest_unconfigure():
    open("modules", "w").write(" ".join(sorted(sys.modules)))
"""


def unrelated(times: int) -> list[Row]:
    """What one trivial test pays for the plugin being installed."""
    with folder() as path:
        (path / "test_one.py").write_text("def test_one(): pass\n", "utf-8")
        (path / "conftest.py").write_text(_COUNT_MODULES, "utf-8")

        def run(*args: str) -> tuple[Measured, set[str]]:
            process = measure(pytest_command("-q", "-p", "no:cacheprovider", *args), path)
            return process, set((path / "modules").read_text("utf-8").split())

        without, with_us = repeat(times * 3, lambda: run("-p", "no:mindtrial"), run)
    gained = with_us[0][1] - without[0][1]
    cost = [ours[0].cpu_s - other[0].cpu_s for other, ours in zip(without, with_us, strict=True)]
    return [
        Row("modules gained", len(gained), "", 10),
        Row("of them not ours", sum(not name.startswith("pytest_mindtrial") for name in gained), "", 0),
        Row("CPU", median(cost) * 1000, "ms", 10),
        Row("CPU with ÷ without", 1 + median(cost) / median(run.cpu_s for run, _ in without), "×", 1.04),
    ]
