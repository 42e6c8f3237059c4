from __future__ import annotations

import os
import subprocess
import sys
from pathlib import Path
from typing import Any

import pytest

from pytest_mindtrial import __version__
from pytest_mindtrial.cli import main as main_module
from pytest_mindtrial.cli.flags import FLAGS
from pytest_mindtrial.cli.help import COMMANDS, OUR_COMMANDS, help_text
from tests.support.sample_results import HOSTILE, attempt

Command = Any


def test_no_command_shows_the_help_on_stderr(mindtrial: Command) -> None:
    done = mindtrial()
    assert (done.status, done.out, done.err) == (2, "", help_text() + "\n")


def test_an_unknown_command_is_named(mindtrial: Command) -> None:
    done = mindtrial("stat")
    assert done.status == 2
    assert done.err.startswith("unknown command: stat; did you mean 'stats'?\n")


@pytest.mark.parametrize(
    "arguments", [["help"], ["--help"], ["-h"], ["--json", "help"], ["stats", "--help"], ["-h", "run"]]
)
def test_help(mindtrial: Command, arguments: list[str]) -> None:
    done = mindtrial(*arguments)
    assert (done.status, done.out, done.err) == (0, help_text(), "")


def test_the_help_names_everything() -> None:
    for name in [*COMMANDS, *OUR_COMMANDS, *(f"--{flag.name}" for flag in FLAGS)]:
        assert f"  {name} " in help_text()


@pytest.mark.parametrize("arguments", [["version"], ["--version"], ["--csv", "version"]])
def test_version(mindtrial: Command, arguments: list[str]) -> None:
    done = mindtrial(*arguments)
    assert done.status == 0
    assert done.out.startswith(f"pytest-mindtrial {__version__} (Python ")


def test_a_flag_of_another_command(mindtrial: Command) -> None:
    done = mindtrial("--json", "stats")
    assert done.status == 1
    assert done.err.startswith('mindtrial: unsupported flag for command: --json is not supported by "stats"')


def test_mindtrials_flags_before_our_commands_are_refused(mindtrial: Command) -> None:
    assert '--json is not supported by "compare"' in mindtrial("--json", "compare", "a", "b").err


def test_a_line_that_cannot_be_read(mindtrial: Command) -> None:
    done = mindtrial("--html=maybe", "run")
    assert (done.status, done.out) == (2, "")


def test_flags_after_the_command_count_and_leftovers_are_reported(mindtrial: Command, results_json: str) -> None:
    done = mindtrial("wat", "stats", "--input", results_json, "more", "--stats-format=csv", "--", "rest")
    assert done.status == 0
    assert done.out.startswith("provider,run,Count,")
    assert done.err.splitlines()[:3] == ["unknown command: wat", "ignored: more", "ignored: rest"]


@pytest.mark.parametrize("command", OUR_COMMANDS)
def test_our_commands_have_help(command: str, capsys: pytest.CaptureFixture[str]) -> None:
    assert main_module.main([command, "--help"]) == 0
    assert f"usage: mindtrial {command}" in capsys.readouterr().out


@pytest.mark.parametrize("command", ["compare", "gate", "convert", "history", "schema", "docker"])
def test_our_commands_say_what_is_missing(mindtrial: Command, command: str) -> None:
    done = mindtrial(command)
    assert done.status == 2
    assert f"see `mindtrial {command} --help`" in done.err


def test_an_interruption(mindtrial: Command, monkeypatch: pytest.MonkeyPatch) -> None:
    def interrupted(_: object) -> int:
        raise KeyboardInterrupt

    monkeypatch.setattr(main_module, "_dispatch", interrupted)
    assert mindtrial("version").status == 130


def test_our_own_defects_show_a_traceback(mindtrial: Command, monkeypatch: pytest.MonkeyPatch) -> None:
    def broken(_: object) -> int:
        raise ZeroDivisionError

    monkeypatch.setattr(main_module, "_dispatch", broken)
    with pytest.raises(ZeroDivisionError):
        mindtrial("version")


@pytest.mark.parametrize("text", [HOSTILE["escape"], HOSTILE["bidi"], HOSTILE["nul"]])
def test_messages_never_reach_the_terminal_raw(mindtrial: Command, text: str) -> None:
    done = mindtrial("compare", "--pair", text, "a", "b")
    assert done.status == 1
    assert not any(mark in done.err for mark in "\x1b\x00\u202e")


def test_a_terminal_gets_no_control_characters(mindtrial: Command, tmp_path: Path, results_json: str) -> None:
    from tests.unit.cli.conftest import save

    path = save(tmp_path / "hostile.json", [attempt(HOSTILE["escape"], run=HOSTILE["escape"])])
    line = ("--input", path, "--stats-format=csv", "stats")
    assert "\x1b" in mindtrial(*line).out
    assert "\x1b" not in mindtrial(*line, terminal=True).out


def test_a_closed_pipe_ends_quietly(results_json: str) -> None:
    reader, writer = os.pipe()
    os.close(reader)
    done = subprocess.run(
        [sys.executable, "-m", "pytest_mindtrial.cli.main", "--input", results_json, "stats"],
        stdout=writer,
        stderr=subprocess.PIPE,
        check=False,
        text=True,
    )
    os.close(writer)
    assert done.returncode == 141
    assert done.stderr == f"Loading results from file: {results_json}\n"


def test_nothing_heavy_is_imported_for_a_version() -> None:
    code = (
        "import sys; from pytest_mindtrial.cli.main import main; main(['version']); "
        "print(sorted({'pytest', 'pydantic', 'httpx', 'docker', 'jsonschema'} & set(sys.modules)))"
    )
    done = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=True)
    assert done.stdout.splitlines()[-1] == "[]"
