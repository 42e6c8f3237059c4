"""Command line options and ini keys of the plugin: registered and read.

Every option (``plugin/option_table.py``) is also an ini key with the same words (``--mt-output-dir`` and
``mt_output_dir``). The command line beats the ini file; the ini file beats config.yaml. Does not read config.yaml.
"""

from __future__ import annotations

import os
from collections.abc import Mapping
from pathlib import Path
from typing import TYPE_CHECKING, Any, Literal, NamedTuple

import pytest

from pytest_mindtrial.plugin.option_table import DEFAULT_CONCURRENCY, OPTIONS, Option

if TYPE_CHECKING:
    from pytest_mindtrial.plugin.sharding import Shard

__all__ = [
    "DEFAULT_CONCURRENCY",
    "OPTIONS",
    "Option",
    "Settings",
    "add_options",
    "given_options",
    "has_conclusion",
    "read_settings",
]


def add_options(parser: pytest.Parser) -> None:
    """Register every option and ini key."""
    group = parser.getgroup("mindtrial", "LLM evaluations (pytest-mindtrial)")
    for option in OPTIONS:
        if option.command_line:
            _add_option(group, option)
        parser.addini(option.key, option.help, type=_INI_TYPES[option.kind], default=None)


_COMBINED = frozenset(
    ("resume", "rerun", "explain", "regrade", "regrade-judges", "cache", "cache-mode", "max-cost", "max-tokens", "plan")
)
"""Options that need or exclude each other, or that do not go together with xdist."""

_INI_TYPES: dict[str, Literal["string", "linelist"]] = {
    "text": "string",
    "texts": "linelist",
    "path": "string",
    "switch": "string",
    "flag": "string",
    "optional-path": "string",
    "count": "string",
    "patterns": "linelist",
}


def _add_option(group: Any, option: Option) -> None:
    name = f"--mt-{option.name}"
    help_text = option.help.replace("%", "%%")  # argparse's own sign
    if option.kind == "switch":
        state = "on" if option.default else "off"
        group.addoption(
            name,
            dest=option.key,
            nargs="?",
            const="true",
            default=None,
            choices=("true", "false"),
            help=f"{help_text} (default: {state}; turn off with {name}=false)",
        )
        group.addoption(f"--no-mt-{option.name}", dest=option.key, action="store_const", const="false", help="")
        return
    if option.kind == "flag":
        group.addoption(name, dest=option.key, action="store_const", const="true", default=None, help=help_text)
        return
    extra: dict[str, Any] = {"nargs": "?", "const": ""} if option.kind == "optional-path" else {}
    if option.kind == "texts":
        extra = {"action": "append"}
    group.addoption(name, dest=option.key, default=None, metavar=option.metavar, help=help_text, **extra)


class Settings(NamedTuple):
    """The effective values, command line and ini file joined.

    Attributes:
        config: Absolute path; None = look beside the task file.
        files: Glob patterns for directory walks.
        output_dir: Absolute path; None = config.yaml decides.
        output_basename: None = config.yaml decides.
        seed: None = random.
        concurrency: Attempts in flight by provider name; ``""`` = all others.
        repeat: Tries per task and run; None = as the task says.
        shard: 1-based number and count; None = everything.
        resume: Journal to take finished attempts from.
        rerun: ``error``, ``failed`` or ``all``.
        regrade: Journal whose answers are judged anew.
        cache: Directory of the response cache.
        cache_mode: ``read-write``, ``read-only`` or ``refresh``.
        max_cost: As written; None = no limit.
        max_tokens: None = no limit.
        is_plan: True when nothing may be sent.
        plan_journal: Journal that a forecast learns from; None = one in the output directory, if there is any.
        min_pass_rate: As written; None = no such gate.
        gates: Expressions as written.
        baseline: Earlier results; None = no such gate.
        baseline_level: As written.
        undecided: ``red`` or ``green``.
        markdown: Where to; None = not written.
        history: Where to; None = not recorded.
        docker_pull: True when missing images are fetched.
        interactive: True when the user chooses on a screen.
    """

    config: Path | None
    files: tuple[str, ...]
    output_dir: Path | None
    output_basename: str | None
    json: bool
    csv: bool
    html: bool
    seed: str | None
    concurrency: Mapping[str, int | Literal["auto"]]
    repeat: int | None = None
    shard: Shard | None = None
    resume: Path | None = None
    rerun: str = "error"
    explain: bool = False
    regrade: Path | None = None
    regrade_judges: bool = False
    cache: Path | None = None
    cache_mode: str = "read-write"
    max_cost: str | None = None
    max_tokens: int | None = None
    is_plan: bool = False
    plan_journal: Path | None = None
    min_pass_rate: str | None = None
    gates: tuple[str, ...] = ()
    baseline: Path | None = None
    baseline_level: str = "0.05"
    undecided: str = "red"
    markdown: Path | None = None
    history: Path | None = None
    docker_pull: bool = False
    interactive: bool = False

    @property
    def has_budget(self) -> bool:
        """True when the session may spend so much and no more."""
        return self.max_cost is not None or self.max_tokens is not None

    @property
    def has_gates(self) -> bool:
        """True when the exit status follows gates; pins alone are no gate."""
        return bool(self.min_pass_rate or self.gates or self.baseline)


