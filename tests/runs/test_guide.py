"""What the guide and the README show works when it is typed: conftest files, commands, the first suite."""

from __future__ import annotations

import contextlib
import re
import shlex
from collections.abc import Iterator
from pathlib import Path
from unittest.mock import patch

import pytest

from pytest_mindtrial.providers import profiles
from pytest_mindtrial.suite.keys import KEY_VARIABLES
from pytest_mindtrial.suite.parameter_rows import TABLES

ROOT = Path(__file__).resolve().parents[2]
GUIDE = ROOT / "docs" / "guide"


@pytest.fixture(autouse=True)
def _vendors_of_examples_are_forgotten() -> Iterator[None]:
    with contextlib.ExitStack() as stack:
        for table in (profiles._profiles, TABLES, KEY_VARIABLES):
            stack.enter_context(patch.dict(table))
        yield


def _blocks(path: Path, language: str) -> list[str]:
    return re.findall(rf"^```{language}\n(.*?)^```$", path.read_text("utf-8"), re.MULTILINE | re.DOTALL)


def _python_examples() -> list[str]:
    return [text for text in _blocks(GUIDE / "fixtures-and-hooks.md", "python") if text.startswith("# ")]


def _commands(*names: str) -> list[str]:
    lines = [line for name in names for block in _blocks(GUIDE / name, "sh") for line in block.splitlines()]
    return [line for line in lines if line.startswith("pytest ") and " some-" not in line]


def _write_first_suite(project) -> None:
    for text in _blocks(GUIDE / "first-suite.md", "yaml"):
        name = re.match(r"# (\S+)\n", text)
        assert name is not None
        project.write(name[1], text)


def test_there_are_examples():
    assert len(_python_examples()) >= 8
    assert len(_commands("first-suite.md", "selecting.md")) >= 8


@pytest.mark.parametrize("text", _python_examples(), ids=range(len(_python_examples())))
def test_python_examples_run(project, text):
    project.suite()
    name = text.split()[1]
    project.write(name, text)
    target = "tasks.yaml" if name == "conftest.py" else name
    result = project.run(target)
    assert result.ret == 0
    assert result.parseoutcomes()["passed"] >= 1


@pytest.mark.parametrize("command", _commands("first-suite.md", "selecting.md"))
def test_commands_select_something(project, command):
    _write_first_suite(project)
    words = shlex.split(command)[1:]
    assert project.run(*words, "--collect-only").ret == 0


def test_the_first_suite_runs_as_described(project):
    _write_first_suite(project)
    result = project.run("tasks.yaml", "--mt-seed", "7f3a")
    outcomes = result.parseoutcomes()
    # Items only: in one process with this session, pytest may warn that it knows the plugin's modules already.
    items = {word: outcomes.get(word, 0) for word in ("passed", "failed", "errors", "skipped")}
    assert sum(items.values()) == 6
    assert items["passed"] >= 3
    assert items["errors"] == items["skipped"] == 0
    assert len(list((project.path / "results").glob("*/*.html"))) == 1


def test_the_suite_of_the_readme_collects(project):
    for text in _blocks(ROOT / "README.md", "yaml"):
        name = re.match(r"# (\S+)\n", text)
        assert name is not None
        project.write(name[1], text)
    result = project.run("tasks.yaml", "--collect-only", "-q")
    assert result.ret == 0
    result.stdout.fnmatch_lines(["tasks.yaml::capital of France[[]openai-mini]"])
