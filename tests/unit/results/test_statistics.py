"""Counts, rates and order statistics; scipy is the oracle for the interval."""

from __future__ import annotations

import statistics as stdlib
from dataclasses import replace
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from pytest_mindtrial.core.record import AnswerRecord, ErrorRecord, RequestRecord, Result, ValidationRecord
from pytest_mindtrial.core.values import Kind, Usage
from pytest_mindtrial.results.statistics import (
    Counts,
    count_kinds,
    median,
    percentile,
    population_stddev,
    summarize,
    wilson_interval,
)
from tests.golden.results.samples import full

NUMBERS = st.lists(st.integers(-(10**12), 10**12), min_size=1, max_size=50)


def plain(kind: Kind = Kind.PASSED, **changes: Any) -> Result:
    return replace(Result("T1", kind, "task", "p", "r"), **changes)


@pytest.mark.parametrize(
    "successes, trials", [(0, 1), (1, 1), (1, 2), (17, 20), (850, 1000), (0, 50), (50, 50), (3, 10**6)]
)
def test_wilson_agrees_with_scipy(successes: int, trials: int) -> None:
    scipy_stats = pytest.importorskip("scipy.stats")
    oracle = scipy_stats.binomtest(successes, trials).proportion_ci(0.95, "wilson")
    ours = wilson_interval(successes, trials)
    assert ours is not None
    assert (ours.lower, ours.upper) == pytest.approx((oracle.low, oracle.high), abs=1e-12)


@given(st.integers(1, 10**6).flatmap(lambda n: st.tuples(st.integers(0, n), st.just(n))))
def test_wilson_holds_the_rate(pair: tuple[int, int]) -> None:
    interval = wilson_interval(*pair)
    assert interval is not None
    assert 0 <= interval.lower <= pair[0] / pair[1] <= interval.upper <= 1


def test_no_trials_no_interval() -> None:
    assert wilson_interval(0, 0) is None
    assert Counts(skipped=3).pass_interval is None
    assert Counts(skipped=3).pass_rate is None


@pytest.mark.parametrize(
    "counts, pass_percent, accuracy, error",
    [
        (Counts(), 0.0, 0.0, 0.0),
        (Counts(skipped=9), 0.0, 0.0, 0.0),
        (Counts(1, 1, 1, 5), 33.33, 50.0, 33.33),
        (Counts(2, 1, 0), 66.67, 66.67, 0.0),
        (Counts(0, 0, 4), 0.0, 0.0, 100.0),
        (Counts(1, 799), 0.13, 0.13, 0.0),
    ],
)
def test_percentages(counts: Counts, pass_percent: float, accuracy: float, error: float) -> None:
    assert (counts.pass_percent, counts.accuracy_percent, counts.error_percent) == (pass_percent, accuracy, error)


def test_counts() -> None:
    counts = count_kinds(full())
    assert counts == Counts(2, 3, 2, 1)
    assert (counts.decided, counts.attempted, counts.total) == (5, 7, 8)
    assert counts.pass_rate == 2 / 7
    assert counts.pass_interval == wilson_interval(2, 7)


@pytest.mark.parametrize(
    "values, percent, expected",
    [
        ([], 50, None),
        ([7], 95, 7),
        ([1, 2, 3, 4], 50, 2),
        ([4, 1, 3, 2], 75, 3),
        (list(range(1, 101)), 95, 95),
        ([1, 2], 0, 1),
    ],
)
def test_percentile_is_nearest_rank(values: list[int], percent: float, expected: int | None) -> None:
    assert percentile(values, percent) == expected


@given(NUMBERS)
def test_order_statistics_agree_with_the_standard_library(values: list[int]) -> None:
    assert median(values) == stdlib.median(values)
    assert population_stddev(values) == pytest.approx(stdlib.pstdev(values), rel=1e-9, abs=1e-3)


def test_order_statistics_of_nothing() -> None:
    assert median([]) is None
    assert population_stddev([]) is None


def test_summaries_of_the_full_sample() -> None:
    by_run = {(run.provider, run.run): run for run in summarize(full())}
    assert list(by_run) == sorted(by_run)
    openai = by_run["openai", "gpt-5.2-xhigh"]
    assert openai.counts == Counts(1, 1)
    assert (openai.cost, openai.currency) == (pytest.approx(0.0088), "USD")
    assert (openai.judge_cost, openai.judge_currency) == (0.0021, "USD")
    assert (openai.input_tokens, openai.output_tokens, openai.retries) == (2400, 680, 1)
    assert by_run["anthropic", "text-only"].p50_ns is None
    assert by_run["mock", "careless"].is_mock
    assert by_run["anthropic", "opus"].retries == 3


def test_unknown_is_none_and_never_zero() -> None:
    (run,) = summarize([plain()])
    assert (run.input_tokens, run.output_tokens, run.cost, run.judge_cost, run.currency) == (None, None, None, None, "")
    used = plain(answer=AnswerRecord("", "", "x", usage=Usage(5, 6)))
    (run,) = summarize([used, plain(cost=1.0, currency="USD")])
    assert (run.input_tokens, run.cost) == (5, None)
    (run,) = summarize([plain(cost=1.0, currency="USD"), plain(cost=1.0, currency="EUR")])
    assert (run.cost, run.currency) == (None, "")


def test_tokens_of_validators_do_not_count_and_times_exclude_skipped() -> None:
    results = [
        plain(Kind.ERROR, error=ErrorRecord("", "", usage=Usage(5, 5), from_validation=True), duration_ns=5),
        plain(Kind.ERROR, error=ErrorRecord("", "", usage=Usage(2, 3)), duration_ns=7),
        plain(validation=ValidationRecord("semantic", usage=Usage(100, 100)), duration_ns=9),
        plain(Kind.SKIPPED, duration_ns=1000),
    ]
    (run,) = summarize(results)
    assert (run.input_tokens, run.output_tokens, run.p50_ns, run.p95_ns) == (2, 3, 7, 9)


def test_percentiles_leave_out_attempts_that_got_no_reply() -> None:
    refused = plain(Kind.ERROR, error=ErrorRecord("", ""), duration_ns=0)
    (run,) = summarize([refused, refused, refused, plain(duration_ns=9), plain(duration_ns=0)])
    assert (run.p50_ns, run.p95_ns) == (0, 9)
    (run,) = summarize([refused])
    assert (run.p50_ns, run.p95_ns) == (None, None)


def test_expected_runs_without_results_appear() -> None:
    runs = summarize([plain(requests=(RequestRecord(1, 1), RequestRecord(1, 2)))], {("p", "r"): 4, ("a", "b"): 2})
    assert [(run.provider, run.expected, run.counts.total, run.retries) for run in runs] == [
        ("a", 2, 0, 0),
        ("p", 4, 1, 1),
    ]
