"""Spec docker 6.1 and 6.2 without an engine: rendering first, then one run, every bad end an error."""

from __future__ import annotations

import asyncio
from dataclasses import replace
from typing import Any

import pytest

from pytest_mindtrial.core.errors import SandboxRuntimeError, UserError
from pytest_mindtrial.sandbox.services import ServiceSet
from pytest_mindtrial.sandbox.templates import check_template, execution_data
from pytest_mindtrial.sandbox.validation import ValidatorRunner
from pytest_mindtrial.suite.model import ContainerLimits, Dependency, Service, TemplateFile, ValidatorDefinition

DEFINITION = ValidatorDefinition(
    "v",
    "image",
    command=("check", "{{ .Task.Name }}"),
    env={"ANSWER": "{{ .Candidate.Response }}"},
    template_files=(TemplateFile("/in/./a", "{{ json .OriginalTask.ExpectedResults }}"),),
    limits=ContainerLimits(timeout_s=0.05, max_memory_mb=64),
)
DATA = {
    "OriginalTask": {"Prompt": "p", "ResponseResultFormat": "f", "ExpectedResults": []},
    "Candidate": {"Response": "a"},
    "Rules": {"CaseSensitive": False, "IgnoreWhitespace": False, "TrimLines": False},
}


def services_of(resources: Any) -> ServiceSet:
    return ServiceSet(resources.engine, resources.lease, "attempt-1", resources.allocator, 512)


def validate(
    resources: Any, definition: ValidatorDefinition = DEFINITION, data: Any = DATA, services: Any = None
) -> str:
    runner = ValidatorRunner(
        definition,
        resources,
        attempt="attempt-1",
        services=services or services_of(resources),
        execution=execution_data("seed", "task-a", "p", "r"),
    )
    return asyncio.run(runner(data))


def test_everything_is_rendered_and_files_are_read_only(resources: Any, fake: Any) -> None:
    fake.behaviours["image"].stdout = b"verdict"
    assert validate(resources) == "verdict"
    arguments = fake.made[0].arguments
    assert (arguments["command"], arguments["environment"]) == (["check", "task-a"], ["ANSWER=a"])
    (mount,) = arguments["host_config"]["mounts"]
    assert (mount["Target"], mount["ReadOnly"]) == ("/in/a", True)
    assert arguments["labels"]["pytest-mindtrial.role"] == "validator"
    assert arguments["host_config"]["mem_limit"] == 64 * 1024 * 1024
    assert fake.left == 0


@pytest.mark.parametrize(
    "behaviour, message, details",
    [
        (
            {"exit_code": 1, "stderr": b"why"},
            "validator 'v' ended with exit code 1",
            {"Validator stdout": "ok\n", "Validator stderr": "why"},
        ),
        ({"exit_code": 137, "oom": True, "stdout": b""}, "validator 'v' reached its memory limit of 64 MB", {}),
        ({"hangs": True, "stdout": b""}, "validator 'v' was stopped after its time limit of 0.05s", {}),
    ],
)
def test_bad_ends(resources: Any, fake: Any, behaviour: Any, message: str, details: Any) -> None:
    fake.behaviours["image"].__dict__.update(behaviour)
    with pytest.raises(SandboxRuntimeError) as caught:
        validate(resources)
    assert (str(caught.value), caught.value.details) == (message, details)


def test_a_flood_and_an_engine_failure_are_errors_too(make_resources: Any, fake: Any, error: Any) -> None:
    with pytest.raises(SandboxRuntimeError, match="validator 'v' printed more than 1 bytes"):
        validate(make_resources(output_ceiling_bytes=1))
    fake.failures["start"] = [error(400, "no command")]
    with pytest.raises(SandboxRuntimeError, match="validator 'v' could not be run: no command"):
        validate(make_resources())


@pytest.mark.parametrize("text", ["{{ .Task.Nam }}", "{{ .Candidate.Response.x }}", "{{ nope }}"])
def test_a_rendering_error_makes_no_container(resources: Any, fake: Any, text: str) -> None:
    with pytest.raises(UserError):
        validate(resources, replace(DEFINITION, env={"A": text}))
    assert fake.made == []


def test_an_answer_that_no_file_can_carry_is_replaced(resources: Any, fake: Any) -> None:
    definition = replace(DEFINITION, env={}, template_files=(TemplateFile("/a", "{{ .Candidate.Response }}"),))
    assert validate(resources, definition, {**DATA, "Candidate": {"Response": "\ud800"}}) == "ok\n"


def test_a_service_that_is_gone_is_named(resources: Any, fake: Any) -> None:
    services = services_of(resources)
    asyncio.run(services.start([(Service("s", "service", 1), {})]))
    definition = replace(DEFINITION, dependencies=(Dependency("s", {"U": "{{ .Host }}"}),))
    assert validate(resources, definition, services=services) == "ok\n"
    assert "U=svc-" in fake.made[1].arguments["environment"][1]
    fake.behaviours["image"].exit_code = 1
    fake.made[0].is_running = False
    with pytest.raises(SandboxRuntimeError, match="service 's' stopped"):
        validate(resources, definition, services=services)
    asyncio.run(services.close())


@pytest.mark.parametrize(
    "kind, good, bad",
    [
        ("service input", "{{ hash .Evaluation.Seed .Task.Name }}", "{{ .Endpoint }}"),
        ("dependency env", "{{ .Host }}:{{ .Port }}", "{{ .Task.Name }}"),
        ("validator", "{{ .Run.Name }} {{ json .Candidate.Response }} {{ .Rules.TrimLines }}", "{{ .Verdict.Format }}"),
    ],
)
def test_each_kind_of_template_has_its_own_fields(kind: Any, good: str, bad: str) -> None:
    check_template(good, kind, "where")
    with pytest.raises(UserError, match="the place"):
        check_template(bad, kind, "the place")
