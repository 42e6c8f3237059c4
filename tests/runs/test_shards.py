"""``--mt-shard``: every task in exactly one shard, whole; the merged shards equal one run."""

from __future__ import annotations

import json
from pathlib import Path

import pytest

from pytest_mindtrial.cli.main import main

CONFIG = """\
config:
  output-dir: results
  output-basename: out
  task-source: tasks.yaml
  providers:
    - name: mock
      runs: [{name: good, model: m}, {name: half, model: m, model-parameters: {behaviour: careless, accuracy: 0.5}}]
"""


def many(count: int) -> str:
    tasks = [
        {"name": f"t{n:03}", "prompt": "q", "response-result-format": "w", "expected-result": "x"} for n in range(count)
    ]
    return json.dumps({"task-config": {"tasks": tasks}})


def stable(path: Path) -> list[dict[str, object]]:
    """Return what does not depend on time or chance, in order of run and task."""
    document = json.loads(path.read_text(encoding="utf-8"))
    entries = [entry for entries in document["Results"].values() for entry in entries]
    kept = [{key: entry[key] for key in ("Task", "Run", "Kind", "Got", "Want")} for entry in entries]
    return sorted(kept, key=lambda entry: (str(entry["Run"]), str(entry["Task"])))


def test_merged_shards_are_the_whole_run(project):
    project.suite(many(30), CONFIG)
    project.run("tasks.yaml", "--mt-seed=s", "--mt-output-basename=whole")
    tasks: list[set[str]] = []
    for number in (1, 2, 3):
        result = project.run("tasks.yaml", "--mt-seed=s", f"--mt-shard={number}/3", f"--mt-output-basename=s{number}")
        outcomes = result.parseoutcomes()
        entries = project.entries(f"results/s{number}.json")
        assert outcomes["deselected"] + len(entries) == 60
        tasks.append({entry["Task"] for entry in entries})
        assert all(sum(entry["Task"] == task for entry in entries) == 2 for task in tasks[-1])
    assert set.union(*tasks) == {f"t{n:03}" for n in range(30)}
    assert sum(map(len, tasks)) == 30
    assert all(4 <= len(share) <= 16 for share in tasks)
    inputs = [f"--input={project.path}/results/s{number}.json" for number in (1, 2, 3)]
    options = ["--json", "--html=false", "--output-dir", str(project.path / "merged"), "--output-basename", "m"]
    assert main([*options, *inputs, "merge-results"]) == 0
    assert stable(project.path / "merged/m.json") == stable(project.path / "results/whole.json")


def test_a_task_stays_in_its_shard_when_others_come(project):
    project.suite(many(10), CONFIG)
    project.run("tasks.yaml", "--mt-shard=1/2")
    before = {entry["Task"] for entry in project.entries()}
    project.suite(many(20), CONFIG)
    project.run("tasks.yaml", "--mt-shard=1/2")
    after = {entry["Task"] for entry in project.entries()}
    assert before == {task for task in after if task < "t010"}


def test_ordinary_tests_are_in_every_shard_and_workers_agree(project):
    project.suite(many(6), CONFIG)
    project.write("test_plain.py", "def test_plain(): pass\n")
    result = project.run_workers("tasks.yaml", "test_plain.py", "--mt-shard=2/2", "-n2")
    outcomes = result.parseoutcomes()
    assert outcomes.get("passed", 0) + outcomes.get("failed", 0) == 1 + len(project.entries())
    assert 0 < len(project.entries()) < 12


@pytest.mark.parametrize("value", ["0/2", "3/2", "1", "a/b", "1/0"])
def test_a_wrong_shard_is_a_usage_error(project, value):
    project.suite()
    result = project.run("tasks.yaml", f"--mt-shard={value}")
    assert result.ret == pytest.ExitCode.USAGE_ERROR
    result.stderr.fnmatch_lines([f"ERROR: --mt-shard: '{value}' is not i/n*"])
