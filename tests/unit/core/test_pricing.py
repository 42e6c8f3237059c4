"""Costs of one usage record: the golden values of spec mindtrial A.4 and every rule of 8.3, row by row."""

from __future__ import annotations

import pytest

from pytest_mindtrial.core.pricing import NOTHING_TO_PRICE, UNKNOWN_COST, cost_of, known_cost
from pytest_mindtrial.core.values import Usage
from pytest_mindtrial.suite.model import Pricing

GOLDEN = Pricing(input_per_million=1, output_per_million=10, cache_read_per_million=0.1)
SEPARATE = {"input_accounting": "cache_tokens_separate", "output_accounting": "reasoning_tokens_separate"}
INCLUDED = {"input_accounting": "cache_tokens_included", "output_accounting": "reasoning_tokens_included"}
COUNTERS = {"input_tokens": 1000, "output_tokens": 500, "reasoning_tokens": 200, "cache_read_tokens": 400}


@pytest.mark.parametrize(
    "usage, cost",
    [
        pytest.param(Usage(**COUNTERS, **INCLUDED), 0.00564, id="included"),
        pytest.param(Usage(**COUNTERS, cache_write_tokens=0, **SEPARATE), 0.00804, id="separate"),
        pytest.param(Usage(**COUNTERS, **SEPARATE), UNKNOWN_COST, id="separate-without-cache-write"),
        pytest.param(
            Usage(input_tokens=1000, output_tokens=500, reasoning_tokens=200, **INCLUDED),
            UNKNOWN_COST,
            id="included-without-cache-read",
        ),
        pytest.param(
            Usage(**{**COUNTERS, "reasoning_tokens": 600}, **INCLUDED), UNKNOWN_COST, id="more-reasoning-than-output"
        ),
        pytest.param(Usage(**INCLUDED), NOTHING_TO_PRICE, id="no-counters"),
    ],
)
def test_golden_costs(usage, cost):
    assert cost_of(usage, GOLDEN) == (pytest.approx(cost) if isinstance(cost, float) else cost)


def test_missing_cache_read_does_not_matter_when_its_rate_is_the_input_rate():
    usage = Usage(input_tokens=1000, output_tokens=500, reasoning_tokens=200, **INCLUDED)
    assert cost_of(usage, Pricing(input_per_million=1, output_per_million=10)) == pytest.approx(0.006)


@pytest.mark.parametrize(
    "counters, prices, cost",
    [
        pytest.param({"input_tokens": 10}, None, UNKNOWN_COST, id="counters-but-no-prices"),
        pytest.param({}, None, NOTHING_TO_PRICE, id="neither"),
        pytest.param({"input_tokens": 10}, Pricing(output_per_million=1), UNKNOWN_COST, id="bucket-without-rate"),
        pytest.param({"input_tokens": 0}, Pricing(output_per_million=1), 0.0, id="zero-bucket-needs-no-rate"),
        pytest.param({"input_tokens": 10}, Pricing(input_per_million=0), 0.0, id="free-is-a-rate"),
        pytest.param({"input_tokens": 5, "input_accounting": "odd"}, GOLDEN, UNKNOWN_COST, id="unknown-input-mode"),
        pytest.param({"output_tokens": 5, "output_accounting": "odd"}, GOLDEN, UNKNOWN_COST, id="unknown-output-mode"),
        pytest.param({"output_tokens": 5, **SEPARATE}, GOLDEN, UNKNOWN_COST, id="separate-output-without-reasoning"),
        pytest.param({"input_tokens": 5, "cache_write_tokens": 0, **SEPARATE}, GOLDEN, UNKNOWN_COST, id="no-read"),
        pytest.param({"cache_read_tokens": 400, **INCLUDED}, GOLDEN, UNKNOWN_COST, id="cache-without-input"),
        pytest.param({"reasoning_tokens": 5, **SEPARATE}, GOLDEN, 5e-5, id="reasoning-falls-back-to-output-rate"),
        pytest.param(
            {"input_tokens": 10, "cache_read_tokens": 20, "cache_write_tokens": 30}, GOLDEN, 4.2e-5, id="absent-mode"
        ),
        pytest.param({"output_tokens": 50, "reasoning_tokens": 20}, GOLDEN, 5e-4, id="absent-mode-includes-reasoning"),
        pytest.param(
            {"output_tokens": 50, **INCLUDED},
            Pricing(output_per_million=1, reasoning_per_million=2),
            UNKNOWN_COST,
            id="dearer-reasoning-not-reported",
        ),
        pytest.param(
            {"input_tokens": 50, "cache_read_tokens": 0, **INCLUDED},
            Pricing(input_per_million=1, cache_write_per_million=2),
            UNKNOWN_COST,
            id="dearer-cache-write-not-reported",
        ),
        pytest.param(
            {"input_tokens": 100, "cache_read_tokens": 40, "cache_write_tokens": 10, **INCLUDED},
            Pricing(input_per_million=1, cache_read_per_million=0, cache_write_per_million=3),
            8e-5,
            id="all-three-input-rates",
        ),
    ],
)
def test_rules(counters, prices, cost):
    assert cost_of(Usage(**counters), prices) == (pytest.approx(cost) if isinstance(cost, float) else cost)


def test_only_amounts_are_known():
    assert known_cost(1.5) == 1.5
    assert known_cost(UNKNOWN_COST) is None
    assert known_cost(NOTHING_TO_PRICE) is None
