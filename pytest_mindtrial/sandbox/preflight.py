"""What can be found out about tools, services and validators before anything is spent.

Looks only at the selected tasks. Does not start containers, and fetches images only when asked to. Source: spec docker
3; spec mindtrial 6.2.
"""

from __future__ import annotations

import posixpath
from collections import Counter
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from typing import Any

from pytest_mindtrial.core.errors import (
    ConfigError,
    MindTrialError,
    SandboxError,
    SandboxSetupError,
    TaskError,
    UserError,
)
from pytest_mindtrial.sandbox.connection import EngineFailure, translated
from pytest_mindtrial.sandbox.needs import Needs, needs_of, unknown
from pytest_mindtrial.sandbox.templates import TemplateKind, check_template
from pytest_mindtrial.sandbox.tools import auxiliary_target
from pytest_mindtrial.suite.model import Config, ContainerLimits, Dependency, Task, Tool, ValidatorDefinition
from pytest_mindtrial.suite.suggest import allowed_list, near_match

__all__ = ["preflight"]

MINIMUM_MEMORY_MB = 6


def preflight(
    tasks: Sequence[Task],
    config: Config,
    connector: Callable[[], Any],
    *,
    pull: bool = False,
    services: Sequence[str] = (),
) -> list[MindTrialError]:
    """Return every problem of the selected tasks, definitions first, then the engine and its images.

    Args:
        tasks: Selected tasks.
        config: Definitions.
        connector: Returns a low-level docker-py client; called only when a task needs Docker.
        pull: Fetch images that are missing.
        services: Names of services beyond those that the tasks need.
    """
    problems: list[MindTrialError] = []
    images: dict[str, str] = {}
    for task in tasks:
        problems += _inputs(task, config)
        try:
            needs = needs_of(task, config, services)
        except ConfigError as error:
            problems.append(error)
            continue
        problems += _definitions(task, needs)
        for image, owner in needs.images.items():
            images.setdefault(image, f"{owner} of task {task.name!r}")
    problems = list({str(problem): problem for problem in problems}.values())
    return problems + (_engine(images, connector, pull=pull) if images else [])


def _inputs(task: Task, config: Config) -> Iterator[MindTrialError]:
    """Check inputs, also those of services that the task does not use."""
    services = {service.name: service for service in config.services}
    for name, inputs in task.service_inputs.items():
        if name not in services:
            yield unknown("service", name, services, task.position)
            continue
        declared = services[name].input_env
        for key, value in inputs.items():
            if key not in declared:
                yield TaskError(
                    f"service-inputs {name}.{key}: service {name!r} declares no such input (declared:"
                    f" {allowed_list(declared)}){near_match(key, declared)}",
                    task.position,
                )
            if isinstance(value, str):
                yield from _template(value, "service input", f"service-inputs {name}.{key}", task)
            elif not isinstance(value, bool | int | float):
                yield TaskError(f"service-inputs {name}.{key} must be a scalar value", task.position)


def _definitions(task: Task, needs: Needs) -> Iterator[MindTrialError]:
    for tool, selection in needs.tools:
        yield from _dependencies(f"tool {tool.name!r}", tool.dependencies, tool)
        yield from _tool_paths(tool, task)
        yield from _limits(f"tool {tool.name!r}", selection.limits, task)
    for service in needs.services:
        yield from _limits(f"service {service.name!r}", service.limits, service)
    if needs.validator is not None:
        yield from _validator(needs.validator)


def _validator(validator: ValidatorDefinition) -> Iterator[MindTrialError]:
    owner = f"validator {validator.name!r}"
    yield from _dependencies(owner, validator.dependencies, validator)
    yield from _limits(owner, validator.limits, validator)
    for number, argument in enumerate(validator.command):
        yield from _template(argument, "validator", f"{owner} command[{number}]", validator)
    for name, text in validator.env.items():
        yield from _template(text, "validator", f"{owner} env {name}", validator)
    for file in validator.template_files:
        yield from _template(file.template, "validator", f"{owner} template file {file.path}", validator)
    yield from _targets(
        owner, {f"template file {file.path}": file.path for file in validator.template_files}, validator
    )


