from __future__ import annotations

import io
import sys
from collections.abc import Callable
from dataclasses import dataclass
from pathlib import Path

import pytest

from pytest_mindtrial.cli.main import main
from pytest_mindtrial.core.record import Result
from pytest_mindtrial.core.values import Kind
from pytest_mindtrial.results.evaluation import EvaluationInfo
from pytest_mindtrial.results.json_writer import write_json
from tests.support.sample_results import attempt, full


@dataclass
class Done:
    status: int
    out: str
    err: str


class _Stream(io.TextIOWrapper):
    def __init__(self, is_terminal: bool = False) -> None:
        super().__init__(io.BytesIO(), encoding="utf-8", newline="\n")
        self._is_terminal = is_terminal

    def isatty(self) -> bool:
        return self._is_terminal

    def text(self) -> str:
        self.flush()
        return self.buffer.getvalue().decode()  # type: ignore[attr-defined]  # made above


Command = Callable[..., Done]


@pytest.fixture
def mindtrial(monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> Command:
    """Run the command in an empty directory with streams of its own."""
    monkeypatch.chdir(tmp_path)

    def run(*arguments: str, terminal: bool = False) -> Done:
        out, err = _Stream(terminal), _Stream()
        with monkeypatch.context() as patch:
            patch.setattr(sys, "stdout", out)
            patch.setattr(sys, "stderr", err)
            status = main(arguments)
        return Done(status, out.text(), err.text())

    return run


def save(path: Path, results: list[Result], seed: str = "s") -> str:
    path.write_text(write_json(results, EvaluationInfo(app_name="MindTrial", seed=seed)), encoding="utf-8")
    return str(path)


@pytest.fixture
def results_json(tmp_path: Path) -> str:
    return save(tmp_path / "results.json", full())


@pytest.fixture
def worse_json(tmp_path: Path) -> str:
    items = [attempt(f"t{index}", Kind.FAILED) for index in range(6)]
    save(tmp_path / "better.json", [attempt(f"t{index}") for index in range(6)])
    return save(tmp_path / "worse.json", items)
