"""Command line options and ini keys of the plugin, in one table.

Every option is also an ini key with the same words (``--mt-output-dir`` and ``mt_output_dir``). The command line
beats the ini file; the ini file beats config.yaml. Help texts here are the manual's text (`docs/reference/options.md`
is generated from `OPTIONS`). Does not read config.yaml.
"""

from __future__ import annotations

from dataclasses import dataclass
from pathlib import Path
from typing import Any, Literal

import pytest

__all__ = ["OPTIONS", "Option", "Settings", "add_options", "given_options", "read_settings"]


@dataclass(frozen=True, slots=True)
class Option:
    """One option.

    Attributes:
        name: Command line name without ``--mt-``.
        kind: How the value is written.
        help: One sentence, the manual's text.
        metavar: Placeholder in the help.
        default: Value when neither the command line nor the ini file gives one.
        command_line: False for keys that only make sense in an ini file.
    """

    name: str
    kind: Literal["text", "path", "switch", "count", "patterns"]
    help: str
    metavar: str = ""
    default: Any = None
    command_line: bool = True

    @property
    def key(self) -> str:
        """The ini key."""
        return "mt_" + self.name.replace("-", "_")


OPTIONS: tuple[Option, ...] = (
    Option(
        "config",
        "path",
        "Configuration file with providers, runs and judges. Without it, a config.yaml beside the task file is used.",
        "FILE",
    ),
    Option(
        "files",
        "patterns",
        "Glob patterns (one per line) of task files that a directory walk collects. By default only task files named "
        "on the command line run, so that no walk spends money.",
        default=(),
        command_line=False,
    ),
    Option("output-dir", "path", "Directory for reports and the journal; beats output-dir of config.yaml.", "DIR"),
    Option("output-basename", "text", "File name of the reports without extension; beats config.yaml.", "NAME"),
    Option("json", "switch", "Write the results as MindTrial JSON.", default=True),
    Option("csv", "switch", "Write the results as CSV.", default=False),
    Option("html", "switch", "Write the HTML report.", default=True),
    Option(
        "seed",
        "text",
        "Evaluation seed; recorded in every result and visible to templates. Default: 32 random hexadecimal digits.",
        "TEXT",
    ),
    Option(
        "concurrency",
        "text",
        "Attempts in flight per provider: a whole number from 1. 1 keeps strict file order.",
        "N",
        default="10",
    ),
)


def add_options(parser: pytest.Parser) -> None:
    """Register every option and ini key."""
    group = parser.getgroup("mindtrial", "LLM evaluations (pytest-mindtrial)")
    for option in OPTIONS:
        if option.command_line:
            _add_option(group, option)
        parser.addini(option.key, option.help, type=_INI_TYPES[option.kind], default=None)


_INI_TYPES: dict[str, Literal["string", "linelist"]] = {
    "text": "string",
    "path": "string",
    "switch": "string",
    "count": "string",
    "patterns": "linelist",
}


def _add_option(group: Any, option: Option) -> None:
    name = f"--mt-{option.name}"
    if option.kind == "switch":
        state = "on" if option.default else "off"
        group.addoption(
            name,
            dest=option.key,
            nargs="?",
            const="true",
            default=None,
            choices=("true", "false"),
            help=f"{option.help} (default: {state}; turn off with {name}=false)",
        )
        group.addoption(f"--no-mt-{option.name}", dest=option.key, action="store_const", const="false", help="")
        return
    group.addoption(name, dest=option.key, default=None, metavar=option.metavar, help=option.help)


@dataclass(frozen=True, slots=True)
class Settings:
    """The effective values, command line and ini file joined.

    Attributes:
        config: Absolute path; None = look beside the task file.
        files: Glob patterns for directory walks.
        output_dir: Absolute path; None = config.yaml decides.
        output_basename: None = config.yaml decides.
        seed: None = random.
        concurrency: Attempts in flight per provider.
    """

    config: Path | None
    files: tuple[str, ...]
    output_dir: Path | None
    output_basename: str | None
    json: bool
    csv: bool
    html: bool
    seed: str | None
    concurrency: int


def read_settings(config: pytest.Config) -> Settings:
    """Return the effective settings.

    Raises:
        pytest.UsageError: A value is not what the option takes.
    """
    values = {option.key: _value(config, option) for option in OPTIONS}
    return Settings(
        config=values["mt_config"],
        files=tuple(values["mt_files"] or ()),
        output_dir=values["mt_output_dir"],
        output_basename=values["mt_output_basename"],
        json=values["mt_json"],
        csv=values["mt_csv"],
        html=values["mt_html"],
        seed=values["mt_seed"] or None,
        concurrency=_whole_number("--mt-concurrency", values["mt_concurrency"]),
    )


def given_options(config: pytest.Config) -> dict[str, Any]:
    """Return the command line's values by key, as they must be on every xdist worker too."""
    values = {option.key: config.getoption(option.key, None) for option in OPTIONS if option.command_line}
    return {key: value for key, value in values.items() if isinstance(value, str | int | float)}


def _value(config: pytest.Config, option: Option) -> Any:
    sent = getattr(config, "workerinput", {}).get("mindtrial", {}).get("options", {})
    value = sent.get(option.key, config.getoption(option.key, None)) if option.command_line else None
    base = config.invocation_params.dir
    if value is None:
        value = config.getini(option.key)
        base = config.inipath.parent if config.inipath else config.rootpath
        if value in (None, "", []):
            return option.default
    if option.kind == "path":
        return Path(base, value)
    if option.kind == "switch":
        return _truth(option, value)
    return value


def _truth(option: Option, value: str) -> bool:
    word = value.strip().lower()
    if word in ("true", "yes", "on", "1"):
        return True
    if word in ("false", "no", "off", "0"):
        return False
    raise pytest.UsageError(f"{option.key}: {value!r} is neither true nor false")


def _whole_number(name: str, value: str) -> int:
    try:
        number = int(value)
    except ValueError:
        number = 0
    if number < 1:
        raise pytest.UsageError(f"{name}: {value!r} is not a whole number from 1")
    return number
