import pytest
from hypothesis import given
from hypothesis import strategies as st

from pytest_mindtrial.core.durations import MAX_DURATION_NS, format_duration, parse_duration, round_duration

S = 1_000_000_000


@pytest.mark.parametrize(
    "text, expected",
    [
        ("60s", 60 * S),
        ("1m30s", 90 * S),
        ("1.5h", 5400 * S),
        (".5s", S // 2),
        ("5.s", 5 * S),
        ("0", 0),
        ("+0", 0),
        ("-0", 0),
        ("0s", 0),
        ("-5s", -5 * S),
        ("+5s", 5 * S),
        ("1h1m1s1ms1us1ns", 3661_001_001_001),
        ("1µs", 1000),
        ("1μs", 1000),
        ("1s1s", 2 * S),
        ("0.000000001s", 1),
        ("1.0000000009s", S),
    ],
)
def test_parse(text, expected):
    assert parse_duration(text) == expected


@pytest.mark.parametrize(
    "text", ["", "60", "60 s", "1d", "s", ".", ".s", "1m 30s", "--1s", "1e3s", "½s", "٣s", "1" * 80 + "s", "300000h1"]
)
def test_parse_refuses(text):
    with pytest.raises(ValueError, match="is not a duration"):
        parse_duration(text)


def test_parse_refuses_too_long():
    with pytest.raises(ValueError, match="longer than 292 years"):
        parse_duration("2562048h")


@pytest.mark.parametrize(
    "value, expected",
    [
        (0, "0s"),
        (1, "1ns"),
        (1100, "1.1µs"),
        (999_999, "999.999µs"),
        (2_200_000, "2.2ms"),
        (500_000_000, "500ms"),
        (S, "1s"),
        (3 * S // 2, "1.5s"),
        (60 * S, "1m0s"),
        (95 * S, "1m35s"),
        (314_159_000_000, "5m14.159s"),
        (3600 * S, "1h0m0s"),
        (90061 * S, "25h1m1s"),
        (22_741_666_400, "22.7416664s"),
        (61_638_233_400, "1m1.6382334s"),
        (-1_500_000, "-1.5ms"),
        (-61 * S, "-1m1s"),
        (-3600 * S, "-1h0m0s"),
        (MAX_DURATION_NS, "2562047h47m16.854775807s"),
    ],
)
def test_format(value, expected):
    assert format_duration(value) == expected


@pytest.mark.parametrize(
    "value, expected",
    [(999_999, "1ms"), (22_741_666_400, "22.742s"), (500_000, "1ms"), (499_999, "0s"), (-500_000, "-1ms")],
)
def test_round_to_milliseconds(value, expected):
    assert format_duration(round_duration(value)) == expected


@given(st.integers(-MAX_DURATION_NS, MAX_DURATION_NS))
def test_formatted_text_reads_back(value):
    assert parse_duration(format_duration(value)) == value


@given(st.text(max_size=20))
def test_any_text_parses_or_is_refused(text):
    message = ""
    try:
        parse_duration(text)
    except ValueError as error:
        message = str(error)
    assert message == "" or "duration" in message or "292 years" in message
