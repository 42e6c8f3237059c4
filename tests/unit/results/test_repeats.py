"""pass@k and pass^k against counting by hand, clustered by task."""

from __future__ import annotations

import itertools
import math
from dataclasses import replace

import pytest

from pytest_mindtrial.core.values import Kind
from pytest_mindtrial.results.repeats import pass_all_k, pass_any_k, repeat_lines, summarize_repeats
from pytest_mindtrial.results.statistics import wilson_interval
from tests.support.sample_results import attempt


def tries(task: str, kinds: str, **changes):
    words = {"P": Kind.PASSED, "F": Kind.FAILED, "E": Kind.ERROR, "S": Kind.SKIPPED}
    return [
        replace(attempt(task, provider="mock", run="m"), kind=words[letter], repeat=number, **changes)
        for number, letter in enumerate(kinds, 1)
    ]


@pytest.mark.parametrize(("passed", "n"), [(0, 4), (1, 4), (2, 5), (5, 5)])
def test_the_estimators_count_subsets(passed, n):
    outcomes = [True] * passed + [False] * (n - passed)
    for k in range(1, n + 1):
        draws = list(itertools.combinations(outcomes, k))
        assert math.isclose(pass_any_k(passed, n, k), sum(map(any, draws)) / len(draws))
        assert math.isclose(pass_all_k(passed, n, k), sum(map(all, draws)) / len(draws))


def test_means_are_over_tasks_and_the_interval_counts_tasks():
    results = [*tries("a", "PPPP"), *tries("b", "PPFF"), *tries("c", "EEFF"), attempt("once", provider="mock", run="m")]
    (summary,) = summarize_repeats(results)
    assert (summary.provider, summary.run, summary.tries) == ("mock", "m", 4)
    assert [estimate.value for estimate in summary.any_of] == pytest.approx([0.5, (1 + 5 / 6) / 3, 2 / 3, 2 / 3])
    assert [estimate.value for estimate in summary.all_of] == pytest.approx([0.5, (1 + 1 / 6) / 3, 1 / 3, 1 / 3])
    assert summary.all_of[-1].interval == wilson_interval(1, 3)
    assert [(tally.task, tally.passed, tally.tries) for tally in summary.flaky] == [("b", 2, 4)]


def test_k_goes_up_to_the_fewest_tries_and_skipped_ones_do_not_count():
    results = [*tries("a", "PFS"), *tries("b", "PPP"), *tries("c", "SSS")]
    (summary,) = summarize_repeats(results)
    assert summary.tries == 2
    assert [tally.task for tally in summary.tallies] == ["a", "b"]


def test_equal_names_in_two_suites_are_two_tasks():
    results = [*tries("a", "PP", source="one.yaml:3:5"), *tries("a", "FF", source="two.yaml:3:5")]
    (summary,) = summarize_repeats(results)
    assert len(summary.tallies) == 2
    assert summary.flaky == ()


def test_nothing_repeated_is_nothing_said():
    assert summarize_repeats([attempt("a"), *tries("b", "S")]) == []
    assert repeat_lines([]) == []


def test_lines_name_at_most_five_flaky_tasks():
    results = [result for n in range(7) for result in tries(f"t{n}", "PF")]
    assert repeat_lines(summarize_repeats(results)) == [
        "repeats: mock m: 7 tasks × 2: pass@2 100.0 % [64.6, 100.0], pass^2 0.0 % [0.0, 35.4]",
        "  7 flaky: t0 (1/2), t1 (1/2), t2 (1/2), t3 (1/2), t4 (1/2) and 2 more",
    ]
    (line,) = repeat_lines(summarize_repeats(tries("a", "P")))
    assert line == "repeats: mock m: 1 task × 1: pass@1 100.0 % [20.7, 100.0]"
