from __future__ import annotations

import dataclasses

import pytest
from hypothesis import given
from hypothesis import strategies as st

from pytest_mindtrial.core.errors import ResultsError
from pytest_mindtrial.core.record import Result
from pytest_mindtrial.core.values import Kind
from pytest_mindtrial.results.compare import Change, Comparison, RunComparison, Tally, compare
from pytest_mindtrial.results.significance import holm, mcnemar_exact
from tests.support.sample_results import attempt

P, F, E, S = Kind.PASSED, Kind.FAILED, Kind.ERROR, Kind.SKIPPED


def side(kinds: dict[str, Kind | list[Kind]], run: str = "gpt") -> list[Result]:
    out = []
    for task, kind in kinds.items():
        if isinstance(kind, list):
            out += [attempt(task, item, run=run, repeat=index) for index, item in enumerate(kind, 1)]
        else:
            out.append(attempt(task, kind, run=run))
    return out


def only(comparison: Comparison) -> RunComparison:
    (run,) = comparison.runs
    return run


@pytest.mark.parametrize(
    "old, new, change",
    [
        (F, P, Change.FIXED),
        (P, F, Change.BROKEN),
        (P, P, Change.SAME),
        (F, F, Change.SAME),
        (E, P, Change.UNDECIDED),
        (P, E, Change.UNDECIDED),
        (P, S, Change.UNDECIDED),
        ([P, F], [P, P], Change.FIXED),
        ([P, P], [P, F, E], Change.BROKEN),
        ([P, F], [F, P], Change.SAME),
        ([P, F], [E, E], Change.UNDECIDED),
    ],
)
def test_changes(old: Kind, new: Kind, change: Change) -> None:
    run = only(compare(side({"t": old}), side({"t": new})))
    assert run.tasks[0].change is change
    assert run.count(change) == 1
    assert run.pairs == (change is not Change.UNDECIDED)


def test_new_and_gone_tasks_are_in_no_test() -> None:
    run = only(compare(side({"a": P, "b": P}), side({"b": P, "c": F})))
    assert [(item.task, item.change) for item in run.tasks] == [
        ("c", Change.NEW),
        ("a", Change.GONE),
        ("b", Change.SAME),
    ]
    assert (run.pairs, run.p_value, run.difference, run.interval) == (1, 1.0, 0.0, None)
    assert run.tasks[0].new == Tally(0, 1, 1)


def test_broken_tasks_come_first() -> None:
    run = only(compare(side({"a": F, "c": P, "b": P}), side({"a": P, "c": F, "b": F})))
    assert [item.task for item in run.tasks] == ["b", "c", "a"]


def test_single_attempts_are_tested_by_mcnemar() -> None:
    old = side({**{f"b{i}": P for i in range(8)}, **{f"f{i}": F for i in range(2)}, "s": P})
    new = side({**{f"b{i}": F for i in range(8)}, **{f"f{i}": P for i in range(2)}, "s": P})
    run = only(compare(old, new))
    assert run.test == "exact McNemar"
    assert run.p_value == run.adjusted_p == mcnemar_exact(2, 8)
    assert run.p_worse == pytest.approx(0.0546875)
    assert run.difference == pytest.approx(-6 / 11)
    assert run.interval is not None
    assert run.interval.lower < -6 / 11 < run.interval.upper


def test_repeats_are_one_piece_of_evidence() -> None:
    run = only(compare(side({"t": [P] * 50}), side({"t": [F] * 50})))
    assert (run.test, run.pairs, run.p_value) == ("exact sign test", 1, 1.0)


def test_amounts_are_about_common_tasks() -> None:
    old = [*side({"a": P}), attempt("gone", tokens=10**6)]
    new = [dataclasses.replace(attempt("a", tokens=2000, seconds=3), currency="USD", cost=0.5)]
    run = only(compare(old, new))
    assert (run.old_amounts.input_tokens, run.new_amounts.input_tokens) == (1000, 2000)
    assert (run.old_amounts.output_tokens, run.new_amounts.output_tokens) == (500, 1000)
    assert (run.old_amounts.duration_ns, run.new_amounts.duration_ns) == (10**9, 3 * 10**9)
    assert run.new_amounts.cost.amount == 0.5


def test_unknown_amounts_stay_unknown() -> None:
    run = only(compare([attempt("a", tokens=None)], [attempt("a")]))
    assert run.old_amounts.input_tokens is None
    assert run.old_amounts.cost.amount is None


def test_a_swapped_model_is_paired_by_itself() -> None:
    run = only(compare(side({"t": P}, "old"), side({"t": F}, "new")))
    assert (run.old, run.new) == (("openai", "old"), ("openai", "new"))


def test_runs_without_a_counterpart_are_named() -> None:
    comparison = compare(side({"t": P}, "a") + side({"t": P}, "x"), side({"t": P}, "a") + side({"t": P}, "y"))
    assert (comparison.only_old, comparison.only_new) == ((("openai", "x"),), (("openai", "y"),))


def test_an_explicit_pairing() -> None:
    old = side({"t": P}, "a") + side({"t": P}, "b")
    comparison = compare(old, old, {("openai", "a"): ("openai", "b")})
    assert [(run.old[1], run.new[1]) for run in comparison.runs] == [("a", "b")]


@pytest.mark.parametrize(
    "old, new, pairing, message",
    [
        ([], ["a"], None, "the old results are empty"),
        (["a"], [], None, "the new results are empty"),
        (["a", "b"], ["c"], None, r"no run is in both results \(old: openai/a, openai/b; new: openai/c\)"),
        (["a"], ["b"], {("x", "a"): ("openai", "b")}, "the old results have no run x/a; they have openai/a"),
        (["a"], ["b"], {("openai", "a"): ("x", "b")}, "the new results have no run x/b; they have openai/b"),
    ],
)
def test_unclear_pairings(old: list[str], new: list[str], pairing: object, message: str) -> None:
    before = [attempt("t", run=run) for run in old]
    after = [attempt("t", run=run) for run in new]
    with pytest.raises(ResultsError, match=message):
        compare(before, after, pairing)  # type: ignore[arg-type]  # parametrized


def test_several_runs_are_adjusted() -> None:
    old = [attempt(f"t{i}", run=run) for run in ("a", "b") for i in range(6)]
    new = [attempt(f"t{i}", F, run="a") for i in range(6)] + [attempt(f"t{i}", run="b") for i in range(6)]
    comparison = compare(old, new)
    raw = [run.p_value for run in comparison.runs]
    assert [run.adjusted_p for run in comparison.runs] == holm(raw) == [0.0625, 1.0]


kinds = st.dictionaries(st.sampled_from("abcdefgh"), st.sampled_from([P, F, E, S]), min_size=1)


@given(kinds, kinds)
def test_swapping_the_sides_swaps_the_words(old: dict[str, Kind], new: dict[str, Kind]) -> None:
    there = only(compare(side(dict(old)), side(dict(new))))
    back = only(compare(side(dict(new)), side(dict(old))))
    mirror = {
        Change.FIXED: Change.BROKEN,
        Change.BROKEN: Change.FIXED,
        Change.NEW: Change.GONE,
        Change.GONE: Change.NEW,
    }
    assert {item.task: mirror.get(item.change, item.change) for item in there.tasks} == {
        item.task: item.change for item in back.tasks
    }
    assert there.p_value == back.p_value
    assert sum(there.count(change) for change in Change) == len(old | new)
