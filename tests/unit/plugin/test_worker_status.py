"""What workers tell of their status, and what the controller makes of it, with channels that call at once."""

from __future__ import annotations

import threading

import pytest

from pytest_mindtrial.engine.status import Backoff, ProviderStatus
from pytest_mindtrial.plugin import worker_status
from pytest_mindtrial.plugin.worker_status import StatusSender, WorkerStatuses


class Channel:
    """One end; what is sent into it reaches the callback of the other end."""

    def __init__(self):
        self.other = None
        self.callback = lambda item: None
        self.sent = []

    def send(self, item):
        self.sent.append(item)
        self.other.callback(item)

    def setcallback(self, callback):
        self.callback = callback


def channels():
    one, two = Channel(), Channel()
    one.other, two.other = two, one
    return one, two


class Engine:
    def __init__(self, *statuses, dump=""):
        self.statuses = list(statuses)
        self.text = dump

    def status(self):
        return self.statuses

    def dump(self):
        return self.text


FULL = ProviderStatus("openai", 5, 2, (Backoff("http-429", 1.5),), 3, 7, 1, 10, True, 4, {"EUR": 0.5, "USD": 0.25})


class Session:
    """A controller and its workers at one time."""

    def __init__(self):
        self.time = 0.0
        self.wakes = 0
        self.statuses = WorkerStatuses()

    def worker(self, slot, engine, totals, *, is_live=True, name=None):
        ours, theirs = channels()
        self.statuses.listen(slot, name or f"gw{slot}", ours, self.wake)
        sender = StatusSender(theirs, engine, totals, is_live=is_live, now=lambda: self.time)
        sender.channel = theirs
        return sender

    def wake(self):
        self.wakes += 1


@pytest.fixture
def session():
    return Session()


def test_a_status_arrives_as_it_was(session):
    sender = session.worker(0, Engine(FULL), {("openai", 4): 20})
    session.time = 0.5
    sender.tick()
    assert session.statuses.statuses() == [FULL]
    assert session.statuses.totals == {("openai", 4): 20}
    assert session.wakes == 1


def test_it_is_told_at_most_twice_a_second_and_at_the_end(session):
    sender = session.worker(0, Engine(FULL), {("openai", 4): 20})
    for hundredth in range(100):
        session.time = hundredth / 100
        sender.tick()
        sender.pytest_runtest_logreport()
    assert len(sender.channel.sent) == 1
    sender.pytest_sessionfinish()
    assert len(sender.channel.sent) == 2


def test_nothing_is_told_unasked_where_nothing_is_shown(session):
    sender = session.worker(0, Engine(FULL, dump="a: 1.0 s, turn 1"), {("openai", 4): 20}, is_live=False)
    session.time = 60.0
    sender.tick()
    sender.pytest_runtest_logreport()
    sender.pytest_sessionfinish()
    assert sender.channel.sent == []
    assert session.statuses.dump() == "[gw0] a: 1.0 s, turn 1"
    assert session.wakes == 0


def test_workers_are_added_up_by_provider_entry(session):
    other = ProviderStatus("openai", 1, 0, (Backoff("http-500", 0.5),), 0, 2, 0, 10, True, 4, {"EUR": 1.0})
    third = ProviderStatus("openai", 1, 0, (), 0, 9, 0, index=5)
    senders = [
        session.worker(0, Engine(FULL, third), {("openai", 4): 20, ("openai", 5): 9}),
        session.worker(1, Engine(other), {("openai", 4): 5}),
    ]
    session.time = 1.0
    for sender in senders:
        sender.tick()
    first, second = session.statuses.statuses()
    assert (first.in_flight, first.waiting_limit, first.queued, first.done, first.errors) == (6, 2, 3, 9, 1)
    assert [wait.cause for wait in first.backing_off] == ["http-500", "http-429"]
    assert first.cost == {"EUR": 1.5, "USD": 0.25}
    assert second == third
    assert session.statuses.totals == {("openai", 4): 25, ("openai", 5): 9}


def test_a_replacement_goes_on_where_its_predecessor_was_lost(session):
    session.worker(0, Engine(FULL), {("openai", 4): 20}).pytest_sessionfinish()
    session.time = 1.0
    first = session.worker(0, Engine(FULL), {("openai", 4): 20})
    session.time = 2.0
    first.tick()
    session.statuses.lost(0)
    (left,) = session.statuses.statuses()
    assert (left.done, left.in_flight, left.backing_off, left.cost) == (7, 0, (), {"EUR": 0.5, "USD": 0.25})
    again = ProviderStatus("openai", 2, 0, (), 0, 3, 1, 10, True, 4, {"EUR": 0.25})
    second = session.worker(0, Engine(again), {("openai", 4): 11}, name="gw7")
    session.time = 3.0
    second.tick()
    (whole,) = session.statuses.statuses()
    assert (whole.done, whole.in_flight, whole.errors) == (9 + 3, 2, 2)
    assert whole.cost == {"EUR": 0.75, "USD": 0.25}
    assert session.statuses.totals == {("openai", 4): 20}


def test_a_dump_names_the_workers_and_those_that_do_not_answer(session, monkeypatch):
    monkeypatch.setattr(worker_status, "_ANSWER_S", 0.05)
    session.worker(0, Engine(dump="a: 1.0 s, turn 1\nb: 2.0 s, preparing"), {})
    session.worker(1, Engine(), {})
    silent, _ = channels()
    session.statuses.listen(2, "gw2", silent, session.wake)
    session.worker(3, Engine(dump="lost"), {})
    session.statuses.lost(3)
    assert session.statuses.dump().splitlines() == [
        "[gw0] a: 1.0 s, turn 1",
        "[gw0] b: 2.0 s, preparing",
        "[gw2] does not answer",
    ]


def test_a_dump_takes_answers_that_come_later_in_another_thread(session):
    ours, theirs = channels()
    session.statuses.listen(0, "gw0", ours, session.wake)
    theirs.setcallback(lambda item: threading.Timer(0.05, theirs.send, ('{"dump": "late"}',)).start())
    assert session.statuses.dump() == "[gw0] late"


def test_a_controller_that_is_gone_does_not_matter(session):
    sender = session.worker(0, Engine(FULL), {})

    def fail(item):
        raise OSError("cannot send")

    sender.channel.send = fail
    sender.pytest_sessionfinish()
