"""``mindtrial history``: record evaluations and ask what they tell together.

Does not query (``results/history.py``). Source: issue "From results to decisions".
"""

from __future__ import annotations

import argparse
import dataclasses
from collections.abc import Callable, Sequence
from datetime import datetime
from pathlib import Path
from typing import Any

from pytest_mindtrial.cli.arguments import CommandParser
from pytest_mindtrial.cli.console import print_document, say
from pytest_mindtrial.cli.inputs import read_results
from pytest_mindtrial.core.display import one_line
from pytest_mindtrial.core.errors import ResultsError
from pytest_mindtrial.core.jsontext import compact_json
from pytest_mindtrial.results.history import History, open_history
from pytest_mindtrial.results.text_table import text_table

__all__ = ["DEFAULT_FILE", "run"]

DEFAULT_FILE = "mindtrial-history.db"


def run(arguments: Sequence[str]) -> int:
    """Run the command."""
    options = _parser().parse_args(arguments)
    action: Callable[[argparse.Namespace], list[Any]] = options.function
    rows = action(options)
    print_document("".join(map(_json_line, rows)) if options.format == "jsonl" else _table(rows))
    return 0


def _parser() -> CommandParser:
    parser = CommandParser("history", "Keep evaluations in an SQLite file and learn from many of them.")
    parser.add_argument("--file", default=DEFAULT_FILE, metavar="FILE", help=f"history file (default: {DEFAULT_FILE})")
    parser.add_argument("--format", choices=("text", "jsonl"), default="text", help="(default: text)")
    actions = parser.add_subparsers(required=True, metavar="ACTION")
    add = actions.add_parser("add", help="record result files, each as one evaluation")
    add.add_argument("results", nargs="+", metavar="RESULTS", help="JSON or journal")
    add.add_argument("--label", default="", help="your word for it, such as a commit")
    add.set_defaults(function=_add)
    actions.add_parser("list", help="list the evaluations").set_defaults(function=_list)
    trend = actions.add_parser("trend", help="what became of each task, evaluation by evaluation")
    trend.add_argument("--task", default="", help="only this task")
    trend.add_argument("--provider", default="", help="only this provider")
    trend.add_argument("--run", default="", help="only this run")
    trend.add_argument("--last", type=int, default=0, metavar="N", help="only the newest N evaluations")
    trend.set_defaults(function=_trend)
    actions.add_parser("flaky", help="tasks one run answers now rightly, now wrongly").set_defaults(function=_flaky)
    stale = actions.add_parser("stale", help="tasks that every run always passes or always fails")
    stale.add_argument("--at-least", type=int, default=4, metavar="N", help="results needed per task (default: 4)")
    stale.set_defaults(function=_stale)
    forget = actions.add_parser("forget", help="delete one evaluation")
    forget.add_argument("id", type=int, help="its number in the list")
    forget.set_defaults(function=_forget)
    return parser


def _add(options: argparse.Namespace) -> list[Any]:
    now = datetime.now().astimezone()
    loaded = [(path, read_results(path)) for path in options.results]
    with open_history(Path(options.file)) as history:
        for path, results in loaded:
            is_new = history.add(results, recorded_at=now, label=options.label, source=path)
            say(f"{path}: {len(results)} results recorded" if is_new else f"{path}: these results are recorded already")
    return []


def _list(options: argparse.Namespace) -> list[Any]:
    return _ask(options, lambda history: history.evaluations())


def _trend(options: argparse.Namespace) -> list[Any]:
    return _ask(
        options,
        lambda history: history.trend(
            task=options.task, provider=options.provider, run=options.run, last=max(0, options.last)
        ),
    )


def _flaky(options: argparse.Namespace) -> list[Any]:
    return _ask(options, lambda history: history.flaky())


def _stale(options: argparse.Namespace) -> list[Any]:
    return _ask(options, lambda history: history.stale(at_least=options.at_least))


def _forget(options: argparse.Namespace) -> list[Any]:
    def forget(history: History) -> list[Any]:
        if not history.forget(options.id):
            raise ResultsError(f"there is no evaluation {options.id}; see `mindtrial history list`")
        return []

    return _ask(options, forget)


def _ask(options: argparse.Namespace, question: Callable[[History], list[Any]]) -> list[Any]:
    path = Path(options.file)
    if not path.exists():
        raise ResultsError(f"there is no history file {path}; record results with `mindtrial history add`")
    with open_history(path) as history:
        return question(history)


def _json_line(row: Any) -> str:
    return compact_json(dataclasses.asdict(row)) + "\n"


def _table(rows: Sequence[Any]) -> str:
    if not rows:
        return ""
    names = [field.name for field in dataclasses.fields(rows[0])]
    return text_table([names, *([one_line(str(getattr(row, name))) for name in names] for row in rows)])
