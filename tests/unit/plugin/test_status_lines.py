"""The wording of the live status."""

from __future__ import annotations

import pytest

from pytest_mindtrial.engine.status import Backoff, ProviderStatus
from pytest_mindtrial.plugin.status_lines import Pace, provider_line, status_lines


def status(provider="openai", in_flight=5, waiting=0, backing_off=(), done=10, errors=0, **more):
    return ProviderStatus(provider, in_flight, waiting, tuple(backing_off), 0, done, errors, **more)


@pytest.mark.parametrize(
    ("given", "expected"),
    [
        (status(), "openai: 10 of 40 done · 5 in flight"),
        (status(waiting=3), "openai: 10 of 40 done · 5 in flight · 3 waiting for the rate limit"),
        (
            status(backing_off=[Backoff("http-429", 1.6), Backoff("reset", 9.0)], errors=1),
            "openai: 10 of 40 done · 5 in flight · 2 backing off (http-429, 2 s left) · 1 error",
        ),
        (status(limit=16, is_adaptive=True), "openai: 10 of 40 done · 5 in flight of 16 (auto)"),
        (
            status(errors=2, cost={"USD": 0.5, "EUR": 1.23456}),
            "openai: 10 of 40 done · 5 in flight · 2 errors · 1.2346 EUR · 0.5000 USD",
        ),
        (status(cost={"": 0.25}), "openai: 10 of 40 done · 5 in flight · 0.2500"),
        (status(provider="a\x1b[2J"), "a\\x1b[2J: 10 of 40 done · 5 in flight"),
    ],
)
def test_a_line_says_what_there_is_and_nothing_else(given, expected):
    assert provider_line(given, 40) == expected


@pytest.mark.parametrize(
    ("done", "after", "remaining", "expected"),
    [
        (10, 10.0, 30, "about 30 s left"),
        (10, 10.0, 100, "about 1 min 40 s left"),
        (1, 10.0, 720, "about 2 h 00 min left"),
        (0, 10.0, 720, None),
        (5, 0.0, 720, None),
    ],
)
def test_the_time_left_follows_the_pace(done, after, remaining, expected):
    pace = Pace(100.0)
    pace.seen(100.0 + after, done)
    line = provider_line(status(done=0), remaining, pace)
    assert line.endswith(expected) if expected else "left" not in line


def test_the_pace_forgets_what_is_longer_ago_than_half_a_minute():
    pace = Pace(0.0)
    for second in range(1, 61):
        pace.seen(float(second), second * 100)
    for second in range(61, 121):
        pace.seen(float(second), 6000 + (second - 60))
    assert pace.seconds_left(10) == pytest.approx(10, rel=0.1)


def test_finished_providers_have_no_line_and_two_entries_of_a_name_have_one_each():
    statuses = [status(done=4), status(done=1, index=1), status("mock", done=2, index=2)]
    totals = {("openai", 0): 4, ("openai", 1): 4, ("mock", 2): 3}
    assert status_lines(statuses, totals, {}, 80) == [
        "openai: 1 of 4 done · 5 in flight",
        "mock: 2 of 3 done · 5 in flight",
    ]


def test_the_busiest_four_are_shown_and_the_rest_counted():
    statuses = [status(f"p{number}", in_flight=number, index=number) for number in range(6)]
    lines = status_lines(statuses, {(f"p{number}", number): 20 for number in range(6)}, {}, 200)
    assert [line.partition(":")[0] for line in lines] == ["p5", "p4", "p3", "p2"]
    assert lines[-1].endswith("· and 2 more providers")


def test_lines_fit_the_terminal():
    (line,) = status_lines([status()], {("openai", 0): 40}, {}, 20)
    assert line == "openai: 10 of 40 do…"
