"""Start and end of an evaluation within a pytest session.

Does not run attempts (``plugin/runner.py``) and does not print.
"""

from __future__ import annotations

import logging
from typing import TYPE_CHECKING

import pytest

from pytest_mindtrial.plugin._compat import log_handlers
from pytest_mindtrial.plugin.garbage import paused, set_aside
from pytest_mindtrial.plugin.items import TaskItem

if TYPE_CHECKING:
    from pytest_mindtrial.plugin.evaluation import Evaluation
    from pytest_mindtrial.plugin.reporting import WrittenReports

__all__ = ["ENGINE_THREADS", "finish", "separate_logs", "start"]

ENGINE_THREADS = "mindtrial"
"""How the names of our threads begin."""


class _OtherThreads(logging.Filter):
    """Keeps records of engine threads out of the log of whatever item happens to be running."""

    def filter(self, record: logging.LogRecord) -> bool:
        """Drop records of threads whose name starts with ``mindtrial``."""
        return not (record.threadName or "").startswith(ENGINE_THREADS)


def start(evaluation: Evaluation, session: pytest.Session) -> bool | None:
    """Start the engine for the selected items, unless nothing is to run.

    Returns:
        True when a plan was printed instead and pytest's own loop must not run either; None otherwise.

    Raises:
        pytest.UsageError: A key is missing, or results cannot be written; nothing was sent.
    """
    option = session.config.option
    items = [item for item in session.items if isinstance(item, TaskItem)]
    evaluation.is_alone = len(items) == len(session.items)
    if evaluation.is_worker:
        return None  # it starts when it is sent something (plugin/xdist_worker.py)
    if not items or option.collectonly or getattr(option, "setupplan", False):
        return None
    if session.testsfailed and not option.continue_on_collection_errors:
        return None
    if evaluation.settings.is_plan:
        from pytest_mindtrial.plugin.planning import print_plan

        print_plan(evaluation, items)
        return True
    separate_logs(session.config)
    with paused():
        evaluation.start_runner(items)
    evaluation.expected = len({item.nodeid for item in items})
    if evaluation.is_alone:
        evaluation.collect_again = set_aside()
    from pytest_mindtrial.plugin.progress import start_progress  # the first requests are under way by now

    start_progress(evaluation)
    return None


def separate_logs(config: pytest.Config) -> None:
    """Keep what the engine's threads log out of the log of whatever item happens to be running."""
    for handler in log_handlers(config):
        handler.addFilter(_OtherThreads())


def finish(evaluation: Evaluation, session: pytest.Session, exitstatus: int, interrupted: str) -> WrittenReports | None:
    """Stop the engine and write the reports; returns None when nothing ran here or a worker ran it."""
    evaluation.collect_again()
    reason = _incomplete_reason(evaluation, session, exitstatus, interrupted)
    evaluation.final_info = evaluation.info(complete=not reason, reason=reason)
    if evaluation.runner is not None:
        evaluation.runner.close(evaluation.final_info)
    if evaluation.controller is not None:
        evaluation.controller.sort(evaluation.results)
    if evaluation.is_worker or not (evaluation.results or evaluation.expected):
        return None
    from pytest_mindtrial.plugin.reporting import write_reports

    with paused():
        return write_reports(evaluation, reason)


def _incomplete_reason(evaluation: Evaluation, session: pytest.Session, exitstatus: int, interrupted: str) -> str:
    reported = len({result.nodeid for result in evaluation.results})
    coverage = f"{reported} of {evaluation.awaited} items were reported"
    if interrupted:
        return f"{interrupted}; {coverage}"
    if reported < evaluation.awaited:
        cause = session.shouldfail or session.shouldstop or f"exit status {exitstatus}"
        return f"{cause}; {coverage}"
    if exitstatus not in (0, 1):
        return f"exit status {exitstatus}; {coverage}"
    return ""
