from __future__ import annotations

import dataclasses
import json
from pathlib import Path

import pytest

from pytest_mindtrial.core.errors import ConfigError
from pytest_mindtrial.core.record import AnswerRecord, ErrorRecord, Result, ToolUsageRecord
from pytest_mindtrial.core.values import Kind, Usage
from pytest_mindtrial.results.costs import Spent, candidate_cost, judge_cost, total_cost
from pytest_mindtrial.results.json_reader import read_results_json
from pytest_mindtrial.results.stats import Spread, compute_stats
from pytest_mindtrial.results.stats_filters import Filters
from pytest_mindtrial.results.stats_writers import STATS_FORMATS, check_stats_format, write_stats
from tests.support.sample_results import HOSTILE, PRICES, attempt, full

DATA = Path(__file__).parents[3] / "../shared/data/mindtrial"


def seed_results() -> list[Result]:
    return [
        attempt("t1", provider="anthropic", run="claude", tags=("visual", "spatial")),
        attempt("t2", provider="openai", run="gpt-4", tags=("text",)),
        attempt("t3", Kind.FAILED, provider="openai", run="gpt-4", tags=("visual",)),
    ]


@pytest.mark.parametrize(
    "group_by, lines",
    [
        (
            ("provider", "run"),
            ["provider,run,Count,Passed,Failed,", "anthropic,claude,1,1,0,", "openai,gpt-4,2,1,1,"],
        ),
        (("tag",), ["tag,Count,Passed,Failed,", "spatial,1,1,0,", "text,1,1,0,", "visual,2,1,1,"]),
    ],
)
def test_the_examples_of_the_manual(group_by: tuple[str, ...], lines: list[str]) -> None:
    written = write_stats(compute_stats(seed_results(), group_by), group_by, "csv").splitlines()
    assert len(written) == len(lines)
    assert [line[: len(start)] for line, start in zip(written, lines, strict=True)] == lines


def test_the_csv_columns() -> None:
    assert write_stats([], ("model",), "csv") == (
        "model,Count,Passed,Failed,Error,Skipped,PassRate,Accuracy,ErrorRate,TotalDuration,MedianDuration,"
        "StddevDuration,TotalInputTokens,MedianInputTokens,StddevInputTokens,TotalOutputTokens,MedianOutputTokens,"
        "StddevOutputTokens,TotalReasoningTokens,MedianReasoningTokens,StddevReasoningTokens,TotalCacheReadTokens,"
        "MedianCacheReadTokens,StddevCacheReadTokens,TotalCacheWriteTokens,MedianCacheWriteTokens,"
        "StddevCacheWriteTokens,TotalToolCalls,MedianToolCalls,StddevToolCalls,TransientErrors,"
        "ResponseParsingErrors,EstimatedCandidateCost,CandidateCostCurrency\n"
    )


def test_the_json_keys() -> None:
    keys = list(json.loads(write_stats(compute_stats(full(), ("suite",)), ("suite",), "jsonl").splitlines()[0]))
    assert keys[:9] == [
        "Dimensions", "Count", "Passed", "Failed", "Error", "Skipped", "PassRate", "Accuracy", "ErrorRate",
    ]  # fmt: skip
    assert keys[-4:] == [
        "EstimatedCandidateCost", "CandidateCostCurrency", "TransientErrors", "ResponseParsingErrors",
    ]  # fmt: skip


def test_nothing_matches() -> None:
    groups = compute_stats(full(), ("tag",), Filters({"provider": ["nobody"]}))
    assert write_stats(groups, ("tag",), "json") == "[]\n"
    assert write_stats(groups, ("tag",), "jsonl") == ""
    assert len(write_stats(groups, ("tag",), "text").splitlines()) == 1


@pytest.mark.parametrize(
    "seconds, total, middle, deviation",
    [([], None, None, None), ([2], 2, None, None), ([1, 2], 3, 1.5, 0.5), ([1, 2, 6], 9, 2, 2.1602468994)],
)
def test_durations(seconds: list[float], total: float | None, middle: float | None, deviation: float | None) -> None:
    results = [attempt(str(index), seconds=value) for index, value in enumerate(seconds)]
    results.append(attempt("skip", Kind.SKIPPED, seconds=99))
    (group,) = compute_stats(results, ("run",))
    expected = [None if value is None else round(value * 1e9) for value in (total, middle, deviation)]
    assert [group.duration.total, group.duration.median, group.duration.stddev] == pytest.approx(expected, abs=1)
    assert all(value is None or isinstance(value, int) for value in (group.duration.median, group.duration.stddev))


def test_tokens_are_the_candidates() -> None:
    base = attempt("t", Kind.ERROR)
    answer = AnswerRecord("", "", "", usage=Usage(1, 2, 3, 4, 5, "cache_tokens_separate", "reasoning_tokens_separate"))
    spent = ErrorRecord("E", "m", usage=Usage(100, 200, None, None, None, "cache_tokens_included"))
    both = dataclasses.replace(base, answer=answer, error=spent)
    judged = dataclasses.replace(both, error=dataclasses.replace(spent, from_validation=True))
    (group,) = compute_stats([both], ("run",))
    assert group.input_tokens.total == 1 + 4 + 5 + 100
    assert group.output_tokens.total == 2 + 3 + 200
    assert (group.reasoning_tokens.total, group.cache_write_tokens.total, group.cache_read_tokens.total) == (3, 4, 5)
    (group,) = compute_stats([judged], ("run",))
    assert (group.input_tokens.total, group.output_tokens.total) == (10, 5)


