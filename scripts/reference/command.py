"""Pages about the ``mindtrial`` command and the exceptions, from the tables and docstrings.

Does not run an evaluation; the help of a subcommand is what the subcommand prints.
"""

from __future__ import annotations

import inspect
import re
import subprocess
import sys
from pathlib import Path

from pytest_mindtrial.cli import flags
from pytest_mindtrial.cli import help as command_help
from pytest_mindtrial.cli import main as command_main
from pytest_mindtrial.core import errors
from reference.markdown import code, page, prose, table

ROOT = Path(__file__).resolve().parents[2]

__all__ = ["command", "error_list"]


def command() -> str:
    rows = [
        (code(f"--{flag.name}"), ", ".join(flag.commands), code(flag.default) or "–", flag.help) for flag in flags.FLAGS
    ]
    own = []
    for name in command_help.OUR_COMMANDS:
        own += [f"## mindtrial {name}", f"```text\n{_command_help(name)}```"]
    return page(
        "The mindtrial command",
        "`mindtrial [options] command`. The flags of MindTrial stand before the command word or after it; `-x` and "
        "`--x` are the same, `--x value` and `--x=value` too, and switches are written `--html=false`. "
        "`mindtrial run … -- ARGS` hands ARGS to pytest.",
        table(("command", "what it does"), [(code(name), text) for name, text in command_help.COMMANDS.items()]),
        table(("flag", "commands", "default", "meaning"), rows),
        "## Exit statuses",
        prose(_paragraph(command_main.__doc__ or "", "Exit statuses: ")),
        *own,
    )


def _paragraph(docstring: str, start: str) -> str:
    found = next(part for part in inspect.cleandoc(docstring).split("\n\n") if part.startswith(start))
    text = " ".join(found.split()).removeprefix(start)
    return "\n".join(f"- {item.rstrip('.')}" for item in re.split(r", (?=\d)", text))


def _command_help(name: str) -> str:
    """Return a subcommand's own help at a fixed width, whatever the terminal is."""
    words = [sys.executable, "-m", "pytest_mindtrial.cli.main", name, "--help"]
    environ = {"COLUMNS": "100", "NO_COLOR": "1", "PYTHONUTF8": "1", "PYTHONPATH": str(ROOT)}
    return subprocess.run(words, check=True, capture_output=True, text=True, env=environ, cwd=ROOT).stdout


def error_list() -> str:
    tree = re.search(r"::\n\n(.*?)\n\nSource", inspect.cleandoc(errors.__doc__ or ""), re.DOTALL)
    assert tree is not None
    parts = []
    for name in errors.__all__:
        kind = getattr(errors, name)
        if inspect.isclass(kind) and issubclass(kind, errors.MindTrialError):
            parts += [f"## {name}", prose(kind.__doc__ or "")]
    return page(
        "Errors",
        "Exceptions that hooks and overriding fixtures may raise or see (`pytest_mindtrial.core.errors`). What to do "
        "about a message you see in the terminal is in [trouble](../guide/trouble.md).",
        f"```text\n{inspect.cleandoc(tree[1])}\n```",
        *parts,
    )
