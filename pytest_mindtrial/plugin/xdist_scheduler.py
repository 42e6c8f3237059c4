"""Distributes a session's tests over xdist's workers: task items by lane, everything else to whoever has time.

Implements the ``Scheduling`` protocol of pytest-xdist. A worker gets the items of its own lanes in file order, a few at
a time, because it looks ahead by itself and what was sent cannot be called back under ``-x``. An item that was running
when a worker crashed is never sent again; the rest of its lanes waits for the replacement. Does not start workers and
does not read results. Used only in sessions that may collect task files. Source: spec pytest 4.1 and 4.4.
"""

from __future__ import annotations

from collections import deque
from collections.abc import Callable, Hashable, Iterator, Sequence
from typing import Any

import pytest

__all__ = ["LaneScheduling", "unit_of"]

_ITEMS_IN_HAND = 64
"""Items a worker has been sent and not finished; enough that it never waits for the controller."""

_ITEMS_IN_HAND_MAXFAIL = 2
"""The same under ``-x`` or ``--maxfail``: a worker needs to know its next item, no more."""


def unit_of(dist: str, nodeid: str) -> Hashable:
    """Return what keeps ordinary tests together on one worker under a ``--dist`` value; None = nothing."""
    if dist == "loadscope":
        return nodeid.rpartition("::")[0]
    if dist == "loadfile":
        return nodeid.partition("::")[0]
    if dist == "loadgroup":
        return nodeid.rpartition("@")[2] if "@" in nodeid[nodeid.rfind("]") + 1 :] else None
    return None


