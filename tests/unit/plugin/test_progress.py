"""When and where the live status is drawn."""

from __future__ import annotations

import os
import signal
from types import SimpleNamespace

import pytest

from pytest_mindtrial.engine.status import ProviderStatus
from pytest_mindtrial.plugin.progress import LiveScreen, PeriodicLines, Progress
from pytest_mindtrial.plugin.signals import dump_on_signal
from tests.support.screen import Screen

CALL = SimpleNamespace(when="call", outcome="passed")
SETUP = SimpleNamespace(when="setup", outcome="passed")


class Terminal:
    """pytest's side and ours on one screen."""

    def __init__(self, rows=24):
        self.screen = Screen(rows, 80)
        self.time = 0.0
        self.done = 0
        self.column = 0
        read, self._descriptor = os.pipe()
        os.set_blocking(read, False)
        self._read = read
        self.live = LiveScreen(self._descriptor, lambda: self.column, lambda: None)
        self.progress = Progress(self.status, {("p", 0): 100}, self.live, now=lambda: self.time)

    def status(self):
        return [ProviderStatus("p", 5, 0, (), 0, self.done, 0)]

    def take(self):
        try:
            self.screen.write(os.read(self._read, 1 << 20).decode())
        except BlockingIOError:
            return False
        return True

    def pytest_writes(self, text):
        self.screen.write(text.replace("\n", "\r\n"))
        last = text.rpartition("\n")[2]
        self.column = len(last) + (0 if "\n" in text else self.column)

    def report(self, report=CALL):
        self.progress.pytest_runtest_logreport(report)
        return self.take()

    def wait(self, seconds):
        self.time += seconds
        self.progress.tick()
        return self.take()

    def close(self):
        self.progress.close()
        self.take()
        os.close(self._read)
        os.close(self._descriptor)


@pytest.fixture(params=[24, 2])
def terminal(request):
    made = Terminal(request.param)
    yield made
    made.close()


def test_the_status_stands_below_the_dots_and_goes(terminal):
    terminal.pytest_writes("tasks.yaml ..")
    assert not terminal.wait(0.4)
    assert terminal.wait(0.2)
    assert terminal.screen.text == "tasks.yaml ..\np: 0 of 100 done · 5 in flight"
    terminal.pytest_writes(".")
    assert not terminal.report()
    assert terminal.screen.text == "tasks.yaml ...\np: 0 of 100 done · 5 in flight"
    terminal.progress.close()
    terminal.take()
    assert terminal.screen.text == "tasks.yaml ..."


def test_a_new_line_of_dots_does_not_mix_with_the_status(terminal):
    terminal.pytest_writes("." * 70)
    terminal.wait(1)
    terminal.pytest_writes(".. [ 10%]\n")
    assert terminal.report()
    terminal.pytest_writes("...")
    terminal.report()
    assert terminal.screen.text == f"{'.' * 72} [ 10%]\n...\np: 0 of 100 done · 5 in flight"


def test_lines_of_items_do_not_mix_with_the_status(terminal):
    terminal.progress = Progress(terminal.status, {("p", 0): 100}, terminal.live, is_verbose=True, now=lambda: 9.0)
    terminal.progress._due_at = 0.0
    terminal.progress.tick()
    terminal.take()
    for number in range(3):
        terminal.pytest_writes(f"tasks.yaml::t{number} ")
        assert not terminal.report(SETUP)
        terminal.pytest_writes("PASSED\n")
        assert terminal.report()
    items = "".join(f"tasks.yaml::t{number} PASSED\n" for number in range(3))
    assert terminal.screen.text == f"{items}\np: 0 of 100 done · 5 in flight"  # the cursor's line is still blank


def test_the_status_is_refreshed_twice_a_second(terminal):
    assert terminal.wait(0.5)
    terminal.done = 7
    assert not terminal.wait(0.4)
    assert terminal.wait(0.2)
    assert "7 of 100 done" in terminal.screen.text


@pytest.mark.parametrize(
    "leave", ["pytest_keyboard_interrupt", "pytest_internalerror", "pytest_sessionfinish", "pytest_enter_pdb"]
)
def test_it_makes_room_for_others(terminal, leave):
    terminal.wait(1)
    assert "in flight" in terminal.screen.text
    getattr(terminal.progress, leave)()
    terminal.take()
    assert terminal.screen.text == ""


def test_a_terminal_that_has_gone_does_not_matter(terminal):
    read, write = os.pipe()
    os.close(read)
    screen = LiveScreen(write, lambda: 0, lambda: None)
    screen.show(["x"])
    assert screen.width == 79
    os.close(write)


def test_without_a_terminal_a_line_follows_half_a_minute_of_silence():
    printed, time = [], [0.0]
    status = [ProviderStatus("p", 5, 0, (), 0, 1, 0)]
    progress = Progress(lambda: status, {("p", 0): 9}, PeriodicLines(printed.extend), now=lambda: time[0])
    for time[0] in (10.0, 29.0):
        progress.tick()
    progress.pytest_runtest_logreport(CALL)
    time[0] = 58.0
    progress.tick()
    assert printed == []
    time[0] = 59.0
    progress.tick()
    assert [line.partition(" · about")[0] for line in printed] == ["mindtrial: p: 1 of 9 done · 5 in flight"]
    progress.close()


def test_the_signal_prints_what_is_in_flight_and_is_given_back(capfd):
    cleared = []
    undo = dump_on_signal(lambda: "a: 1.0 s, turn 1\nb: 2.0 s, preparing", lambda: cleared.append(1))
    os.kill(os.getpid(), signal.SIGUSR1)
    assert capfd.readouterr().err == "\nmindtrial: 2 attempts in flight\n  a: 1.0 s, turn 1\n  b: 2.0 s, preparing\n"
    assert cleared == [1]
    undo()
    assert signal.getsignal(signal.SIGUSR1) is signal.SIG_DFL


def test_nothing_in_flight_is_said_too(capfd):
    undo = dump_on_signal(lambda: "")
    os.kill(os.getpid(), signal.SIGUSR1)
    undo()
    assert capfd.readouterr().err == "\nmindtrial: no attempt is in flight\n"


def test_a_signal_that_somebody_handles_is_left_alone():
    def theirs(_number, _frame):
        raise AssertionError

    before = signal.signal(signal.SIGUSR1, theirs)
    try:
        undo = dump_on_signal(lambda: "x")
        assert signal.getsignal(signal.SIGUSR1) is theirs
        undo()
        assert signal.getsignal(signal.SIGUSR1) is theirs
    finally:
        signal.signal(signal.SIGUSR1, before)
