"""The ``mindtrial`` command around real pytest processes."""

from __future__ import annotations

import json
import os
import signal
import subprocess
import sys
import time
from pathlib import Path

import pytest

from pytest_mindtrial.cli.process import run_pytest
from pytest_mindtrial.results.evaluation import EvaluationInfo
from pytest_mindtrial.results.json_writer import write_json
from tests.support.command_suite import write_suite
from tests.support.sample_results import attempt


@pytest.fixture
def suite(tmp_path: Path) -> Path:
    return write_suite(tmp_path)


def command(*arguments: str, cwd: Path) -> subprocess.CompletedProcess[str]:
    line = [sys.executable, "-m", "pytest_mindtrial.cli.main", *arguments]
    return subprocess.run(line, cwd=cwd, capture_output=True, text=True, check=False, timeout=60)


def test_an_evaluation(suite: Path) -> None:
    done = command("--json", "--output-basename=r", "--log=run.log", "run", "--", "-p", "no:cacheprovider", cwd=suite)
    assert done.returncode == 0, done.stdout + done.stderr
    document = json.loads((suite / "out/r.json").read_text())
    kinds = [(item["Run"], item["Kind"]) for item in document["Results"]["mock"]]
    assert kinds == [("good", "Passed"), ("bad", "Failed")]
    assert (suite / "out/r.html").exists()
    assert (suite / "run.log").read_text() == done.stdout


def test_an_evaluation_on_stdout(suite: Path) -> None:
    line = (
        "--html=false",
        "--json",
        "--output-basename=",
        "--exit-style=pytest",
        "run",
        "--",
        "-p",
        "no:cacheprovider",
    )
    done = command(*line, cwd=suite)
    assert done.returncode == 1, done.stderr
    assert len(json.loads(done.stdout)["Results"]["mock"]) == 2
    assert "1 failed, 1 passed" in done.stderr


def test_validate(suite: Path) -> None:
    done = command("validate", cwd=suite)
    assert done.returncode == 0, done.stderr
    assert done.stdout.splitlines()[0].endswith("tasks.yaml: 1 tasks × 2 runs = 2 items, valid")
    assert done.stdout.splitlines()[1] == "cost forecast: unknown without --baseline"
    assert not (suite / "out").exists()


def test_validate_forecasts_from_earlier_results(suite: Path) -> None:
    past = write_json([attempt("sum", provider="mock", run="good")], EvaluationInfo())
    (suite / "old.json").write_text(past)
    done = command("validate", "tasks.yaml", "--baseline", "old.json", cwd=suite)
    forecast = "cost forecast: 0.0060 USD for 1 of 2 items; 1 more have no earlier result with a known cost"
    assert done.stdout.splitlines()[1] == forecast


def test_validate_reports_what_pytest_refuses(suite: Path) -> None:
    (suite / "conftest.py").write_text("raise RuntimeError('broken conftest')\n")
    done = command("validate", cwd=suite)
    assert (done.returncode, done.stdout) == (1, "")
    assert "broken conftest" in done.stderr


def test_colours_stay_out_of_the_log(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    (tmp_path / "test_x.py").write_text("def test_x(): pass\n")
    monkeypatch.chdir(tmp_path)
    monkeypatch.setenv("PYTEST_ADDOPTS", "-p no:cacheprovider")
    parent, child = os.openpty()
    terminal = os.fdopen(child, "w", encoding="utf-8")
    with monkeypatch.context() as patch, terminal:
        patch.setattr(sys, "stdout", terminal)
        assert run_pytest(["-q", "test_x.py"], log="deep/x.log") == 0
        shown = os.read(parent, 10_000).decode()
    os.close(parent)
    assert "\x1b[" in shown
    logged = (tmp_path / "deep/x.log").read_text()
    assert "1 passed" in logged
    assert "\x1b" not in logged


@pytest.mark.parametrize("number", [signal.SIGINT, signal.SIGTERM])
def test_signals_are_the_childs_to_handle(tmp_path: Path, number: signal.Signals) -> None:
    (tmp_path / "test_x.py").write_text(
        "import pathlib, time\ndef test_x():\n    pathlib.Path('started').touch()\n    time.sleep(30)\n"
    )
    code = "import sys; from pytest_mindtrial.cli.process import run_pytest; sys.exit(run_pytest(['test_x.py']))"
    line = [sys.executable, "-c", code]
    process = subprocess.Popen(line, cwd=tmp_path, stdout=subprocess.PIPE, start_new_session=True)
    deadline = time.monotonic() + 30
    while not (tmp_path / "started").exists() and time.monotonic() < deadline:
        time.sleep(0.02)  # another process has to reach its test
    if number is signal.SIGINT:
        os.killpg(process.pid, number)  # as the terminal does: to the whole group
    else:
        process.send_signal(number)
    output, _ = process.communicate(timeout=30)
    assert process.returncode == (2 if number is signal.SIGINT else 143)
    if number is signal.SIGINT:
        assert b"KeyboardInterrupt" in output
