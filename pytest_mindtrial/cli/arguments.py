"""The argument parser of our own subcommands: usage errors as user errors, one description style.

Does not serve MindTrial's commands (``cli/flags.py``).
"""

from __future__ import annotations

import argparse
from typing import Any, NoReturn

from pytest_mindtrial.cli.flags import UsageError

__all__ = ["CommandParser"]


class CommandParser(argparse.ArgumentParser):
    """A parser of one subcommand; options cannot be abbreviated, so that a new one never changes an old script.

    Args:
        name: The command word.
        description: What the command does, for its ``--help``.
        options: What argparse itself passes when it makes parsers of actions.
    """

    def __init__(self, name: str = "", description: str = "", **options: Any) -> None:
        options.setdefault("prog", f"mindtrial {name}")
        options["allow_abbrev"] = False
        super().__init__(description=description, **options)

    def error(self, message: str) -> NoReturn:
        """Raise instead of leaving the process."""
        raise UsageError(f"{message}; see `{self.prog} --help`")
