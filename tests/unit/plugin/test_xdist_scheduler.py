"""The scheduler alone, with workers that only write down what they are sent."""

from __future__ import annotations

from types import SimpleNamespace

import pytest

from pytest_mindtrial.plugin.xdist_scheduler import LaneScheduling, unit_of


class Node:
    def __init__(self, slot: int) -> None:
        self.slot = slot
        self.sent: list[int] = []
        self.shutting_down = False
        self.gateway = SimpleNamespace(id=f"gw{slot}")

    def send_runtest_some(self, indices):
        self.sent += indices

    def shutdown(self):
        self.shutting_down = True


class Config:
    def __init__(self, dist: str = "load", maxfail: int = 0) -> None:
        self.values = {"dist": dist, "maxfail": maxfail}
        self.reports: list[pytest.CollectReport] = []
        self.hook = self

    def pytest_collectreport(self, report: pytest.CollectReport) -> None:
        self.reports.append(report)

    def getvalue(self, name: str):
        return self.values[name]


def lanes_by_letter(ids):
    """Plan ``a…`` for slot 0 and ``b…`` for slot 1."""
    return [[place for place, nodeid in enumerate(ids) if nodeid.startswith(letter)] for letter in "ab"]


def scheduled(ids: list[str], config: Config | None = None) -> tuple[LaneScheduling, Node, Node]:
    scheduling = LaneScheduling(config or Config(), 2, lanes_by_letter, lambda node: node.slot)
    nodes = Node(0), Node(1)
    for node in nodes:
        scheduling.add_node(node)
        assert not scheduling.collection_is_completed
        scheduling.add_node_collection(node, ids)
    assert scheduling.collection_is_completed
    scheduling.schedule()
    return scheduling, *nodes


def test_lanes_go_to_their_owners_and_ordinary_tests_to_all():
    scheduling, first, second = scheduled(["a1", "b1", "x1", "a2", "x2", "x3", "b2"])
    assert [place for place in first.sent if place in (0, 3)] == [0, 3]
    assert not {1, 6} & set(first.sent)
    assert {0, 3, 2, 4, 5, 1, 6} == {*first.sent, *second.sent}
    assert scheduling.nodes == [first, second]
    assert scheduling.has_pending
    assert not scheduling.tests_finished


def test_a_worker_is_let_go_as_soon_as_there_is_nothing_more_for_it():
    scheduling, first, second = scheduled(["a1", "a2", "b1", "b2"])
    scheduling.mark_test_complete(first, 0)
    assert first.shutting_down
    assert not second.shutting_down
    scheduling.mark_test_complete(second, 2)
    assert scheduling.tests_finished
    assert scheduling.remove_node(first) == "a2"  # it was told to run its last test and never said that it did


def test_a_crash_takes_one_item_and_leaves_the_rest_to_the_replacement():
    scheduling, first, second = scheduled([f"a{n}" for n in range(5)] + ["b1", "b2"])
    scheduling.mark_test_complete(first, 0)
    assert scheduling.remove_node(first) == "a1"
    assert scheduling.unsent(0) == [2, 3, 4]
    assert not scheduling.tests_finished
    assert 2 not in second.sent
    replacement = Node(0)
    scheduling.add_node(replacement)
    scheduling.add_node_collection(replacement, [f"a{n}" for n in range(5)] + ["b1", "b2"])
    scheduling.schedule()
    assert replacement.sent == [2, 3, 4]


def test_ordinary_tests_of_a_crashed_worker_go_to_the_others():
    scheduling, first, second = scheduled(["x1", "x2", "x3", "x4", "x5", "x6"])
    lost = first.sent[1:]
    assert lost
    scheduling.remove_node(first)
    for place in list(second.sent):
        scheduling.mark_test_complete(second, place)
    assert set(lost) <= set(second.sent) or second.shutting_down