def has_conclusion(settings: Settings) -> bool:
    """Tell whether the end of a session has more to do than reports (``plugin/conclusion.py``)."""
    is_on_github = bool(os.environ.get("GITHUB_STEP_SUMMARY") or os.environ.get("GITHUB_ACTIONS"))
    return settings.has_gates or bool(settings.markdown or settings.history) or is_on_github


def read_settings(config: pytest.Config) -> Settings:
    """Return the effective settings.

    Raises:
        pytest.UsageError: A value is not what the option takes.
    """
    values = {option.key: _value(config, option) for option in OPTIONS}
    if any(values[option.key] != option.default for option in OPTIONS if option.name in _COMBINED):
        from pytest_mindtrial.plugin.option_checks import check_combinations, check_one_process  # rarely needed

        check_combinations(values)
        check_one_process(config, values)
    return Settings(
        config=values["mt_config"],
        files=tuple(values["mt_files"] or ()),
        output_dir=values["mt_output_dir"],
        output_basename=values["mt_output_basename"],
        json=values["mt_json"],
        csv=values["mt_csv"],
        html=values["mt_html"],
        seed=values["mt_seed"] or None,
        concurrency=_concurrency(values["mt_concurrency"]),
        repeat=_whole_number("--mt-repeat", values["mt_repeat"]) if values["mt_repeat"] else None,
        shard=_shard(values["mt_shard"]),
        resume=values["mt_resume"],
        rerun=values["mt_rerun"],
        explain=bool(values["mt_explain"]),
        regrade=values["mt_regrade"],
        regrade_judges=bool(values["mt_regrade_judges"]),
        cache=values["mt_cache"],
        cache_mode=values["mt_cache_mode"],
        max_cost=values["mt_max_cost"],
        max_tokens=_whole_number("--mt-max-tokens", values["mt_max_tokens"]) if values["mt_max_tokens"] else None,
        is_plan=values["mt_plan"] is not None,
        plan_journal=values["mt_plan"] or None,
        min_pass_rate=values["mt_min_pass_rate"],
        gates=tuple(values["mt_gate"]),
        baseline=values["mt_baseline"],
        baseline_level=values["mt_baseline_level"],
        undecided=values["mt_undecided"],
        markdown=values["mt_markdown"],
        history=values["mt_history"],
        docker_pull=bool(values["mt_docker_pull"]),
        interactive=bool(values["mt_interactive"]),
    )


def given_options(config: pytest.Config) -> dict[str, Any]:
    """Return the command line's values by key, as they must be on every xdist worker too."""
    values = {option.key: config.getoption(option.key, None) for option in OPTIONS if option.command_line}
    return {key: value for key, value in values.items() if isinstance(value, str | int | float)}


def _shard(text: str | None) -> Shard | None:
    if not text:
        return None
    from pytest_mindtrial.plugin.sharding import parse_shard  # rarely needed

    return parse_shard(text)


def _value(config: pytest.Config, option: Option) -> Any:
    sent = getattr(config, "workerinput", {}).get("mindtrial", {}).get("options", {})
    value = sent.get(option.key, config.getoption(option.key, None)) if option.command_line else None
    base = config.invocation_params.dir
    if value is None:
        value = config.getini(option.key)
        base = config.inipath.parent if config.inipath else config.rootpath
        if value in (None, "", []):
            return option.default
    if option.choices and value not in option.choices:
        raise pytest.UsageError(f"{option.key}: {value!r} is not one of {', '.join(option.choices)}")
    if option.kind == "path" or (option.kind == "optional-path" and value):
        return Path(base, value)
    if option.kind in ("switch", "flag"):
        return _truth(option, value)
    return value


def _truth(option: Option, value: str) -> bool:
    word = value.strip().lower()
    if word in ("true", "yes", "on", "1"):
        return True
    if word in ("false", "no", "off", "0"):
        return False
    raise pytest.UsageError(f"{option.key}: {value!r} is neither true nor false")


def _concurrency(text: str) -> Mapping[str, int | Literal["auto"]]:
    if text == str(DEFAULT_CONCURRENCY[""]):
        return DEFAULT_CONCURRENCY
    from pytest_mindtrial.plugin.concurrency import parse_concurrency

    return parse_concurrency(text)


def _whole_number(name: str, value: str) -> int:
    try:
        number = int(value)
    except ValueError:
        number = 0
    if number < 1:
        raise pytest.UsageError(f"{name}: {value!r} is not a whole number from 1")
    return number
