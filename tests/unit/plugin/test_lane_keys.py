"""Node ids read back: which item, and what it shares with others."""

from __future__ import annotations

from types import SimpleNamespace

import pytest

from pytest_mindtrial.core.errors import ConfigError
from pytest_mindtrial.plugin.lane_keys import TaskIds
from pytest_mindtrial.plugin.naming import item_name
from pytest_mindtrial.suite.config import load_config
from pytest_mindtrial.suite.tasks import load_suite

CONFIG = """\
config:
  output-dir: results
  task-source: tasks.yaml
  providers:
    - name: openai
      client-config: {api-key: "k-one-123"}
      runs: [{name: mini, model: m}, {name: "mini-r2", model: m}, {name: "thinking [high]", model: m}]
    - {name: openai, client-config: {api-key: "k-one-123"}, runs: [{name: other, model: m}]}
    - {name: openai, client-config: {api-key: "k-two-123"}, runs: [{name: stranger, model: m}]}
    - {name: openai, runs: [{name: by-variable, model: m}]}
    - {name: mock, runs: [{name: a, model: m}, {name: gone, model: m, disabled: true}]}
    - {name: mock, runs: [{name: b, model: m}]}
  judges:
    - name: strict
      provider: {name: mock, runs: [{name: v, model: m, max-requests-per-minute: 6}, {name: free, model: m}]}
    - name: wordy
      provider: {name: mock, runs: [{name: w, model: m, max-tokens-per-minute: 600}]}
"""
TASKS = """\
task-config:
  tasks:
    - name: "a :: b [v2]"
      prompt: q
      response-result-format: w
      expected-result: x
      validation-rules: {judge: {enabled: true, name: strict, variant: v}}
    - name: unlimited
      prompt: q
      response-result-format: w
      expected-result: x
      validation-rules: {judge: {enabled: true, name: strict, variant: free}}
    - name: long
      prompt: q
      response-result-format: w
      expected-result: x
      validation-rules: {judge: {enabled: true, name: wordy, variant: w}}
    - {name: plain, prompt: q, response-result-format: w, expected-result: x}
"""


class Evaluation:
    def __init__(self, root) -> None:
        self.pytest_config = SimpleNamespace(rootpath=root)
        self.config = load_config(root / "config.yaml")
        self.loaded = 0

    def config_for(self, path):
        if path.name != "tasks.yaml":
            raise ConfigError("no configuration")
        return self.config

    def load_suite(self, path, config):
        self.loaded += 1
        return load_suite(path)


@pytest.fixture
def ids(tmp_path) -> TaskIds:
    (tmp_path / "config.yaml").write_text(CONFIG)
    (tmp_path / "tasks.yaml").write_text(TASKS)
    return TaskIds(Evaluation(tmp_path))


@pytest.mark.parametrize(
    ("task", "run", "repeat"),
    [
        ("plain", "mini", None),
        ("plain", "mini", 3),
        ("plain", "mini-r2", None),
        ("plain", "mini-r2", 2),
        ("a :: b [v2]", "thinking [high]", 11),
    ],
)
def test_an_id_is_read_back(ids, task, run, repeat):
    nodeid = f"tasks.yaml::{item_name(task, 'openai', run, repeat)}"
    identity = ids.identity(nodeid)
    assert (identity.run.name, identity.repeat, identity.provider.index) == (run, repeat, 0)
    assert ids.task(identity).name == task
    assert ids.identity(f"{nodeid}@group") == identity


@pytest.mark.parametrize(
    "nodeid",
    [
        "tasks.yaml::plain[openai-nobody]",
        "tasks.yaml::plain[mock-gone]",
        "tasks.yaml::plain",
        "tasks.yaml",
        "other.yaml::plain[mock-a]",
        "test_x.py::test_a[mock-a]",
    ],
)
def test_other_ids_are_not_ours(ids, nodeid):
    assert ids.identity(nodeid) is None
    assert ids.keys(nodeid) == ()


def keys(ids: TaskIds, run: str, task: str = "plain") -> set[object]:
    return set(ids.keys(f"tasks.yaml::{item_name(task, *run.split('-', 1))}"))


def test_entries_of_one_key_are_one_account(ids):
    assert keys(ids, "openai-mini") == keys(ids, "openai-other")
    assert not keys(ids, "openai-mini") & keys(ids, "openai-stranger")
    assert not keys(ids, "openai-mini") & keys(ids, "openai-by-variable")
    assert not keys(ids, "mock-a") & keys(ids, "mock-b")
    assert "k-one-123" not in repr(keys(ids, "openai-mini"))


@pytest.mark.parametrize("task", ["a :: b [v2]", "long"])
def test_a_limited_judge_is_shared_by_the_tasks_that_ask_it(ids, task):
    judged = keys(ids, "mock-a", task) & keys(ids, "mock-b", task)
    assert len(judged) == 1
    assert not keys(ids, "mock-a", "unlimited") & keys(ids, "mock-b", "unlimited")
    assert not keys(ids, "mock-a") & keys(ids, "mock-b")
    assert ids._evaluation.loaded == 1
