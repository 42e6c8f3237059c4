"""What the terminal shows: the header after collection and the summary at the end.

Does not compute statistics (``results/summary.py``).
"""

from __future__ import annotations

import shutil
from collections.abc import Collection, Sequence
from pathlib import Path
from typing import TYPE_CHECKING, Any

import pytest

from pytest_mindtrial.core.display import one_line
from pytest_mindtrial.plugin.concurrency import concurrency_text
from pytest_mindtrial.plugin.items import TaskItem
from pytest_mindtrial.plugin.outputs import Outputs

if TYPE_CHECKING:
    from pytest_mindtrial.plugin.evaluation import Evaluation
    from pytest_mindtrial.plugin.reporting import WrittenReports

__all__ = ["header_lines", "print_summary"]


def header_lines(evaluation: Evaluation, items: Sequence[pytest.Item]) -> list[str]:
    """Return one line on what will run, and the notes of collection; nothing under ``-q``."""
    config = evaluation.pytest_config
    ours = [item for item in items if isinstance(item, TaskItem)]
    resume = evaluation.resume_of(ours)
    explanation = resume.explanation() if resume is not None and evaluation.settings.explain else ()
    if config.option.verbose < 0:
        return list(explanation)
    if resume is not None:
        evaluation.note(resume.summary())
    tasks = {(item.path, item.task.name) for item in ours}
    runs = {(item.suite_config.path, item.run_key) for item in ours}
    counts = f"{_count(tasks, 'task')} × {_count(runs, 'run')} → {_count(ours, 'item')}"
    parts = [f"mindtrial: {counts}"]
    if not config.option.collectonly:
        parts += [
            f"seed {one_line(evaluation.seed)}",  # whole, so that it can be given to --mt-seed
            f"concurrency {concurrency_text(evaluation.settings.concurrency)}",
            f"results → {evaluation.shown(Outputs(evaluation).directory)}",
        ]
    return [" · ".join(parts), *(f"mindtrial: {note}" for note in evaluation.notes), *explanation]


def print_summary(reporter: Any, evaluation: Evaluation, written: WrittenReports) -> None:
    """Print the results table, where the reports are, and what could not be written."""
    from pytest_mindtrial.results.repeats import repeat_lines, summarize_repeats
    from pytest_mindtrial.results.spending import spending_notes
    from pytest_mindtrial.results.statistics import summarize
    from pytest_mindtrial.results.summary import coverage_line, notes, terminal_table

    if evaluation.results and evaluation.pytest_config.option.verbose > -2:
        summaries = summarize(evaluation.results)
        reporter.write_sep("=", "mindtrial")
        for line in terminal_table(summaries, _width()):
            reporter.write_line(line)
        spent = spending_notes(evaluation.results)
        info = evaluation.final_info
        is_whole = not reporter.stats.get("deselected") and (info is None or info.is_complete)
        remarks = notes(summaries, is_whole=is_whole)
        for line in (coverage_line(len(evaluation.results), evaluation.awaited), *spent, *remarks):
            if line:
                reporter.write_line(line)
        for line in repeat_lines(summarize_repeats(evaluation.results)):
            reporter.write_line(line)
    runner = evaluation.runner
    if runner is not None and runner.inline_reasons:
        names = ", ".join(sorted(runner.inline_reasons))
        reporter.write_line(f"ran one after another because of your fixtures: {names}")
    keeper = evaluation.keeper
    if keeper is not None and keeper.exhausted:
        left = evaluation.awaited - len(evaluation.results)
        reporter.write_line(f"not run: {left} items: {keeper.exhausted}", red=True, bold=True)
    if evaluation.final_info is not None and not evaluation.final_info.is_complete:
        reporter.write_line(f"incomplete: {evaluation.final_info.incomplete_reason}", red=True, bold=True)
    for note in keeper.notes if keeper is not None else ():
        reporter.write_line(note)
    for name, path in written.paths:
        reporter.write_line(f"{name + ':':<9}{_shown(evaluation, path)}")
    for problem in written.problems:
        reporter.write_line(f"not written: {problem}", red=True, bold=True)


def _count(things: Collection[object], name: str) -> str:
    return f"{len(things)} {name}{'' if len(things) == 1 else 's'}"


def _shown(evaluation: Evaluation, path: Path) -> str:
    return evaluation.shown(path)


def _width() -> int:
    return shutil.get_terminal_size((120, 24)).columns
