from __future__ import annotations

import json
import time
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from pytest_mindtrial.core.errors import ReplyParseError
from pytest_mindtrial.providers.lenient_json import _Reader, find_object
from pytest_mindtrial.providers.strict_json import as_float, read_strict


def find(text: str) -> Any:
    return find_object(text, lambda value: "a" in value).value


@pytest.mark.parametrize(
    "text, value",
    [
        ('{"a": 1}', {"a": 1}),
        ('Sure! {"a": 1} Hope it helps {"a": 2}', {"a": 1}),
        ('```json\n{"a": 1}\n```', {"a": 1}),
        ('Set {x} and {"b": 2}:\n```JSON\n\n{"a": 1}\n```', {"a": 1}),
        ('```\n{"a": 1,}\n```', {"a": 1}),
        ('```json\n{"a": "code ```py\\nx``` end"}\n```', {"a": "code ```py\nx``` end"}),
        ('\ufeff{"a": 1}', {"a": 1}),
        ('{"a": 1,}', {"a": 1}),
        ('{"a": [1, 2,],}', {"a": [1, 2]}),
        ('{,"a": [,1,,2]}', {"a": [1, 2]}),
        ("{'a': 'it\\'s'}", {"a": "it's"}),
        ("{'a': 'it's fine'}", {"a": "it's fine"}),
        ("{“a”: “x”}", {"a": "x"}),
        ("{a: 1, $b_2: true}", {"a": 1, "$b_2": True}),
        ('{"a": True, "b": False, "c": None}', {"a": True, "b": False, "c": None}),
        ('{"a": "x"\n "b": "y"}', {"a": "x", "b": "y"}),
        ('{"a": "x" "b": "y"}', {"a": "x", "b": "y"}),
        ('{"a": 1 "b": 2}', {"a": 1, "b": 2}),
        ('{"a": ["x" "y"]}', {"a": ["x", "y"]}),
        ('{"a": "line\nbreak\tand tab"}', {"a": "line\nbreak\tand tab"}),
        ('{"a": "he said "yes", then left", "b": 1}', {"a": 'he said "yes", then left', "b": 1}),
        ('{"a": "say "hi""}', {"a": 'say "hi"'}),
        (r'{"a": "\d \( \u12 \é"}', {"a": "\\d \\( \\u12 \\é"}),
        (r'{"a": "\n\t\r\b\f\/\\\"\u00e9\ud83d\ude00",}', {"a": '\n\t\r\b\f/\\"é😀'}),
        (r'{"a": "\ud800x\udc00",}', {"a": "\ufffdx\ufffd"}),
        ('{"a": 1 // one\n, /* two * */ "b": 2 # three\n}', {"a": 1, "b": 2}),
        ('{"a": 1 /* open', {"a": 1}),
        ('{"a": {"b": [1, {"c": "x"', {"a": {"b": [1, {"c": "x"}]}}),
        ('{"a": "x', {"a": "x"}),
        ('{"a": "x\\', {"a": "x\\"}),
        ('{"a": "x", "b', {"a": "x"}),
        ('{"a": "x", "b":', {"a": "x"}),
        ('{"a": [}', {"a": []}),
        ('{"a": [1, 2}', {"a": [1, 2]}),
        ('{"b": [{"c": 1], "a": 2', {"b": [{"c": 1}], "a": 2}),
        ('{"a": "x"\n```\nthat was it', {"a": "x"}),
        ('{"a": [1, "x"\n```', {"a": [1, "x"]}),
        ('{"a": 1, "a": 2,}', {"a": 2}),
        ('{"a": -0.5e3, "b": 123456789012345678901234567890,}', {"a": -500.0, "b": 123456789012345678901234567890}),
        ('{"b": 1} {"a": 2}', {"a": 2}),
        ('{"b": 1,} {"a": 2,}', {"a": 2}),
        ('{"c": {"a": 1},}', {"a": 1}),
        ('{"a": 1} is better than ```json {"c": {"b": 2}, "d": x} ```', {"a": 1}),
        ('{b: Paris} {"a": 2}', {"a": 2}),
        ('{"a": "don\u2019t"}', {"a": "don\u2019t"}),
        ('{"a": {}}x', {"a": {}}),
    ],
)
def test_repairs(text: str, value: Any) -> None:
    found = find(text)
    assert found == value
    assert list(map(type, found.values())) == list(map(type, value.values()))


