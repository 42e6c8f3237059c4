"""The terminal's table."""

from __future__ import annotations

import pytest

from pytest_mindtrial.results.statistics import Counts, RunSummary
from pytest_mindtrial.results.summary import coverage_line, money, notes, terminal_table, tokens

RUNS = [
    RunSummary(
        "openai", "gpt", Counts(7, 1, 0, 2), 900_000_000, 61_400_000_000, 12_345, 678, 0.0123, "USD", 0.5, "USD"
    ),
    RunSummary("日本", "x\x1b[31m", Counts(), is_mock=True),
]


def test_wide_table() -> None:
    assert terminal_table(RUNS, 200) == [
        "provider  run               passed  failed  error  skipped   pass rate  95 % interval     p50 / p95"
        "  tokens in / out        cost      judges",
        "openai    gpt                    7       1      0        2  7/8 87.5 %   [52.9, 97.8]  900ms / 1m1s"
        "      12.3k / 678  0.0123 USD  0.5000 USD",
        "日本      x\\x1b[31m (mock)       0       0      0        0           –              –             –"
        "            – / –           –           –",
    ]


def test_columns_leave_in_order_when_it_gets_narrow() -> None:
    def titles(width: int) -> str:
        return terminal_table(RUNS, width)[0]

    assert "judges" in titles(150)
    assert "judges" not in titles(130)
    assert "tokens" not in titles(115)
    assert "p50" not in titles(100)
    assert "cost" not in titles(85)
    assert "interval" not in titles(70)
    assert "pass rate" in titles(20)


def test_long_names_are_cut_last() -> None:
    lines = terminal_table([RunSummary("provider" * 9, "run" * 20 + "日本", Counts(1))], 80)
    assert max(map(len, lines)) == 80
    assert "…" in lines[1]
    assert terminal_table([RunSummary("a" * 30, "b", Counts(1))], 1)[1].startswith("aaaaaaa…  b ")


def test_wide_characters_are_cut_to_cells() -> None:
    line = terminal_table([RunSummary("日本語日本語日本語", "r", Counts(1))], 1)[1]
    assert line.startswith("日本語…   r ")


def test_no_judge_column_without_judges_and_no_table_without_runs() -> None:
    assert "judges" not in terminal_table([RUNS[1]], 300)[0]
    assert terminal_table([], 80) == []


@pytest.mark.parametrize(
    "count, text",
    [
        (None, "–"),
        (0, "0"),
        (999, "999"),
        (1000, "1k"),
        (12_345, "12.3k"),
        (999_700, "1000k"),
        (4_560_000, "4.56M"),
        (10**10, "10G"),
    ],
)
def test_tokens(count: int | None, text: str) -> None:
    assert tokens(count) == text


@pytest.mark.parametrize(
    "amount, currency, text",
    [
        (None, "USD", "–"),
        (0.0, "USD", "0.00 USD"),
        (0.00441, "USD", "0.0044 USD"),
        (12.345, "\x1bE", "12.35 \\x1bE"),
        (1, "", "1.00"),
    ],
)
def test_money(amount: float | None, currency: str, text: str) -> None:
    assert money(amount, currency) == text


@pytest.mark.parametrize(
    "reported, expected, text",
    [
        (16, 16, ""),
        (16, None, ""),
        (14, 16, "coverage: 14 of 16 items reported (87.5 %)"),
        (1, 0, "coverage: 1 of 0 items reported (0.0 %)"),
    ],
)
def test_coverage(reported: int, expected: int | None, text: str) -> None:
    assert coverage_line(reported, expected) == text


@pytest.mark.parametrize(
    "counts, start",
    [
        (Counts(0, 4), None),
        (Counts(1, 9), None),
        (Counts(0, 4, 1), "p r: 0 of 5 passed"),
        (Counts(5), "p r: all 5 passed"),
        (Counts(0, 0, 5), "p r: all 5 attempts ended in errors"),
    ],
)
def test_notes_on_suspicious_rates(counts: Counts, start: str | None) -> None:
    lines = notes([RunSummary("p", "r", counts), RunSummary("p", "mock", counts, is_mock=True)])
    assert len(lines) == (start is not None)
    assert not lines or lines[0].startswith(start or "")


@pytest.mark.parametrize(
    "nanoseconds, text", [(0, "0ms"), (999_499_999, "999ms"), (59_900_000_000, "59.9s"), (3_600 * 10**9, "1h0m0s")]
)
def test_times(nanoseconds: int, text: str) -> None:
    assert f"{text} / {text}" in terminal_table([RunSummary("p", "r", Counts(1), nanoseconds, nanoseconds)], 200)[1]


def test_a_part_of_a_suite_says_nothing_about_how_easy_the_suite_is() -> None:
    summaries = [RunSummary("p", "r", Counts(passed=5))]
    assert notes(summaries) == ["p r: all 5 passed; the suite no longer separates good from better"]
    assert notes(summaries, is_whole=False) == []
