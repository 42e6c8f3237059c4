"""Spec docker 3: everything that can be known before anything is spent, one clear message each."""

from __future__ import annotations

from dataclasses import replace
from pathlib import Path
from typing import Any

import pytest

from pytest_mindtrial.core.errors import ConfigError, Position, SandboxSetupError, TaskError
from pytest_mindtrial.sandbox.needs import needs_of
from pytest_mindtrial.sandbox.preflight import preflight, split_reference
from pytest_mindtrial.suite.model import (
    Config,
    ContainerLimits,
    Dependency,
    FileRef,
    Rules,
    Service,
    Task,
    TemplateFile,
    Tool,
    ToolSelection,
    ValidatorDefinition,
)

HERE = Position("config.yaml", 3, 5)
TOOL = Tool("tool-1", "image-t", "d", {}, dependencies=(Dependency("cart", {"U": "{{ .Endpoint }}"}),), position=HERE)
SERVICE = Service("cart", "image-s", 80, input_env={"customer": "C"}, position=HERE)
VALIDATOR = ValidatorDefinition("check", "image-v", position=HERE)
CONFIG = Config(Path("config.yaml"), (), tools=(TOOL,), services=(SERVICE,), validators=(VALIDATOR,))
TASK = Task(
    "t",
    "p",
    "f",
    tools=(ToolSelection("tool-1"),),
    rules=Rules(custom_validator="check"),
    position=Position("tasks.yaml", 9, 1),
)


def found(fake: Any, config: Config = CONFIG, task: Task = TASK, **options: Any) -> list[Any]:
    return preflight([task], config, lambda: fake, **options)


def refuse() -> Any:
    raise AssertionError("connected")


def test_all_is_well(fake: Any) -> None:
    assert found(fake) == []
    assert fake.done == ["inspect_image"] * 3
    assert fake.is_closed


def test_tasks_without_needs_never_connect() -> None:
    assert preflight([Task("t", "p", "f")], CONFIG, refuse) == []


def test_images_are_looked_up_once_and_told_with_their_first_user(fake: Any) -> None:
    fake.missing = {"image-t", "image-s"}
    problems = preflight([TASK, replace(TASK, name="u")], CONFIG, lambda: fake)
    assert [str(problem) for problem in problems] == [
        f"image '{image}' ({owner} of task 't') is not on this machine; images are never fetched by themselves."
        f" Run: docker pull {image}"
        for image, owner in (("image-t", "tool 'tool-1'"), ("image-s", "service 'cart'"))
    ]
    assert fake.done == ["inspect_image"] * 3


def test_images_are_fetched_when_asked(fake: Any, error: Any) -> None:
    fake.missing = {"image-t:latest", "image-v"}
    config = replace(CONFIG, tools=(replace(TOOL, image="image-t:latest"),))
    fake.failures["pull"] = [None, error(404, "no such repository")]
    (problem,) = found(fake, config, pull=True)
    assert "image 'image-v' (validator 'check' of task 't') is not on this machine and could not be fetched" in str(
        problem
    )
    assert "no such repository" in str(problem)


def test_an_engine_failure_during_the_look_up_is_told(fake: Any, error: Any) -> None:
    fake.failures["inspect_image"] = [error(500, "broken")]
    assert [str(problem) for problem in found(fake)] == ["the Docker engine could not look for image 'image-t': broken"]


def test_a_missing_engine_is_one_problem() -> None:
    def connect() -> Any:
        raise SandboxSetupError("no engine")

    assert [str(problem) for problem in preflight([TASK], CONFIG, connect)] == ["no engine"]


@pytest.mark.parametrize(
    "config, task, message",
    [
        (
            replace(CONFIG, tools=()),
            TASK,
            "tasks.yaml:9:1: tool 'tool-1' is not defined in the configuration (defined: none)",
        ),
        (
            replace(CONFIG, services=(replace(SERVICE, name="card"),)),
            TASK,
            "config.yaml:3:5: service 'cart' is not defined in the configuration (defined: card); did you mean 'card'?",
        ),
        (replace(CONFIG, validators=()), TASK, "validator 'check' is not defined"),
        (
            replace(CONFIG, validators=(replace(VALIDATOR, dependencies=(Dependency("x"),)),)),
            TASK,
            "service 'x' is not defined",
        ),
    ],
)
def test_names_must_exist(config: Config, task: Task, message: str) -> None:
    (problem,) = preflight([task], config, refuse)
    assert isinstance(problem, ConfigError)
    assert message in str(problem)


@pytest.mark.parametrize(
    "inputs, message",
    [
        (
            {"cartt": {"customer": 1}},
            "service 'cartt' is not defined in the configuration (defined: cart); did you mean 'cart'?",
        ),
        (
            {"cart": {"custmer": 1}},
            "tasks.yaml:9:1: service-inputs cart.custmer: service 'cart' declares no such input (declared: customer);"
            " did you mean 'customer'?",
        ),
        ({"cart": {"customer": [1]}}, "service-inputs cart.customer must be a scalar value"),
        ({"cart": {"customer": None}}, "service-inputs cart.customer must be a scalar value"),
        ({"cart": {"customer": "{{ .Nope }}"}}, "service-inputs cart.customer"),
        ({"cart": {"customer": "{{ "}}, "service-inputs cart.customer"),
    ],
)
def test_inputs_are_checked_even_when_the_service_is_not_used(inputs: Any, message: str) -> None:
    task = Task("t", "p", "f", service_inputs=inputs, position=Position("tasks.yaml", 9, 1))
    (problem,) = preflight([task], CONFIG, refuse)
    assert message in str(problem)


