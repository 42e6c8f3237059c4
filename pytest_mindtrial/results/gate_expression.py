"""The language of gates: what is measured, where, against which limit.

Does not evaluate (``results/gates.py``). Source: issue "From results to decisions"; design D16.

::

    gate      = metric operator limit [ "where" condition { "and" condition } ] [ "per" dimension { "," dimension } ]
    metric    = "pass-rate" | "pass-rate-lower" | "accuracy" | "error-rate" | "cost" | "judge-cost"
              | "p50" | "p95" | "pass^" number | "pass@" number
    operator  = ">=" | ">" | "<=" | "<"
    limit     = number [ "%" ] | duration               (durations for p50 and p95 only: 30s, 1m30s)
    condition = dimension ( "=" | "!=" ) value          (value: a bare word, or quoted with ' or ")
    dimension = "provider" | "run" | "model" | "suite" | "category" | "difficulty" | "tag"

Examples: ``pass-rate >= 90% where suite = core per run``; ``p95 <= 30s``; ``pass^3 >= 0.5 where tag = "must work"``.
"""

from __future__ import annotations

import operator
import re
from collections.abc import Callable
from dataclasses import dataclass
from typing import Literal, NoReturn

from pytest_mindtrial.core.durations import parse_duration
from pytest_mindtrial.core.errors import ResultsError
from pytest_mindtrial.core.record import Result
from pytest_mindtrial.results.stats_filters import DIMENSIONS, dimension_values, equals_fold
from pytest_mindtrial.suite.suggest import allowed_list, near_match

__all__ = ["Condition", "GateExpression", "Metric", "parse_gate"]

MetricName = Literal[
    "pass-rate", "pass-rate-lower", "accuracy", "error-rate", "cost", "judge-cost", "p50", "p95", "pass^k", "pass@k"
]

_METRICS: tuple[MetricName, ...] = (
    "pass-rate",
    "pass-rate-lower",
    "accuracy",
    "error-rate",
    "cost",
    "judge-cost",
    "p50",
    "p95",
)
_SHARES = ("pass-rate", "pass-rate-lower", "accuracy", "error-rate", "pass^k", "pass@k")
_OPERATORS: dict[str, Callable[[float, float], bool]] = {
    ">=": operator.ge,
    ">": operator.gt,
    "<=": operator.le,
    "<": operator.lt,
}
_TOKEN = re.compile(
    r"""\s*(?: (?P<quoted>"[^"]*"|'[^']*') | (?P<sign>>=|<=|!=|>|<|=|,) | (?P<word>[^\s"'<>=!,]+) )""", re.VERBOSE
)
_REPEATED = re.compile(r"pass([\^@])([0-9]+)")


@dataclass(frozen=True, slots=True)
class Metric:
    """What is measured. ``k`` is the number of attempts of ``pass^k`` and ``pass@k``, 0 otherwise."""

    name: MetricName
    k: int = 0

    @property
    def is_share(self) -> bool:
        """True for numbers between 0 and 1."""
        return self.name in _SHARES

    @property
    def is_duration(self) -> bool:
        """True for nanoseconds."""
        return self.name in ("p50", "p95")

    def __str__(self) -> str:
        return self.name.replace("k", str(self.k)) if self.k else self.name


@dataclass(frozen=True, slots=True)
class Condition:
    """One restriction; values are compared without case, ``(unspecified)`` matches a missing one."""

    dimension: str
    value: str
    is_equal: bool = True

    def __call__(self, result: Result) -> bool:
        """Return whether the result is meant."""
        has_value = any(equals_fold(value, self.value) for value in dimension_values(result, self.dimension))
        return has_value is self.is_equal


@dataclass(frozen=True, slots=True)
class GateExpression:
    """A gate as written.

    Attributes:
        text: The user's words.
        limit: Share, money or nanoseconds.
        per: Dimensions; the gate has to hold in every group. Empty = over all results.
    """

    text: str
    metric: Metric
    operator: str
    limit: float
    where: tuple[Condition, ...] = ()
    per: tuple[str, ...] = ()

    def holds(self, value: float) -> bool:
        """Return whether a measured value satisfies the limit."""
        return _OPERATORS[self.operator](value, self.limit)