def test_tool_calls_are_the_candidates() -> None:
    tools = {"calc": ToolUsageRecord(3, 1), "find": ToolUsageRecord(2, 1)}
    answer = AnswerRecord("", "", "", tool_usage=tools)
    spent = ErrorRecord("E", "m", tool_usage={"calc": ToolUsageRecord(10, 1)})
    both = dataclasses.replace(attempt("t", Kind.ERROR), answer=answer, error=spent)
    judged = dataclasses.replace(both, error=dataclasses.replace(spent, from_validation=True))
    assert compute_stats([both], ("run",))[0].tool_calls.total == 15
    assert compute_stats([judged], ("run",))[0].tool_calls.total == 5


def test_unreported_counters_are_no_samples() -> None:
    (group,) = compute_stats([attempt("a", tokens=None), attempt("b", tokens=10)], ("run",))
    assert group.input_tokens == Spread(10)
    assert group.reasoning_tokens == Spread()
    assert group.tool_calls == Spread()


def test_error_counters() -> None:
    results = [attempt("a", Kind.ERROR), attempt("b", Kind.SKIPPED), attempt("c")]
    (group,) = compute_stats(results, ("run",))
    assert (group.transient_errors, group.response_parsing_errors) == (1, 1)


def priced(usage: Usage, prices: object = PRICES) -> Result:
    return dataclasses.replace(
        attempt("t"), answer=AnswerRecord("", "", "", usage=usage), run_config={"Model": "m", "Pricing": prices}
    )


INCLUDED = Usage(1000, 500, 200, None, 400, "cache_tokens_included", "reasoning_tokens_included")


def test_the_golden_cost() -> None:
    prices = PRICES | {"CacheWritePerMillion": 1}
    assert candidate_cost(priced(INCLUDED, prices)).amount == pytest.approx(0.00564)


@pytest.mark.parametrize("prices", [None, "free", {"InputPerMillion": "1"}, {"InputPerMillion": True}])
def test_prices_that_are_none_make_the_cost_unknown(prices: object) -> None:
    assert candidate_cost(priced(INCLUDED, prices)) == Spent(is_unknown=True)


def test_recorded_costs_win() -> None:
    result = dataclasses.replace(priced(INCLUDED), cost=1.0, judge_cost=2.0, currency="EUR")
    assert (candidate_cost(result), judge_cost(result)) == (Spent(1.0, "EUR"), Spent(2.0, "EUR"))


def test_the_judges_cost_uses_the_judges_prices() -> None:
    judged = next(result for result in full() if result.task == "judged")
    assert judge_cost(judged) == Spent(pytest.approx(0.0021), "USD")
    failed = dataclasses.replace(
        attempt("t", Kind.ERROR), error=ErrorRecord("E", "m", usage=Usage(5), from_validation=True)
    )
    assert judge_cost(failed).is_unknown
    assert judge_cost(attempt("t")) == Spent()


@pytest.mark.parametrize(
    "costs, total",
    [
        ([], Spent()),
        ([Spent(), Spent()], Spent()),
        ([Spent(1, "USD"), Spent(), Spent(2, "USD")], Spent(3, "USD")),
        ([Spent(1, "USD"), Spent(1, "usd")], Spent(is_unknown=True)),
        ([Spent(1, "USD"), Spent(is_unknown=True)], Spent(is_unknown=True)),
    ],
)
def test_sums_of_costs(costs: list[Spent], total: Spent) -> None:
    assert total_cost(costs) == total


def test_unknown_formats_are_refused() -> None:
    with pytest.raises(ConfigError, match="invalid stats-format: 'jsn'; allowed: text, csv, json, jsonl; did you mean"):
        check_stats_format("jsn")
    for name in STATS_FORMATS:
        check_stats_format(name)


@pytest.mark.parametrize("text", HOSTILE.values(), ids=HOSTILE)
@pytest.mark.parametrize("stats_format", STATS_FORMATS)
def test_hostile_dimensions(text: str, stats_format: str) -> None:
    result = attempt(text, provider=text, run=text, suite=text, tags=(text,), model=text)
    group_by = ("provider", "model", "tag")
    written = write_stats(compute_stats([result], group_by), group_by, stats_format)
    if stats_format in ("json", "jsonl"):
        assert "<" not in written
        data = json.loads(written)
        assert (data[0] if stats_format == "json" else data)["Dimensions"]["tag"] == text
    elif stats_format == "text":
        assert len(written.splitlines()) == 2
        assert "\x1b" not in written
        written.encode()
    else:
        assert not any(line.startswith("=") for line in written.splitlines())


@pytest.mark.shared_data
@pytest.mark.skipif(not DATA.is_dir(), reason="the shared data folder is not here")
def test_mindtrials_own_results() -> None:
    groups = compute_stats(read_results_json(DATA / "results.json").results, ("provider",))
    (row,) = json.loads(write_stats(groups, ("provider",), "json"))
    assert (row["Count"], row["Skipped"], row["PassRate"], row["Accuracy"]) == (9, 1, 33.33, 50)
    assert (row["TotalDuration"], row["MedianDuration"]) == (698959000000, 38000000000)
    assert (row["TotalToolCalls"], row["TransientErrors"], row["EstimatedCandidateCost"]) == (3687, 1, None)
