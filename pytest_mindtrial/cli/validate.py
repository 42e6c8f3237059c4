"""``mindtrial validate``: everything that can be checked without a model, and what a run would cost.

Does not need keys and sends nothing. Source: issue "From results to decisions"; design D9.
"""

from __future__ import annotations

import subprocess
import sys
from collections.abc import Sequence
from pathlib import Path

from pytest_mindtrial.cli.arguments import CommandParser
from pytest_mindtrial.cli.console import print_document, say
from pytest_mindtrial.cli.inputs import read_results
from pytest_mindtrial.core.display import one_line
from pytest_mindtrial.core.errors import ConfigError
from pytest_mindtrial.results.forecast import Item, forecast_cost
from pytest_mindtrial.suite.model import Config

__all__ = ["run"]


def run(arguments: Sequence[str]) -> int:
    """Run the command; 1 when pytest cannot collect the files."""
    parser = CommandParser("validate", "Check configuration and task files without any model call.")
    parser.add_argument("tasks", nargs="*", metavar="TASKS", help="task files (default: the configuration's)")
    parser.add_argument("--config", default="config.yaml", metavar="FILE", help="(default: config.yaml)")
    parser.add_argument("--baseline", metavar="RESULTS", help="earlier results to forecast the cost from")
    options = parser.parse_args(arguments)
    from pytest_mindtrial.suite.config import load_config  # pydantic is needed only here

    config = load_config(Path(options.config))
    files = options.tasks or ([config.task_source] if config.task_source else [])
    if not files:
        raise ConfigError(f"{options.config} names no task-source; name task files")
    lines, items = [], []
    for file in files:
        found, line = _items(config, file)
        items += found
        lines.append(line)
    if not _is_collected(files, options.config):
        return 1
    if options.baseline:
        lines.append(f"cost forecast: {forecast_cost(items, read_results(options.baseline))}")
    else:
        lines.append("cost forecast: unknown without --baseline")
    print_document("\n".join(lines) + "\n")
    return 0


def _items(config: Config, file: str) -> tuple[list[Item], str]:
    from pytest_mindtrial.suite.tasks import load_suite

    tasks = [task for task in load_suite(Path(file)).tasks if not task.disabled]
    runs = [
        (entry.provider, entry.name) for provider in config.providers for entry in provider.runs if not entry.disabled
    ]
    attempts = sum(task.repeat or 1 for task in tasks)
    items = [(*run, task.name) for task in tasks for run in runs for _ in range(task.repeat or 1)]
    return items, f"{one_line(file)}: {attempts} tasks × {len(runs)} runs = {len(items)} items, valid"


def _is_collected(files: Sequence[str], config: str) -> bool:
    # A session that only collects writes nothing: earlier results stay untouched.
    command = [sys.executable, "-m", "pytest", "--collect-only", "-q", *files, f"--mt-config={config}"]
    done = subprocess.run(command, capture_output=True, check=False)
    # Status 5: everything is disabled, which is valid.
    if done.returncode in (0, 5):
        return True
    say(done.stdout.decode(errors="replace") + done.stderr.decode(errors="replace"))
    return False