@pytest.mark.parametrize("value", [1, 0.5, True, "text", "{{ hash .Evaluation.Seed }}"])
def test_good_inputs_pass(value: Any) -> None:
    assert preflight([Task("t", "p", "f", service_inputs={"cart": {"customer": value}})], CONFIG, refuse) == []


@pytest.mark.parametrize(
    "definition, message",
    [
        (
            replace(TOOL, dependencies=(Dependency("cart", {"U": "{{ .Endpont }}"}),)),
            "tool 'tool-1' dependency 'cart' env U",
        ),
        (replace(VALIDATOR, command=("a", "{{ .Task.Nam }}")), "validator 'check' command[1]"),
        (replace(VALIDATOR, env={"E": "{{ nope }}"}), "validator 'check' env E"),
        (replace(VALIDATOR, template_files=(TemplateFile("/a", "{{"),)), "validator 'check' template file /a"),
        (
            replace(VALIDATOR, template_files=(TemplateFile("a", ""),)),
            "template file a must be an absolute container path, found 'a'",
        ),
        (
            replace(VALIDATOR, template_files=(TemplateFile("/in/./a", ""), TemplateFile("/in/a", ""))),
            "validator 'check': template file /in/./a, template file /in/a share the container path /in/a",
        ),
        (
            replace(VALIDATOR, limits=ContainerLimits(max_memory_mb=5)),
            "max-memory-mb must be at least 6, the engine's minimum; found 5",
        ),
        (replace(VALIDATOR, limits=ContainerLimits(cpu_percent=101)), "cpu-percent must be 1–100, found 101"),
        (replace(VALIDATOR, limits=ContainerLimits(timeout_s=0)), "timeout must be greater than 0"),
        (replace(SERVICE, limits=ContainerLimits(max_memory_mb=1)), "service 'cart': max-memory-mb"),
        (replace(TOOL, parameter_files={"code": "main.py"}), "parameter file code must be an absolute container path"),
        (replace(TOOL, shared_dir="shared"), "shared-dir must be an absolute container path"),
        (replace(TOOL, auxiliary_dir="data"), "auxiliary-dir must be an absolute container path"),
        (
            replace(TOOL, parameter_files={"a": "/x"}, shared_dir="/x/"),
            "parameter file a, shared-dir share the container path /x",
        ),
    ],
)
def test_mistakes_in_definitions(fake: Any, definition: Any, message: str) -> None:
    kind = {Tool: "tools", Service: "services", ValidatorDefinition: "validators"}[type(definition)]
    (problem,) = found(fake, replace(CONFIG, **{kind: (definition,)}))
    assert message in str(problem)
    assert str(problem).startswith("config.yaml:3:5: ")


def test_file_names_must_stay_in_the_directory_and_apart(fake: Any, tmp_path: Path) -> None:
    tool = replace(TOOL, auxiliary_dir="/data", parameter_files={"code": "/data/a"})
    files = (
        FileRef("../x", "u", tmp_path, position=Position("tasks.yaml", 12, 3)),
        FileRef("a", "u", tmp_path),
        FileRef("../y", "u", tmp_path, access=frozenset({"native"})),
    )
    outside, shared = found(fake, replace(CONFIG, tools=(tool,)), replace(TASK, files=files))
    assert str(outside) == "tasks.yaml:12:3: file '../x' would lie outside the auxiliary directory /data"
    assert isinstance(outside, TaskError)
    assert "parameter file code, file 'a' share the container path /data/a" in str(shared)


def test_a_mistake_that_many_tasks_share_is_told_once(fake: Any) -> None:
    config = replace(CONFIG, tools=(replace(TOOL, shared_dir="x"),))
    assert len(preflight([TASK, replace(TASK, name="u")], config, lambda: fake)) == 1


@pytest.mark.parametrize(
    "image, parts",
    [
        ("python", ("python", "latest")),
        ("python:3", ("python", "3")),
        ("host:5000/a/b", ("host:5000/a/b", "latest")),
        ("host:5000/a/b:1", ("host:5000/a/b", "1")),
        ("a@sha256:00", ("a@sha256:00", None)),
    ],
)
def test_references(image: str, parts: Any) -> None:
    assert split_reference(image) == parts


def test_services_come_in_order_of_first_mention_each_once() -> None:
    first = replace(TOOL, dependencies=(Dependency("b"), Dependency("a")))
    config = replace(
        CONFIG,
        tools=(first, replace(TOOL, name="unused", dependencies=(Dependency("d"),))),
        services=tuple(replace(SERVICE, name=name) for name in "abcd"),
        validators=(replace(VALIDATOR, dependencies=(Dependency("c"), Dependency("a"))),),
    )
    needs = needs_of(TASK, config)
    assert [service.name for service in needs.services] == ["b", "a", "c"]
    assert not needs.is_empty
    assert needs_of(Task("t", "p", "f"), config).is_empty


def test_services_can_be_named_beside_the_tasks(fake: Any) -> None:
    fake.missing.add("image-s")
    (problem,) = found(fake, task=Task("t", "p", "f"), services=("cart",))
    assert "image 'image-s' (service 'cart' of task 't') is not on this machine" in str(problem)
    (problem,) = preflight([Task("t", "p", "f")], CONFIG, refuse, services=("card",))
    assert "service 'card' is not defined in the configuration (defined: cart); did you mean 'cart'?" in str(problem)
