"""The live status: below pytest's dots on a terminal, a line now and then where there is none.

On a terminal the status stands below the line that pytest writes on; the cursor always goes back to where pytest left
it. Where output goes to a file or a CI log, one line is printed after half a minute without any report. Under ``-q``,
``-s``, live logs, ``-p no:terminal`` and on xdist's workers nothing is shown; xdist's controller shows what workers
tell (``plugin/worker_status.py``), on a terminal only. Does not word the status (``plugin/status_lines.py``) and starts
no thread for it: it draws while the session waits, when a worker has told something, and after each report.

Source: spec field 2, pains 1, 36 and 41; issue 5.
"""

from __future__ import annotations

import contextlib
import os
import sys
import threading
import time
from collections.abc import Callable, Mapping
from typing import TYPE_CHECKING, Any, Protocol

import pytest

from pytest_mindtrial.plugin._compat import uncaptured
from pytest_mindtrial.plugin.signals import dump_on_signal
from pytest_mindtrial.plugin.status_lines import LaneKey, Pace, status_lines

if TYPE_CHECKING:
    from pytest_mindtrial.engine.status import ProviderStatus
    from pytest_mindtrial.plugin.evaluation import Evaluation
    from pytest_mindtrial.plugin.runner import Runner
    from pytest_mindtrial.plugin.worker_status import WorkerStatuses

__all__ = [
    "Display",
    "LiveScreen",
    "PeriodicLines",
    "Progress",
    "has_live_logs",
    "has_live_status",
    "start_progress",
    "start_workers_progress",
]

_REDRAW_S = 0.5
_SILENCE_S = 30.0


class Display(Protocol):
    """Where the status goes."""

    interval_s: float

    @property
    def width(self) -> int:
        """Columns that a line may have."""

    def show(self, lines: list[str]) -> None:
        """Show the status in place of the last one."""

    def is_written_over(self, *, has_new_line: bool) -> bool:
        """Tell after a report whether pytest has written over the status.

        Args:
            has_new_line: The report had a line of its own.
        """

    def clear(self) -> None:
        """Leave nothing behind."""


class LiveScreen:
    """Lines below the cursor.

    Args:
        descriptor: The terminal, whatever pytest captures.
        column: Tells where in its line pytest's cursor stands.
        flush: Lets pytest's own text out first.
    """

    interval_s = _REDRAW_S

    def __init__(self, descriptor: int, column: Callable[[], int], flush: Callable[[], None]) -> None:
        self._descriptor = descriptor
        self._column = column
        self._flush = flush
        self._is_drawn = False
        self._last_column = 0

    def show(self, lines: list[str]) -> None:
        """Draw below the cursor and bring the cursor back."""
        self._flush()
        column = self._last_column = self._column()
        below = "".join(f"\r\n{line}" for line in lines)
        back = f"\r\x1b[{len(lines)}A" + (f"\x1b[{column}C" if column else "") if lines else ""
        self._write("\x1b[J" + below + back)
        self._is_drawn = bool(lines)

    @property
    def width(self) -> int:
        """One column less than there are: a full line would move the cursor."""
        try:
            return os.get_terminal_size(self._descriptor).columns - 1
        except OSError:
            return 79

    def is_written_over(self, *, has_new_line: bool) -> bool:
        """Tell whether pytest's cursor has moved to another line, onto the status."""
        column, before = self._column(), self._last_column
        self._last_column = column
        return self._is_drawn and (has_new_line or column < before)

    def clear(self) -> None:
        """Erase what is drawn."""
        if self._is_drawn:
            self._flush()
            self._write("\x1b[J")
            self._is_drawn = False

    def _write(self, text: str) -> None:
        data = text.encode("utf-8", "replace")
        with contextlib.suppress(OSError):  # the terminal is gone; the session is not
            while data:
                data = data[os.write(self._descriptor, data) :]


