"""The worked example of docs/ci.md, executed as it is printed."""

from __future__ import annotations

import json
import os
import re
import shlex
import shutil
import subprocess
import sys
from pathlib import Path

import pytest
import yaml

ROOT = Path(__file__).parents[2]
SUITE = Path("example_suites/quickstart")
DOCUMENT = (ROOT / "docs/ci.md").read_text(encoding="utf-8")


def block(language: str) -> str:
    (found,) = re.findall(rf"^```{language}\n(.*?)^```$", DOCUMENT, re.MULTILINE | re.DOTALL)
    return found


def commands(script: str) -> list[list[str]]:
    """Return the pytest commands of a script as words."""
    joined = script.replace("\\\n", " ").replace('"$suite"', str(SUITE / "tasks.yaml"))
    return [shlex.split(line) for line in joined.splitlines() if line.strip().startswith("pytest ")]


@pytest.fixture
def checkout(tmp_path: Path) -> Path:
    shutil.copytree(ROOT / SUITE, tmp_path / SUITE, ignore=shutil.ignore_patterns("results"))
    shutil.copytree(ROOT / "taskdata", tmp_path / "taskdata")
    return tmp_path


def run(script: str, checkout: Path, **environment: str) -> subprocess.CompletedProcess[str]:
    kept = {key: value for key, value in os.environ.items() if not key.startswith(("GITHUB_", "PYTEST_", "COV"))}
    path = f"{Path(sys.executable).parent}{os.pathsep}{kept['PATH']}"
    return subprocess.run(
        ["bash", "-c", script],
        check=False,
        cwd=checkout,
        env={**kept, "PATH": path, **environment},
        capture_output=True,
        text=True,
        timeout=120,
    )


def decide() -> str:
    """Return the part of the script that runs on a change."""
    return (
        "set -eu\nsuite=example_suites/quickstart/tasks.yaml\n"
        + block("sh").partition("# On every change")[2].partition("\n")[2]
    )


def worse(checkout: Path) -> None:
    """Make the run that was perfect give wrong answers."""
    path = checkout / SUITE / "config.yaml"
    text = path.read_text(encoding="utf-8")
    old = '          model: "mock-1"\n\n'
    assert old in text
    path.write_text(
        text.replace(
            old, '          model: "mock-1"\n          model-parameters: {behaviour: careless, accuracy: 0}\n\n', 1
        ),
        encoding="utf-8",
    )


def test_the_shell_example_is_green_then_red(checkout):
    done = run(block("sh"), checkout)
    assert done.returncode == 0, done.stdout + done.stderr
    printed = re.search(r"^```\n(gate: .*?)^```$", DOCUMENT, re.MULTILINE | re.DOTALL)
    assert printed
    for line in printed[1].splitlines():
        pattern = ".*".join(map(re.escape, line.split("…")))
        assert re.search(f"^{pattern}$", done.stdout, re.MULTILINE), line
    assert "failed" in done.stdout.splitlines()[-1], "wrong answers stay failures"
    files = {path.name for path in (checkout / "results/change").iterdir()}
    assert {"evaluation.gates.json", "evaluation.html", "report.md", "junit.xml"} <= files

    worse(checkout)
    done = run(decide(), checkout)
    assert done.returncode == 1
    decision = json.loads((checkout / "results/change/evaluation.gates.json").read_text(encoding="utf-8"))
    answers = {(outcome["kind"], outcome["group"]): outcome["answer"] for outcome in decision["outcomes"]}
    assert answers["baseline", "mock/perfect"] == "red"
    assert answers["baseline", "mock/careless"] == "green"


def test_without_a_baseline_nothing_is_sent(checkout):
    done = run(decide(), checkout)
    assert done.returncode == pytest.ExitCode.USAGE_ERROR
    assert "baseline.json" in done.stderr
    assert not (checkout / "results").exists()


def test_the_workflow_runs_the_same_commands(checkout):
    workflow = yaml.safe_load(block("yaml other"))
    steps = workflow["jobs"]["evaluate"]["steps"]
    scripts = [step["run"] for step in steps if "pytest " in step.get("run", "")]
    assert [words for script in scripts for words in commands(script)] == commands(block("sh"))

    run(scripts[0], checkout)
    worse(checkout)
    summary = checkout / "summary.md"
    done = run(
        scripts[1],
        checkout,
        GITHUB_ACTIONS="true",
        GITHUB_WORKSPACE=str(checkout),
        GITHUB_STEP_SUMMARY=str(summary),
    )
    assert done.returncode == 1
    assert summary.read_text(encoding="utf-8").startswith("### ❌ red: ")
    assert re.search(rf"^::error file={SUITE}/tasks\.yaml,line=\d+,", done.stdout, re.MULTILINE)
