"""A plan on its way through the engine, and its future.

Does not queue or run anything (``engine/slots.py``, ``engine/loop.py``).
"""

from __future__ import annotations

import asyncio
import concurrent.futures
import contextlib

from pytest_mindtrial.core.record import Result
from pytest_mindtrial.engine.plan import AttemptPlan
from pytest_mindtrial.engine.slots import Slot

__all__ = ["LaneKey", "Ticket", "fail_future"]

LaneKey = tuple[str, int]
"""Name and index of a provider entry."""


class Ticket:
    """A plan, its future, and while it runs its slot and task."""

    __slots__ = ("future", "lane_key", "plan", "slot", "task")

    def __init__(self, plan: AttemptPlan) -> None:
        self.plan = plan
        self.lane_key: LaneKey = (plan.provider.name, plan.provider.index)
        self.future: concurrent.futures.Future[Result] = concurrent.futures.Future()
        self.slot: Slot | None = None
        self.task: asyncio.Task[None] | None = None


def fail_future(future: concurrent.futures.Future[Result], error: BaseException) -> None:
    """Set an exception, unless whoever waited has given up."""
    with contextlib.suppress(concurrent.futures.InvalidStateError):
        future.set_exception(error)
