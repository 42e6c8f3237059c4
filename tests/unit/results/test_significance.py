from __future__ import annotations

import math

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from pytest_mindtrial.results.significance import bootstrap_mean, holm, mcnemar_exact, sign_test, smallest_p

counts = st.integers(min_value=0, max_value=60)


@pytest.mark.parametrize(
    "fixed, broken, p",
    [(0, 0, 1.0), (1, 0, 1.0), (5, 0, 0.0625), (0, 6, 0.03125), (2, 8, 0.109375), (3, 3, 1.0), (1, 9, 0.021484375)],
)
def test_mcnemar_golden_values(fixed: int, broken: int, p: float) -> None:
    assert mcnemar_exact(fixed, broken) == p


@settings(deadline=None)  # the first call imports scipy
@given(counts, counts)
def test_mcnemar_agrees_with_scipy(fixed: int, broken: int) -> None:
    stats = pytest.importorskip("scipy.stats")
    if fixed + broken:
        expected = stats.binomtest(fixed, fixed + broken, 0.5).pvalue
        assert mcnemar_exact(fixed, broken) == pytest.approx(expected, rel=1e-9)


@given(counts, counts)
def test_mcnemar_is_a_symmetric_probability(fixed: int, broken: int) -> None:
    assert mcnemar_exact(fixed, broken) == mcnemar_exact(broken, fixed)
    assert 0 < mcnemar_exact(fixed, broken) <= 1


def test_many_changes_are_still_exact_and_fast() -> None:
    assert mcnemar_exact(10_000, 10_200) == pytest.approx(0.1613, abs=1e-3)
    assert mcnemar_exact(5000, 5000) == 1.0
    assert mcnemar_exact(0, 2000) == 0.5**1999 == 0.0


def test_the_sign_test_ignores_ties_and_sizes() -> None:
    assert sign_test([0.1, -5, 0, 0, -0.2]) == mcnemar_exact(1, 2)
    assert sign_test([]) == 1.0


def test_one_sided_evidence_counts_falls_only() -> None:
    assert sign_test([-1] * 5, worse_only=True) == smallest_p(5) == 0.03125
    assert sign_test([1] * 5, worse_only=True) == 1.0
    assert sign_test([0, 0], worse_only=True) == 1.0


def test_the_bootstrap_is_reproducible_and_brackets_the_mean() -> None:
    values = [1, 0, 0, -1, 1, 1, 0, 1, 0, 0]
    first = bootstrap_mean(values, seed=3)
    assert first == bootstrap_mean(values, seed=3)
    assert first is not None
    assert first.lower < sum(values) / len(values) < first.upper


def test_the_bootstrap_agrees_with_scipy() -> None:
    stats = pytest.importorskip("scipy.stats")
    values = [math.sin(index) for index in range(60)]
    ours = bootstrap_mean(values, resamples=8000)
    theirs = stats.bootstrap(
        (values,), lambda x, axis: x.mean(axis=axis), method="percentile", n_resamples=8000, random_state=1
    ).confidence_interval
    assert ours is not None
    assert ours.lower == pytest.approx(theirs.low, abs=0.02)
    assert ours.upper == pytest.approx(theirs.high, abs=0.02)


@pytest.mark.parametrize("values", [[], [1.0]])
def test_one_value_has_no_interval(values: list[float]) -> None:
    assert bootstrap_mean(values) is None


def test_equal_values_have_a_point_interval() -> None:
    interval = bootstrap_mean([0.5, 0.5, 0.5])
    assert interval is not None
    assert (interval.lower, interval.upper) == (0.5, 0.5)


@pytest.mark.parametrize(
    "given_p, adjusted",
    [([], []), ([0.04], [0.04]), ([0.01, 0.04, 0.03], [0.03, 0.06, 0.06]), ([0.9, 0.8], [1.0, 1.0])],
)
def test_holm(given_p: list[float], adjusted: list[float]) -> None:
    assert holm(given_p) == pytest.approx(adjusted)
