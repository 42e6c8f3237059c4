"""``mindtrial run``: MindTrial's flags as one pytest invocation in a process of its own.

Does not run tasks itself and imports no pytest. Exit styles: ``mindtrial`` (0 when the evaluation finished, also with
failed tasks; 1 on fatal errors; 3 when results or the log could not be written) and ``pytest`` (its status, gates
included). What follows ``--`` goes to pytest unchanged. Source: spec mindtrial 7.6 and 9.
"""

from __future__ import annotations

import shutil
import sys
import tempfile
from pathlib import Path

from pytest_mindtrial.cli.console import print_document, say
from pytest_mindtrial.cli.flags import Flags
from pytest_mindtrial.cli.outputs import OutputError
from pytest_mindtrial.cli.process import run_pytest
from pytest_mindtrial.core.errors import ConfigError
from pytest_mindtrial.suite.model import Config
from pytest_mindtrial.suite.suggest import near_match

__all__ = ["run"]

_STYLES = ("mindtrial", "pytest")
_FINISHED = (0, 1)
_NOTHING_COLLECTED = 5


def run(flags: Flags) -> int:
    """Run the command; returns the exit status in the chosen style."""
    style = flags.text("exit-style")
    if style not in _STYLES:
        raise ConfigError(f"invalid exit-style: {style!r}; allowed: {', '.join(_STYLES)}{near_match(style, _STYLES)}")
    if flags.is_on("interactive") and not sys.stdout.isatty():
        raise ConfigError("interactive mode requires a terminal environment")
    from pytest_mindtrial.suite.config import load_config  # pydantic is needed only here

    path = Path(flags.text("config"))
    config = load_config(path)
    tasks = flags.text("tasks") or config.task_source
    if not tasks:
        raise ConfigError(f"{path} names no task-source; give --tasks")
    say(f"Working directory: {Path.cwd()}")
    say(f"Configuration: {path.resolve()}")
    say(f"Tasks: {Path(tasks).resolve()}")
    is_enabled = any(not entry.disabled for provider in config.providers for entry in provider.runs)
    if not is_enabled and not flags.is_on("interactive"):  # on the screen, disabled runs can be chosen
        print("Nothing to run: every run is disabled.")
        return 0
    is_to_stdout = "output-basename" in flags.given and not flags.text("output-basename").strip()
    status = _run_to_stdout(flags, tasks) if is_to_stdout else _run_to_files(flags, tasks, config)
    return status if style == "pytest" else _mindtrial_status(status)


def _mindtrial_status(status: int) -> int:
    if status == _NOTHING_COLLECTED:
        print("Nothing to run: no task is enabled.")
        return 0
    return 0 if status in _FINISHED else 1


def _run_to_files(flags: Flags, tasks: str, config: Config) -> int:
    arguments = _arguments(flags, tasks)
    if flags.text("output-dir"):
        arguments.append(f"--mt-output-dir={flags.text('output-dir')}")
    if flags.text("output-basename"):
        arguments.append(f"--mt-output-basename={flags.text('output-basename')}")
    log = flags.text("log") or config.log_file
    if log and flags.is_on("interactive"):
        say(f"{log}: not written, because screens leave nothing to copy")
        log = ""
    return run_pytest([*arguments, *flags.rest], log=log)


def _run_to_stdout(flags: Flags, tasks: str) -> int:
    """Run with the reports in a folder of our own and print them afterwards; pytest's own output goes to stderr."""
    folder = Path(tempfile.mkdtemp(prefix="mindtrial-"))
    arguments = [*_arguments(flags, tasks), f"--mt-output-dir={folder}", "--mt-output-basename=results", *flags.rest]
    status = run_pytest(arguments, log=flags.text("log"), is_to_stderr=True)
    if status not in _FINISHED:
        say(f"The session did not finish; what is known stands in {folder}")
        return status
    for name in ("html", "csv", "json"):
        if flags.is_on(name):
            print_document(_read(folder / f"results.{name}"))
    shutil.rmtree(folder, ignore_errors=True)
    return status


def _read(path: Path) -> str:
    try:
        return path.read_text(encoding="utf-8")
    except OSError as error:
        raise OutputError(f"the session wrote no {path.name}: {error.strerror}") from error


def _arguments(flags: Flags, tasks: str) -> list[str]:
    arguments = [tasks, f"--mt-config={flags.text('config')}"]
    arguments += [f"--mt-{name}={'true' if flags.is_on(name) else 'false'}" for name in ("html", "csv", "json")]
    if flags.text("evaluation-seed"):
        arguments.append(f"--mt-seed={flags.text('evaluation-seed')}")
    if flags.is_on("interactive"):
        arguments.append("--mt-interactive")
    if flags.is_on("debug"):
        arguments += ["-vv", "--log-level=DEBUG"]
    elif flags.is_on("verbose"):
        arguments.append("-v")
    return arguments
