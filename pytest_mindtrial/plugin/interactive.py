"""``--mt-interactive``: choose runs and tasks on a screen, then watch the attempts.

Shows the screens of ``plugin/picker`` and turns what was chosen into deselected items; disabled runs and tasks are
collected for this, unchecked. Does not draw. Source: spec mindtrial 9.

Deviation: Ctrl-C on the progress screen writes no reports, as MindTrial does, but the journal stays: it is paid for.
"""

from __future__ import annotations

import importlib.util
import sys
from collections.abc import Sequence
from typing import TYPE_CHECKING

import pytest

from pytest_mindtrial.plugin._compat import terminal_for_screens
from pytest_mindtrial.plugin.recorder import active_evaluation

if TYPE_CHECKING:
    from pytest_mindtrial.core.record import Result
    from pytest_mindtrial.plugin.evaluation import Evaluation
    from pytest_mindtrial.plugin.items import TaskItem
    from pytest_mindtrial.plugin.picker.selection import RunTree, TaskList

__all__ = ["Interactive", "check_terminal"]


def check_terminal(config: pytest.Config) -> None:
    """Refuse what no screen can be shown in.

    Raises:
        pytest.UsageError: No terminal, no textual, or xdist's workers.
    """
    if not sys.stdout.isatty():
        raise pytest.UsageError("interactive mode requires a terminal environment")
    if importlib.util.find_spec("textual") is None:
        raise pytest.UsageError("--mt-interactive needs the extra tui: pip install 'pytest-mindtrial[tui]'")
    if config.getoption("tx", None) or config.getoption("numprocesses", None):
        raise pytest.UsageError("--mt-interactive shows one process at work; leave out -n")


class Interactive:
    """Hooks of an interactive session."""

    def __init__(self, config: pytest.Config) -> None:
        self._config = config

    @pytest.hookimpl(trylast=True)
    def pytest_collection_modifyitems(self, items: list[pytest.Item]) -> None:
        """Let the user choose among what ``-k``, ``-m`` and others have left."""
        from pytest_mindtrial.plugin.items import TaskItem

        ours = [item for item in items if isinstance(item, TaskItem)]
        if not ours:
            return
        from pytest_mindtrial.plugin.picker.screens import PickerApp

        runs, tasks = choices(ours)
        with terminal_for_screens(self._config):
            is_confirmed = PickerApp(runs, tasks).run()
        if not is_confirmed:
            pytest.exit("nothing was started", returncode=pytest.ExitCode.INTERRUPTED)
        left_out = [item for item in ours if not is_chosen(item, runs, tasks)]
        if left_out:
            self._config.hook.pytest_deselected(items=left_out)
            ids = set(map(id, left_out))
            items[:] = [item for item in items if id(item) not in ids]

    # Registered later than pytest's own loop and not tryfirst: runs after the engine was started, before the loop.
    def pytest_runtestloop(self) -> None:
        """Show the progress of what runs ahead; pytest's own loop reports it afterwards."""
        evaluation = active_evaluation(self._config)
        if evaluation is None or evaluation.runner is None:
            return
        from pytest_mindtrial.plugin.picker.progress import Feed, ProgressApp

        runner = evaluation.runner
        feed = Feed()
        runner.watcher = lambda result: feed.put(progress_line(result))
        with terminal_for_screens(self._config):
            goes_on = ProgressApp(feed, runner.progress, lambda: status_lines(evaluation)).run()
        runner.watcher = None
        if not goes_on:
            evaluation.expected = 0  # nothing was reported: no reports are written
            pytest.exit("cancelled; no reports are written", returncode=pytest.ExitCode.INTERRUPTED)


def choices(items: Sequence[TaskItem]) -> tuple[RunTree, TaskList]:
    """Return the runs and tasks of items, chosen as the files enable them."""
    from pytest_mindtrial.plugin.picker.selection import RunChoice, RunTree, TaskChoice, TaskList

    runs: dict[object, RunChoice] = {}
    tasks: dict[object, TaskChoice] = {}
    for item in items:
        group = (str(item.suite_config.path), item.provider.index)
        runs.setdefault(
            _run_key(item), RunChoice(_run_key(item), group, item.provider.name, item.run.name, not item.run.disabled)
        )
        data = item.task.metadata
        tasks.setdefault(
            _task_key(item),
            TaskChoice(
                _task_key(item),
                item.task.name,
                data.suite,
                data.category,
                data.difficulty,
                tuple(data.tags),
                not item.task.disabled,
            ),
        )
    return RunTree(list(runs.values())), TaskList(list(tasks.values()))


def is_chosen(item: TaskItem, runs: RunTree, tasks: TaskList) -> bool:
    """Tell whether both the run and the task of an item are chosen."""
    return _run_key(item) in runs.chosen and _task_key(item) in tasks.chosen


def _run_key(item: TaskItem) -> tuple[object, ...]:
    return (str(item.suite_config.path), *item.run_key)


def _task_key(item: TaskItem) -> tuple[str, str]:
    return (str(item.path), item.task.name)


def progress_line(result: Result) -> str:
    """Return one line on a finished attempt."""
    from pytest_mindtrial.core.durations import format_duration, round_duration

    took = format_duration(round_duration(result.duration_ns))
    return f"{result.kind.value:<8}{result.provider}-{result.run}: {result.task} ({took})"


def status_lines(evaluation: Evaluation) -> list[str]:
    """Return one line per provider entry at work."""
    runner = evaluation.runner
    if runner is None:
        return []
    return [
        f"{lane.provider}: {lane.in_flight} in flight, {lane.queued} queued, {lane.waiting_limit} waiting, "
        f"{len(lane.backing_off)} backing off, {lane.errors} errors"
        for lane in runner.engine.status()
    ]
