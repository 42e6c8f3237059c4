"""Waiting for attempts: every way a future can end is seen, and reports make room for bursts of replies."""

from __future__ import annotations

import concurrent.futures
import threading
from concurrent.futures import Future
from types import SimpleNamespace

import pytest

from pytest_mindtrial.core.errors import InternalError
from pytest_mindtrial.plugin.waiting import Waiting

_NO_WORK = SimpleNamespace(work=lambda is_due: is_due(), has_work=False)


def _engine(busy_at: float, *, is_alive: bool = True) -> SimpleNamespace:
    return SimpleNamespace(is_alive=is_alive, busy_at=busy_at)


def waited(future: Future[object], *, is_alive: bool = True, exhausted: str = "") -> object:
    """Wait as a runner does, in a thread, so that a wait without end fails the test instead of stopping it."""
    waiting = Waiting(_engine(0.0, is_alive=is_alive), _NO_WORK, lambda: exhausted)  # type: ignore[arg-type]
    outcome: list[object] = []

    def wait() -> None:
        try:
            outcome.append(waiting.result(future))
        except BaseException as error:
            outcome.append(error)

    thread = threading.Thread(target=wait, daemon=True)
    thread.start()
    thread.join(10)
    assert outcome, "the wait does not end"
    return outcome[0]


def test_a_result_is_returned():
    future: Future[object] = Future()
    future.set_result(3)
    assert waited(future) == 3


def test_a_future_cancelled_before_it_began_ends_the_wait():
    future: Future[object] = Future()
    future.cancel()
    assert isinstance(waited(future), concurrent.futures.CancelledError)


def test_with_an_exhausted_budget_it_is_a_skip():
    future: Future[object] = Future()
    future.cancel()
    skip = waited(future, exhausted="no money")
    assert isinstance(skip, pytest.skip.Exception)
    assert "not run: no money" in str(skip)


def test_a_time_out_of_the_users_own_code_is_raised():
    future: Future[object] = Future()
    error = TimeoutError("mine")
    future.set_exception(error)
    assert waited(future) is error


def test_a_dead_engine_ends_the_wait():
    assert isinstance(waited(Future(), is_alive=False), InternalError)


@pytest.mark.parametrize("age_s, gives_way", [(0.0, True), (60.0, False)])
def test_a_report_gives_way_to_a_burst_of_replies_and_only_then(monkeypatch, age_s, gives_way):
    now = [1000.0]
    slept: list[float] = []

    def sleep(seconds: float) -> None:
        slept.append(seconds)
        now[0] += seconds

    monkeypatch.setattr("pytest_mindtrial.plugin.waiting.time", SimpleNamespace(monotonic=lambda: now[0], sleep=sleep))
    Waiting(_engine(now[0] - age_s), _NO_WORK, str).give_way()  # type: ignore[arg-type]
    assert bool(slept) is gives_way
    assert sum(slept) < 0.01


def test_giving_way_ends_while_replies_never_cease(monkeypatch):
    now = [0.0]

    def sleep(seconds: float) -> None:
        now[0] += seconds

    class Busy:
        @property
        def busy_at(self) -> float:
            return now[0]

    monkeypatch.setattr("pytest_mindtrial.plugin.waiting.time", SimpleNamespace(monotonic=lambda: now[0], sleep=sleep))
    Waiting(Busy(), _NO_WORK, str).give_way()  # type: ignore[arg-type]
    assert 0.04 < now[0] < 0.06
