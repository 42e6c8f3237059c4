import datetime as dt
import math

import pytest
from hypothesis import given
from hypothesis import strategies as st

from pytest_mindtrial.suite.yaml_scalars import ScalarError, read_bool, resolve_plain, resolve_tagged

TEXTS = [
    *["yes", "no", "on", "off", "y", "n", "Yes", "NO", "On"],
    "1:30",
    "12:30:45",
    "=",
    "<<",
    "tRUE",
    "nULL",
    "nil",
    ".",
    ".x",
    ".e5",
    "-",
    "+",
    "--1",
    "1e",
    "1e400",
    "0x",
    "0b2",
    "0o8",
    "0xG",
    "_1x",
    "1.2.3",
    "٣",
    "NaN",
    "inf",
    "2025-02-30",
    "2025-13-01",
    "2025-09-14T10:30:00",
    "2025-09-14 10:30:00Z",
    "2025-09-14T24:30:00Z",
    "2025-9",
    "0000-01-01",
    "12345-01-01",
    "1-1-1",
]


@pytest.mark.parametrize("text", TEXTS)
def test_stays_text(text):
    assert resolve_plain(text) == text
    assert type(resolve_plain(text)) is str


VALUES = [
    ("true", True),
    ("True", True),
    ("TRUE", True),
    ("false", False),
    ("False", False),
    ("FALSE", False),
    ("~", None),
    ("null", None),
    ("Null", None),
    ("NULL", None),
    ("", None),
    ("1e3", 1000.0),
    (".5", 0.5),
    ("1.", 1.0),
    ("1.5e3", 1500.0),
    ("+.5", 0.5),
    ("-.5e-1", -0.05),
    ("1_000.5", 1000.5),
    (".5_0", 0.5),
    ("1E+2", 100.0),
    (".inf", math.inf),
    ("+.Inf", math.inf),
    ("-.INF", -math.inf),
    ("1_000", 1000),
    ("1__0", 10),
    ("0777", 511),
    ("0o777", 511),
    ("0O17", 15),
    ("0x1F", 31),
    ("0X1f", 31),
    ("-0x1F", -31),
    ("0b11", 3),
    ("-0b11", -3),
    ("08", 8.0),
    ("09.5", 9.5),
    ("007", 7),
    ("0", 0),
    ("-0", 0),
    ("+5", 5),
    ("12345678901234567890", 12345678901234567890),
    ("18446744073709551615", 2**64 - 1),
    ("18446744073709551616", float(2**64)),
    ("-9223372036854775808", -(2**63)),
    ("-9223372036854775809", -float(2**63)),
    ("0xFFFFFFFFFFFFFFFF", 2**64 - 1),
    ("2025-09-14", dt.date(2025, 9, 14)),
    ("2025-9-4", dt.date(2025, 9, 4)),
    ("2025-09-14T10:30:00Z", dt.datetime(2025, 9, 14, 10, 30, tzinfo=dt.UTC)),
    ("2025-09-14t10:30:0.25Z", dt.datetime(2025, 9, 14, 10, 30, 0, 250000, tzinfo=dt.UTC)),
    (
        "2025-09-14T10:30:00-05:30",
        dt.datetime(2025, 9, 14, 10, 30, tzinfo=dt.timezone(-dt.timedelta(hours=5, minutes=30))),
    ),
    (
        "2025-09-14T10:30:00+02:00",
        dt.datetime(2025, 9, 14, 10, 30, tzinfo=dt.timezone(dt.timedelta(hours=2))),
    ),
    ("2025-09-14 10:30:00.5", dt.datetime(2025, 9, 14, 10, 30, 0, 500000, tzinfo=dt.UTC)),
]


@pytest.mark.parametrize("text, value", VALUES)
def test_means(text, value):
    found = resolve_plain(text)
    assert found == value
    assert type(found) is type(value)


@pytest.mark.parametrize("text", [".nan", ".NaN", ".NAN"])
def test_nan(text):
    assert math.isnan(resolve_plain(text))


def test_hexadecimal_above_64_bits_is_text():
    assert resolve_plain("0x1FFFFFFFFFFFFFFFF") == "0x1FFFFFFFFFFFFFFFF"


def test_long_digits_are_a_float():
    assert resolve_plain("1" * 30) == float("1" * 30)


CORE = "tag:yaml.org,2002:"


@pytest.mark.parametrize(
    "text, tag, value",
    [
        ("5", f"{CORE}str", "5"),
        ("5", "!own", "5"),
        ("5", f"{CORE}set", "5"),
        ("5", f"{CORE}int", 5),
        ("5", f"{CORE}float", 5.0),
        ("5.5", f"{CORE}float", 5.5),
        ("true", f"{CORE}bool", True),
        ("~", f"{CORE}null", None),
        ("2025-01-02", f"{CORE}timestamp", dt.date(2025, 1, 2)),
        ("aGk=", f"{CORE}binary", "hi"),
        ("aG\n k=", f"{CORE}binary", "hi"),
    ],
)
def test_tags(text, tag, value):
    found = resolve_tagged(text, tag)
    assert found == value
    assert type(found) is type(value)


@pytest.mark.parametrize(
    "text, tag",
    [
        ("x", "int"),
        ("true", "int"),
        ("x", "float"),
        ("yes", "bool"),
        ("x", "null"),
        ("??", "binary"),
        ("/w==", "binary"),
    ],
)
def test_tag_that_does_not_fit(text, tag):
    with pytest.raises(ScalarError):
        resolve_tagged(text, CORE + tag)


@pytest.mark.parametrize("text", ["y", "Y", "yes", "Yes", "YES", "on", "On", "ON", "true", "True", "TRUE"])
def test_true_words(text):
    assert read_bool(text, resolve_plain(text)) is True


@pytest.mark.parametrize("text", ["n", "N", "no", "No", "NO", "off", "Off", "OFF", "false", "False", "FALSE"])
def test_false_words(text):
    assert read_bool(text, resolve_plain(text)) is False


@pytest.mark.parametrize(
    "text, value",
    [("1", 1), ("0", 0), ("true", "true"), ("yEs", "yEs"), ("", None), ("t", "t"), ("F", "F"), ("oN", "oN")],
)
def test_no_truth(text, value):
    assert read_bool(text, value) is None


@given(st.integers(-(2**63), 2**64 - 1))
def test_every_64_bit_integer_reads_back(value):
    assert resolve_plain(str(value)) == value
    sign, digits = ("-", -value) if value < 0 else ("", value)
    for form in (f"{sign}{digits:#x}", f"{sign}{digits:#o}", f"{sign}{digits:#b}"):
        assert resolve_plain(form) == value


@given(st.floats(allow_nan=False, allow_infinity=False))
def test_every_float_reads_back(value):
    assert resolve_plain(repr(value)) == value


@given(st.dates())
def test_every_date_reads_back(value):
    assert resolve_plain(value.isoformat()) == value


@given(st.text(max_size=30))
def test_any_text_resolves(text):
    value = resolve_plain(text)
    assert value is None or isinstance(value, str | bool | int | float | dt.date)
    if isinstance(value, str):
        assert value == text
