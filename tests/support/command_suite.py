"""The small suite with a good and a bad mock that tests of the ``mindtrial`` command share."""

from __future__ import annotations

from pathlib import Path

__all__ = ["CONFIG", "TASKS", "write_suite"]

CONFIG = """\
config:
  output-dir: out
  task-source: tasks.yaml
  providers:
    - name: mock
      runs:
        - name: good
          model: mock-1
        - name: bad
          model: mock-1
          model-parameters: {behaviour: careless, accuracy: 0}
"""
TASKS = """\
task-config:
  tasks:
    - name: sum
      prompt: What is 2 + 2?
      response-result-format: a number
      expected-result: "4"
"""


def write_suite(folder: Path) -> Path:
    """Write config.yaml and tasks.yaml into a folder and return it."""
    (folder / "config.yaml").write_text(CONFIG)
    (folder / "tasks.yaml").write_text(TASKS)
    return folder
