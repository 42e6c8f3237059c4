"""Lanes: everything that shares a limit on one worker, whatever the numbers are."""

from __future__ import annotations

from hypothesis import given
from hypothesis import strategies as st

from pytest_mindtrial.plugin.lanes import plan_lanes

KEYS = st.lists(st.frozensets(st.integers(0, 8), max_size=3), max_size=40)


def test_the_largest_lane_goes_first_to_the_least_loaded_worker():
    keys = [("a",), ("b",), ("a",), (), ("c",), ("a",)]
    assert plan_lanes(keys, 2) == ((0, 2, 5), (1, 4))


def test_a_common_judge_joins_two_lanes():
    keys = [("a", "judge"), ("b",), ("b", "judge"), ("c",)]
    assert plan_lanes(keys, 3) == ((0, 1, 2), (3,), ())


def test_one_worker_has_everything_but_ordinary_tests():
    assert plan_lanes([("a",), (), ("b",)], 1) == ((0, 2),)
    assert plan_lanes([], 2) == ((), ())


@given(KEYS, st.integers(1, 5))
def test_a_key_lives_on_exactly_one_worker_and_every_item_somewhere(keys, workers):
    plan = plan_lanes(keys, workers)
    assert len(plan) == workers
    places = [place for lane in plan for place in lane]
    assert sorted(places) == [place for place, own in enumerate(keys) if own]
    owners: dict[int, set[int]] = {}
    for worker, lane in enumerate(plan):
        assert list(lane) == sorted(lane)
        for place in lane:
            for key in keys[place]:
                owners.setdefault(key, set()).add(worker)
    assert all(len(workers_of_key) == 1 for workers_of_key in owners.values())
    assert plan_lanes([tuple(sorted(own)) for own in keys], workers) == plan_lanes(
        [tuple(sorted(own)) for own in keys], workers
    )
