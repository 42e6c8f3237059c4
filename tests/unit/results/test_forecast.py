from __future__ import annotations

import dataclasses

from pytest_mindtrial.results.forecast import Forecast, forecast_cost
from tests.support.sample_results import attempt


def test_items_cost_what_they_cost_before() -> None:
    past = [attempt("a", tokens=1000), attempt("a", tokens=3000), attempt("b", tokens=1000)]
    forecast = forecast_cost([("openai", "gpt", "a"), ("openai", "gpt", "a")], past)
    assert (forecast.known, forecast.unknown) == (2, 0)
    assert round(forecast.amounts["USD"], 9) == 0.024


def test_new_tasks_cost_what_their_run_costs() -> None:
    past = [attempt("a", tokens=1000), attempt("b", tokens=3000)]
    assert round(forecast_cost([("openai", "gpt", "new")], past).amounts["USD"], 9) == 0.012


def test_what_is_not_known_is_said() -> None:
    forecast = forecast_cost([("openai", "gpt", "a"), ("x", "y", "a")], [attempt("a")])
    assert str(forecast) == "0.0060 USD for 1 of 2 items; 1 more have no earlier result with a known cost"
    assert str(forecast_cost([("x", "y", "a")], [attempt("a", tokens=None)])).startswith("unknown for 0 of 1 items")
    assert str(Forecast({}, 0, 0)) == "unknown for 0 of 0 items"


def test_a_second_currency_of_one_run_is_left_out() -> None:
    euro = dataclasses.replace(attempt("a"), cost=9.0, currency="EUR")
    forecast = forecast_cost([("openai", "gpt", "a")], [attempt("a"), euro])
    assert forecast.amounts == {"USD": 0.006}
