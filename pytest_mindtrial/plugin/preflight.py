"""Checks what selected tasks need of Docker, before anything is sent.

A session whose selected tasks need no container never touches Docker. Does not start anything. Source: spec docker 3.
"""

from __future__ import annotations

from collections.abc import Iterable
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from pytest_mindtrial.engine.engine import Engine
    from pytest_mindtrial.plugin.items import TaskItem
    from pytest_mindtrial.suite.model import Config, Task

__all__ = ["sandbox_problems"]


def sandbox_problems(engine: Engine, items: Iterable[TaskItem]) -> list[str]:
    """Return what is missing for the tools, services and custom validators of the given items, one text each."""
    wanted: dict[int, tuple[Config, dict[int, Task]]] = {}
    for item in items:
        if item.task.tools or item.task.rules.custom_validator:
            _, tasks = wanted.setdefault(id(item.suite_config), (item.suite_config, {}))
            tasks[id(item.task)] = item.task
    return [
        str(problem) for config, tasks in wanted.values() for problem in engine.hub_of(config).preflight(tasks.values())
    ]
