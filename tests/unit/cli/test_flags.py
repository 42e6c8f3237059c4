from __future__ import annotations

import pytest
from hypothesis import given
from hypothesis import strategies as st

from pytest_mindtrial.cli.flags import FLAGS, Flags, UsageError, flags_of, parse_flags
from pytest_mindtrial.cli.help import COMMANDS
from pytest_mindtrial.core.errors import ConfigError


@pytest.mark.parametrize(
    "arguments, given",
    [
        ([], {}),
        (["--config=a.yaml"], {"config": ["a.yaml"]}),
        (["-config", "a.yaml"], {"config": ["a.yaml"]}),
        (["--output-basename="], {"output-basename": [""]}),
        (["--html"], {"html": ["true"]}),
        (["-html=F"], {"html": ["false"]}),
        (["--csv=1", "--csv=0"], {"csv": ["true", "false"]}),
        (["--input", "a", "--input=b"], {"input": ["a", "b"]}),
        (["--tag", "--odd"], {"tag": ["--odd"]}),
        (["--group-by=a=b"], {"group-by": ["a=b"]}),
    ],
)
def test_gos_way_of_writing_flags(arguments: list[str], given: dict[str, list[str]]) -> None:
    assert parse_flags(arguments).given == given


@pytest.mark.parametrize(
    "arguments, message",
    [
        (["--confg=x"], "unknown flag: --confg=x; did you mean 'config'"),
        (["--config"], "flag needs a value: --config"),
        (["--html=yes"], "invalid boolean value 'yes' for --html; write true or false"),
        (["---html"], "unknown flag: ---html"),
    ],
)
def test_what_cannot_be_read(arguments: list[str], message: str) -> None:
    with pytest.raises(UsageError, match=message):
        parse_flags(arguments)


def test_the_command_word_ends_the_reading() -> None:
    flags = parse_flags(["--json", "stats", "--tag", "x"], ["stats"])
    assert (flags.command, flags.rest, flags.given) == ("stats", ["--tag", "x"], {"json": ["true"]})


def test_words_and_the_rest() -> None:
    flags = parse_flags(["a", "-", "--", "--csv", "b"])
    assert (flags.words, flags.rest, flags.command) == (["a", "-"], ["--csv", "b"], "")


@pytest.mark.parametrize("word, wants", [("-h", "help"), ("--help", "help"), ("-version", "version")])
def test_help_and_version(word: str, wants: str) -> None:
    assert parse_flags([word]).wants == wants


def test_values_and_defaults() -> None:
    flags = Flags({"csv": ["true"], "config": ["a", "b"], "input": ["x", "y"]})
    assert (flags.text("config"), flags.text("stats-format"), flags.text("log")) == ("b", "text", "")
    assert (flags.is_on("csv"), flags.is_on("html"), flags.is_on("json")) == (True, True, False)
    assert (flags.texts("input"), flags.texts("tag")) == (["x", "y"], [])


# Spec mindtrial 9, the table of accepted flags, row by row.
@pytest.mark.parametrize(
    "command, names",
    [
        (
            "run",
            "config tasks output-dir output-basename html csv json log verbose debug interactive evaluation-seed",
        ),
        ("merge-results", "input output-dir output-basename html csv json verbose"),
        ("stats", "input group-by stats-format tag-mode provider run model suite category difficulty status tag"),
    ],
)
def test_which_command_takes_which_flag(command: str, names: str) -> None:
    assert {flag.name for flag in flags_of(command) if not flag.is_ours} == set(names.split())
    for flag in FLAGS:
        flags = Flags({flag.name: ["x"]})
        if command in flag.commands:
            flags.check(command)
        else:
            message = f'unsupported flag for command: --{flag.name} is not supported by "{command}"'
            with pytest.raises(ConfigError, match=message):
                flags.check(command)


@given(st.lists(st.sampled_from([*(f"--{flag.name}" for flag in FLAGS), *COMMANDS, "--", "x", "-q", "--html=x"])))
def test_any_line_is_read_or_refused(arguments: list[str]) -> None:
    try:
        flags = parse_flags(arguments, COMMANDS)
    except UsageError:
        return
    assert set(flags.given) <= {flag.name for flag in FLAGS}
    assert flags.command in ("", *COMMANDS)
