"""What tokens cost: the price of one usage record under one price list.

Does not sum over results and does not format money. Source: spec mindtrial 1.5 and 8.3 ("Cost of one usage record"),
golden values A.4; seed guide on pricing.
"""

from __future__ import annotations

from enum import Enum
from typing import Final, Literal, NamedTuple, Protocol

from pytest_mindtrial.core.values import Usage

__all__ = ["NOTHING_TO_PRICE", "UNKNOWN_COST", "Cost", "NoCost", "Prices", "cost_of", "known_cost"]


class Prices(Protocol):
    """Rates per million tokens; None = unknown, 0 = free (`suite.model.Pricing`)."""

    @property
    def input_per_million(self) -> float | None:
        """Rate of uncached input."""

    @property
    def output_per_million(self) -> float | None:
        """Rate of output without reasoning."""

    @property
    def cache_read_per_million(self) -> float | None:
        """Rate of input read from a cache; falls back to the input rate."""

    @property
    def cache_write_per_million(self) -> float | None:
        """Rate of input written to a cache; falls back to the input rate."""

    @property
    def reasoning_per_million(self) -> float | None:
        """Rate of reasoning; falls back to the output rate."""


class NoCost(Enum):
    """Why there is no number. The two differ in sums: unknown makes a sum unknown, nothing leaves it as it is."""

    UNKNOWN = "unknown"
    NOTHING = "nothing to price"


UNKNOWN_COST: Final = NoCost.UNKNOWN
NOTHING_TO_PRICE: Final = NoCost.NOTHING

Cost = float | Literal[NoCost.UNKNOWN, NoCost.NOTHING]
"""An amount in the price list's currency, or the reason why there is none."""


def cost_of(usage: Usage, prices: Prices | None) -> Cost:
    """Price one usage record.

    Args:
        usage: Counters with their accounting modes; an absent input mode means separate, an absent output mode
            included.
        prices: The run's price list; None = none.

    Returns:
        The amount; `UNKNOWN_COST` when counters, modes or rates do not allow a correct one; `NOTHING_TO_PRICE` when no
        counter was reported.
    """
    if _has_no_counter(usage):
        return NOTHING_TO_PRICE
    if prices is None:
        return UNKNOWN_COST
    rates = _Rates.of(prices)
    if _split_is_unknown(usage, rates):
        return UNKNOWN_COST
    total = 0.0
    for tokens, rate in (*_input_buckets(usage, rates), *_output_buckets(usage, rates)):
        if tokens is None or tokens == 0:
            continue
        if tokens < 0 or rate is None:
            return UNKNOWN_COST
        total += tokens / 1e6 * rate
    return total


def known_cost(cost: Cost) -> float | None:
    """Return the amount, or None where there is none for whatever reason."""
    return None if isinstance(cost, NoCost) else cost


class _Rates(NamedTuple):
    """Rates with the fallbacks applied."""

    input: float | None
    output: float | None
    read: float | None
    write: float | None
    reasoning: float | None

    @classmethod
    def of(cls, prices: Prices) -> _Rates:
        into, out = prices.input_per_million, prices.output_per_million
        read, write, reasoning = (
            prices.cache_read_per_million,
            prices.cache_write_per_million,
            prices.reasoning_per_million,
        )
        return cls(
            into,
            out,
            into if read is None else read,
            into if write is None else write,
            out if reasoning is None else reasoning,
        )


Bucket = tuple[int | None, float | None]


def _has_no_counter(usage: Usage) -> bool:
    return (
        usage.input_tokens is None
        and usage.output_tokens is None
        and usage.reasoning_tokens is None
        and usage.cache_write_tokens is None
        and usage.cache_read_tokens is None
    )


def _input_buckets(usage: Usage, rates: _Rates) -> tuple[Bucket, ...]:
    plain = usage.input_tokens
    read, write = usage.cache_read_tokens, usage.cache_write_tokens
    if usage.input_accounting == "cache_tokens_included":
        plain = (plain or 0) - (read or 0) - (write or 0)
    return (plain, rates.input), (read, rates.read), (write, rates.write)


def _output_buckets(usage: Usage, rates: _Rates) -> tuple[Bucket, ...]:
    output, reasoning = usage.output_tokens, usage.reasoning_tokens
    if usage.output_accounting == "reasoning_tokens_separate":
        return (output, rates.output), (reasoning, rates.reasoning)
    if output is None or reasoning is None:
        return ((output, rates.output),)
    return (output - reasoning, rates.output), (reasoning, rates.reasoning)


def _split_is_unknown(usage: Usage, rates: _Rates) -> bool:
    return _input_split_is_unknown(usage, rates) or _output_split_is_unknown(usage, rates)


def _input_split_is_unknown(usage: Usage, rates: _Rates) -> bool:
    read, write = usage.cache_read_tokens, usage.cache_write_tokens
    match usage.input_accounting:
        case None:
            return False
        case "cache_tokens_separate":
            return usage.input_tokens is not None and (read is None or write is None)
        case "cache_tokens_included":
            missing_read = read is None and _differ(rates.read, rates.input)
            missing_write = write is None and _differ(rates.write, rates.input)
            return usage.input_tokens is not None and (missing_read or missing_write)
        case _:
            return True


def _output_split_is_unknown(usage: Usage, rates: _Rates) -> bool:
    match usage.output_accounting:
        case None:
            return False
        case "reasoning_tokens_separate":
            return usage.output_tokens is not None and usage.reasoning_tokens is None
        case "reasoning_tokens_included":
            missing = usage.reasoning_tokens is None and _differ(rates.reasoning, rates.output)
            return usage.output_tokens is not None and missing
        case _:
            return True


def _differ(special: float | None, general: float | None) -> bool:
    """True when both rates are set and differ, so that a missing counter would change the amount."""
    return special is not None and general is not None and special != general
