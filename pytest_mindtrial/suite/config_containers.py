"""Tools, services and custom validators of config.yaml: models to values, with the rules between keys.

Does not look at tasks (``suite/start_checks.py``) and never talks to Docker. Source: spec mindtrial 1.7; docker 3, 5.1,
6.1.
"""

from __future__ import annotations

from collections.abc import Sequence

from pytest_mindtrial.suite.config_models import DependencyModel, ServiceModel, ToolModel, ValidatorModel
from pytest_mindtrial.suite.json_schema import schema_problem
from pytest_mindtrial.suite.model import (
    ContainerLimits,
    Dependency,
    Service,
    TemplateFile,
    Tool,
    ValidatorDefinition,
)
from pytest_mindtrial.suite.nodes import Path
from pytest_mindtrial.suite.problems import Problems
from pytest_mindtrial.suite.templates import TemplateKind, template_problem

__all__ = ["build_services", "build_tools", "build_validators"]


def build_tools(models: Sequence[ToolModel], problems: Problems, path: Path) -> tuple[Tool, ...]:
    """Return the tools; ``path`` is that of the list."""
    return tuple(_tool(model, problems, (path, index)) for index, model in enumerate(models))


def build_services(models: Sequence[ServiceModel], problems: Problems, path: Path) -> tuple[Service, ...]:
    """Return the services; ``path`` is that of the list."""
    return tuple(
        Service(
            name=model.name,
            image=model.image,
            port=model.endpoint.port,
            scheme=model.endpoint.scheme,
            command=tuple(model.command),
            env=model.env,
            input_env=model.input_env,
            healthcheck=tuple(model.healthcheck),
            startup_timeout_s=model.startup_timeout,
            limits=ContainerLimits(None, model.max_memory_mb, model.cpu_percent),
            position=problems.position((path, index)),
        )
        for index, model in enumerate(models)
    )


def build_validators(
    models: Sequence[ValidatorModel], problems: Problems, path: Path
) -> tuple[ValidatorDefinition, ...]:
    """Return the custom validators; ``path`` is that of the list."""
    return tuple(_validator(model, problems, (path, index)) for index, model in enumerate(models))


def _tool(model: ToolModel, problems: Problems, path: Path) -> Tool:
    if model.parameters:
        problem = schema_problem(model.parameters)
        if problem:
            problems.add_path(f"parameters must be a valid JSON schema: {problem}", (path, "parameters"))
    _check_targets(model, problems, path)
    return Tool(
        name=model.name,
        image=model.image,
        description=model.description,
        parameters=model.parameters,
        parameter_files=model.parameter_files,
        auxiliary_dir=model.auxiliary_dir,
        shared_dir=model.shared_dir,
        command=tuple(model.command),
        env=model.env,
        dependencies=_dependencies(model.dependencies, problems, (path, "dependencies")),
        position=problems.position(path),
    )


def _check_targets(model: ToolModel, problems: Problems, path: Path) -> None:
    """Refuse two mounts at one place: engines do."""
    seen: dict[str, str] = {}
    targets = [(target, ("parameter-files", name)) for name, target in model.parameter_files.items()]
    for key, value in (("auxiliary-dir", model.auxiliary_dir), ("shared-dir", model.shared_dir)):
        if value is not None:
            targets.append((value, (key, "")))
    for target, (key, name) in targets:
        label = f"{key}.{name}" if name else key
        if target in seen:
            place: Path = ((path, key), name) if name else (path, key)
            problems.add_path(f"container path {target!r} is already used by {seen[target]}", place)
        seen[target] = label


def _validator(model: ValidatorModel, problems: Problems, path: Path) -> ValidatorDefinition:
    for index, argument in enumerate(model.command):
        _check(argument, "validator", problems, ((path, "command"), index))
    for name, value in model.env.items():
        _check(value, "validator", problems, ((path, "env"), name))
    for index, file in enumerate(model.template_files):
        _check(file.template, "validator", problems, (((path, "template-files"), index), "template"))
    return ValidatorDefinition(
        name=model.name,
        image=model.image,
        command=tuple(model.command),
        env=model.env,
        template_files=tuple(TemplateFile(file.path, file.template) for file in model.template_files),
        dependencies=_dependencies(model.dependencies, problems, (path, "dependencies")),
        limits=ContainerLimits(model.timeout, model.max_memory_mb, model.cpu_percent),
        position=problems.position(path),
    )


def _dependencies(models: Sequence[DependencyModel], problems: Problems, path: Path) -> tuple[Dependency, ...]:
    for index, model in enumerate(models):
        for name, value in model.env.items():
            _check(value, "dependency env", problems, (((path, index), "env"), name))
    return tuple(Dependency(model.service, model.env) for model in models)


def _check(text: str, kind: TemplateKind, problems: Problems, path: Path) -> None:
    problem = template_problem(text, kind)
    if problem:
        problems.add_path(problem, path)
