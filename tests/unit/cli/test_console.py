from __future__ import annotations

import os
import sys

import pytest

from pytest_mindtrial.cli import main as main_module
from pytest_mindtrial.cli.console import PIPE_CLOSED, print_document
from pytest_mindtrial.results.text_table import text_table


def test_a_closed_pipe(monkeypatch: pytest.MonkeyPatch) -> None:
    reader, writer = os.pipe()
    os.close(reader)

    def write(_: object) -> int:
        print_document("text")
        return 0

    with monkeypatch.context() as patch, os.fdopen(writer, "w", encoding="utf-8") as stream:
        patch.setattr(sys, "stdout", stream)
        patch.setattr(sys, "argv", ["mindtrial", "version"])
        patch.setattr(main_module, "_dispatch", write)
        assert main_module.main() == PIPE_CLOSED
        print("swallowed", file=stream, flush=True)


def test_a_full_disk_behind_stdout(monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]) -> None:
    def write(_: object) -> int:
        print_document("text")
        return 0

    with monkeypatch.context() as patch, open("/dev/full", "w", encoding="utf-8") as stream:
        patch.setattr(sys, "stdout", stream)
        patch.setattr(sys, "argv", ["mindtrial", "version"])
        patch.setattr(main_module, "_dispatch", write)
        assert main_module.main() == main_module.NOT_WRITTEN
    assert capsys.readouterr().err == "mindtrial: cannot write to standard output: No space left on device\n"


@pytest.mark.parametrize(
    "rows, text", [([], ""), ([["a", "bb"], ["ccc", ""]], "a    bb\nccc  \n"), ([["only"]], "only\n")]
)
def test_tables(rows: list[list[str]], text: str) -> None:
    assert text_table(rows) == text
