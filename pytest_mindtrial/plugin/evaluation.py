"""State of one pytest session: settings, read files, seed, results, and the engine once something is to run.

Cheap to make: nothing is imported or read until the first task file is collected. Does not print and does not write
reports (``plugin/reporting.py``).
"""

from __future__ import annotations

import os
from collections import Counter
from collections.abc import Callable
from datetime import datetime
from functools import cached_property
from pathlib import Path
from typing import TYPE_CHECKING, Any

import pytest

from pytest_mindtrial.core.errors import ConfigError, UserError
from pytest_mindtrial.plugin.options import Settings, given_options, read_settings
from pytest_mindtrial.plugin.recorder import EVALUATION

_OBJECT_FIXTURES = {
    "client": "mt_provider",
    "validator": "mt_validator",
    "tools": "mt_tools",
    "services": "mt_services",
}

if TYPE_CHECKING:
    from pytest_mindtrial.core.record import Result
    from pytest_mindtrial.plugin.controller import Controller
    from pytest_mindtrial.plugin.early_reports import EarlyReports
    from pytest_mindtrial.plugin.garbage import Pause
    from pytest_mindtrial.plugin.items import TaskItem
    from pytest_mindtrial.plugin.resume import Resume
    from pytest_mindtrial.plugin.runner import Runner
    from pytest_mindtrial.results.evaluation import EvaluationInfo
    from pytest_mindtrial.suite.digest import Definition, Definitions
    from pytest_mindtrial.suite.model import Config, Suite

__all__ = ["Evaluation", "evaluation_of"]


def evaluation_of(config: pytest.Config) -> Evaluation:
    """Return the session's evaluation, made on first use.

    Raises:
        pytest.UsageError: An option has a value it cannot take.
    """
    found = config.stash.get(EVALUATION, None)
    if found is None:
        found = config.stash[EVALUATION] = Evaluation(config)
    return found


