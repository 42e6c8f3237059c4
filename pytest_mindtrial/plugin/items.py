"""The item: one attempt of one task by one run (times a repeat).

The attempt itself happens in the engine, ahead of pytest's run loop (``plugin/runner.py``); the item waits for it in
setup and decides in call. Kind Error raises in setup, Skipped skips there, a wrong answer fails in call (design D2).
"""

from __future__ import annotations

import os
from functools import cached_property
from typing import TYPE_CHECKING, Any, Literal

import pytest

from pytest_mindtrial.core.values import Kind
from pytest_mindtrial.plugin._compat import foreign_fixtures, repair_node_id, shared_fixtures
from pytest_mindtrial.plugin.evaluation import Evaluation, evaluation_of

if TYPE_CHECKING:
    from pathlib import Path

    from pytest_mindtrial.core.record import Result
    from pytest_mindtrial.suite.model import Config, Provider, Run, Task

__all__ = ["NoAnswer", "TaskItem", "WrongAnswer"]


OUR_FIXTURES = frozenset(
    ("mt_evaluation", "mt_provider", "mt_result", "mt_run", "mt_services", "mt_task", "mt_tools", "mt_validator")
) | {"pytestconfig", "request"}
"""What every item asks for."""

_DECIDED_BY_PYTEST = frozenset(("skip", "skipif", "xfail"))


class WrongAnswer(Exception):
    """The model answered, and the validator said no. Raised in call."""

    def __init__(self, result: Result) -> None:
        super().__init__(result)
        self.result = result


class NoAnswer(Exception):
    """There is no verdict: the provider, the reply or the validator failed. Raised in setup."""

    def __init__(self, result: Result) -> None:
        super().__init__(result)
        self.result = result


def _evaluate(mt_result: Result) -> None:
    # The test function of every item: fails when the answer is wrong. --collect-only -v would repeat a docstring.
    if mt_result.kind is Kind.FAILED:
        raise WrongAnswer(mt_result)


class TaskItem(pytest.Function):
    """One attempt as a pytest item.

    Attributes:
        task: The task, defaults merged.
        provider: The entry of ``providers``.
        run: The run.
        repeat: 1-based repeat index; None without repeats.
        twin: (argument) An earlier item of the same file; it asks for the same fixtures.
        result: The finished attempt, as soon as there is one.
        described: The attempt whose facts stand in `user_properties`.
    """

    def __init__(
        self,
        *,
        config_: Config,
        task: Task,
        provider: Provider,
        run: Run,
        repeat: int | None,
        twin: TaskItem | None = None,
        **kwargs: Any,
    ) -> None:
        # Items of a file ask for the same fixtures; as pytest's own parametrized items they share what was found out.
        super().__init__(callobj=_evaluate, **(shared_fixtures(twin) if twin else {}), **kwargs)
        repair_node_id(self)
        self.suite_config = config_
        self.task = task
        self.provider = provider
        self.run = run
        self.repeat = repeat
        self.result: Result | None = None
        self.described: Result | None = None
        self._twin = twin or self

    @property
    def run_key(self) -> tuple[int, str]:
        """What tells runs apart: the provider entry's index and the run's name."""
        return (self.provider.index, self.run.name)

    @property
    def evaluation(self) -> Evaluation:
        """The session's evaluation."""
        return evaluation_of(self.config)

    def foreign_fixtures(self) -> dict[str, Any] | None:
        """Return fixture definitions of the user's own files in this item's closure; None when unknown."""
        return self._twin._foreign_fixtures

    @cached_property
    def _foreign_fixtures(self) -> dict[str, Any] | None:
        return foreign_fixtures(self)

    @property
    def is_plain(self) -> bool:
        """True when no plugin and no conftest has a say in it: by a fixture of theirs, or by a mark for pytest."""
        is_ours = self.foreign_fixtures() == {} and OUR_FIXTURES.issuperset(self.fixturenames)
        return is_ours and not self.may_be_left_out

    @property
    def may_be_left_out(self) -> bool:
        """True when a mark may keep pytest from running it, or from taking its outcome as it is."""
        return not _DECIDED_BY_PYTEST.isdisjoint([mark.name for mark in self.iter_markers()])

    @cached_property
    def report_keywords(self) -> dict[str, Literal[1]]:
        """The words by which ``-k`` finds the item, as they stand in its reports."""
        return dict.fromkeys(self.keywords, 1)

    def setup(self) -> None:
        """Fill the fixtures, which waits for the attempt, and raise when there is no verdict."""
        option = self.config.option
        foreign = self.foreign_fixtures()
        _refuse_parameters(foreign or {})
        shows_fixtures = getattr(option, "setupshow", False)
        if not shows_fixtures and foreign == {}:
            # Nobody overrides anything: the values are known, and pytest's fixture machinery (0.2 ms for eight
            # fixtures) would find the same.
            result = self.evaluation.result_of(self)
            self.funcargs.update(self.evaluation.fixture_values(self), mt_result=result)
            super().setup()
        else:
            super().setup()
            if getattr(option, "setupplan", False):
                return
            result = _checked(self.funcargs["mt_result"])
        self.result = result
        if result.kind is Kind.ERROR:
            raise NoAnswer(result)
        if result.kind is Kind.SKIPPED:
            pytest.skip(_skip_reason(result))

    def runtest(self) -> None:
        """Call the test function, by way of pytest's hook, and see to it that a wrong answer fails."""
        super().runtest()
        if self.result is not None:  # the hook may have called nothing: ``-p no:python``, a plugin's own way
            _evaluate(self.result)

    def reportinfo(self) -> tuple[os.PathLike[str] | str, int, str]:
        """Return the task's place in the YAML file (0-based line)."""
        position = self.task.position
        return self.path, (position.line - 1) if position else 0, self.name

    @property
    def place(self) -> str:
        """``file:line`` of the task as the user would type it."""
        _, line, _ = self.reportinfo()
        return f"{_relative(self.path, self.config)}:{line + 1}"


def _relative(path: Path, config: pytest.Config) -> str:
    return os.path.relpath(path, config.invocation_params.dir)


def _checked(value: Any) -> Result:
    from pytest_mindtrial.core.record import Result

    if not isinstance(value, Result):
        found = type(value).__name__
        pytest.fail(f"mt_result must be a pytest_mindtrial.core.record.Result, not {found}", pytrace=False)
    return value


def _skip_reason(result: Result) -> str:
    error = result.error
    return f"{error.title}: {error.message}" if error else "skipped"


def _refuse_parameters(foreign: dict[str, Any]) -> None:
    for name, definition in foreign.items():
        if name.startswith("mt_") and getattr(definition, "params", None):
            pytest.fail(
                f"fixture {name}: an override may not have params, because items come from the task file; "
                "add a run to config.yaml for each variant instead",
                pytrace=False,
            )
