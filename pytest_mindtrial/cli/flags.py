"""MindTrial's own command line: its flags, which command takes which, and Go's way of writing them.

Does not run commands and does not check values beyond booleans. Source: spec mindtrial 9. Deviation: flags after the
command word are honoured too (MindTrial ignores them silently); what is left over is reported.
"""

from __future__ import annotations

from collections.abc import Container, Sequence
from dataclasses import dataclass, field
from typing import Literal

from pytest_mindtrial.core.errors import ConfigError
from pytest_mindtrial.suite.suggest import near_match

__all__ = ["FLAGS", "Flag", "Flags", "UsageError", "flags_of", "parse_flags"]


class UsageError(ConfigError):
    """The command line itself cannot be read; exit status 2."""


@dataclass(frozen=True, slots=True)
class Flag:
    """One flag.

    Attributes:
        kind: ``text`` takes a value, ``list`` may be repeated, ``switch`` is a boolean.
        commands: Which commands take it.
        help: One line for the command reference.
        default: Shown in the help; also the value when not given.
        is_ours: True for flags MindTrial does not have.
    """

    name: str
    kind: Literal["text", "list", "switch"]
    commands: tuple[str, ...]
    help: str
    default: str = ""
    is_ours: bool = False


_RUN = ("run",)
_MERGE = ("merge-results",)
_STATS = ("stats",)

FLAGS: tuple[Flag, ...] = (
    Flag("config", "text", _RUN, "Configuration file", "config.yaml"),
    Flag("tasks", "text", _RUN, "Task file; without it the configuration's task-source"),
    Flag("output-dir", "text", _RUN + _MERGE, "Directory of the result files"),
    Flag("output-basename", "text", _RUN + _MERGE, "Result file name without extension; blank = stdout"),
    Flag("html", "switch", _RUN + _MERGE, "Write the HTML report", "true"),
    Flag("csv", "switch", _RUN + _MERGE, "Write CSV", "false"),
    Flag("json", "switch", _RUN + _MERGE, "Write MindTrial's JSON", "false"),
    Flag("input", "list", _MERGE + _STATS, "Results JSON or journal to read; repeatable, the last one wins"),
    Flag("log", "text", _RUN, "Also append the console output to this file"),
    Flag("verbose", "switch", _RUN + _MERGE, "Say more", "false"),
    Flag("debug", "switch", _RUN, "Say everything; implies --verbose", "false"),
    Flag("interactive", "switch", _RUN, "Choose runs and tasks on a screen first", "false"),
    Flag("evaluation-seed", "text", _RUN, "Seed of the evaluation; random when blank"),
    Flag("exit-style", "text", _RUN, "Exit status: mindtrial (0 also with failed tasks) or pytest", "mindtrial", True),
    Flag(
        "group-by", "text", _STATS, "Dimensions: provider, run, model, suite, category, difficulty, tag", "provider,run"
    ),
    Flag("stats-format", "text", _STATS, "text, csv, json or jsonl", "text"),
    Flag("provider", "list", _STATS, "Only results of this provider; repeatable"),
    Flag("run", "list", _STATS, "Only results of this run; repeatable"),
    Flag("model", "list", _STATS, "Only results of this model; repeatable"),
    Flag("suite", "list", _STATS, "Only results of this suite; repeatable"),
    Flag("category", "list", _STATS, "Only results of this category; repeatable"),
    Flag("difficulty", "list", _STATS, "Only results of this difficulty; repeatable"),
    Flag("status", "list", _STATS, "Only passed, failed, error or skipped results; repeatable"),
    Flag("tag", "list", _STATS, "Only results with this tag; repeatable"),
    Flag("tag-mode", "text", _STATS, "Several --tag: all of them or any of them", "all"),
    Flag("extended", "switch", _STATS, "Add intervals of the pass rate and the judges' cost", "false", True),
)
_BY_NAME = {flag.name: flag for flag in FLAGS}
_TRUE = ("1", "t", "T", "TRUE", "true", "True")
_FALSE = ("0", "f", "F", "FALSE", "false", "False")


def flags_of(command: str) -> list[Flag]:
    """Return the flags of a command in the order of the reference."""
    return [flag for flag in FLAGS if command in flag.commands]


@dataclass(slots=True)
class Flags:
    """The flags that were given.

    Attributes:
        given: Name → values in order.
        words: What is no flag, in order.
        command: The command word that ended the reading; blank = none.
        rest: What was not read: everything after the command word or after ``--``.
        wants: ``help`` or ``version`` where ``-h``, ``--help`` or ``--version`` was given.
    """

    given: dict[str, list[str]] = field(default_factory=dict)
    words: list[str] = field(default_factory=list)
    command: str = ""
    rest: list[str] = field(default_factory=list)
    wants: str = ""

    def text(self, name: str) -> str:
        """Return the last value, or the default."""
        return self.given[name][-1] if name in self.given else _BY_NAME[name].default

    def texts(self, name: str) -> list[str]:
        """Return all values of a repeatable flag."""
        return self.given.get(name, [])

    def is_on(self, name: str) -> bool:
        """Return a switch's value."""
        return self.text(name) in _TRUE

    def check(self, command: str) -> None:
        """Refuse flags of other commands.

        Raises:
            ConfigError: In MindTrial's words.
        """
        for name in self.given:
            if command not in _BY_NAME[name].commands:
                hint = f"; it belongs to {' and '.join(_BY_NAME[name].commands)}"
                raise ConfigError(f'unsupported flag for command: --{name} is not supported by "{command}"{hint}')


def parse_flags(arguments: Sequence[str], commands: Container[str] = ()) -> Flags:
    """Read arguments in Go's way: ``-x`` and ``--x`` are the same, ``--x value`` and ``--x=value`` too.

    Switches take a value only after ``=``.

    Args:
        arguments: Without the program's name.
        commands: Words that end the reading.

    Raises:
        UsageError: An unknown flag, a missing value, or a switch that is neither true nor false.
    """
    flags = Flags()
    queue = list(arguments)
    while queue:
        word = queue.pop(0)
        if word == "--":
            flags.rest = queue
            break
        if word in commands:
            flags.command, flags.rest = word, queue
            break
        if len(word) < 2 or not word.startswith("-"):
            flags.words.append(word)
        else:
            _read_flag(word, queue, flags)
    return flags


def _read_flag(word: str, queue: list[str], flags: Flags) -> None:
    if word.lstrip("-") in ("h", "help", "version"):
        flags.wants = "version" if word.endswith("version") else "help"
        return
    name, equals, value = word.removeprefix("-").removeprefix("-").partition("=")
    flag = _BY_NAME.get(name)
    if flag is None:
        raise UsageError(f"unknown flag: {word}{near_match(name, _BY_NAME)}")
    if flag.kind == "switch":
        value = _switch(name, value if equals else "true")
    elif not equals:
        if not queue:
            raise UsageError(f"flag needs a value: --{name}")
        value = queue.pop(0)
    flags.given.setdefault(name, []).append(value)


def _switch(name: str, value: str) -> str:
    if value not in _TRUE + _FALSE:
        raise UsageError(f"invalid boolean value {value!r} for --{name}; write true or false")
    return "true" if value in _TRUE else "false"
