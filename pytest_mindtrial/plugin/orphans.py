"""Removing what dead sessions left in Docker, once per session and only by sessions that use Docker.

A plain session does so when its sandbox is first used. Under xdist the controller does it before anything is sent,
because several workers would do it at the same time. Source: spec docker 8 and 12.
"""

from __future__ import annotations

from collections.abc import Iterable
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from pytest_mindtrial.plugin.lane_keys import ItemIdentity, TaskIds

__all__ = ["sweep_before"]


def sweep_before(task_ids: TaskIds, identities: Iterable[ItemIdentity]) -> list[str]:
    """Sweep when one of the items runs containers.

    Args:
        task_ids: Finds tasks.
        identities: The items that will run.

    Returns:
        What could not be removed, in words.
    """
    mine = [each for each in identities if each.config.tools or each.config.validators]
    if not any(task.tools or task.rules.custom_validator for task in task_ids.tasks(mine)):
        return []
    from pytest_mindtrial.core.errors import SandboxSetupError
    from pytest_mindtrial.sandbox.sweep import sweep_orphans

    try:
        return list(sweep_orphans().problems)
    except SandboxSetupError:  # the workers have found an engine; one that is gone now is their error to report
        return []
