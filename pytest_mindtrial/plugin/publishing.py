"""Where the outcome of a session goes at its end: gate arithmetic, Markdown report, CI job summary, history.

Does not decide (``plugin/gates.py``) and does not render (``results/markdown.py``, ``plugin/github.py``). One place
that cannot be written does not stop the others. Source: issue "From results to decisions"; design D16, D17.
"""

from __future__ import annotations

import os
from dataclasses import dataclass, field
from pathlib import Path
from typing import TYPE_CHECKING, Any

from pytest_mindtrial.core.display import one_line
from pytest_mindtrial.core.errors import UserError
from pytest_mindtrial.core.jsontext import pretty_json
from pytest_mindtrial.plugin import github
from pytest_mindtrial.plugin.outputs import Outputs
from pytest_mindtrial.results.files import write_atomically
from pytest_mindtrial.results.gates import Answer

if TYPE_CHECKING:
    from collections.abc import Callable, Sequence

    from pytest_mindtrial.core.record import Result
    from pytest_mindtrial.plugin.evaluation import Evaluation
    from pytest_mindtrial.results.compare import Comparison
    from pytest_mindtrial.results.evaluation import EvaluationInfo
    from pytest_mindtrial.results.gate_decision import Decision

__all__ = ["Publication", "publish"]

_COLOURS = {Answer.GREEN: "green", Answer.RED: "red", Answer.UNDECIDED: "yellow"}


@dataclass(slots=True)
class Publication:
    """What the terminal says about the end.

    Attributes:
        decision: The gates' lines; empty without gates.
        answer: The gates' answer; None without gates.
        paths: Name and path of what was written.
        problems: What could not be written.
        annotations: Lines for GitHub's runner.
    """

    decision: list[str] = field(default_factory=list)
    answer: Answer | None = None
    paths: list[tuple[str, str]] = field(default_factory=list)
    problems: list[str] = field(default_factory=list)
    annotations: list[str] = field(default_factory=list)

    def print_to(self, reporter: Any) -> None:
        """Print, whatever the verbosity: a gate never decides silently."""
        for line in self.decision[:-1]:
            reporter.write_line(line)
        for line in self.decision[-1:]:
            reporter.write_line(line, bold=True, **{_COLOURS[self.answer or Answer.UNDECIDED]: True})
        for name, path in self.paths:
            reporter.write_line(f"{name + ':':<8} {one_line(path)}")
        for problem in self.problems:
            reporter.write_line(f"not written: {one_line(problem)}", red=True, bold=True)
        for line in self.annotations:
            reporter.write_line(line)


def publish(evaluation: Evaluation, decision: Decision | None, comparison: Comparison | None) -> Publication:
    """Write what the settings and the environment ask for.

    Args:
        evaluation: The session's state, its results final.
        decision: Of the gates; None without gates.
        comparison: With the baseline; None without one.
    """
    publication = Publication()
    settings = evaluation.settings
    if decision is not None and decision.answer is not None:
        publication.decision, publication.answer = decision.lines, decision.answer
        _write_arithmetic(evaluation, decision, publication)
    summary = os.environ.get("GITHUB_STEP_SUMMARY", "")
    if not (settings.markdown or settings.history or summary or github.is_runner()):
        return publication
    results = evaluation.early_reports.results()
    info = evaluation.final_info or evaluation.info()
    if settings.markdown or summary:
        text = _markdown(results, info, decision, comparison)
        if settings.markdown:
            path = settings.markdown
            _attempt(publication, "markdown", evaluation.shown(path), lambda: write_atomically(path, text))
        if summary:
            _attempt(publication, "", "", lambda: github.append_summary(Path(summary), text))
    if settings.history and results:
        path = settings.history
        _attempt(publication, "history", evaluation.shown(path), lambda: _record(path, results, info, evaluation))
    if github.is_runner():
        is_green = decision is not None and decision.answer is Answer.GREEN
        publication.annotations = github.annotation_lines(results, evaluation.invocation_dir, is_green=is_green)
    return publication


def _attempt(publication: Publication, name: str, shown: str, write: Callable[[], None]) -> None:
    try:
        write()
    except UserError as error:
        publication.problems.append(str(error))
    else:
        if name:
            publication.paths.append((name, shown))


def _write_arithmetic(evaluation: Evaluation, decision: Decision, publication: Publication) -> None:
    keeper = evaluation.keeper
    path = (keeper.outputs if keeper else Outputs(evaluation)).file(".gates.json")
    text = pretty_json(decision.as_object()) + "\n"
    _attempt(publication, "gates", evaluation.shown(path), lambda: write_atomically(path, text))


def _markdown(
    results: Sequence[Result], info: EvaluationInfo, decision: Decision | None, comparison: Comparison | None
) -> str:
    from pytest_mindtrial.results.markdown import render_markdown

    return render_markdown(results, info, decision, comparison)


def _record(path: Path, results: Sequence[Result], info: EvaluationInfo, evaluation: Evaluation) -> None:
    from pytest_mindtrial.results.history import open_history

    label = "" if info.is_complete else "incomplete"
    source = ", ".join(info.suites)
    with open_history(path) as history:
        history.add(results, recorded_at=evaluation.started_at, label=label, source=source)