@pytest.mark.parametrize(
    "text",
    [
        "",
        "no object",
        "{",
        "{}",
        '{"b": 1}',
        '{"a"}',
        '{"a", "b": 1}',
        '{"a": }',
        '{"a": Paris}',
        '{"a": +1}',
        '{"a": .5}',
        '{"a": 01}',
        '{"a": 1_000}',
        '{"a": NaN}',
        '{"a": 1e999}',
        '{"a": 1/2}',
        '{"a": 1]}',
        '[{"a": 1]',
        '{"a": ' + "9" * 5000 + "}",
        '{"a": ' + "[" * 200 + "]" * 200 + ",}",
        "{[1]: 2}",
        '{"c": {"a": 1}, "b": Paris}',
        '{"c": {"a": 1}, "b": nul',
    ],
)
def test_refuses_what_it_would_have_to_guess(text: str) -> None:
    with pytest.raises(ReplyParseError):
        find(text)


@pytest.mark.parametrize(
    "text, unclosed, is_cut",
    [
        ('{"a": "x",}', 0, False),
        ('{"a": "x"', 1, False),
        ('{"a": ["x"', 2, False),
        ('{"a": "x', 1, True),
        ('{"a": 12', 1, True),
        ('{"a": true', 1, False),
        ('{"a": 1, "b"', 1, True),
        ('{"a": 1, "b":', 1, True),
        ('{"a": {"b": "x"}', 1, False),
    ],
)
def test_says_what_was_missing(text: str, unclosed: int, is_cut: bool) -> None:
    found = find_object(text, lambda value: True)
    assert (found.unclosed, found.is_cut) == (unclosed, is_cut)


JSON = st.recursive(
    st.none() | st.booleans() | st.integers() | st.floats(allow_nan=False, allow_infinity=False) | st.text(),
    lambda inner: st.lists(inner, max_size=4) | st.dictionaries(st.text(), inner, max_size=4),
    max_leaves=20,
)


@given(st.dictionaries(st.text(), JSON), st.booleans(), st.sampled_from([None, 1]))
def test_valid_json_reads_identically(value: dict[str, Any], ascii_only: bool, indent: int | None) -> None:
    text = json.dumps(value, ensure_ascii=ascii_only, indent=indent)
    careless = _Reader(text, 0, as_float).read_root()
    assert careless is not None
    expected = json.dumps(read_strict(text))
    assert json.dumps(careless.value) == expected
    assert (careless.unclosed, careless.is_cut) == (0, False)
    assert json.dumps(find_object("x " + text + " y", lambda found: True).value) == expected


@given(st.text(alphabet="{}[]\"':,\\`/*#0 9.eE-+tnaju\n“”" + "\ud800", max_size=60))
def test_raises_nothing_else(text: str) -> None:
    for wanted in (True, False):
        try:
            value = find_object("{" + text, lambda found, wanted=wanted: wanted).value  # type: ignore[misc]
            json.dumps(value).encode()
        except ReplyParseError:
            pass


@given(st.dictionaries(st.sampled_from("abcd"), JSON, min_size=1), st.data())
def test_any_prefix_is_read_or_refused(value: dict[str, Any], data: st.DataObject) -> None:
    text = json.dumps(value)
    cut = text[: data.draw(st.integers(1, len(text)))]
    try:
        found = find_object(cut, lambda item: True)
    except ReplyParseError:
        return
    assert set(found.value) <= set(value)
    assert found.unclosed or cut == text


@pytest.mark.parametrize(
    "unit",
    [
        '{"a":',
        "{",
        "[",
        '"',
        '", ',
        '"   ',
        "{a",
        '{"a":"',
        "/*",
        "// \n",
        "\\",
        "```json\n{",
        "{'a':'",
        "}",
        '{"a":[',
        "#\n",
        ' "x":',
        '"x',
    ],
)
def test_time_is_linear(unit: str) -> None:
    def seconds(count: int) -> float:
        text = '{"b": "' + unit * count
        start = time.perf_counter()
        with pytest.raises(ReplyParseError):
            find_object(text, lambda value: False)
        return time.perf_counter() - start

    seconds(500)
    small = min(seconds(2_000) for _ in range(3))
    large = min(seconds(20_000) for _ in range(2))
    assert large < 40 * small + 0.2
