"""Tests and intervals for paired comparisons, exact or seeded, in plain Python.

Does not read results (``results/compare.py`` pairs them) and needs no numerical library. Source: design D15; McNemar
(1947) in its exact binomial form; Efron's percentile bootstrap; Holm (1979).
"""

from __future__ import annotations

import math
import random
from collections.abc import Sequence
from dataclasses import dataclass

__all__ = ["DEFAULT_RESAMPLES", "Interval", "bootstrap_mean", "holm", "mcnemar_exact", "sign_test", "smallest_p"]

DEFAULT_RESAMPLES = 4000
"""Resamples of one bootstrap: the percentile's own error stays below a tenth of the interval's width."""

_FEWEST_RESAMPLES = 1000
_MOST_DRAWS = 4_000_000
"""Bounds the time of one bootstrap to about a second: many values get fewer resamples and need fewer."""


@dataclass(frozen=True, slots=True)
class Interval:
    """A two-sided interval; both ends are included."""

    lower: float
    upper: float


def mcnemar_exact(fixed: int, broken: int) -> float:
    """Return the two-sided exact p-value of McNemar's test.

    Args:
        fixed: Pairs that went from failed to passed, 0 or more.
        broken: Pairs that went from passed to failed, 0 or more.

    Returns:
        Probability, under equal chances of both directions, of a split at least as uneven; 1.0 without any change.
    """
    return min(1.0, 2 * _binomial_tail(max(fixed, broken), fixed + broken))


def sign_test(differences: Sequence[float], *, worse_only: bool = False) -> float:
    """Return the exact p-value of the sign test on paired differences; zeros carry no information and are left out.

    Args:
        differences: New minus old, one number per pair.
        worse_only: One-sided: only falls count as evidence. Two-sided otherwise.
    """
    rises = sum(item > 0 for item in differences)
    falls = sum(item < 0 for item in differences)
    if worse_only:
        return _binomial_tail(falls, rises + falls)
    return mcnemar_exact(rises, falls)


def smallest_p(pairs: int) -> float:
    """Return the smallest one-sided p-value that the sign test could reach with so many pairs."""
    return 0.5**pairs


def _binomial_tail(successes: int, trials: int) -> float:
    """Return P(X >= successes) for X ~ Binomial(trials, 1/2), summed in integers, so it is exact until the division."""
    ways = favourable = 1  # all trials succeed
    for count in range(trials, successes, -1):
        ways = ways * count // (trials - count + 1)
        favourable += ways
    return favourable / (1 << trials)


def bootstrap_mean(
    values: Sequence[float],
    *,
    seed: int | str = 0,
    resamples: int = DEFAULT_RESAMPLES,
    confidence: float = 0.95,
) -> Interval | None:
    """Return the percentile bootstrap interval of the mean.

    Values are the units of resampling: hand over one number per task (the mean of its repeats), so that repeats of one
    task are not taken for independent evidence.

    Args:
        values: One number per unit.
        seed: Fixed, so that the same data always gives the same interval.
        resamples: How many samples are drawn; fewer, down to 1000, beyond 1000 values.
        confidence: Between 0 and 1.

    Returns:
        None with fewer than two values.
    """
    count = len(values)
    if count < 2:
        return None
    draw = random.Random(seed).choices
    rounds = min(resamples, max(_FEWEST_RESAMPLES, _MOST_DRAWS // count))
    means = sorted(math.fsum(draw(values, k=count)) / count for _ in range(rounds))
    tail = (1 - confidence) / 2
    return Interval(_quantile(means, tail), _quantile(means, 1 - tail))


def _quantile(ordered: Sequence[float], share: float) -> float:
    position = share * (len(ordered) - 1)
    below = math.floor(position)
    above = min(below + 1, len(ordered) - 1)
    return ordered[below] + (ordered[above] - ordered[below]) * (position - below)


def holm(p_values: Sequence[float]) -> list[float]:
    """Return Holm's adjusted p-values in the order given; use them when several runs are compared at once."""
    order = sorted(range(len(p_values)), key=p_values.__getitem__)
    adjusted = [0.0] * len(p_values)
    highest = 0.0
    for rank, index in enumerate(order):
        highest = max(highest, min(1.0, p_values[index] * (len(p_values) - rank)))
        adjusted[index] = highest
    return adjusted
