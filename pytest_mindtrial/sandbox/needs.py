"""What of the sandbox a task needs: its tools, its validator, and the services these depend on.

Does not talk to Docker. Source: spec docker 2 and 5.2.
"""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import dataclass

from pytest_mindtrial.core.errors import ConfigError, Position
from pytest_mindtrial.suite.model import Config, Service, Task, Tool, ToolSelection, ValidatorDefinition
from pytest_mindtrial.suite.suggest import allowed_list, near_match

__all__ = ["Needs", "needs_of", "unknown"]


@dataclass(frozen=True, slots=True)
class Needs:
    """Definitions that an attempt uses.

    Attributes:
        tools: Enabled tools with their limits, in the task's order.
        services: Required services in order of first mention: tools, then the validator.
        validator: The custom validator, if the task has one.
    """

    tools: tuple[tuple[Tool, ToolSelection], ...] = ()
    services: tuple[Service, ...] = ()
    validator: ValidatorDefinition | None = None

    @property
    def is_empty(self) -> bool:
        """True when the task never touches Docker."""
        return not self.tools and not self.services and self.validator is None

    @property
    def images(self) -> dict[str, str]:
        """Image → who needs it first, in words."""
        images: dict[str, str] = {}
        for tool, _ in self.tools:
            images.setdefault(tool.image, f"tool {tool.name!r}")
        for service in self.services:
            images.setdefault(service.image, f"service {service.name!r}")
        if self.validator is not None:
            images.setdefault(self.validator.image, f"validator {self.validator.name!r}")
        return images


def needs_of(task: Task, config: Config, services: Iterable[str] = ()) -> Needs:
    """Return what a task needs.

    Args:
        task: The task.
        config: Definitions.
        services: Names of services beyond those that its tools and its validator depend on.

    Raises:
        ConfigError: A tool, service or validator of that name does not exist.
    """
    known_tools = {tool.name: tool for tool in config.tools}
    known_services = {service.name: service for service in config.services}
    known_validators = {validator.name: validator for validator in config.validators}
    tools = []
    for selection in task.tools:
        if selection.name not in known_tools:
            raise unknown("tool", selection.name, known_tools, task.position)
        tools.append((known_tools[selection.name], selection))
    validator = None
    if wanted := task.rules.custom_validator:
        if wanted not in known_validators:
            raise unknown("validator", wanted, known_validators, task.position)
        validator = known_validators[wanted]
    needed: dict[str, Service] = {}
    wishes = [*_dependencies([tool for tool, _ in tools], validator), *((name, task.position) for name in services)]
    for name, position in wishes:
        if name not in known_services:
            raise unknown("service", name, known_services, position)
        needed.setdefault(name, known_services[name])
    return Needs(tuple(tools), tuple(needed.values()), validator)


def unknown(kind: str, name: str, known: Iterable[str], position: Position | None) -> ConfigError:
    """Return the error for a name that the configuration does not define."""
    names = list(known)
    hint = f"(defined: {allowed_list(names)}){near_match(name, names)}"
    return ConfigError(f"{kind} {name!r} is not defined in the configuration {hint}", position)


def _dependencies(
    tools: Iterable[Tool], validator: ValidatorDefinition | None
) -> Iterable[tuple[str, Position | None]]:
    for tool in tools:
        for dependency in tool.dependencies:
            yield dependency.service, tool.position
    if validator is not None:
        for dependency in validator.dependencies:
            yield dependency.service, validator.position
