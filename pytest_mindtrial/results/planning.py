"""What an evaluation will probably take: requests, tokens and cost per run, each with an error band.

Learned from earlier results of the same item, else of the same run, else guessed from sizes and limits. The bands are
wide where nothing was learned, and what is unknown is said instead of guessed. Sends nothing and reads nothing. Today's
prices are used, with the plain rates: what caches of vendors save is not known beforehand. Source: field pain 7;
design D15.
"""

from __future__ import annotations

import math
from collections.abc import Iterable, Sequence
from dataclasses import dataclass, field, replace
from statistics import fmean, pvariance

from pytest_mindtrial.core.pricing import Prices
from pytest_mindtrial.core.record import Result
from pytest_mindtrial.core.values import Kind, Usage
from pytest_mindtrial.results.costs import candidate_tokens

__all__ = ["Band", "PlannedItem", "RunForecast", "forecast_runs"]

_Z_95 = 1.96
_ONE_SAMPLE_SHARE = 0.3
"""Deviation that is assumed of something seen once, as a share of it."""

_INPUT_SHARES = (0.6, 1.6)
"""Tokenizers differ by language and vendor: from these shares of a quarter of the characters."""

_GUESSED_OUTPUT = (30, 400, 4000)
"""Output of a reply nothing is known of: a bare word, a short explanation, long reasoning."""


@dataclass(frozen=True, slots=True)
class Band:
    """An expected amount and where it will probably lie.

    Attributes:
        low: Lower end of what was guessed; learned parts are in ``expected`` and ``variance`` only.
        expected: Most likely amount, guessed and learned.
        high: Upper end of what was guessed.
        variance: Of the learned parts, whose errors are independent.
    """

    low: float = 0.0
    expected: float = 0.0
    high: float = 0.0
    variance: float = 0.0

    @classmethod
    def learned(cls, values: Sequence[float]) -> Band:
        """Return the band of a mean that was seen."""
        mean = fmean(values)
        variance = pvariance(values, mean) if len(values) > 1 else (mean * _ONE_SAMPLE_SHARE) ** 2
        return cls(mean, mean, mean, variance)

    def __add__(self, other: Band) -> Band:
        return Band(
            self.low + other.low,
            self.expected + other.expected,
            self.high + other.high,
            self.variance + other.variance,
        )

    def __mul__(self, factor: float) -> Band:
        return Band(self.low * factor, self.expected * factor, self.high * factor, self.variance * factor * factor)

    @property
    def interval(self) -> tuple[float, float]:
        """Return the ends of the band, 95 % where everything was learned."""
        half = _Z_95 * math.sqrt(self.variance)
        return max(0.0, self.low - half), self.high + half


@dataclass(frozen=True, slots=True)
class PlannedItem:
    """An attempt, or the judgement of one, that would be made.

    Attributes:
        provider: Provider, or the judge's.
        run: Run; a judge's variant with the judge's name.
        task: Task name.
        input_tokens: Guess from the size of what will be sent.
        output_limit: The run's own limit; None = none.
        prices: None = unknown.
        currency: Of the prices.
        is_free: True where nothing has to be paid, whatever the prices say.
    """

    provider: str
    run: str
    task: str
    input_tokens: int
    output_limit: int | None = None
    prices: Prices | None = None
    currency: str = ""
    is_free: bool = False


@dataclass(frozen=True, slots=True)
class RunForecast:
    """The forecast of one run.

    Attributes:
        items: Attempts or judgements.
        cost: None when prices are missing.
        learned: Items with an earlier result of their own.
        similar: Items that only other items of the run tell about.
    """

    provider: str
    run: str
    items: int = 0
    requests: Band = field(default_factory=Band)
    input: Band = field(default_factory=Band)
    output: Band = field(default_factory=Band)
    cost: Band | None = field(default_factory=Band)
    currency: str = ""
    learned: int = 0
    similar: int = 0

    @property
    def basis(self) -> str:
        """Return what the numbers stand on."""
        guessed = self.items - self.learned - self.similar
        parts = [
            (self.learned, "from earlier results"),
            (self.similar, "from similar items"),
            (guessed, "from sizes alone"),
        ]
        return ", ".join(f"{count} {text}" for count, text in parts if count)


