"""Checks what selected tasks need of Docker, before anything is sent.

A session whose selected tasks need no container never touches Docker. What an overridden fixture replaces is not
looked for. Does not start anything. Source: spec docker 3.
"""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import replace
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from pytest_mindtrial.engine.engine import Engine
    from pytest_mindtrial.plugin.items import TaskItem
    from pytest_mindtrial.suite.model import Config, Task

__all__ = ["sandbox_problems"]


def sandbox_problems(engine: Engine, items: Iterable[TaskItem]) -> list[str]:
    """Return what is missing for the tools, services and custom validators of the given items, one text each."""
    wanted: dict[int, tuple[Config, dict[tuple[int, frozenset[str]], Task]]] = {}
    for item in items:
        task = item.task
        if task.tools or task.rules.custom_validator or task.service_inputs:
            replaced = frozenset(item.foreign_fixtures() or ()) & {"mt_tools", "mt_validator"}
            _, tasks = wanted.setdefault(id(item.suite_config), (item.suite_config, {}))
            tasks[id(task), replaced] = _without(task, replaced)
    return [
        str(problem) for config, tasks in wanted.values() for problem in engine.hub_of(config).preflight(tasks.values())
    ]


def _without(task: Task, replaced: frozenset[str]) -> Task:
    """Return what is left of a task for containers when fixtures are overridden."""
    if "mt_tools" in replaced:
        task = replace(task, tools=())
    if "mt_validator" in replaced:
        task = replace(task, rules=replace(task.rules, custom_validator=""))
    return task
