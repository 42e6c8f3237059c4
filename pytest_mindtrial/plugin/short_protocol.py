"""Reports items that passed without walking through phases in which nothing happens.

An attempt is made by the engine; what pytest does for its item in setup, call and teardown is to look for fixtures, to
catch output and to time nothing. Where nobody takes part in these phases but pytest itself, the three reports of an
item whose attempt has passed already are made directly, which saves a third of pytest's own time per item. Every other
item goes through pytest's own phases: also one that must be waited for, because somebody may print or log meanwhile,
and the first and the last of a file, which set up and tear down what encloses them. Does not decide outcomes.

Source: spec performance 3 and 6; ``docs/performance.md``.
"""

from __future__ import annotations

import os
import threading
import time
from collections.abc import Callable, Iterator
from typing import TYPE_CHECKING, Literal

import pytest

from pytest_mindtrial.plugin._compat import phases_of_pytest
from pytest_mindtrial.plugin.items import TaskItem
from pytest_mindtrial.plugin.lifecycle import ENGINE_THREADS
from pytest_mindtrial.plugin.progress import has_live_logs
from pytest_mindtrial.plugin.properties import add_properties
from pytest_mindtrial.plugin.reporting import add_result

if TYPE_CHECKING:
    from pytest_mindtrial.plugin.evaluation import Evaluation
    from pytest_mindtrial.plugin.runner import Runner

__all__ = ["ShortProtocol", "shorten"]

_PHASE_HOOKS = (
    "pytest_runtest_protocol",
    "pytest_runtest_setup",
    "pytest_runtest_call",
    "pytest_runtest_teardown",
    "pytest_runtest_makereport",
    "pytest_pyfunc_call",
)
_USER_CODE_HOOKS = ("pytest_mt_client", "pytest_mt_validator")
"""What is called for them may print in the engine's thread, and pytest would show that with the item that waits."""

_WITHOUT_EFFECT = ("_pytest.", "pytest_html.", "anyio.")
"""Modules whose implementations do nothing for an item that is plain and passed."""

_OURS = frozenset(("pytest_mindtrial.plugin.hooks", "pytest_mindtrial.plugin.recorder"))
_OPTIONS = ("setupshow", "setuponly", "setupplan", "trace", "usepdb_cls", "htmlpath")
_CURRENT_TEST = "PYTEST_CURRENT_TEST"
_PHASES: tuple[Literal["setup", "call", "teardown"], ...] = ("setup", "call", "teardown")


def shorten(evaluation: Evaluation, session: pytest.Session) -> None:
    """Register the short protocol where nobody could notice it."""
    config = session.config
    phases = phases_of_pytest()
    if evaluation.is_alone and phases is not None and evaluation.runner is not None and not _is_watched(config):
        config.pluginmanager.register(ShortProtocol(evaluation.runner, phases), "mindtrial-short-protocol")


def _is_watched(config: pytest.Config) -> bool:
    """Tell whether anybody takes part in the phases of items."""
    if any(getattr(config.option, name, None) for name in _OPTIONS) or has_live_logs(config):  # they name the phase
        return True
    if any(getattr(config.hook, name).get_hookimpls() for name in _USER_CODE_HOOKS):
        return True
    # Another thread may print at any time, as a server does that a conftest has started; only phases catch that.
    others = [thread.name for thread in threading.enumerate() if thread is not threading.current_thread()]
    if not all(name.startswith(ENGINE_THREADS) for name in others):
        return True
    hooks = [impl for name in _PHASE_HOOKS for impl in getattr(config.hook, name).get_hookimpls()]
    modules = {str(impl.function.__module__) for impl in hooks}  # None where code was made from a text
    return any(not module.startswith(_WITHOUT_EFFECT) for module in modules - _OURS)


class ShortProtocol:
    """pytest's protocol for items of a session that holds no others.

    Args:
        runner: Gives results.
        phases: Sets an item up, calls it and tears it down, with reports.
    """

    def __init__(self, runner: Runner, phases: Callable[..., object]) -> None:
        self._runner = runner
        self._phases = phases
        self._set_up: pytest.Collector | None = None

    @pytest.hookimpl(tryfirst=True)
    def pytest_runtest_protocol(self, item: TaskItem, nextitem: pytest.Item | None) -> bool:
        """Report an item."""
        hook = item.ihook
        hook.pytest_runtest_logstart(nodeid=item.nodeid, location=item.location)
        # As pytest does it: what encloses an item is set up with the first item in it, and torn down with the last.
        is_enclosed = self._set_up is item.parent and nextitem is not None and nextitem.parent is item.parent
        began = time.time(), time.perf_counter()
        if is_enclosed and item.is_plain and (result := self._runner.passed_ahead(item)) is not None:
            item.result = result
            for report in _passed_reports(item, *began):
                hook.pytest_runtest_logreport(report=report)
        else:
            self._phases(item, nextitem=nextitem)
            self._set_up = item.parent if item.result is not None else None
        hook.pytest_runtest_logfinish(nodeid=item.nodeid, location=item.location)
        return True


def _passed_reports(item: TaskItem, start: float, ticks: float) -> Iterator[pytest.TestReport]:
    """Yield what pytest's own phases would have reported of a passed item.

    Args:
        item: With its result.
        start: Wall time at which its setup began; for stamps only, because the clock may be set meanwhile.
        ticks: The same instant by `time.perf_counter`.
    """
    for when in _PHASES:
        if when == "teardown":
            os.environ.pop(_CURRENT_TEST, None)
        else:
            os.environ[_CURRENT_TEST] = f"{item.nodeid} ({when})".replace("\x00", "(null)")
        now = time.perf_counter()
        report = pytest.TestReport(
            nodeid=item.nodeid,
            location=item.location,
            keywords=item.report_keywords,
            outcome="passed",
            longrepr=None,
            when=when,
            duration=now - ticks,
            start=start,
            stop=start + (now - ticks),
        )
        add_result(item, report)
        add_properties(item, report)
        yield report
        start, ticks = report.stop, now
