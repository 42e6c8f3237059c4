"""Values of the ``mt_tools`` and ``mt_services`` fixtures, and what an overriding fixture may return instead.

The defaults tell what a task selects and needs, without starting anything. Source: design D4; spec docker 4 and 5.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from dataclasses import dataclass, field
from typing import TYPE_CHECKING, Any

from pytest_mindtrial.suite.model import Config, ContainerLimits, Task, ToolSelection

if TYPE_CHECKING:
    from pytest_mindtrial.engine.functions import FunctionTool
    from pytest_mindtrial.engine.plan import ToolExecutor
    from pytest_mindtrial.sandbox.endpoints import ServiceEndpoint

__all__ = ["TaskServices", "TaskTool", "TaskTools", "as_services", "as_tools"]


@dataclass(frozen=True, slots=True)
class TaskTool:
    """A tool that a task selects.

    Attributes:
        name: Name in the configuration.
        description: For the model.
        parameters: JSON Schema of the arguments.
        image: Docker image that a call runs.
        max_calls: None = unlimited.
        limits: Of one call.
    """

    name: str
    description: str
    parameters: Mapping[str, Any]
    image: str
    max_calls: int | None = None
    limits: ContainerLimits = field(default_factory=ContainerLimits)


class TaskTools(Mapping[str, TaskTool]):
    """The tools that a task selects, by name, in its order; calling them is the attempt's business."""

    def __init__(self, task: Task, config: Config) -> None:
        self._task = task
        self._config = config

    def __getitem__(self, name: str) -> TaskTool:
        selection = next((each for each in self._task.tools if each.name == name), None)
        tool = next((each for each in self._config.tools if each.name == name), None)
        if selection is None or tool is None:
            raise KeyError(name)
        return TaskTool(name, tool.description, tool.parameters, tool.image, selection.max_calls, selection.limits)

    def __iter__(self) -> Iterator[str]:
        return (each.name for each in self._task.tools)

    def __len__(self) -> int:
        return len(self._task.tools)

    def __repr__(self) -> str:
        return f"<tools of {self._task.name!r}: {', '.join(self) or 'none'}>"


class TaskServices(Mapping[str, "ServiceEndpoint"]):
    """The services that a task needs, by name, with the address at which its tools and validator find them.

    The addresses exist inside the attempt's own networks only: this process cannot reach them.
    """

    def __init__(self, task: Task, config: Config) -> None:
        self._task = task
        self._config = config

    def _found(self) -> dict[str, ServiceEndpoint]:
        from pytest_mindtrial.sandbox.endpoints import endpoint_of
        from pytest_mindtrial.sandbox.needs import needs_of

        return {service.name: endpoint_of(service) for service in needs_of(self._task, self._config).services}

    def __getitem__(self, name: str) -> ServiceEndpoint:
        return self._found()[name]

    def __iter__(self) -> Iterator[str]:
        return iter(self._found())

    def __len__(self) -> int:
        return len(self._found())

    def __repr__(self) -> str:
        return f"<services of {self._task.name!r}: {', '.join(self) or 'none'}>"


def as_tools(value: Any, task: Task, config: Config) -> ToolExecutor | None:
    """Return what an overridden ``mt_tools`` gave as a `ToolExecutor`; None for our own handle.

    Args:
        value: A tool executor, or a mapping from names to functions; a `TaskTool` in it stays a container.
        task: The item's task; its limits hold for functions of the same name.
        config: Its definitions describe functions of the same name.

    Raises:
        TypeError: It is neither, or a function cannot be described to a model.
    """
    if value is None or isinstance(value, TaskTools):
        return None
    if hasattr(value, "call") and hasattr(value, "usage"):
        return value  # type: ignore[no-any-return] # the user's own
    if not isinstance(value, Mapping):
        raise TypeError(f"mt_tools must be a mapping of functions or a tool executor, not {type(value).__name__}")
    from pytest_mindtrial.engine.functions import FunctionTools
    from pytest_mindtrial.providers.base import ToolDefinition

    contained = {name: tool for name, tool in value.items() if isinstance(tool, TaskTool)}
    own = TaskTools(task, config)
    if foreign := [name for name, tool in contained.items() if own.get(name) != tool]:
        raise TypeError(f"mt_tools: {', '.join(foreign)} cannot be renamed, changed, or taken from another task")
    return FunctionTools(
        [_function_tool(name, function, task, config) for name, function in value.items() if name not in contained],
        [ToolDefinition(tool.name, tool.description, tool.parameters) for tool in contained.values()],
        order=value,
        is_strict=config.tool_argument_validation == "strict",
    )


def _function_tool(name: str, function: Any, task: Task, config: Config) -> FunctionTool:
    from pytest_mindtrial.engine.functions import FunctionTool, definition_of
    from pytest_mindtrial.providers.base import ToolDefinition

    if not callable(function):
        raise TypeError(f"mt_tools: {name!r} must be a function, not {type(function).__name__}")
    tool = next((each for each in config.tools if each.name == name), None)
    if tool is not None:
        definition = ToolDefinition(name, tool.description, tool.parameters)
    else:
        definition = definition_of(name, function)
    selection = next((each for each in task.tools if each.name == name), ToolSelection(name))
    return FunctionTool(definition, function, selection.max_calls, selection.limits.timeout_s)


def as_services(value: Any, config: Config) -> Mapping[str, str] | None:
    """Return what an overridden ``mt_services`` gave: service → running container; None for our own handle.

    Raises:
        TypeError: It is not such a mapping, or names a URL: containers have no way to the host.
        ConfigError: A service is not defined.
    """
    if value is None or isinstance(value, TaskServices):
        return None
    if not isinstance(value, Mapping):
        raise TypeError(
            f"mt_services must be a mapping from services to names of running containers, not {type(value).__name__}"
        )
    from pytest_mindtrial.sandbox.needs import unknown

    known = [service.name for service in config.services]
    for name, container in value.items():
        if name not in known:
            raise unknown("service", name, known, None)
        if not isinstance(container, str) or not container or "/" in container:
            raise TypeError(
                f"mt_services: {name!r} must be the name of a running container, found {container!r}; networks of"
                " services have no way to the host or the internet, so a URL cannot be used"
            )
    return dict(value)