def parse_gate(text: str) -> GateExpression:
    """Read one gate.

    Raises:
        ResultsError: With the place, what was found and what is allowed there.
    """
    return _Parser(text).gate()


class _Parser:
    """Reads tokens from left to right; keeps the place for messages."""

    def __init__(self, text: str) -> None:
        self._text = text
        self._at = 0
        self._start = 0

    def gate(self) -> GateExpression:
        metric = self._metric()
        sign = self._take("an operator", tuple(_OPERATORS))
        if metric.name == "pass-rate-lower" and sign not in (">=", ">"):
            self._fail("pass-rate-lower is a lower bound; compare it with >= or >")
        limit = self._limit(metric)
        where: tuple[Condition, ...] = ()
        per: tuple[str, ...] = ()
        if self._peek() == "where":
            where = self._conditions()
        if self._peek() == "per":
            per = self._dimensions()
        if self._peek():
            self._next()
            self._fail("unexpected text; after the limit come 'where' and 'per'")
        return GateExpression(self._text.strip(), metric, sign, limit, where, per)

    def _metric(self) -> Metric:
        word = self._next()
        repeated = _REPEATED.fullmatch(word)
        if repeated:
            count = int(repeated[2][:6])
            if not 1 <= count <= 1000:
                self._fail("pass^K and pass@K take a K from 1 to 1000")
            return Metric("pass^k" if repeated[1] == "^" else "pass@k", count)
        for name in _METRICS:
            if word == name:
                return Metric(name)
        self._fail(_wanted("a metric", word, (*_METRICS, "pass^K", "pass@K")))

    def _limit(self, metric: Metric) -> float:
        word = self._next()
        if metric.is_duration:
            try:
                return float(parse_duration(word))
            except ValueError as error:
                self._fail(str(error))
        number = re.fullmatch(r"([0-9]+(?:\.[0-9]*)?|\.[0-9]+)(%?)", word)
        if not number or (number[2] and not metric.is_share):
            self._fail("expected a number" + (" such as 0.9 or 90%" if metric.is_share else ""))
        limit = float(number[1]) / (100 if number[2] else 1)
        if metric.is_share and limit > 1:
            self._fail(f"{metric} lies between 0 and 1 (or 0% and 100%)")
        return limit

    def _conditions(self) -> tuple[Condition, ...]:
        conditions: list[Condition] = []
        while not conditions or self._peek() == "and":
            self._next()
            dimension = self._take("a dimension", DIMENSIONS)
            sign = self._take("= or !=", ("=", "!="))
            conditions.append(Condition(dimension, self._value(), sign == "="))
        return tuple(conditions)

    def _dimensions(self) -> tuple[str, ...]:
        dimensions: list[str] = []
        while not dimensions or self._peek() == ",":
            self._next()
            dimensions.append(self._take("a dimension", DIMENSIONS))
            if dimensions[-1] in dimensions[:-1]:
                self._fail("a dimension can be given once")
        return tuple(dimensions)

    def _value(self) -> str:
        token = self._next()
        if token[:1] in ('"', "'"):
            return token[1:-1]
        if not token or token in (*_OPERATORS, "=", "!=", ","):
            self._fail("expected a value; quote values that hold spaces or signs")
        return token

    def _take(self, what: str, allowed: tuple[str, ...]) -> str:
        token = self._next()
        if token not in allowed:
            self._fail(_wanted(what, token, allowed))
        return token

    def _peek(self) -> str:
        match = _TOKEN.match(self._text, self._at)
        if match:
            return match[0].strip()
        return self._text[self._at :].strip()

    def _next(self) -> str:
        match = _TOKEN.match(self._text, self._at)
        if match:
            self._start, self._at = match.start(match.lastgroup or 0), match.end()
            return match[0].strip()
        self._start = len(self._text) - len(self._text[self._at :].lstrip())
        if self._start < len(self._text):
            self._fail("expected a word, a sign or a value in quotes that are closed")
        return ""

    def _fail(self, problem: str) -> NoReturn:
        found = self._text[self._start : self._start + 30] or "the end"
        raise ResultsError(f"gate {self._text!r}, column {self._start + 1}: {problem}; found {found!r}")


def _wanted(what: str, word: str, allowed: tuple[str, ...]) -> str:
    return f"expected {what}, one of {allowed_list(allowed)}{near_match(word, allowed)}"
