"""``--mt-plan``: what the selected items would take, printed instead of running them.

Sends nothing and needs no key. Does not forecast (``results/planning.py``). Source: field pain 7.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Sequence
from pathlib import Path
from typing import TYPE_CHECKING, Any

import pytest

from pytest_mindtrial.core.display import one_line
from pytest_mindtrial.core.errors import ConfigError, ResultsError
from pytest_mindtrial.core.jsontext import compact_json
from pytest_mindtrial.core.weight import MEDIA_WEIGHT
from pytest_mindtrial.engine.clients import find_variant
from pytest_mindtrial.engine.estimate import CHARACTERS_PER_TOKEN, max_output_tokens
from pytest_mindtrial.plugin.outputs import Outputs
from pytest_mindtrial.results.planning import Band, PlannedItem, RunForecast, forecast_runs
from pytest_mindtrial.results.summary import money, tokens
from pytest_mindtrial.results.text_table import text_table

if TYPE_CHECKING:
    from pytest_mindtrial.core.record import Result
    from pytest_mindtrial.plugin.evaluation import Evaluation
    from pytest_mindtrial.plugin.items import TaskItem
    from pytest_mindtrial.suite.model import FileRef, Provider, Run, Task

__all__ = ["print_plan"]

_WRAPPER_CHARACTERS = 400
"""What structured output adds to every request: the agreed structure and its names."""

_JUDGE_CHARACTERS = 1_600
"""The built-in question to a judge, without the texts that are filled in."""

_ANSWER_CHARACTERS = 800
_FREE = ("mock", "local")


def print_plan(evaluation: Evaluation, items: list[TaskItem]) -> None:
    """Print the forecast of the items that would run.

    Raises:
        pytest.UsageError: The journal to learn from, or to resume, cannot be read.
    """
    resume = evaluation.resume_of(items)
    reused = resume.reused() if resume is not None else {}
    left = [item for item in items if item.nodeid not in reused]
    learned_from, past = _past(evaluation)
    unknown: list[str] = []
    planned = [part for item in left for part in _planned(item, unknown)]
    forecasts = forecast_runs(planned, past)
    reporter: Any = evaluation.pytest_config.pluginmanager.get_plugin("terminalreporter")
    reporter.section("mindtrial plan (nothing was sent)")
    for line in _table(forecasts):
        reporter.write_line(line)
    for line in _notes(evaluation, forecasts, left, learned_from, unknown):
        reporter.write_line(line)


def _past(evaluation: Evaluation) -> tuple[list[Path], list[Result]]:
    """Return the files that the forecast learns from, and their results: the history, and a journal."""
    settings = evaluation.settings
    journal = settings.plan_journal or settings.resume
    found = Outputs(evaluation).journal
    files: list[Path] = []
    past: list[Result] = []
    try:
        if settings.history is not None and settings.history.is_file():
            past += _history(settings.history)
            files.append(settings.history)
        if journal is not None or found.is_file():
            past += _journal(journal or found, is_given=journal is not None)
            files.append(journal or found)
    except ResultsError as error:
        raise pytest.UsageError(str(error)) from None
    return files, past


def _journal(path: Path, *, is_given: bool) -> Sequence[Result]:
    from pytest_mindtrial.results.journal_reader import read_journal

    try:
        return read_journal(path).results
    except ResultsError:
        if is_given:
            raise
        return ()


def _history(path: Path) -> Sequence[Result]:
    from pytest_mindtrial.results.history import open_history

    with open_history(path) as history:
        return history.token_counts()


def _planned(item: TaskItem, unknown: list[str]) -> Iterator[PlannedItem]:
    """Yield the attempt of an item and its judgement; what cannot be told is added to ``unknown``."""
    task = item.task
    characters = _WRAPPER_CHARACTERS + len(task.prompt) + len(task.system_prompt or "")
    if not isinstance(task.response_format, str):
        characters += len(compact_json(task.response_format))
    characters += sum(_file_weight(file, unknown) for file in task.files if file.is_native)
    if task.tools:
        unknown.append("how often tools are called: every call is one more request with all that was said before")
    yield _part(item.provider, item.run, item.run.name, task, characters)
    if task.rules.method == "semantic":
        try:
            judge, run = find_variant(item.suite_config.judges, task.rules.judge)
        except ConfigError as error:
            unknown.append(str(error))
            return
        told = len(task.prompt) + sum(len(str(value)) for value in task.expected) + _ANSWER_CHARACTERS
        name = f"{judge.name} {run.name}"
        yield _part(judge.provider, run, name, task, _JUDGE_CHARACTERS + told)


def _part(provider: Provider, run: Run, name: str, task: Task, characters: int) -> PlannedItem:
    return PlannedItem(
        provider.name,
        name,
        task.name,
        -(-characters // CHARACTERS_PER_TOKEN),
        max_output_tokens(run.parameters),
        run.pricing,
        run.pricing.currency if run.pricing else "",
        is_free=provider.name in _FREE,
    )


def _file_weight(file: FileRef, unknown: list[str]) -> int:
    from pytest_mindtrial.suite.files import FileStore, local_path

    path = local_path(file)
    if path is None:
        unknown.append("the size of remote files, which are not fetched for a plan")
        return MEDIA_WEIGHT
    is_text = FileStore().infer_mime(file).startswith("text/")
    try:
        return path.stat().st_size if is_text else MEDIA_WEIGHT
    except OSError:
        unknown.append(f"file {file.name!r} of a task cannot be read")
        return 0


def _table(forecasts: Iterable[RunForecast]) -> list[str]:
    head = ["provider", "run", "items", "requests", "tokens in", "tokens out", "cost", "basis"]
    rows = [
        [
            forecast.provider,
            forecast.run,
            str(forecast.items),
            _band(forecast.requests),
            _band(forecast.input),
            _band(forecast.output),
            _cost(forecast),
            forecast.basis,
        ]
        for forecast in forecasts
    ]
    return text_table([head, *([one_line(cell) for cell in row] for row in rows)]).splitlines()


def _band(band: Band) -> str:
    low, high = (round(end) for end in band.interval)
    expected = round(band.expected)
    return tokens(expected) if low == high == expected else f"{tokens(expected)} ({tokens(low)}–{tokens(high)})"


def _cost(forecast: RunForecast) -> str:
    cost = forecast.cost
    if cost is None:
        return "unknown"
    if cost.expected == 0:
        return "0"
    low, high = cost.interval
    return f"{money(cost.expected, forecast.currency)} ({money(low, '')}–{money(high, '')})"


def _notes(
    evaluation: Evaluation,
    forecasts: Sequence[RunForecast],
    items: Sequence[TaskItem],
    learned_from: Sequence[Path],
    unknown: Iterable[str],
) -> Iterator[str]:
    yield from _totals(forecasts)
    files = ", ".join(map(evaluation.shown, learned_from))
    yield f"learned from: {files or 'nothing; no earlier journal was found'}"
    without = [f"{forecast.provider} {forecast.run}" for forecast in forecasts if forecast.cost is None]
    if without:
        yield f"not known: the prices of {', '.join(without)}"
    for text in dict.fromkeys(unknown):
        yield f"not known: {text}"
    if any(item.run.retry_policy is not None for item in items):
        yield "not known: how many requests will have to be repeated"
    if evaluation.settings.cache is not None:
        yield "not known: which replies are in the response cache; they would cost nothing"


def _totals(forecasts: Sequence[RunForecast]) -> Iterator[str]:
    """Yield one total per currency; amounts of different currencies are never added up."""
    for currency in dict.fromkeys(forecast.currency for forecast in forecasts if forecast.currency):
        known = [forecast.cost for forecast in forecasts if forecast.currency == currency and forecast.cost is not None]
        total = sum(known, Band())
        low, high = total.interval
        is_part = any(forecast.cost is None for forecast in forecasts)
        scope = "total of the runs with prices" if is_part else "total"
        yield f"{scope}: {money(total.expected, currency)}, probably {money(low, '')} to {money(high, currency)}"