def test_under_maxfail_little_is_sent_ahead():
    _, first, _ = scheduled([f"a{n}" for n in range(50)], Config(maxfail=1))
    assert first.sent == [0, 1]


def test_a_rerun_goes_back_to_its_lane():
    scheduling, first, second = scheduled(["a1", "a2", "b1", "x1"])
    scheduling.mark_test_pending("a1")
    assert first.sent.count(0) + len(scheduling.unsent(0)) == 2
    assert 0 not in second.sent


def test_different_collections_are_reported_and_nothing_runs():
    config = Config()
    scheduling = LaneScheduling(config, 2, lanes_by_letter, lambda node: node.slot)
    nodes = Node(0), Node(1)
    for node, ids in zip(nodes, (["a1", "b1"], ["b1", "a1"]), strict=True):
        scheduling.add_node(node)
        scheduling.add_node_collection(node, ids)
    scheduling.schedule()
    assert nodes[0].sent == nodes[1].sent == []
    assert "Different tests were collected between gw0 and gw1" in str(config.reports[0].longrepr)
    assert scheduling.tests_finished


def test_a_replacement_that_collects_something_else_gets_nothing_and_the_session_ends():
    config = Config()
    scheduling, first, _second = scheduled(["a1", "a2", "a3", "b1"], config)
    scheduling.remove_node(first)
    replacement = Node(0)
    scheduling.add_node(replacement)
    scheduling.add_node_collection(replacement, ["a1"])
    assert replacement.shutting_down
    assert replacement.sent == []
    assert len(config.reports) == 1
    assert scheduling.unsent(0) == []
    assert scheduling.tests_finished


def test_a_worker_that_dies_before_it_has_collected_costs_nothing():
    scheduling = LaneScheduling(Config(), 2, lanes_by_letter, lambda node: node.slot)
    node = Node(0)
    scheduling.add_node(node)
    assert scheduling.remove_node(node) is None
    assert scheduling.unsent(0) == []
    with pytest.raises(KeyError):
        scheduling.remove_node(node)


@pytest.mark.parametrize(
    ("dist", "unit"),
    [("load", None), ("worksteal", None), ("loadfile", "t.py"), ("loadscope", "t.py::C"), ("loadgroup", "g")],
)
def test_dist_decides_what_stays_together(dist, unit):
    assert unit_of(dist, "t.py::C::m[x@y]@g" if dist == "loadgroup" else "t.py::C::m") == unit
    if dist == "loadgroup":
        assert unit_of(dist, "t.py::m[x@y]") is None


def test_units_stay_on_one_worker():
    ids = [f"x{number}.py::t{test}" for test in range(3) for number in range(4)]
    _, first, second = scheduled(ids, Config("loadfile"))
    files = [{ids[place].partition("::")[0] for place in node.sent} for node in (first, second)]
    assert not files[0] & files[1]


def test_when_a_worker_has_stopped_nobody_gets_new_tests_but_those_of_its_own_lane():
    ids = [*(f"a{n}" for n in range(100)), *(f"b{n}" for n in range(100)), *(f"x{n}" for n in range(400))]
    stopped = []
    scheduling = LaneScheduling(Config(), 2, lanes_by_letter, lambda node: node.slot, lambda node: node in stopped)
    first, second = Node(0), Node(1)
    for node in (first, second):
        scheduling.add_node(node)
        scheduling.add_node_collection(node, ids)
    scheduling.schedule()
    in_hand = list(first.sent)
    stopped.append(first)
    for place in in_hand:
        scheduling.mark_test_complete(first, place)
    assert first.sent == in_hand
    assert first.shutting_down
    assert not second.shutting_down
    finished = 0
    while finished < len(second.sent):
        scheduling.mark_test_complete(second, second.sent[finished])
        finished += 1
    assert {place for place in second.sent if place < 200} == set(range(100, 200))
    assert len(first.sent) + len(second.sent) < 400
    assert scheduling.tests_finished
