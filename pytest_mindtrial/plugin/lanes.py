"""Which worker makes which attempts: lanes, as a pure function that controller and workers compute alike.

A lane is everything that shares a rate limit: the items of one provider entry (entries of one credential count as one),
joined with other entries where both ask one rate-limited judge. A lane lives on exactly one worker, so that a limit
that holds in one process holds for the session. Knows neither xdist nor node ids (``plugin/lane_keys.py``).

Source: design D6; spec pytest 4.1 and 4.2.
"""

from __future__ import annotations

from collections.abc import Collection, Hashable, Sequence

__all__ = ["plan_lanes"]


def plan_lanes(keys: Sequence[Collection[Hashable]], workers: int) -> tuple[tuple[int, ...], ...]:
    """Distribute items over workers, whole lanes at a time, the largest lane first to the least loaded worker.

    Args:
        keys: For every item what it shares with others; items with a common key are in one lane. Items without a key
            are not distributed here.
        workers: How many there are, at least 1.

    Returns:
        For every worker the places of its items in ``keys``, ascending.

    Invariant: depends on the arguments alone; two items with a common key go to the same worker.
    """
    lanes = _lanes(keys)
    plan: list[list[int]] = [[] for _ in range(workers)]
    for lane in sorted(lanes, key=lambda lane: (-len(lane), lane[0])):
        min(plan, key=len).extend(lane)
    return tuple(tuple(sorted(places)) for places in plan)


def _lanes(keys: Sequence[Collection[Hashable]]) -> list[list[int]]:
    """Return the places of items by lane."""
    parents: dict[Hashable, Hashable] = {}

    def root(key: Hashable) -> Hashable:
        parents.setdefault(key, key)
        while parents[key] != key:
            parents[key] = key = parents[parents[key]]
        return key

    for own in keys:
        first, *others = own or (None,)
        for other in others:
            parents[root(other)] = root(first)
    lanes: dict[Hashable, list[int]] = {}
    for place, own in enumerate(keys):
        if own:
            lanes.setdefault(root(next(iter(own))), []).append(place)
    return list(lanes.values())
