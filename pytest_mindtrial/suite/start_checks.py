"""Checks that need the configuration and the tasks together, made before anything is sent or started.

Pure: no Docker, no network; local files are looked at. Images and the engine are checked by the sandbox. Source: spec
mindtrial 6.2, 2.7; docker 3, 5.3.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping
from typing import Any, NamedTuple

from pytest_mindtrial.core.errors import Position
from pytest_mindtrial.core.gonumbers import go_float
from pytest_mindtrial.suite.files import check_local
from pytest_mindtrial.suite.model import Config, Dependency, Service, Suite, Task
from pytest_mindtrial.suite.suggest import allowed_list, near_match

__all__ = ["TaskProblem", "check_suite", "check_task_start", "check_tasks"]


class TaskProblem(NamedTuple):
    """Why a task cannot start.

    Attributes:
        task: Task name.
        message: What is missing and what there is.
        position: The task's place.
    """

    task: str
    message: str
    position: Position | None = None

    def __str__(self) -> str:
        """Return ``place: task 'N': message``."""
        text = f"task {self.task!r}: {self.message}"
        return f"{self.position}: {text}" if self.position else text


def check_suite(config: Config, suite: Suite) -> list[str]:
    """Return every problem of the enabled tasks of a suite, as text."""
    return [str(problem) for problem in check_tasks(config, (task for task in suite.tasks if not task.disabled))]


def check_tasks(config: Config, tasks: Iterable[Task]) -> list[TaskProblem]:
    """Return every problem of the given tasks, in their order."""
    names = _Names(config)
    return [problem for task in tasks for problem in names.check(task)]


def check_task_start(config: Config, task: Task) -> list[TaskProblem]:
    """Return every problem of one task."""
    return check_tasks(config, (task,))


class _Names:
    """What a configuration defines, by name."""

    def __init__(self, config: Config) -> None:
        self._judges = {judge.name: [run.name for run in judge.provider.runs] for judge in config.judges}
        self._tools = {tool.name: tool for tool in config.tools}
        self._services = {service.name: service for service in config.services}
        self._validators = {validator.name: validator for validator in config.validators}

    def check(self, task: Task) -> Iterator[TaskProblem]:
        for message in self._messages(task):
            yield TaskProblem(task.name, message, task.position)

    def _messages(self, task: Task) -> Iterator[str]:
        if task.rules.judge.enabled:
            yield from self._judge(task.rules.judge.name, task.rules.judge.variant)
        needed: list[Dependency] = []
        name = task.rules.custom_validator
        if name:
            if name in self._validators:
                needed += self._validators[name].dependencies
            else:
                yield _missing("custom validator not found", name, self._validators)
        for selection in task.tools:
            if selection.name in self._tools:
                needed += self._tools[selection.name].dependencies
            else:
                yield _missing("required tool not found", selection.name, self._tools)
        services = dict.fromkeys(dependency.service for dependency in needed)
        for service in services:
            if service not in self._services:
                yield _missing("required service not found", service, self._services)
        yield from self._inputs(task.service_inputs)
        for service in services:
            if service in self._services and service in task.service_inputs:
                yield from _conflicts(self._services[service], task.service_inputs[service])
        for file in task.files:
            problem = check_local(file)
            if problem:
                yield f"file {file.name!r}: {problem}"

    def _judge(self, name: str, variant: str) -> Iterator[str]:
        variants = self._judges.get(name)
        if variants is None:
            yield _missing("judge not found among those with an enabled variant", name, self._judges)
        elif variant not in variants:
            yield _missing(f"judge {name!r} has no enabled variant of this name", variant, variants)

    def _inputs(self, inputs: Mapping[str, Mapping[str, Any]]) -> Iterator[str]:
        for service, values in inputs.items():
            definition = self._services.get(service)
            if definition is None:
                yield _missing("service-inputs: required service not found", service, self._services)
                continue
            for name in values:
                if name not in definition.input_env:
                    yield _missing(f"service-inputs: service {service!r} has no such input", name, definition.input_env)


def _missing(what: str, name: str, known: Iterable[str]) -> str:
    names = list(known)
    return f"{what}: {name!r}{near_match(name, names)} (defined: {allowed_list(names)})"


def _conflicts(service: Service, inputs: Mapping[str, Any]) -> Iterator[str]:
    """Find variables that get two values; inputs that are templates are known only at the attempt."""
    given: dict[str, tuple[str, str]] = {name: ("env", value) for name, value in service.env.items()}
    for name, value in inputs.items():
        variable = service.input_env.get(name)
        if variable is None or (isinstance(value, str) and "{{" in value):
            continue
        text = _printed(value)
        source, present = given.setdefault(variable, (f"input {name!r}", text))
        if present != text:
            conflict = f"input {name!r} sets {variable} to {text!r}, but {source} sets it to {present!r}"
            yield f"service {service.name!r}: {conflict}"


def _printed(value: Any) -> str:
    if isinstance(value, bool):
        return "true" if value else "false"
    return go_float(value) if isinstance(value, float) else str(value)
