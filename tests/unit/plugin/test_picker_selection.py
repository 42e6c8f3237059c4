from __future__ import annotations

import pytest

from pytest_mindtrial.plugin.picker.selection import RunChoice, RunTree, TaskChoice, TaskList


def tree() -> RunTree:
    return RunTree(
        [
            RunChoice("a1", "A", "openai", "mini"),
            RunChoice("a2", "A", "openai", "maxi", is_enabled=False),
            RunChoice("b1", "B", "openai", "other account"),
        ]
    )


def task_list() -> TaskList:
    return TaskList(
        [
            TaskChoice("1", "one", "core", "math", "easy", ("Must-Work", "fast")),
            TaskChoice("2", "two", "core", "words", "hard", ("must-see",)),
            TaskChoice("3", "three", "extra", "math", "hard", is_enabled=False),
            TaskChoice("4", "four"),
        ]
    )


def names(tasks: TaskList) -> list[str]:
    return [task.name for task in tasks.visible]


def test_the_tree_starts_as_the_files_say():
    runs = tree()
    assert [(row.depth, row.label, runs.is_checked(row)) for row in runs.rows] == [
        (0, "Select All", False),
        (1, "openai", False),
        (2, "mini", True),
        (2, "maxi", False),
        (1, "openai", True),
        (2, "other account", True),
    ]


def test_a_parent_toggles_what_is_below_it():
    runs = tree()
    everything, first, *_ = runs.rows
    runs.toggle(first)
    assert runs.is_checked(everything)
    runs.toggle(first)
    assert runs.chosen == {"b1"}
    runs.toggle(everything)
    assert runs.chosen == {"a1", "a2", "b1"}
    runs.toggle(everything)
    assert runs.chosen == set()


def test_an_empty_tree_is_not_checked():
    runs = RunTree([])
    assert not runs.is_checked(runs.rows[0])


def test_tasks_start_as_the_files_say():
    tasks = task_list()
    assert tasks.counts == "4 visible / 4 total • 3 selected"
    assert tasks.active_filters == ""


def test_cycling_offers_only_values_that_go_with_the_other_filters():
    tasks = task_list()
    seen = []
    for _ in range(4):
        tasks.cycle("category")
        seen.append(tasks.filters.get("category"))
    assert seen == ["math", "words", None, "math"]
    tasks.cycle("suite")
    tasks.cycle("suite")
    assert names(tasks) == ["three"]
    tasks.cycle("category")
    assert tasks.filters == {"suite": "extra"}, "words does not occur in extra"
    tasks.cycle("difficulty")
    assert tasks.filters == {"suite": "extra", "difficulty": "hard"}


def test_tags_narrow_the_values_too():
    tasks = task_list()
    tasks.search("must")
    tasks.cycle("suite")
    assert tasks.filters == {"suite": "core"}
    tasks.cycle("suite")
    assert tasks.filters == {}


@pytest.mark.parametrize(
    "text, shown",
    [
        ("must", ["one", "two"]),
        ("MUST-W", ["one"]),
        ("must, fa", ["one"]),
        ("must,,  see", []),
        ("work", []),
        (" , ", ["one", "two", "three", "four"]),
    ],
)
def test_tag_search(text, shown):
    tasks = task_list()
    tasks.search(text)
    assert names(tasks) == shown


def test_choosing_visible_tasks_leaves_the_others_alone():
    tasks = task_list()
    tasks.cycle("suite")
    assert tasks.active_filters == "suite = core"
    tasks.choose_visible(False)
    assert tasks.chosen == {"4"}
    tasks.cycle("suite")
    tasks.choose_visible(True)
    assert tasks.chosen == {"3", "4"}
    assert tasks.counts == "1 visible / 4 total • 2 selected"


def test_clearing_one_filter_and_all():
    tasks = task_list()
    tasks.search("must")
    tasks.cycle("suite")
    tasks.cycle("difficulty")
    assert tasks.active_filters == "suite = core • difficulty = easy • tags: must"
    tasks.clear("suite")
    assert tasks.filters == {"difficulty": "easy"}
    tasks.clear()
    assert (tasks.filters, tasks.tags) == ({}, ())


def test_toggling_one_task():
    tasks = task_list()
    tasks.toggle(tasks.tasks[0])
    tasks.toggle(tasks.tasks[2])
    assert tasks.chosen == {"2", "3", "4"}