class PeriodicLines:
    """A plain line per provider after a long silence.

    Args:
        write_lines: Prints whole lines.
    """

    interval_s = _SILENCE_S

    def __init__(self, write_lines: Callable[[list[str]], None]) -> None:
        self._write_lines = write_lines

    width = 200

    def show(self, lines: list[str]) -> None:
        """Print them."""
        self._write_lines([f"mindtrial: {line}" for line in lines])

    def is_written_over(self, *, has_new_line: bool) -> bool:
        """Never."""
        return False

    def clear(self) -> None:
        """Printed lines stay."""


class Progress:
    """Hooks that keep the status up to date.

    Args:
        status: Asks the engine.
        totals: Attempts to make, by provider entry; may grow.
        display: Where the status goes.
        is_verbose: pytest writes a line per item.
        now: Monotonic seconds.
    """

    def __init__(
        self,
        status: Callable[[], list[ProviderStatus]],
        totals: Mapping[LaneKey, int],
        display: Display,
        *,
        is_verbose: bool = False,
        now: Callable[[], float] = time.monotonic,
    ) -> None:
        self._status = status
        self._totals = totals
        self._display = display
        self._is_verbose = is_verbose
        self._now = now
        self._due_at = now() + display.interval_s
        self._paces: dict[LaneKey, Pace] = {}
        self._began_at = now()
        self._lines: list[str] = []

    def tick(self) -> None:
        """Show the present status when it is time; called while the session waits."""
        now = self._now()
        if now < self._due_at:
            return
        self._due_at = now + self._display.interval_s
        statuses = self._status()
        for status in statuses:
            key = (status.provider, status.index)
            if key in self._totals:
                self._paces.setdefault(key, Pace(self._began_at)).seen(now, status.done)
        self._lines = status_lines(statuses, self._totals, self._paces, self._display.width)
        self._display.show(self._lines)

    def close(self) -> None:
        """Leave the screen to others; a tick draws again when it is time."""
        self._display.clear()
        self._due_at = max(self._due_at, self._now() + min(self._display.interval_s, _REDRAW_S))

    @pytest.hookimpl(trylast=True)
    def pytest_runtest_logreport(self, report: pytest.TestReport) -> None:
        """Draw again where pytest has written over the status, or when it is time."""
        if isinstance(self._display, PeriodicLines):
            self._due_at = self._now() + self._display.interval_s  # something was reported: no silence
            return
        has_new_line = self._is_verbose and (report.when == "call" or report.outcome != "passed")
        self._draw_again(has_new_line=has_new_line)
        self.tick()

    def _draw_again(self, *, has_new_line: bool) -> None:
        if self._display.is_written_over(has_new_line=has_new_line):
            self._display.show(self._lines)

    @pytest.hookimpl(tryfirst=True)
    def pytest_enter_pdb(self) -> None:
        """Make room for the debugger."""
        self.close()

    @pytest.hookimpl(tryfirst=True)
    def pytest_keyboard_interrupt(self) -> None:
        """Make room for what pytest says now."""
        self.close()

    @pytest.hookimpl(tryfirst=True)
    def pytest_internalerror(self) -> None:
        """Make room for what pytest says now."""
        self.close()

    @pytest.hookimpl(tryfirst=True)
    def pytest_sessionfinish(self) -> None:
        """Make room for the summary."""
        self.close()


class WorkersProgress(Progress):
    """The same on xdist's controller, where several items are under way and their lines alternate."""

    @pytest.hookimpl(trylast=True)
    def pytest_runtest_logstart(self) -> None:
        """Draw again below the line on which pytest has named an item; another item's line may be next."""
        self._draw_again(has_new_line=self._is_verbose)

    @pytest.hookimpl(trylast=True)
    def pytest_runtest_logreport(self, report: pytest.TestReport) -> None:
        """Draw again; after the report of a crash xdist has more to say of the worker."""
        phase: str = report.when
        if phase == "???":
            self.close()
        else:
            super().pytest_runtest_logreport(report)