def _dependencies(owner: str, dependencies: Iterable[Dependency], place: Any) -> Iterator[MindTrialError]:
    for dependency in dependencies:
        for name, text in dependency.env.items():
            yield from _template(text, "dependency env", f"{owner} dependency {dependency.service!r} env {name}", place)


def _template(text: str, kind: TemplateKind, where: str, place: Any) -> Iterator[MindTrialError]:
    try:
        check_template(text, kind, where, place.position)
    except UserError as error:
        yield error


def _tool_paths(tool: Tool, task: Task) -> Iterator[MindTrialError]:
    owner = f"tool {tool.name!r}"
    targets = {f"parameter file {name}": path for name, path in tool.parameter_files.items()}
    if tool.shared_dir is not None:
        targets["shared-dir"] = tool.shared_dir
    if tool.auxiliary_dir is not None:
        if not posixpath.isabs(tool.auxiliary_dir):
            yield _relative(owner, "auxiliary-dir", tool.auxiliary_dir, tool)
        for ref in task.files:
            if ref.is_local:
                try:
                    targets[f"file {ref.name!r}"] = auxiliary_target(tool.auxiliary_dir, ref)
                except SandboxError as error:
                    yield TaskError(str(error), ref.position or task.position)
    yield from _targets(owner, targets, tool)


def _targets(owner: str, targets: Mapping[str, str], place: Any) -> Iterator[MindTrialError]:
    """Check that paths are absolute, and that no two of them are the same place."""
    for what, path in targets.items():
        if not posixpath.isabs(path):
            yield _relative(owner, what, path, place)
    counts = Counter(posixpath.normpath(path) for path in targets.values())
    for path, count in counts.items():
        if count > 1:
            names = allowed_list(what for what, target in targets.items() if posixpath.normpath(target) == path)
            yield ConfigError(f"{owner}: {names} share the container path {path}", place.position)


def _relative(owner: str, what: str, path: str, place: Any) -> ConfigError:
    return ConfigError(f"{owner}: {what} must be an absolute container path, found {path!r}", place.position)


def _limits(owner: str, limits: ContainerLimits, place: Any) -> Iterator[MindTrialError]:
    if limits.max_memory_mb is not None and limits.max_memory_mb < MINIMUM_MEMORY_MB:
        yield ConfigError(
            f"{owner}: max-memory-mb must be at least {MINIMUM_MEMORY_MB}, the engine's minimum; found"
            f" {limits.max_memory_mb}",
            place.position,
        )
    if limits.cpu_percent is not None and not 1 <= limits.cpu_percent <= 100:
        yield ConfigError(f"{owner}: cpu-percent must be 1–100, found {limits.cpu_percent}", place.position)
    if limits.timeout_s is not None and limits.timeout_s <= 0:
        yield ConfigError(f"{owner}: timeout must be greater than 0", place.position)


def _engine(images: Mapping[str, str], connector: Callable[[], Any], *, pull: bool) -> list[MindTrialError]:
    try:
        client = connector()
    except SandboxSetupError as error:
        return [error]
    try:
        return [problem for image, owner in images.items() if (problem := _image(client, image, owner, pull=pull))]
    finally:
        client.close()


def _image(client: Any, image: str, owner: str, *, pull: bool) -> MindTrialError | None:
    """Look for one image; fetch it when asked to."""
    missing = f"image {image!r} ({owner}) is not on this machine"
    try:
        with translated(f"look for image {image!r}"):
            client.inspect_image(image)
        return None
    except EngineFailure as error:
        if error.status != 404:
            return error
        if not pull:
            return SandboxSetupError(f"{missing}; images are never fetched by themselves. Run: docker pull {image}")
    try:
        with translated(f"pull image {image!r}"):
            repository, tag = split_reference(image)
            client.pull(repository, tag=tag)
            client.inspect_image(image)
    except EngineFailure as error:
        return SandboxSetupError(f"{missing} and could not be fetched: {error}")
    return None


def split_reference(image: str) -> tuple[str, str | None]:
    """Return repository and tag; ``latest`` when there is neither tag nor digest."""
    if "@" in image:
        return image, None
    head, _, last = image.rpartition("/")
    name, _, tag = last.partition(":")
    return (f"{head}/{name}" if head else name), tag or "latest"
