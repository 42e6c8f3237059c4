"""``--mt-shard i/n``: this job's share of the tasks.

All items of a task, its runs and repeats, are in one shard, so that a shard's comparisons between runs are whole. Which
one is decided by a digest of file and task name alone: adding a task moves no other. Ordinary tests are in every shard.
Does not merge (``mindtrial merge-results``). Source: issue "The engine at scale", xdist.
"""

from __future__ import annotations

import re
from typing import TYPE_CHECKING

import pytest

from pytest_mindtrial.core.ids import content_digest

if TYPE_CHECKING:
    from pytest_mindtrial.plugin.items import TaskItem

__all__ = ["Shard", "deselect_other_shards", "parse_shard", "shard_of"]

Shard = tuple[int, int]
"""1-based number and count."""

_SHARD = re.compile(r"([0-9]+)/([0-9]+)")


def parse_shard(value: str) -> Shard:
    """Return what ``i/n`` means.

    Raises:
        pytest.UsageError: It is not two numbers with 1 ≤ i ≤ n.
    """
    match = _SHARD.fullmatch(value.strip())
    number, count = (int(match[1]), int(match[2])) if match else (0, 0)
    if not 1 <= number <= count:
        raise pytest.UsageError(f"--mt-shard: {value!r} is not i/n with 1 <= i <= n, such as 2/5")
    return number, count


def shard_of(nodeid: str, task: str, count: int) -> int:
    """Return the 1-based shard of a task.

    Args:
        nodeid: Of any of its items; only the file counts, relative to the root directory.
        task: Its name.
        count: Number of shards.
    """
    return int(content_digest("shard-1", nodeid.partition("::")[0], task)[:16], 16) % count + 1


def deselect_other_shards(config: pytest.Config, items: list[pytest.Item], shard: Shard) -> None:
    """Deselect the task items that other jobs run."""
    from pytest_mindtrial.plugin.items import TaskItem

    number, count = shard
    kept: list[pytest.Item] = []
    others: list[TaskItem] = []
    for item in items:
        if isinstance(item, TaskItem) and shard_of(item.nodeid, item.task.name, count) != number:
            others.append(item)
        else:
            kept.append(item)
    if others:
        config.hook.pytest_deselected(items=others)
        items[:] = kept
