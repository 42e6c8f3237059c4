from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace

import pytest
from hypothesis import given
from hypothesis import strategies as st

from pytest_mindtrial.core.record import Result
from pytest_mindtrial.core.values import Kind
from pytest_mindtrial.results.merge import MergedRun, Source, merge


def result(
    run: str, task: str, mark: str = "", provider: str = "p", repeat: int | None = None, seed: str = "s"
) -> Result:
    return Result(mark, Kind.PASSED, task, provider, run, repeat=repeat, evaluation_seed=seed)


def test_the_golden_merge() -> None:
    a = Source("a", [result("r1", "t1"), result("r1", "t2"), result("r2", "t1")])
    b = Source("b", [result("r1", "t2", "new"), result("r1", "t3"), result("r3", "t9")])
    merged = merge([a, b])
    assert [(r.run, r.task, r.trace_id) for r in merged.results] == [
        ("r1", "t1", ""),
        ("r1", "t2", "new"),
        ("r1", "t3", ""),
        ("r2", "t1", ""),
        ("r3", "t9", ""),
    ]
    assert merged.runs == (MergedRun("p", "r1", 3, 1), MergedRun("p", "r2", 1, 0), MergedRun("p", "r3", 1, 0))
    assert merged.notes == ()


def test_a_task_replaced_twice_counts_once() -> None:
    merged = merge([Source("a", [result("r", "t", mark) for mark in "abc"])])
    assert merged.runs == (MergedRun("p", "r", 1, 1),)
    assert merged.results[0].trace_id == "c"


def test_repeats_are_different_results() -> None:
    merged = merge([Source("a", [result("r", "t", repeat=1), result("r", "t", repeat=2)])])
    assert len(merged.results) == 2


def from_file(file: str, mark: str, seed: str = "s") -> Result:
    return replace(result("r", "t", mark, seed=seed), nodeid=f"{file}::t[p-r]")


def test_tasks_of_one_name_in_two_files_of_an_evaluation_are_different_results() -> None:
    whole = Source("whole", [from_file("a.yaml", "1"), from_file("b.yaml", "2")])
    assert [r.trace_id for r in merge([whole]).results] == ["1", "2"]
    again = Source("again", [from_file("b.yaml", "3", seed="later")])
    assert [r.trace_id for r in merge([whole, again]).results] == ["1", "3"]


def test_a_task_file_that_was_renamed_between_evaluations_changes_no_name() -> None:
    both = Source("both", [from_file("old.yaml", "1", seed="one"), from_file("new.yaml", "2", seed="two")])
    assert [r.trace_id for r in merge([both]).results] == ["2"]


def test_the_same_names_under_two_providers_do_not_meet() -> None:
    merged = merge([Source("a", [result("r", "t"), result("r", "t", provider="q")])])
    assert len(merged.results) == 2


def test_different_evaluations_are_named() -> None:
    merged = merge([Source("a.json", [result("r", "t1", seed="one")]), Source("b.json", [result("r", "t2", seed="")])])
    assert merged.notes == (
        "the merged results come from 2 different evaluations:",
        "  1 result of evaluation one from a.json",
        "  1 result of an evaluation without a seed from b.json",
    )


def test_an_evaluation_that_was_replaced_completely_is_not_named() -> None:
    merged = merge([Source("a", [result("r", "t", seed="one")]), Source("b", [result("r", "t", seed="two")])])
    assert merged.notes == ()


def test_nothing() -> None:
    assert merge([]).results == ()


results = st.lists(
    st.builds(
        result,
        st.sampled_from(["r1", "r2", "r\x00"]),
        st.sampled_from(["t1", "t2", "\ud800", "=t"]),
        st.text(max_size=3),
        st.sampled_from(["p", "q"]),
        st.sampled_from([None, 1, 2]),
    ),
    max_size=12,
)


def merged_of(*lists: Sequence[Result]) -> tuple[Result, ...]:
    return merge(Source(str(index), items) for index, items in enumerate(lists)).results


@given(results)
def test_merging_is_idempotent(a: list[Result]) -> None:
    once = merged_of(a)
    assert merged_of(once, once) == once == merged_of(once)


@given(results, results, results)
def test_merging_is_associative(a: list[Result], b: list[Result], c: list[Result]) -> None:
    assert merged_of(merged_of(a, b), c) == merged_of(a, merged_of(b, c)) == merged_of(a, b, c)


@given(results, results)
def test_the_last_one_wins_and_nothing_is_lost(a: list[Result], b: list[Result]) -> None:
    kept = {(r.provider, r.run, r.task, r.repeat): r for r in merged_of(a, b)}
    assert kept == {(r.provider, r.run, r.task, r.repeat): r for r in [*a, *b]}


@pytest.mark.parametrize("count", [1, 2])
def test_updates_inside_one_file_and_across_files(count: int) -> None:
    sources = [Source(str(index), [result("r", "t"), result("r", "t")]) for index in range(count)]
    assert merge(sources).runs[0].updated == 1
