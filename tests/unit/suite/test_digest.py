import os
from dataclasses import replace
from pathlib import Path

import pytest

from pytest_mindtrial.core.errors import Position
from pytest_mindtrial.core.record import Metadata
from pytest_mindtrial.suite.digest import Definitions, file_digest, run_parts, task_parts
from pytest_mindtrial.suite.model import (
    ClientConfig,
    Config,
    Dependency,
    FileRef,
    Judge,
    JudgePrompt,
    JudgeSelection,
    Pricing,
    Provider,
    RetryPolicy,
    Rules,
    Run,
    Service,
    Task,
    Tool,
    ToolSelection,
    ValidatorDefinition,
)

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
    assert task_parts(replace(task, **change)) != task_parts(task)


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
    assert task_parts(replace(task, **change)) == task_parts(task)


def test_file_content_counts(task, tmp_path):
    before = task_parts(task)
    path = tmp_path / "a.txt"
    path.write_text("two")
    os.utime(path, ns=(1, 1))
    assert task_parts(task) != before
    path.write_text("one")
    os.utime(path, ns=(2, 2))
    assert task_parts(task) == before


def test_files_that_cannot_be_read(tmp_path, monkeypatch):
    assert file_digest(FileRef("a", "none", tmp_path)) == "absent"
    assert file_digest(FileRef("a", "https://h/x", tmp_path)) == "url:https://h/x"
    (tmp_path / "b").write_text("x")

    def fail(self):
        raise OSError

    monkeypatch.setattr("pathlib.Path.read_bytes", fail)
    assert file_digest(FileRef("a", "b", tmp_path)) == "absent"


def test_given_file_digests_are_used(task):
    assert task_parts(task, lambda file: "x") == task_parts(task, lambda file: "x")
    assert task_parts(task, lambda file: "x") != task_parts(task, lambda file: "y")


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
    assert run_parts(replace(RUN, **change)) != run_parts(RUN)


@pytest.mark.parametrize(
    "change",
    [{"max_requests_per_minute": 5}, {"retry_policy": RetryPolicy(1, 1)}, {"pricing": Pricing()}, {"disabled": True}],
)
def test_limits_and_prices_do_not_count(change):
    assert run_parts(replace(RUN, **change)) == run_parts(RUN)


PROVIDER = Provider("openai", 0, ClientConfig(endpoint="http://x"), (RUN,))


def test_attempts_differ_by_repeat_endpoint_and_overridden_fixtures(task):
    definitions = Definitions()
    found = [
        definitions.of(task, RUN),
        definitions.of(task, RUN, 1),
        definitions.of(task, RUN, 2),
        definitions.of(task, RUN, provider=PROVIDER),
        definitions.of(task, RUN, overridden=["mt_provider"]),
    ]
    assert len({definition.digest for definition in found}) == 5
    assert Definitions().of(task, RUN, 1) == found[1]


def test_parts_have_the_words_of_the_files_and_what_is_absent_has_none(task):
    parts = Definitions().of(task, RUN, 1, provider=PROVIDER).parts
    assert set(parts) == {
        *("name", "prompt", "response-result-format", "expected-result", "validation-rules", "files"),
        *("run", "model", "model-parameters", "endpoint", "repeat"),
    }


def config(judge_run=RUN, **fields):
    judge = Judge("j", Provider("openai", 0, ClientConfig(), (judge_run,)))
    return Config(Path("config.yaml"), (PROVIDER,), (judge,), **fields)


def parts_of(task, config):
    return Definitions().of(task, RUN, config=config).parts


def changed(before, after):
    return {name for name in before.keys() | after.keys() if before.get(name) != after.get(name)}


def test_the_judge_and_its_prompt_count(task):
    judged = replace(task, rules=Rules(judge=JudgeSelection(True, "j")))
    before = parts_of(judged, config())
    assert changed(before, parts_of(judged, config(replace(RUN, model="n")))) == {"judge"}
    asked = replace(judged, rules=Rules(judge=JudgeSelection(True, "j", prompt=JudgePrompt("?"))))
    assert changed(before, parts_of(asked, config())) == {"judge-prompt"}
    unknown = replace(task, rules=Rules(judge=JudgeSelection(True, "nobody")))
    assert "judge" in parts_of(unknown, config())


def test_tools_their_services_and_the_custom_validator_count(task):
    tool = Tool("x", "image", "d", {}, dependencies=(Dependency("db"),))
    services = (Service("db", "db:1", 80), Service("unused", "u", 80))
    check = ValidatorDefinition("c", "check:1")
    tooled = replace(task, tools=(ToolSelection("x"),), rules=Rules(custom_validator="c"))
    base = {"tools": (tool,), "services": services, "validators": (check,)}
    before = parts_of(tooled, config(**base))
    for change, part in (
        ({"tools": (replace(tool, image="other"),)}, "tools"),
        ({"services": (replace(services[0], image="db:2"), services[1])}, "services"),
        ({"validators": (replace(check, image="check:2"),)}, "custom-validator"),
    ):
        assert changed(before, parts_of(tooled, config(**{**base, **change}))) == {part}
    moved = replace(tool, position=Position("f", 9, 9))
    assert parts_of(tooled, config(**{**base, "tools": (moved,)})) == before
    assert changed(before, parts_of(tooled, config(**{**base, "services": services[:1]}))) == set()
