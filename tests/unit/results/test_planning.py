"""Forecasts: what was learned, what was guessed, and how sure either is."""

from __future__ import annotations

from dataclasses import replace

import pytest

from pytest_mindtrial.core.record import AnswerRecord, RequestRecord, Result, Semantic, ValidationRecord
from pytest_mindtrial.core.values import Kind, Usage
from pytest_mindtrial.results.planning import Band, PlannedItem, forecast_runs
from pytest_mindtrial.suite.model import Pricing

PRICES = Pricing("EUR", 1e6, 1e6)
ITEM = PlannedItem("p", "r", "t", 100, prices=PRICES, currency="EUR")


def seen(into=10, out=20, task="t", kind=Kind.PASSED, requests=1, **fields):
    answer = AnswerRecord("", "", "x", usage=Usage(into, out))
    records = tuple(RequestRecord(turn + 1, 1) for turn in range(requests))
    return Result("id", kind, task, "p", "r", answer=answer, requests=records, **fields)


def one(item=ITEM, *past):
    (forecast,) = forecast_runs([item], past)
    return forecast


def test_without_history_the_band_is_wide():
    forecast = one()
    assert forecast.requests == Band(1, 1, 1)
    assert forecast.input.interval == pytest.approx((60, 160))
    assert forecast.output == Band(30, 400, 4000)
    assert forecast.cost.expected == 500
    assert forecast.cost.interval == pytest.approx((90, 4160))
    assert forecast.basis == "1 from sizes alone"


def test_the_runs_limit_bounds_the_guess():
    assert one(replace(ITEM, output_limit=100)).output == Band(30, 100, 100)
    assert one(replace(ITEM, output_limit=10)).output == Band(10, 10, 10)


def test_an_items_own_results_count_first():
    forecast = one(ITEM, seen(10, 20), seen(30, 40, requests=3), seen(999, 999, task="other"))
    assert (forecast.requests.expected, forecast.input.expected, forecast.output.expected) == (2, 20, 30)
    low, high = forecast.output.interval
    assert (low, high) == pytest.approx((30 - 19.6, 30 + 19.6))
    assert forecast.cost.expected == 50
    assert forecast.basis == "1 from earlier results"


def test_one_sample_is_not_taken_for_certain():
    low, high = one(ITEM, seen(100, 100)).output.interval
    assert (low, high) == pytest.approx((41.2, 158.8))


def test_other_items_of_the_run_tell_about_requests_and_output_only():
    forecast = one(ITEM, seen(10, 50, task="other", requests=2))
    assert forecast.output.expected == 50
    assert forecast.input.expected == 200  # two requests of this item's size
    assert forecast.basis == "1 from similar items"


@pytest.mark.parametrize("past", [seen(kind=Kind.ERROR), seen(kind=Kind.SKIPPED), seen(None, None)])
def test_attempts_that_broke_off_or_reported_nothing_tell_nothing(past):
    assert one(ITEM, past).basis == "1 from sizes alone"


def test_judges_learn_from_judgements():
    semantic = Semantic("j", "p", "v")
    validation = ValidationRecord("semantic", usage=Usage(7, 8), semantic=semantic)
    past = seen(validation=validation)
    forecast = one(replace(ITEM, run="j v"), past)
    assert (forecast.input.expected, forecast.output.expected, forecast.requests.expected) == (7, 8, 1)
    unreported = replace(past, validation=replace(validation, usage=Usage()))
    assert one(replace(ITEM, run="j v"), unreported).basis == "1 from sizes alone"


@pytest.mark.parametrize("prices", [None, Pricing("EUR"), Pricing("EUR", 1.0)])
def test_unknown_prices_make_no_number(prices):
    assert one(replace(ITEM, prices=prices)).cost is None


def test_what_is_free_costs_nothing_unless_it_has_prices():
    assert one(replace(ITEM, prices=None, is_free=True)).cost == Band()
    assert one(replace(ITEM, is_free=True)).cost.expected == 500


def test_runs_are_summed_in_the_order_of_their_first_item():
    items = [ITEM, replace(ITEM, run="s"), replace(ITEM, task="u")]
    first, second = forecast_runs(items, [seen(100, 100), seen(100, 100, task="u")])
    assert (first.run, first.items, second.run, second.items) == ("r", 2, "s", 1)
    assert first.basis == "2 from earlier results"
    low, high = first.output.interval  # independent errors: less than twice the band of one
    assert (low, high) == pytest.approx((200 - 83.156, 200 + 83.156), abs=0.01)