_Seen = tuple[float, float, float]
"""Requests, input and output tokens of one attempt or judgement."""


def forecast_runs(items: Iterable[PlannedItem], past: Iterable[Result]) -> list[RunForecast]:
    """Return one forecast per run and judge, in the order of their first item."""
    own, similar = _history(past)
    forecasts: dict[tuple[str, str], RunForecast] = {}
    for item in items:
        key = (item.provider, item.run)
        known = forecasts.get(key) or RunForecast(item.provider, item.run, currency=item.currency)
        forecasts[key] = _with(known, item, own, similar)
    return list(forecasts.values())


def _history(
    past: Iterable[Result],
) -> tuple[dict[tuple[str, str, str], list[_Seen]], dict[tuple[str, str], list[_Seen]]]:
    own: dict[tuple[str, str, str], list[_Seen]] = {}
    similar: dict[tuple[str, str], list[_Seen]] = {}
    for result in past:
        for provider, run, seen in _seen_in(result):
            own.setdefault((provider, run, result.task), []).append(seen)
            similar.setdefault((provider, run), []).append(seen)
    return own, similar


def _seen_in(result: Result) -> Iterable[tuple[str, str, _Seen]]:
    """Yield what an attempt and its judgement took; attempts that broke off early tell nothing."""
    if result.kind in (Kind.PASSED, Kind.FAILED):
        into, out = candidate_tokens(result)
        if into is not None and out is not None:
            yield result.provider, result.run, (_sent(result, is_judge=False), into, out)
    validation = result.validation
    if validation is not None and validation.semantic is not None:
        semantic = validation.semantic
        usage: Usage = validation.usage
        if usage.effective_input is not None and usage.effective_output is not None:
            seen = (_sent(result, is_judge=True), usage.effective_input, usage.effective_output)
            yield semantic.provider, f"{semantic.judge_name} {semantic.variant}", seen


def _sent(result: Result, *, is_judge: bool) -> float:
    return max(1, sum((request.purpose == "judge") is is_judge for request in result.requests))


def _with(
    forecast: RunForecast,
    item: PlannedItem,
    own: dict[tuple[str, str, str], list[_Seen]],
    similar: dict[tuple[str, str], list[_Seen]],
) -> RunForecast:
    key = (item.provider, item.run)
    seen = own.get((*key, item.task))
    others = similar.get(key)
    if seen:
        requests, into, out = (Band.learned(values) for values in zip(*seen, strict=True))
    elif others:
        requests, _, out = (Band.learned(values) for values in zip(*others, strict=True))
        into = _guessed_input(item) * requests.expected
    else:
        requests, out = Band(1, 1, 1), _guessed_output(item)
        into = _guessed_input(item)
    return replace(
        forecast,
        items=forecast.items + 1,
        requests=forecast.requests + requests,
        input=forecast.input + into,
        output=forecast.output + out,
        cost=_added_cost(forecast.cost, item, into, out),
        learned=forecast.learned + bool(seen),
        similar=forecast.similar + bool(others and not seen),
    )


def _guessed_input(item: PlannedItem) -> Band:
    low, high = _INPUT_SHARES
    return Band(item.input_tokens * low, item.input_tokens, item.input_tokens * high)


def _guessed_output(item: PlannedItem) -> Band:
    low, expected, high = _GUESSED_OUTPUT
    limit = item.output_limit
    if limit is None:
        return Band(low, expected, high)
    return Band(min(low, limit), min(expected, limit), limit)


def _added_cost(cost: Band | None, item: PlannedItem, into: Band, out: Band) -> Band | None:
    if item.is_free and item.prices is None:
        return cost
    prices = item.prices
    if cost is None or prices is None or prices.input_per_million is None or prices.output_per_million is None:
        return None
    return cost + into * (prices.input_per_million / 1e6) + out * (prices.output_per_million / 1e6)