class LaneScheduling:
    """The scheduler; see `xdist.scheduler.Scheduling` for the protocol.

    Args:
        config: The controller's configuration.
        workers: Workers of the session, replacements not counted.
        plan: Gives for every worker slot the places of its items in the collection; places in no slot are ordinary
            tests.
        slot_of: Gives the slot that a worker was started for.
        has_stopped: Tells whether a worker runs nothing of what it is sent any more, which ends the session.

    Attributes:
        on_call_back: Called for every message that calls tests back, whether it names any or not.
    """

    def __init__(
        self,
        config: pytest.Config,
        workers: int,
        plan: Callable[[Sequence[str]], Sequence[Sequence[int]]],
        slot_of: Callable[[Any], int],
        has_stopped: Callable[[Any], bool] = lambda node: False,
    ) -> None:
        self._config = config
        self._workers = workers
        self._plan = plan
        self._slot_of = slot_of
        self._has_stopped = has_stopped
        self.on_call_back: Callable[[], None] = lambda: None
        self._in_hand_limit = _ITEMS_IN_HAND_MAXFAIL if config.getvalue("maxfail") else _ITEMS_IN_HAND
        self._dist = str(config.getvalue("dist"))
        self._collection: list[str] | None = None
        self._waiting: dict[Any, list[str]] = {}
        self._in_hand: dict[Any, dict[int, None]] = {}
        self._lanes: list[deque[int]] = []
        self._others: deque[list[int]] = deque()
        self._slots: dict[int, int] = {}

    # What DSession asks

    @property
    def nodes(self) -> list[Any]:
        """The workers that are ready."""
        return list(self._in_hand)

    @property
    def collection_is_completed(self) -> bool:
        """True when every worker has collected."""
        return self._collection is not None or len(self._waiting) >= self._workers

    @property
    def has_pending(self) -> bool:
        """True while a test was not sent, or was sent and has not finished."""
        return self._has_unsent or any(self._in_hand.values())

    @property
    def tests_finished(self) -> bool:
        """True when each worker has at most one test in hand, which it runs when it is told that there is no next."""
        if self._collection is None or self._has_unsent:
            return False
        return all(len(places) < 2 for places in self._in_hand.values())

    @property
    def _has_unsent(self) -> bool:
        return bool(self._others) or any(self._lanes)

    # What DSession tells

    def add_node(self, node: Any) -> None:
        """Hear of a worker that will collect."""
        self._in_hand[node] = {}

    def add_node_collection(self, node: Any, collection: Sequence[str]) -> None:
        """Hear what a worker has collected."""
        if self._collection is None:
            self._waiting[node] = list(collection)
        elif list(collection) != self._collection:
            self._report_difference(node, collection, self._collection)
            self._lanes[self._slot_of(node)].clear()  # nobody else may take them; the session ends incomplete
            node.shutdown()

    def schedule(self) -> None:
        """Send the first tests to every worker that has none."""
        if self._collection is None and not self._agree():
            return
        for node in self.nodes:
            self._fill(node)

    def mark_test_complete(self, node: Any, item_index: int, duration: float = 0) -> None:
        """Hear that a worker has finished a test."""
        self._in_hand[node].pop(item_index, None)
        self._fill(node)

    def mark_test_pending(self, item: str) -> None:
        """Run a test again; for plugins that rerun crashed items."""
        assert self._collection is not None
        self._take_back([self._collection.index(item)])
        for node in self.nodes:
            self._fill(node)

    def remove_pending_tests_from_node(self, node: Any, indices: Sequence[int]) -> None:
        """Pass it on; no test is ever called back from a worker."""
        self.on_call_back()

    def remove_node(self, node: Any) -> str | None:
        """Forget a worker that has ended; return the id of the test it was running, if it crashed."""
        places = list(self._in_hand.pop(node))
        self._waiting.pop(node, None)
        if not places or self._collection is None:
            return None
        crashed, *rest = places
        self._take_back(rest)
        return self._collection[crashed]

    def unsent(self, slot: int) -> list[int]:
        """Return the places of a slot's items that nobody has run or is running."""
        return list(self._lanes[slot]) if self._lanes else []

    # Distribution

    def _agree(self) -> bool:
        """Plan the session once all workers have collected the same tests."""
        (first, collection), *others = self._waiting.items()
        for node, other in others:
            if other != collection:
                self._report_difference(node, other, collection, first)
        if any(other != collection for _, other in others):
            self._collection = []
            return False
        self._collection = collection
        self._lanes = [deque(places) for places in self._plan(collection)]
        self._slots = {place: slot for slot, places in enumerate(self._lanes) for place in places}
        self._others = deque(self._units(place for place in range(len(collection)) if place not in self._slots))
        self._waiting.clear()
        return True

    def _units(self, places: Iterator[int]) -> Iterator[list[int]]:
        """Yield ordinary tests, those together that the user wants on one worker, in the order of their first."""
        assert self._collection is not None
        units: dict[Hashable, list[int]] = {}
        for place in places:
            unit = unit_of(self._dist, self._collection[place])
            units.setdefault(place if unit is None else ("unit", unit), []).append(place)
        yield from units.values()

    def _fill(self, node: Any) -> None:
        """Send a worker its next tests: ordinary ones first, because its lanes make progress meanwhile."""
        in_hand = self._in_hand[node]
        if node.shutting_down or self._collection is None or len(in_hand) > self._in_hand_limit // 2:
            return
        lane = self._lanes[self._slot_of(node)] if self._lanes else deque()
        if self._has_stopped(node):
            lane.clear()
            self._others.clear()
        places: list[int] = []
        # Neighbours stay together, for the sake of their fixtures; the share shrinks so that all workers end together.
        share = max(1, len(self._others) // (4 * self._workers))
        while self._others and len(in_hand) + len(places) < min(share + 1, self._in_hand_limit):
            places += self._others.popleft()
        while lane and len(in_hand) + len(places) < self._in_hand_limit:
            places.append(lane.popleft())
        if places:
            in_hand.update(dict.fromkeys(places))
            node.send_runtest_some(places)
        if not lane and not self._others and len(in_hand) < 2:
            node.shutdown()  # or its last test would wait until all others are done

    def _take_back(self, places: Sequence[int]) -> None:
        for place in reversed(places):
            slot = self._slots.get(place)
            if slot is None:
                self._others.appendleft([place])
            else:
                self._lanes[slot].appendleft(place)

    def _report_difference(self, node: Any, found: Sequence[str], wanted: Sequence[str], other: Any = None) -> None:
        from xdist.report import report_collection_diff

        names = (other.gateway.id if other is not None else "the others", node.gateway.id)
        text = report_collection_diff(wanted, found, *names)
        report = pytest.CollectReport(nodeid=node.gateway.id, outcome="failed", longrepr=text, result=[])
        self._config.hook.pytest_collectreport(report=report)
