"""Waiting for attempts: every way a future can end is seen, and an error's own TimeoutError is not a time-out."""

from __future__ import annotations

import concurrent.futures
import threading
from concurrent.futures import Future
from types import SimpleNamespace

import pytest

from pytest_mindtrial.core.errors import InternalError
from pytest_mindtrial.plugin.runner import Runner


def waiting(future: Future[object], *, is_alive: bool = True, exhausted: str = "") -> object:
    """Wait as a runner does, in a thread, so that a wait without end fails the test instead of stopping it."""
    runner = Runner.__new__(Runner)
    early = SimpleNamespace(work=lambda is_due: is_due(), has_work=False)
    runner._evaluation = SimpleNamespace(early_reports=early)  # type: ignore[assignment]
    runner._engine = SimpleNamespace(is_alive=is_alive, busy_at=0.0)  # type: ignore[assignment]
    runner._budget = SimpleNamespace(exhausted=exhausted)  # type: ignore[assignment]
    runner.on_wait = lambda: None
    outcome: list[object] = []

    def wait() -> None:
        try:
            outcome.append(runner._wait(future))
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
    assert waiting(future) == 3


def test_a_future_cancelled_before_it_began_ends_the_wait():
    future: Future[object] = Future()
    future.cancel()
    assert isinstance(waiting(future), concurrent.futures.CancelledError)


def test_with_an_exhausted_budget_it_is_a_skip():
    future: Future[object] = Future()
    future.cancel()
    skip = waiting(future, exhausted="no money")
    assert isinstance(skip, pytest.skip.Exception)
    assert "not run: no money" in str(skip)


def test_a_time_out_of_the_users_own_code_is_raised():
    future: Future[object] = Future()
    error = TimeoutError("mine")
    future.set_exception(error)
    assert waiting(future) is error


def test_a_dead_engine_ends_the_wait():
    assert isinstance(waiting(Future(), is_alive=False), InternalError)
