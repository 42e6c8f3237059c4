"""A worker's side of pytest-xdist: its lanes, its look-ahead, and how it says that it cannot run.

A worker collects everything and runs what it is sent. It looks ahead only in its own lanes, and only once the
controller has sent a first test: by then every worker and the controller have found nothing wrong. Does not distribute.
Source: spec pytest 4.2 and 4.4.
"""

from __future__ import annotations

from collections.abc import Generator, Mapping
from typing import TYPE_CHECKING, Any

import pytest

from pytest_mindtrial.plugin.recorder import EVALUATION, USAGE_ERROR

if TYPE_CHECKING:
    from pytest_mindtrial.core.record import Result
    from pytest_mindtrial.plugin.evaluation import Evaluation
    from pytest_mindtrial.plugin.items import TaskItem
    from pytest_mindtrial.plugin.runner import Runner

__all__ = ["WorkerHooks"]


class WorkerHooks:
    """Hooks of a worker process; does nothing in sessions without task files."""

    def __init__(self, config: pytest.Config) -> None:
        self._config = config
        self._prepared: Runner | None = None

    @pytest.hookimpl(tryfirst=True)
    def pytest_collection_finish(self, session: pytest.Session) -> None:
        """Check that this worker can run its lanes; runs before xdist tells the controller what was collected."""
        evaluation: Evaluation | None = self._config.stash.get(EVALUATION, None)
        if evaluation is None:
            return
        error, evaluation.usage_error = evaluation.usage_error, None
        if error is not None:
            self._say(str(error))
            return
        try:
            self._prepare(evaluation, session)
        except pytest.UsageError as problem:
            self._say(str(problem))

    @pytest.hookimpl(wrapper=True, tryfirst=True)
    def pytest_runtest_protocol(self) -> Generator[None, object, object]:
        """Start looking ahead as soon as the controller has sent something; before anyone asks for the runner."""
        runner, self._prepared = self._prepared, None
        if runner is not None:
            from pytest_mindtrial.plugin.evaluation import evaluation_of
            from pytest_mindtrial.plugin.lifecycle import separate_logs

            separate_logs(self._config)
            evaluation_of(self._config).runner = runner
            runner.start()
            self._tell_status(runner)
        return (yield)

    def _prepare(self, evaluation: Evaluation, session: pytest.Session) -> None:
        from pytest_mindtrial.plugin.runner import Runner

        items = _lane_items(evaluation, session, self._config.workerinput["mindtrial"])  # type: ignore[attr-defined]
        if items:
            runner = Runner(evaluation, items, _known(evaluation, items))
            runner.prepare()
            self._prepared = runner

    def _tell_status(self, runner: Runner) -> None:
        from pytest_mindtrial.plugin.worker_status import StatusSender

        channel, is_live = self._config.workerinput["mindtrial"].get("status", (None, False))  # type: ignore[attr-defined]
        if channel is not None:
            sender = StatusSender(channel, runner.engine, runner.attempts_to_make(), is_live=is_live)
            runner.waiting.on_tick = sender.tick
            self._config.pluginmanager.register(sender, "mindtrial-status")

    def _say(self, message: str) -> None:
        """Tell the controller that the session cannot run, through the one channel that is open before the tests."""
        facts: dict[str, Any] = {USAGE_ERROR: message}
        report = pytest.CollectReport(nodeid="", outcome="failed", longrepr=message, result=[], **facts)
        self._config.hook.pytest_collectreport(report=report)


def _lane_items(evaluation: Evaluation, session: pytest.Session, given: Mapping[str, Any]) -> list[TaskItem]:
    """Return the items of this worker's lanes that nobody has reported."""
    from pytest_mindtrial.plugin.items import TaskItem
    from pytest_mindtrial.plugin.lane_keys import TaskIds
    from pytest_mindtrial.plugin.lanes import plan_lanes

    if given["slot"] >= given["slots"]:
        return []
    task_ids = TaskIds(evaluation)
    plan = plan_lanes([task_ids.keys(item.nodeid) for item in session.items], given["slots"])
    settled = frozenset(given["settled"])
    own = (session.items[place] for place in plan[given["slot"]] if place not in settled)
    return [item for item in own if isinstance(item, TaskItem)]


def _known(evaluation: Evaluation, items: list[TaskItem]) -> dict[str, Result]:
    """Return what a crashed predecessor has finished of these items: it is paid for."""
    from pytest_mindtrial.core.errors import ResultsError
    from pytest_mindtrial.plugin.outputs import Outputs
    from pytest_mindtrial.results.journal_reader import read_journal

    path = Outputs(evaluation).journal
    if not path.exists():
        return {}
    try:
        results = read_journal(path).results
    except ResultsError:  # a damaged journal is not worth a session; its attempts are made again
        return {}
    wanted = {item.nodeid for item in items}
    return {result.nodeid: result for result in results if result.nodeid in wanted}
