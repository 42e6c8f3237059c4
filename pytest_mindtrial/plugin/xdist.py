"""The controller's side of pytest-xdist: lanes for workers, checks before anything is sent, crashed workers.

Registered only when xdist is installed, because unknown hook names fail a session. What only a worker can find wrong
(it collects, the controller does not) arrives as a collection report that carries the message, and ends the session
here before any test is sent. Source: spec pytest 4.
"""

from __future__ import annotations

from collections import deque
from collections.abc import Generator, Sequence
from pathlib import Path
from typing import TYPE_CHECKING, Any

import pytest

from pytest_mindtrial.plugin.recorder import EVALUATION, USAGE_ERROR

if TYPE_CHECKING:
    from pytest_mindtrial.plugin.evaluation import Evaluation
    from pytest_mindtrial.plugin.progress import Progress
    from pytest_mindtrial.plugin.shared_budget import SessionBudget
    from pytest_mindtrial.plugin.worker_status import WorkerStatuses
    from pytest_mindtrial.plugin.xdist_scheduler import LaneScheduling

__all__ = ["XdistHooks"]

_YAML = (".yaml", ".yml")


class XdistHooks:
    """Hooks that xdist calls on the controller."""

    def __init__(self, config: pytest.Config) -> None:
        self._config = config
        self._workers = 0
        self._session_id = ""
        self._free: deque[int] = deque()
        self._scheduler: LaneScheduling | None = None
        self._lanes: Sequence[Sequence[int]] = ()
        self._unreported: set[str] = set()
        self._budget: SessionBudget | None = None
        self._statuses: WorkerStatuses | None = None
        self._progress: Progress | None = None

    @property
    def _is_distributed(self) -> bool:
        option = self._config.option
        return bool(getattr(option, "tx", None)) and getattr(option, "dist", "no") != "no" and not option.collectonly

    def _named_suites(self) -> list[Path]:
        """Return the YAML files of the command line."""
        base = self._config.invocation_params.dir
        paths = (base / argument.partition("::")[0] for argument in self._config.args)
        return [path for path in paths if path.suffix in _YAML and path.is_file()]

    def _may_collect_tasks(self) -> bool:
        from pytest_mindtrial.plugin.options import read_settings

        return bool(read_settings(self._config).files or self._named_suites())

    # Before the workers start

    @pytest.hookimpl(tryfirst=True)
    def pytest_sessionstart(self) -> None:
        """Read the configurations before workers start: a mistake is a usage error here, a crash there."""
        if not self._is_distributed:
            return
        from pytest_mindtrial.core.errors import UserError
        from pytest_mindtrial.plugin.evaluation import evaluation_of

        suites = self._named_suites()
        for spec in self._config.option.tx if suites else ():
            _refuse_remote(spec)
        evaluation = evaluation_of(self._config)
        for path in suites:
            try:
                evaluation.config_for(path)
            except UserError as error:
                raise pytest.UsageError(str(error)) from None
        if evaluation.settings.has_budget:
            from pytest_mindtrial.plugin.shared_budget import SessionBudget

            self._budget = SessionBudget(evaluation)

    @pytest.hookimpl(optionalhook=True)
    def pytest_xdist_setupnodes(self, specs: Sequence[Any]) -> None:
        """Learn how many workers there are: as many lanes' owners."""
        self._workers = len(specs)
        self._free.extend(range(len(specs)))

    @pytest.hookimpl(optionalhook=True)
    def pytest_configure_node(self, node: Any) -> None:
        """Give a worker its slot, and what it must share with the others; keys never travel."""
        from pytest_mindtrial.plugin.evaluation import evaluation_of

        self._session_id = node.workerinput["testrunuid"][:8]
        slot = self._free.popleft() if self._free else self._workers
        settled: list[int] = []
        if self._scheduler is not None and slot < len(self._lanes):
            settled = sorted(set(self._lanes[slot]).difference(self._scheduler.unsent(slot)))
        shared = evaluation_of(self._config).as_workerinput()
        if self._budget is not None:
            shared["budget"] = self._budget.add_worker()
        if self._may_collect_tasks():
            shared["status"] = self._listen(node, slot)
        node.workerinput["mindtrial"] = {
            **shared,
            "slot": slot,
            "slots": self._workers,
            "session": self._session_id,
            "settled": settled,
        }

    def _listen(self, node: Any, slot: int) -> tuple[Any, bool]:
        """Return what a worker tells its status over, and whether it is shown."""
        from pytest_mindtrial.plugin.evaluation import evaluation_of
        from pytest_mindtrial.plugin.progress import has_live_status
        from pytest_mindtrial.plugin.worker_status import WorkerStatuses

        def wake() -> None:
            # Passes xdist's loop, so that the terminal has one writer, and ends in `LaneScheduling.on_call_back`.
            if self._progress is not None:
                node.notify_inproc("unscheduled", node=node, indices=())

        self._statuses = self._statuses or WorkerStatuses()
        channel = node.gateway.newchannel()
        self._statuses.listen(slot, node.gateway.id, channel, wake)
        return channel, has_live_status(evaluation_of(self._config))

    @pytest.hookimpl(optionalhook=True, tryfirst=True)
    def pytest_testnodedown(self, node: Any, error: object) -> None:
        """Keep the lanes of a worker that has crashed for its replacement, and what it has spent."""
        if error is not None:
            self._free.append(_slot_of(node))
        if self._statuses is not None:
            self._statuses.lost(_slot_of(node))
        if self._progress is not None:
            self._progress.close()  # xdist says that it has ended
        if self._budget is not None:
            self._budget.ended(_page_of(node))

    # Distribution

    @pytest.hookimpl(optionalhook=True, tryfirst=True)
    def pytest_xdist_make_scheduler(self, config: pytest.Config) -> Any:
        """Distribute by lanes in sessions that may collect task files; others keep xdist's own schedulers."""
        if config.getvalue("dist") == "each" or not self._may_collect_tasks():
            return None
        from pytest_mindtrial.plugin.xdist_scheduler import LaneScheduling

        self._scheduler = LaneScheduling(config, self._workers, self._plan, _slot_of, self._has_stopped)
        return self._scheduler

    def _has_stopped(self, node: Any) -> bool:
        return self._budget is not None and self._budget.has_stopped(_page_of(node))

    def pytest_runtest_logreport(self, report: pytest.TestReport) -> None:
        """Learn that an item was reported."""
        self._unreported.discard(report.nodeid)

    @pytest.hookimpl(tryfirst=True)
    def pytest_collectreport(self, report: pytest.CollectReport) -> None:
        """End the session when a worker found that it cannot run; nothing was sent yet."""
        message = getattr(report, USAGE_ERROR, None)
        if message:
            raise pytest.UsageError(message)

    @pytest.hookimpl(optionalhook=True)
    def pytest_xdist_node_collection_finished(self, node: Any, ids: Sequence[str]) -> None:
        """Refuse what cannot hold our promises before anything is sent."""
        spec, dist = node.gateway.spec, self._config.getvalue("dist")
        is_local = bool(spec.popen) and not spec.chdir
        if (is_local and dist != "each") or not self._may_collect_tasks():
            return
        from pytest_mindtrial.plugin.evaluation import evaluation_of
        from pytest_mindtrial.plugin.lane_keys import TaskIds

        task_ids = TaskIds(evaluation_of(self._config))
        if not any(task_ids.identity(nodeid) for nodeid in ids):
            return
        if dist == "each":
            raise pytest.UsageError(
                "--dist=each would make (and pay for) every attempt once per worker; task files run with --dist load, "
                "worksteal, loadscope, loadfile or loadgroup"
            )
        _refuse_remote(str(spec))

    def _plan(self, ids: Sequence[str]) -> Sequence[Sequence[int]]:
        """Plan the session, open the journal, say what will run."""
        from pytest_mindtrial.plugin.controller import Controller
        from pytest_mindtrial.plugin.evaluation import evaluation_of
        from pytest_mindtrial.plugin.lane_keys import TaskIds
        from pytest_mindtrial.plugin.lanes import plan_lanes
        from pytest_mindtrial.plugin.orphans import sweep_before

        evaluation = evaluation_of(self._config)
        task_ids = TaskIds(evaluation)
        self._lanes = plan_lanes([task_ids.keys(nodeid) for nodeid in ids], self._workers)
        count = sum(map(len, self._lanes))
        if not count:
            return self._lanes
        evaluation.expected = count
        self._unreported = {ids[place] for lane in self._lanes for place in lane}
        identities = [identity for identity in map(task_ids.identity, ids) if identity is not None]
        for identity in identities:
            if identity.path not in evaluation.suite_paths:
                evaluation.suite_paths.append(identity.path)
        for problem in sweep_before(task_ids, identities):
            evaluation.note(problem)
        evaluation.controller = Controller(evaluation, task_ids, ids, self._budget)
        reporter = self._config.pluginmanager.get_plugin("terminalreporter")
        if reporter is not None and self._config.option.verbose >= 0:
            owners = sum(map(bool, self._lanes))
            where = evaluation.shown(evaluation.controller.outputs.directory)
            reporter.write_line(f"mindtrial: {count} items on {owners} of {self._workers} workers · results → {where}")
        self._show_progress(evaluation)
        return self._lanes

    def _show_progress(self, evaluation: Evaluation) -> None:
        from pytest_mindtrial.plugin.progress import start_workers_progress

        if self._statuses is not None and self._scheduler is not None:
            self._progress = start_workers_progress(evaluation, self._statuses)
            if self._progress is not None:
                self._scheduler.on_call_back = self._progress.tick

    # The end

    @pytest.hookimpl(wrapper=True)
    def pytest_runtestloop(self, session: pytest.Session) -> Generator[None, object, object]:
        """Fail the session once the budget is used up and all workers have ended, as one process does."""
        result = yield
        if self._budget is not None and (reason := self._budget.stopped):
            session.shouldfail = reason
            raise session.Failed(reason)
        return result

    @pytest.hookimpl(trylast=True)
    def pytest_sessionfinish(self, session: pytest.Session) -> None:
        """Make one journal of the workers' and ours, once xdist has ended the workers; incomplete is never green."""
        evaluation = self._config.stash.get(EVALUATION, None)
        if evaluation is None or evaluation.controller is None:
            return
        if self._unreported and session.exitstatus == pytest.ExitCode.OK:
            session.exitstatus = pytest.ExitCode.TESTS_FAILED
        from pytest_mindtrial.results.lane_journals import lane_suffix

        stem = evaluation.controller.outputs.stem
        lanes = [stem.with_name(stem.name + lane_suffix(self._session_id, slot)) for slot in range(self._workers + 1)]
        for problem in evaluation.controller.close(evaluation.final_info or evaluation.info(complete=False), lanes):
            evaluation.note(problem)


def _slot_of(node: Any) -> int:
    return int(node.workerinput["mindtrial"]["slot"])


def _page_of(node: Any) -> int:
    return int(node.workerinput["mindtrial"]["budget"][1])


def _refuse_remote(spec: str) -> None:
    """Refuse workers that are not plain processes of this machine.

    Raises:
        pytest.UsageError: The specification names another machine, directory or gateway.
    """
    parts = spec.rpartition("*")[2].split("//")
    if any(part.partition("=")[0] in ("ssh", "socket", "via", "vagrant_ssh", "chdir") for part in parts):
        raise pytest.UsageError(
            f"--tx {spec}: task files run on workers of this machine only, because neither API keys nor configuration "
            "files travel to remote workers; use -n, or run each machine's share with --mt-shard"
        )