class Evaluation:
    """One pytest session's worth of work.

    Attributes:
        settings: Options and ini keys.
        seed: Evaluation seed, the same on all workers of a session.
        started_at: Local wall time of the start.
        usage_error: A wrong configuration found during collection; raised when collection ends.
        results: Reported results in report order (controller and single process).
        runner: The engine and its journal; None until the run loop starts.
        controller: Stands in for the runner where xdist's workers have it.
        final_info: The facts at the end of the session; None before.
        at_end: What is to be undone when the session is over.
        is_alone: True when the session holds no other tests, which may look at what the collector knows.
        collect_again: Gives the garbage collector back what the run loop set aside.
    """

    def __init__(self, config: pytest.Config) -> None:
        self.pytest_config = config
        self.settings: Settings = read_settings(config)
        worker = getattr(config, "workerinput", {}).get("mindtrial", {})
        self.is_worker = hasattr(config, "workerinput")
        self.seed: str = worker.get("seed") or self.settings.seed or _new_seed(self.settings)
        stamp = worker.get("started_at")
        self.started_at = datetime.fromisoformat(stamp) if stamp else datetime.now().astimezone()
        self.usage_error: ConfigError | None = None
        self.results: list[Result] = []
        self.runner: Runner | None = None
        self.controller: Controller | None = None
        self.final_info: EvaluationInfo | None = None
        self.notes: list[str] = []
        self.at_end: list[Callable[[], None]] = []
        self.is_alone = False
        self.collect_again: Callable[[], None] = lambda: None
        self.task_count = 0
        self.run_count = 0
        self.suite_paths: list[Path] = []
        self._configs: dict[Path, Config] = {}
        self._suites: dict[Path, Suite] = {}
        self._pending: dict[str, Result] = {}
        self._places: dict[str, int] = {}
        self._resume: Resume | None = None
        self._pause: Pause | None = None
        self.expected = 0
        self.left_out: set[str] = set()

    @property
    def invocation_dir(self) -> Path:
        """Where the user typed the command."""
        return self.pytest_config.invocation_params.dir

    @property
    def is_active(self) -> bool:
        """True as soon as a task file was collected or a model was asked; else nothing is printed or written."""
        return bool(self.suite_paths or self.results or self.runner)

    @property
    def keeper(self) -> Runner | Controller | None:
        """Who journals results and knows where reports go."""
        return self.runner or self.controller

    def as_workerinput(self) -> dict[str, Any]:
        """Return what a worker must share with the controller; no keys."""
        from pytest_mindtrial.plugin.outputs import Outputs

        shared = {"seed": self.seed, "started_at": self.started_at.isoformat()}
        if self._configs:
            shared["stem"] = str(Outputs(self).stem)
        return {**shared, "options": given_options(self.pytest_config)}

    def shown(self, path: Path | str) -> str:
        """Return a path as the user would type it."""
        return os.path.relpath(path, self.invocation_dir)

    def note(self, text: str) -> None:
        """Remember a line for the header of the run."""
        if text not in self.notes:
            self.notes.append(text)

    def pause_collector(self) -> None:
        """Pause the garbage collector until the run loop begins; called for every task file."""
        if self._pause is None:
            from pytest_mindtrial.plugin.garbage import Pause, python_exit

            self._pause = Pause()
            python_exit.watch()
            self.at_end.append(self._pause.end)  # for sessions that end before
            self.pytest_config.pluginmanager.register(self._pause, "mindtrial-pause")

    def expect_tasks(self, tasks: int, runs: int) -> None:
        """Add to the counts that the header shows."""
        self.task_count += tasks
        self.run_count = max(self.run_count, runs)

    def config_for(self, suite: Path) -> Config:
        """Return the configuration of a task file, read once.

        Raises:
            ConfigError: There is none, or it is wrong.
        """
        path = self.settings.config or suite.with_name("config.yaml")
        if path not in self._configs:
            if not path.exists():
                raise _no_config(self.shown(path), self.shown(suite), given=self.settings.config is not None)
            from pytest_mindtrial.suite.config import load_config

            config = load_config(Path(self.shown(path)))
            _check_mocks(config)
            self._configs[path] = config
        return self._configs[path]

    def load_suite(self, path: Path, config: Config) -> Suite:
        """Return a task file, read and checked against its configuration once.

        Raises:
            UserError: The file is wrong.
        """
        if path not in self._suites:
            from pytest_mindtrial.suite.start_checks import check_suite
            from pytest_mindtrial.suite.tasks import load_suite

            suite = load_suite(Path(self.shown(path)))
            problems = check_suite(config, suite)
            if problems:
                raise UserError("\n".join(problems))
            self._suites[path] = suite
            self.suite_paths.append(path)
        return self._suites[path]

    def raise_usage_error(self) -> None:
        """Raise what collection could not.

        Raises:
            pytest.UsageError: The configuration is wrong; exit status 4.
        """
        if self.usage_error is not None:
            raise pytest.UsageError(str(self.usage_error))

    def definition_of(self, item: TaskItem, **overrides: Any) -> Definition:
        """Return the digest of everything that decides an item's attempt.

        Args:
            item: The item.
            overrides: Values of overridden fixtures, as in `overridden_result`.
        """
        return self._definitions.of(
            overrides.get("task", item.task),
            overrides.get("run", item.run),
            item.repeat,
            provider=item.provider,
            config=item.suite_config,
            overridden=[name for key, name in _OBJECT_FIXTURES.items() if overrides.get(key) is not None],
        )

    @cached_property
    def _definitions(self) -> Definitions:
        from pytest_mindtrial.suite.digest import Definitions

        return Definitions()

    def resume_of(self, items: list[TaskItem]) -> Resume | None:
        """Return what ``--mt-resume`` decides about the session's items; None without it.

        Raises:
            pytest.UsageError: The journal cannot be read.
        """
        if self.settings.resume is not None and self._resume is None:
            from pytest_mindtrial.plugin.resume import Resume

            self._resume = Resume(self, items)
        return self._resume

    @cached_property
    def early_reports(self) -> EarlyReports:
        """What is rendered before the end."""
        from pytest_mindtrial.plugin.early_reports import EarlyReports

        return EarlyReports(self)

    @property
    def configs(self) -> list[Config]:
        """Every configuration in use."""
        return list(self._configs.values())

    @cached_property
    def _fixture_info(self) -> EvaluationInfo:
        return self.info()

    @property
    def awaited(self) -> int:
        """How many results there will be at the end: the selected items without those that the user's marks skip."""
        return self.expected - len(self.left_out) if self.results else self.expected

    def fixture_values(self, item: TaskItem) -> dict[str, Any]:
        """Return what our own fixtures would return for an item."""
        from pytest_mindtrial.plugin.handles import RunModel, TaskValidator
        from pytest_mindtrial.plugin.tool_handles import TaskServices, TaskTools

        return {
            "mt_evaluation": self._fixture_info,
            "mt_task": item.task,
            "mt_run": item.run,
            "mt_provider": RunModel(self, item),
            "mt_validator": TaskValidator(self, item),
            "mt_tools": TaskTools(item.task, item.suite_config),
            "mt_services": TaskServices(item.task, item.suite_config),
            "pytestconfig": self.pytest_config,
        }

    def result_of(self, item: TaskItem) -> Result:
        """Return the item's attempt, waiting for it.

        Raises:
            InternalError: The engine is not running or died.
        """
        if self.runner is None:
            self.runner = self.start_runner([item])
        return self.runner.result_of(item)

    def start_runner(self, items: list[TaskItem]) -> Runner:
        """Start the engine for the given items; called once per session."""
        from pytest_mindtrial.plugin.runner import Runner

        runner = Runner(self, items)
        runner.prepare()
        self.runner = runner
        runner.start()
        return self.runner

    def overridden_result(self, item: TaskItem, **values: Any) -> Result:
        """Make an attempt with the values of overridden fixtures and wait for it.

        Args:
            item: The item.
            values: ``task``, ``run``, ``client``, ``validator``, ``tools`` and ``services`` as the fixtures returned
                them.
        """
        from pytest_mindtrial.plugin.handles import as_client, as_validator
        from pytest_mindtrial.plugin.tool_handles import as_services, as_tools
        from pytest_mindtrial.suite.model import Run, Task

        try:
            for name, kind in (("task", Task), ("run", Run)):
                if not isinstance(values[name], kind):
                    found = type(values[name]).__name__
                    raise TypeError(f"mt_{name} must be a pytest_mindtrial.suite.model.{kind.__name__}, not {found}")
            given = {
                "client": as_client(values["client"]),
                "validator": as_validator(values["validator"]),
                "tools": as_tools(values["tools"], values["task"], item.suite_config),
                "services": as_services(values["services"], item.suite_config),
            }
        except TypeError as error:
            pytest.fail(str(error), pytrace=False)
        objects = {key: value for key, value in given.items() if value is not None}
        if not objects and values["task"] is item.task and values["run"] is item.run:
            return self.result_of(item)
        values = {"task": values["task"], "run": values["run"], **objects}
        runner = self.runner or self.start_runner([item])
        return runner.run_now(runner.plan_of(item, **values))

    def hold(self, nodeid: str, result: Result) -> None:
        """Keep a result until its report arrives."""
        self._pending[nodeid] = result

    def reported(self, nodeid: str) -> Result | None:
        """Move a held result to the reported ones."""
        result = self._pending.pop(nodeid, None)
        if result is not None:
            self.add(result)
        return result

    def add(self, result: Result) -> None:
        """Record a reported result; the last one of an item wins (reruns)."""
        place = self._places.setdefault(result.nodeid, len(self.results))
        if place == len(self.results):
            self.results.append(result)
        else:
            self.results[place] = result

    def counts(self) -> Counter[str]:
        """Return how many results of each kind there are."""
        return Counter(result.kind.value for result in self.results)

    def info(self, *, complete: bool = True, reason: str = "") -> EvaluationInfo:
        """Return the facts every report carries."""
        from pytest_mindtrial.plugin.concurrency import concurrency_text
        from pytest_mindtrial.results.evaluation import EvaluationInfo

        return EvaluationInfo(
            created_at=self.started_at,
            seed=self.seed,
            suites=tuple(self.shown(path) for path in self.suite_paths),
            config=", ".join(str(config.path) for config in self.configs),
            expected=self.awaited,
            is_complete=complete,
            incomplete_reason=reason,
            concurrency=concurrency_text(self.settings.concurrency),
        )


def _new_seed(settings: Settings) -> str:
    """Return the seed of the journal that is continued, else a random one."""
    from pytest_mindtrial.core.ids import new_evaluation_seed

    journal = settings.resume or settings.regrade
    if journal is not None:
        from pytest_mindtrial.results.journal_reader import journal_seed

        return journal_seed(journal) or new_evaluation_seed()
    return new_evaluation_seed()


def _no_config(path: str, suite: str, *, given: bool) -> ConfigError:
    if given:
        return ConfigError(f"--mt-config: {path}: there is no such file")
    return ConfigError(
        f"{suite}: no configuration: neither --mt-config was given nor does {path} exist.\n"
        "To start without any key, save these two lines as config.yaml beside the task file:\n"
        "  config: {output-dir: results, task-source: tasks.yaml, providers: [\n"
        "    {name: mock, runs: [{name: try-out, model: mock}]}]}"
    )


def _check_mocks(config: Config) -> None:
    """Read the scripts of mock runs now, so that a mistake in one is a usage error and not a failed attempt."""
    for provider in config.providers:
        for run in provider.runs if provider.name == "mock" else ():
            if not run.disabled:
                from pytest_mindtrial.providers.mock_script import read_script

                read_script(run)
