"""The ``mindtrial`` command: finds the command word, runs it, turns errors into messages and exit statuses.

Does not do the work of any command: each has its module here. Source: spec mindtrial 9.

Exit statuses: 0 finished (with failed tasks too), 1 fatal error (gate: not green), 2 no command or one that cannot be
read, 3 results or log could not be written, 130 interrupted, 141 the reader of stdout went away.
"""

from __future__ import annotations

import importlib
import sys
from collections.abc import Sequence
from typing import Any

from pytest_mindtrial.cli.console import leave_closed_pipe, print_document, say
from pytest_mindtrial.cli.flags import Flags, UsageError, parse_flags
from pytest_mindtrial.cli.help import COMMANDS, OUR_COMMANDS, help_text
from pytest_mindtrial.cli.outputs import OutputError
from pytest_mindtrial.core.errors import UserError
from pytest_mindtrial.suite.suggest import near_match

__all__ = ["main"]

FATAL, UNREADABLE, NOT_WRITTEN, INTERRUPTED = 1, 2, 3, 130
_ALL_COMMANDS = {**COMMANDS, **OUR_COMMANDS}


def main(arguments: Sequence[str] | None = None) -> int:
    """Run the command line.

    Args:
        arguments: Without the program's name; None = the process's own.

    Returns:
        The exit status. Mistakes of the user are one message on stderr; only our own defects show a traceback.
    """
    try:
        return _dispatch(sys.argv[1:] if arguments is None else arguments)
    except UsageError as error:
        say(f"mindtrial: {error}")
        return UNREADABLE
    except UserError as error:
        say(f"mindtrial: {error}")
        return NOT_WRITTEN if isinstance(error, OutputError) else FATAL
    except BrokenPipeError:
        return leave_closed_pipe()
    except KeyboardInterrupt:
        return INTERRUPTED
    except SystemExit as request:
        return request.code if isinstance(request.code, int) else 0


def _dispatch(arguments: Sequence[str]) -> int:
    flags = parse_flags(arguments, _ALL_COMMANDS)
    for word in flags.words:
        say(f"unknown command: {word}{near_match(word, _ALL_COMMANDS)}")
    if not flags.command:
        return _without_command(flags)
    if flags.command in OUR_COMMANDS:
        flags.check(flags.command)
        return int(_module(flags.command).run(flags.rest))
    return _run_mindtrials(flags)


def _without_command(flags: Flags) -> int:
    if flags.wants == "help":
        print_document(help_text())
        return 0
    if flags.wants == "version":
        return int(_module("version").run())
    say(help_text())
    return UNREADABLE


def _run_mindtrials(flags: Flags) -> int:
    command = flags.command
    later = parse_flags(flags.rest)
    if command == "help" or "help" in (flags.wants, later.wants):
        print_document(help_text())
        return 0
    if command == "version":
        return int(_module("version").run())
    for name, values in later.given.items():
        flags.given.setdefault(name, []).extend(values)
    flags.rest = later.rest
    flags.check(command)
    for word in (*later.words, *(later.rest if command != "run" else ())):
        say(f"ignored: {word}")
    return int(_module(command).run(flags))


def _module(command: str) -> Any:
    return importlib.import_module(f"pytest_mindtrial.cli.{command.replace('-', '_')}")


if __name__ == "__main__":
    sys.exit(main())
