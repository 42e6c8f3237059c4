"""Reports of items, and the files written at the end of the session.

Our own outcomes become test reports here, without rendering a traceback first: ten thousand items of a dead server must
not cost 50 ms each. Does not render documents (``results``, ``report``). Source: spec pytest 6 and 7.
"""

from __future__ import annotations

import time
from collections.abc import Callable, Iterable, Mapping
from pathlib import Path
from typing import TYPE_CHECKING, Any, Literal

import pytest

from pytest_mindtrial.core.errors import UserError
from pytest_mindtrial.core.record import Result
from pytest_mindtrial.plugin._compat import captured_sections
from pytest_mindtrial.plugin.failure import failure_text, report_sections
from pytest_mindtrial.plugin.items import NoAnswer, TaskItem, WrongAnswer
from pytest_mindtrial.plugin.transport import pack

if TYPE_CHECKING:
    from pytest_mindtrial.plugin.early_reports import EarlyReports
    from pytest_mindtrial.plugin.evaluation import Evaluation

_EARLY_S = 0.001
"""Longest that xdist's controller renders after each report; it learns nothing of gaps, and has little else to do."""

__all__ = ["WrittenReports", "add_result", "make_report", "take_report", "write_reports"]


def make_report(item: TaskItem, call: pytest.CallInfo[None]) -> pytest.TestReport | None:
    """Return the report of a phase whose outcome is ours; None lets pytest make it."""
    error = call.excinfo.value if call.excinfo is not None else None
    if isinstance(error, WrongAnswer | NoAnswer):
        style = item.config.getoption("tbstyle", "auto")
        return _report(item, call, "failed", failure_text(item, error.result, style))
    if isinstance(error, pytest.skip.Exception) and item.result is not None and call.when == "setup":
        path, line, _ = item.reportinfo()
        return _report(item, call, "skipped", (str(path), line + 1, f"Skipped: {error.msg}"))
    return None


def _report(
    item: TaskItem, call: pytest.CallInfo[None], outcome: Literal["failed", "skipped"], longrepr: Any
) -> pytest.TestReport:
    when: Any = call.when
    keywords: Mapping[str, Literal[1]] = dict.fromkeys(item.keywords, 1)
    return pytest.TestReport(
        nodeid=item.nodeid,
        location=item.location,
        keywords=keywords,
        outcome=outcome,
        longrepr=longrepr,
        when=when,
        sections=captured_sections(item),
        duration=call.duration,
        start=call.start,
        stop=call.stop,
        user_properties=item.user_properties,
    )


def add_result(item: TaskItem, report: pytest.TestReport) -> None:
    """Complete the report of one of our items: own duration, long sections, and the result itself."""
    result = item.result
    if result is None:
        return
    # pytest keeps every report until the end: three times the same words per item would be a kilobyte more.
    report.keywords = item.report_keywords
    if report.when == "setup":
        # The attempt's own model time, not the time pytest waited for it: --durations and junit tell the truth even
        # when the attempt ran ahead.
        report.duration = result.duration_ns / 1e9
    if report.outcome == "failed":
        redact = item.evaluation.keeper.redact if item.evaluation.keeper else str
        own = [(title, redact(text)) for title, text in report_sections(result)]
        report.sections = [*own, *report.sections]
    if report.when == "call" or (report.when == "setup" and report.outcome != "passed"):
        evaluation = item.evaluation
        if evaluation.is_worker:
            journal = evaluation.runner.journal_path if evaluation.runner else None
            report.mindtrial = pack(result, journal)  # type: ignore[attr-defined]
        else:
            evaluation.hold(report.nodeid, result)


def take_report(evaluation: Evaluation, report: pytest.TestReport) -> Result | None:
    """Record the result of a report (single process or controller)."""
    result = _result_of(evaluation, report)
    if result is None and report.skipped and "mindtrial" in report.keywords and _is_of_suite(report.nodeid):
        evaluation.left_out.add(report.nodeid)  # by a mark of the user's: there was no attempt and none is missing
    return result


def _is_of_suite(nodeid: str) -> bool:
    return nodeid.partition("::")[0].endswith((".yaml", ".yml"))


def _result_of(evaluation: Evaluation, report: pytest.TestReport) -> Result | None:
    controller = evaluation.controller
    if controller is not None:
        sent = getattr(report, "mindtrial", None)
        phase: str = report.when
        result = controller.unpack(sent) if sent else controller.crashed(report) if phase == "???" else None
        if result is not None:
            evaluation.add(result)
            ends_at = time.monotonic() + _EARLY_S
            evaluation.early_reports.work(lambda: time.monotonic() > ends_at)
        return result
    return evaluation.reported(report.nodeid)


class WrittenReports:
    """What was written at the end, and what could not be."""

    def __init__(self) -> None:
        self.paths: list[tuple[str, Path]] = []
        self.problems: list[str] = []


def write_reports(evaluation: Evaluation, incomplete: str) -> WrittenReports:
    """Write the reports that the settings ask for; a report that fails does not stop the others.

    Args:
        evaluation: The session's state.
        incomplete: Why the evaluation is incomplete; blank when it is complete.
    """
    from pytest_mindtrial.plugin.outputs import Outputs
    from pytest_mindtrial.results.files import write_atomically

    settings = evaluation.settings
    info = evaluation.info(complete=not incomplete, reason=incomplete)
    keeper = evaluation.keeper
    outputs = keeper.outputs if keeper else Outputs(evaluation)
    early = evaluation.early_reports
    results = early.results()
    written = WrittenReports()
    reports: tuple[tuple[str, bool, Callable[[Any, Any, EarlyReports], Iterable[str]]], ...] = (
        ("json", settings.json, _json),
        ("csv", settings.csv, _csv),
        ("html", settings.html, _html),
    )
    for name, wanted, render in reports:
        if not wanted:
            continue
        path = outputs.file(f".{name}")
        try:
            write_atomically(path, render(results, info, early))
        except UserError as error:
            written.problems.append(str(error))
        else:
            written.paths.append((name, path))
    if keeper is not None and keeper.problem:
        written.problems.append(keeper.problem)
    if keeper is not None and keeper.journal_path is not None:
        written.paths.append(("journal", keeper.journal_path))
    hook = evaluation.pytest_config.hook.pytest_mt_write_reports
    try:
        for path in map(Path, hook(results=tuple(results), evaluation=info, stem=outputs.stem)):
            written.paths.append((path.suffix.lstrip(".") or "report", path))
    except Exception as error:  # the user's code; the table and the other reports must not suffer from it
        from pytest_mindtrial.plugin.hook_calls import blame

        written.problems.append(blame("pytest_mt_write_reports", error))
    return written


def _json(results: Any, info: Any, early: EarlyReports) -> Iterable[str]:
    from pytest_mindtrial.results.json_writer import json_pieces

    return json_pieces(results, info, early.entry)


def _csv(results: Any, info: Any, early: EarlyReports) -> Iterable[str]:
    from pytest_mindtrial.results.csv_writer import csv_pieces

    return csv_pieces(results, early.row)


def _html(results: Any, info: Any, early: EarlyReports) -> Iterable[str]:
    from pytest_mindtrial.report.html import html_pieces

    return html_pieces(results, info, early.body)