def start_progress(evaluation: Evaluation) -> None:
    """Show the status for the rest of the session where it may be shown, and dump attempts on SIGUSR1.

    Call it when the runner exists and nothing is captured.
    """
    config, runner = evaluation.pytest_config, evaluation.runner
    reporter = config.pluginmanager.get_plugin("terminalreporter")
    assert runner is not None
    progress = None
    if reporter is not None and not _would_disturb(evaluation):
        progress = _register(evaluation, runner, reporter)
    evaluation.at_end.append(dump_on_signal(runner.engine.dump, progress.close if progress else None))


def has_live_status(evaluation: Evaluation) -> bool:
    """Tell whether the status is to be shown on a screen; workers of xdist tell theirs only then."""
    reporter = evaluation.pytest_config.pluginmanager.get_plugin("terminalreporter")
    return reporter is not None and not _would_disturb(evaluation) and not _is_plain(reporter)


def start_workers_progress(evaluation: Evaluation, workers: WorkerStatuses) -> Progress | None:
    """Do on xdist's controller what `start_progress` does; without a screen nothing is shown but the dump.

    Returns:
        What is to be ticked when a worker has told something; None = nothing is shown.
    """
    config, progress = evaluation.pytest_config, None
    if has_live_status(evaluation):
        with contextlib.suppress(OSError, ValueError):  # standard output is no file
            screen = _live_screen(config)
            progress = WorkersProgress(workers.statuses, workers.totals, screen, is_verbose=config.option.verbose > 0)
            config.pluginmanager.register(progress, "mindtrial-progress")
    evaluation.at_end.append(dump_on_signal(workers.dump, progress.close if progress else None, _in_thread))
    return progress


def _in_thread(work: Callable[[], None]) -> None:
    threading.Thread(target=work, name="mindtrial-dump", daemon=True).start()


def _would_disturb(evaluation: Evaluation) -> bool:
    """Tell whether other output shares the screen, or none is wanted."""
    config = evaluation.pytest_config
    option = config.option
    is_captured = getattr(option, "capture", "no") != "no"
    return option.verbose < 0 or evaluation.settings.interactive or has_live_logs(config) or not is_captured


def has_live_logs(config: pytest.Config) -> bool:
    """Tell whether pytest prints what is logged as it comes."""
    has_logs = config.pluginmanager.has_plugin("logging")
    return has_logs and bool(getattr(config.option, "log_cli_level", None) or config.getini("log_cli"))


def _register(evaluation: Evaluation, runner: Runner, reporter: Any) -> Progress:
    config = evaluation.pytest_config
    display = _display(config, reporter)
    progress = Progress(runner.engine.status, runner.attempts_to_make(), display, is_verbose=config.option.verbose > 0)
    runner.waiting.on_tick = progress.tick
    config.pluginmanager.register(progress, "mindtrial-progress")
    return progress


def _display(config: pytest.Config, reporter: Any) -> Display:
    if not _is_plain(reporter):
        with contextlib.suppress(OSError, ValueError):  # standard output is no file
            return _live_screen(config)

    def write_lines(lines: list[str]) -> None:
        with uncaptured(config):
            reporter.ensure_newline()
            for line in lines:
                reporter.write_line(line)

    return PeriodicLines(write_lines)


def _live_screen(config: pytest.Config) -> LiveScreen:
    """Return a screen on a descriptor of our own: nothing is captured when the run loop starts, but later."""
    descriptor = os.dup(sys.stdout.fileno())
    config.add_cleanup(lambda: os.close(descriptor))
    writer = config.get_terminal_writer()
    return LiveScreen(descriptor, lambda: writer.width_of_current_line % max(1, writer.fullwidth), writer.flush)


def _is_plain(reporter: Any) -> bool:
    """Tell whether output is a log rather than a screen."""
    in_ci = bool(os.environ.get("CI") or os.environ.get("BUILD_NUMBER"))
    # A truth value in pytest 8.0, one that can be called as well since then.
    return in_ci or os.environ.get("TERM", "dumb") == "dumb" or not reporter.isatty
