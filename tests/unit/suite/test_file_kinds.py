"""A configuration given as a task file, and the other way round, is one clear mistake."""

from __future__ import annotations

import pytest

from pytest_mindtrial.core.errors import ConfigError, TaskError
from pytest_mindtrial.suite.config import load_config
from pytest_mindtrial.suite.tasks import load_suite


@pytest.mark.parametrize(
    ("load", "error", "text", "message"),
    [
        (load_suite, TaskError, "config: {output-dir: x}", "this is a configuration (root key 'config')"),
        (load_config, ConfigError, "task-config: {tasks: []}", "this is a task file (root key 'task-config')"),
    ],
)
def test_the_other_kind_is_named_once(tmp_path, load, error, text, message):
    path = tmp_path / "file.yaml"
    path.write_text(text + "\n", "utf-8")
    with pytest.raises(error) as caught:
        load(path)
    assert message in str(caught.value)
    assert "unknown key" not in str(caught.value)
    assert str(caught.value).startswith(f"{path}:1:")


@pytest.mark.parametrize("text", ["config: 1\ntask-config: {tasks: []}", "other: 1"])
def test_anything_else_is_judged_key_by_key(tmp_path, text):
    path = tmp_path / "file.yaml"
    path.write_text(text + "\n", "utf-8")
    with pytest.raises(TaskError, match="unknown key"):
        load_suite(path)
