"""``mindtrial help``: the command reference, generated from the tables that the parser uses.

Does not explain files; the manual does. Source: spec mindtrial 9.
"""

from __future__ import annotations

from pytest_mindtrial.cli.flags import FLAGS, Flag

__all__ = ["COMMANDS", "OUR_COMMANDS", "help_text"]

COMMANDS = {
    "run": "Run the evaluation (pytest underneath)",
    "merge-results": "Merge result files, or convert one",
    "stats": "Compute statistics of result files",
    "help": "Show this reference",
    "version": "Show the version",
}
"""MindTrial's commands."""

OUR_COMMANDS = {
    "validate": "Check configuration and tasks without a model call; forecast the cost",
    "compare": "Compare two result files task by task",
    "gate": "Decide on result files whether gates hold",
    "convert": "Write a result file as HTML, CSV, JSON or Markdown",
    "history": "Record evaluations; show trends, flaky and useless tasks",
    "schema": "Print the JSON Schema of task or configuration files",
    "docker": "Remove what killed sessions left in Docker",
}
"""Commands MindTrial does not have; each has its own --help."""

_COLUMN = 28


def help_text() -> str:
    """Return the reference with a final newline."""
    lines = ["mindtrial [options] command", "", "Commands:"]
    lines += [_line(name, text) for name, text in COMMANDS.items()]
    lines += ["", "Commands with options of their own (mindtrial COMMAND --help):"]
    lines += [_line(name, text) for name, text in OUR_COMMANDS.items()]
    lines += ["", "Options (-x and --x are the same; switches as --html=false):"]
    lines += [_line(_flag_word(flag), _flag_text(flag)) for flag in FLAGS]
    lines += ["", "`mindtrial run … -- ARGS` hands ARGS to pytest.", ""]
    return "\n".join(lines)


def _line(word: str, text: str) -> str:
    return f"  {word:<{_COLUMN}}{text}"


def _flag_word(flag: Flag) -> str:
    return f"--{flag.name}" + ("" if flag.kind == "switch" else " string")


def _flag_text(flag: Flag) -> str:
    default = f" (default: {flag.default})" if flag.default else ""
    return f"{flag.help}{default} [{', '.join(flag.commands)}]"
