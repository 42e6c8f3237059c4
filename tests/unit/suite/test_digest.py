import os
from dataclasses import replace

import pytest

from pytest_mindtrial.core.errors import Position
from pytest_mindtrial.core.record import Metadata
from pytest_mindtrial.suite.digest import attempt_digest, file_digest, run_digest, task_digest
from pytest_mindtrial.suite.model import FileRef, JudgeSelection, Pricing, RetryPolicy, Rules, Run, Task, ToolSelection

RUN = Run("r", "openai", "m", {"temperature": 1})


@pytest.fixture
def task(tmp_path):
    (tmp_path / "a.txt").write_text("one")
    return Task("t", "p", {"type": "object"}, ({"a": 1},), files=(FileRef("a", "a.txt", tmp_path),))


CHANGES = [
    {"name": "u"},
    {"prompt": "q"},
    {"response_format": "F"},
    {"expected": ({"a": 2},)},
    {"expected": ({"a": 1}, {"a": 1})},
    {"rules": Rules(trim_lines=True)},
    {"rules": Rules(judge=JudgeSelection(enabled=True, name="j"))},
    {"system_prompt": "s"},
    {"files": ()},
    {"tools": (ToolSelection("x"),)},
    {"service_inputs": {"s": {"x": 1}}},
    {"max_turns": 3},
]


@pytest.mark.parametrize("change", CHANGES)
def test_what_decides_an_attempt_counts(task, change):
    assert task_digest(replace(task, **change)) != task_digest(task)


@pytest.mark.parametrize(
    "change",
    [
        {"position": Position("f", 1, 1)},
        {"metadata": Metadata("s", tags=("x",))},
        {"disabled": True},
        {"must_pass": True},
        {"repeat": 5},
    ],
)
def test_labels_and_places_do_not_count(task, change):
    assert task_digest(replace(task, **change)) == task_digest(task)


def test_file_content_counts(task, tmp_path):
    before = task_digest(task)
    path = tmp_path / "a.txt"
    path.write_text("two")
    os.utime(path, ns=(1, 1))
    assert task_digest(task) != before
    path.write_text("one")
    os.utime(path, ns=(2, 2))
    assert task_digest(task) == before


def test_files_that_cannot_be_read(tmp_path, monkeypatch):
    assert file_digest(FileRef("a", "none", tmp_path)) == "absent"
    assert file_digest(FileRef("a", "https://h/x", tmp_path)) == "url:https://h/x"
    (tmp_path / "b").write_text("x")

    def fail(self):
        raise OSError

    monkeypatch.setattr("pathlib.Path.read_bytes", fail)
    assert file_digest(FileRef("a", "b", tmp_path)) == "absent"


def test_given_file_digests_are_used(task):
    assert task_digest(task, lambda file: "x") == task_digest(task, lambda file: "x")
    assert task_digest(task, lambda file: "x") != task_digest(task, lambda file: "y")


@pytest.mark.parametrize(
    "change",
    [
        {"name": "s"},
        {"provider": "xai"},
        {"model": "n"},
        {"parameters": {}},
        {"text_only": True},
        {"disable_structured_output": True},
    ],
)
def test_run_parameters_count(change):
    assert run_digest(replace(RUN, **change)) != run_digest(RUN)


@pytest.mark.parametrize(
    "change",
    [{"max_requests_per_minute": 5}, {"retry_policy": RetryPolicy(1, 1)}, {"pricing": Pricing()}, {"disabled": True}],
)
def test_limits_and_prices_do_not_count(change):
    assert run_digest(replace(RUN, **change)) == run_digest(RUN)


def test_attempts_differ_by_repeat_and_endpoint(task):
    found = {attempt_digest(task, RUN), attempt_digest(task, RUN, 1), attempt_digest(task, RUN, 2)}
    found.add(attempt_digest(task, RUN, endpoint="http://x"))
    assert len(found) == 4
    assert attempt_digest(task, RUN, 1) == attempt_digest(task, RUN, 1)
