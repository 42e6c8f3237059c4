"""The plugin object that sees every report and the end of the session.

It is registered in every session and does nothing until a task file was collected or a worker sent a result; it
imports on use. Does not render (``plugin/terminal.py``, ``plugin/reporting.py``).
"""

from __future__ import annotations

from collections.abc import Generator
from typing import TYPE_CHECKING, Any

import pytest

if TYPE_CHECKING:
    from pytest_mindtrial.plugin.evaluation import Evaluation
    from pytest_mindtrial.plugin.reporting import WrittenReports

__all__ = ["EVALUATION", "USAGE_ERROR", "Recorder", "active_evaluation"]

EVALUATION = pytest.StashKey[Any]()
"""Where the session's `Evaluation` is kept; made by ``plugin.evaluation.evaluation_of`` on first use."""

USAGE_ERROR = "mindtrial_usage_error"
"""Attribute of a collection report by which an xdist worker says that the session cannot run."""


def active_evaluation(config: pytest.Config) -> Evaluation | None:
    """Return the session's evaluation when it has anything to do, else None; imports nothing."""
    found: Evaluation | None = config.stash.get(EVALUATION, None)
    return found if found is not None and found.is_active else None


class Recorder:
    """Collects results and ends the evaluation."""

    def __init__(self, config: pytest.Config) -> None:
        self._config = config
        self._interrupted = ""
        self._written: WrittenReports | None = None
        config.add_cleanup(self._end)  # early, so that it runs after pytest's own last collection of garbage

    @pytest.hookimpl(wrapper=True, tryfirst=True)
    def pytest_runtest_makereport(self, item: pytest.Item) -> Generator[None, Any, Any]:
        """Attach the result to the report of one of our items."""
        report = yield
        if active_evaluation(self._config) is not None:
            from pytest_mindtrial.plugin.items import TaskItem
            from pytest_mindtrial.plugin.properties import add_properties
            from pytest_mindtrial.plugin.reporting import add_result

            if isinstance(item, TaskItem):
                add_result(item, report)
                add_properties(item, report)
        return report

    @pytest.hookimpl(tryfirst=True)
    def pytest_runtest_logreport(self, report: pytest.TestReport) -> None:
        """Record a result as its report arrives; reports of workers pass here too."""
        evaluation = active_evaluation(self._config)
        if evaluation is None and not hasattr(report, "mindtrial"):
            return
        from pytest_mindtrial.plugin.evaluation import evaluation_of
        from pytest_mindtrial.plugin.reporting import take_report

        evaluation = evaluation_of(self._config)
        result = take_report(evaluation, report)
        if result is not None and not evaluation.is_worker:
            if evaluation.keeper is not None:
                evaluation.keeper.reported(result)
            self._config.hook.pytest_mt_attempt_finished(result=result)

    def pytest_keyboard_interrupt(self, excinfo: pytest.ExceptionInfo[BaseException]) -> None:
        """Remember that the user, or code that calls `pytest.exit`, stopped the session."""
        is_exit = isinstance(excinfo.value, pytest.exit.Exception)
        self._interrupted = f"stopped: {excinfo.value}" if is_exit else "interrupted from the keyboard"

    @pytest.hookimpl(tryfirst=True)
    def pytest_sessionfinish(self, session: pytest.Session, exitstatus: int) -> None:
        """Stop the engine and write the reports; a session that loses one of them is not green."""
        evaluation = active_evaluation(self._config)
        if evaluation is None:
            return
        from pytest_mindtrial.plugin.lifecycle import finish

        self._written = finish(evaluation, session, int(exitstatus), self._interrupted)
        if self._written is not None and self._written.problems and exitstatus == pytest.ExitCode.OK:
            session.exitstatus = pytest.ExitCode.TESTS_FAILED

    def pytest_terminal_summary(self, terminalreporter: Any, exitstatus: int) -> None:
        """Print the table of results and where the reports are."""
        evaluation = active_evaluation(self._config)
        if evaluation is None and exitstatus == pytest.ExitCode.NO_TESTS_COLLECTED:
            from pytest_mindtrial.plugin.hints import missed_file_hint

            if hint := missed_file_hint(self._config):
                terminalreporter.write_line(hint)
        if evaluation is None or self._written is None:
            return
        from pytest_mindtrial.plugin.terminal import print_summary

        print_summary(terminalreporter, evaluation, self._written)

    def pytest_unconfigure(self) -> None:
        """Spare pytest's last collections of garbage, and Python's at its exit, the walk over thousands of items."""
        evaluation = active_evaluation(self._config)
        if evaluation is not None and evaluation.is_alone:
            from pytest_mindtrial.plugin.garbage import python_exit, set_aside

            evaluation.at_end.append(set_aside())
            python_exit.spare()

    def _end(self) -> None:
        evaluation = self._config.stash.get(EVALUATION, None)
        while evaluation is not None and evaluation.at_end:
            evaluation.at_end.pop()()
