"""Throwaway projects for real pytest sub-runs."""

from __future__ import annotations

import importlib
import json
import pkgutil
import textwrap
from collections.abc import Mapping
from pathlib import Path
from typing import Any

import pytest

import pytest_mindtrial

# An in-process sub-run drops the modules it imported itself; C extensions (yaml, pydantic) do not survive a second
# import, so everything is imported before the first sub-run.
for _module in pkgutil.walk_packages(pytest_mindtrial.__path__, "pytest_mindtrial."):
    importlib.import_module(_module.name)

CONFIG = """\
config:
  output-dir: results
  output-basename: out
  task-source: tasks.yaml
  providers:
    - name: mock
      runs:
        - name: good
          model: mock-1
          model-parameters: {behaviour: perfect}
"""

TASKS = """\
task-config:
  tasks:
    - name: sum
      prompt: What is 2 + 2?
      response-result-format: single number
      expected-result: "4"
    - name: capital
      prompt: Capital of France?
      response-result-format: one word
      expected-result: Paris
"""


class Project:
    """A directory with a configuration and task files, and the ways to run it."""

    def __init__(self, pytester: pytest.Pytester) -> None:
        self.pytester = pytester
        self.path: Path = pytester.path

    def write(self, name: str, text: str) -> Path:
        path = self.path / name
        path.parent.mkdir(parents=True, exist_ok=True)
        path.write_text(textwrap.dedent(text), encoding="utf-8")
        return path

    def suite(self, tasks: str = TASKS, config: str = CONFIG) -> None:
        self.write("tasks.yaml", tasks)
        self.write("config.yaml", config)

    def mock(self, parameters: Mapping[str, Any], tasks: str = TASKS, **run: Any) -> None:
        """Write a suite whose only run is a mock with these model parameters."""
        entry = {"name": "m", "model": "mock-1", "model-parameters": dict(parameters), **run}
        config = {
            "output-dir": "results",
            "output-basename": "out",
            "task-source": "tasks.yaml",
            "providers": [{"name": "mock", "runs": [entry]}],
        }
        self.write("tasks.yaml", tasks)
        (self.path / "config.yaml").write_text(json.dumps({"config": config}), encoding="utf-8")

    def run(self, *args: str) -> pytest.RunResult:
        return self.pytester.runpytest_inprocess("-p", "no:hypothesispytest", "-p", "no:pytest_cov", *args)

    def run_process(self, *args: str) -> pytest.RunResult:
        return self.pytester.runpytest_subprocess(*args)

    def run_workers(self, *args: str) -> pytest.RunResult:
        """Run in processes that load no other plugins, because every worker is a process that has to start."""
        with pytest.MonkeyPatch.context() as patch:
            patch.setenv("PYTEST_DISABLE_PLUGIN_AUTOLOAD", "1")
            return self.pytester.runpytest_inprocess("-p", "xdist", "-p", "mindtrial", *args)

    def results(self, name: str = "results/out.json") -> dict[str, Any]:
        return json.loads((self.path / name).read_text(encoding="utf-8"))

    def entries(self, name: str = "results/out.json") -> list[dict[str, Any]]:
        return [entry for entries in self.results(name)["Results"].values() for entry in entries]

    def kinds(self, name: str = "results/out.json") -> dict[str, str]:
        return {entry["Task"]: entry["Kind"] for entry in self.entries(name)}

    def journal(self, name: str = "results/out.journal.jsonl") -> list[dict[str, Any]]:
        lines = (self.path / name).read_text(encoding="utf-8").splitlines()
        return [json.loads(line) for line in lines]

    def attempts(self, name: str = "results/out.journal.jsonl") -> list[dict[str, Any]]:
        """Return the journalled attempts in the order of finishing."""
        return [line["result"] for line in self.journal(name) if line["type"] == "attempt"]


@pytest.fixture
def project(pytester: pytest.Pytester, monkeypatch: pytest.MonkeyPatch) -> Project:
    monkeypatch.delenv("PYTEST_ADDOPTS", raising=False)
    return Project(pytester)
