from __future__ import annotations

from typing import Any

import pytest

from pytest_mindtrial.suite.gotemplate.errors import TemplateFault
from pytest_mindtrial.suite.gotemplate.printf import printf


@pytest.mark.parametrize(
    "template, arguments, expected",
    [
        ("100%%", [], "100%"),
        ("%v %v %v %v", [1, "a", None, 1e6], "1 a <nil> 1e+06"),
        ("%5d|%-5d|%05d|%+d|% d", [42, 42, 42, 42, 42], "   42|42   |00042|+42| 42"),
        ("%05d|%-05d|%+05d", [-42, 42, 42], "-0042|42   |+0042"),
        ("%8.3d|%.0d|%08.3d", [7, 0, 7], "     007||     007"),
        ("%x %X %o %b %#x %#X %#o %#b", [255, 255, 8, 5, 255, 255, 8, 5], "ff FF 10 101 0xff 0XFF 010 0b101"),
        ("%#.3o", [8], "010"),
        ("%x", [-255], "-ff"),
        ("%c%c", [97, 0x1F600], "a😀"),
        ("%c", [-1], "\ufffd"),
        ("%q %q", [97, 39], "'a' '\\''"),
        ("%t|%6t|%v", [True, False, True], "true| false|true"),
        ("%s|%5s|%-5s|%.2s|%5.1s", ["abc"] * 5, "abc|  abc|abc  |ab|    a"),
        ("%.1s", ["éa"], "é"),
        ("%q %#q %+q", ['a"\n', "a\\b", "é"], '"a\\"\\n" `a\\b` "\\u00e9"'),
        ("%#q", ["a`b"], '"a`b"'),
        ("%q", ["\x01\x7f\u200b\U000e0001\ud800\v"], '"\\x01\\x7f\\u200b\\U000e0001\\ufffd\\v"'),
        ("%x|% x|%#x|%# X|%.1x", ["hi", "hi", "hi", "hi", "hi"], "6869|68 69|0x6869|0X68 0X69|68"),
        ("%f|%.2f|%8.1f|%-8.1f|%08.1f|%+.1f", [1.5] * 6, "1.500000|1.50|     1.5|1.5     |000001.5|+1.5"),
        ("%e|%.0e|%E", [123456.789, 15.0, 1.0], "1.234568e+05|2e+01|1.000000E+00"),
        ("%g|%G|%.3g|%.10g|%g", [1e6, 1e-7, 1234.5, 1e6, 100000.0], "1e+06|1E-07|1.23e+03|1000000|100000"),
        ("%08.2f|% f", [-1.5, 1.5], "-0001.50| 1.500000"),
        (
            "%v|%f|%+f|%5v|%+v",
            [float("inf"), float("-inf"), float("nan"), float("nan"), float("inf")],
            "+Inf|-Inf|+NaN|  NaN|+Inf",
        ),
        ("%d|%s|%q|%.1f", [[1, 2], ["a", "b c"], ["a"], [1.0, 2.5]], '[1 2]|[a b c]|["a"]|[1.0 2.5]'),
        ("%v %s", [{"b": 1, "a": [True]}, {"k": "v"}], "map[a:[true] b:1] map[k:v]"),
        ("%+v %+v", [5, {"a": 1.5}], "5 map[a:1.5]"),
        ("%3v", [[1, 22]], "[  1  22]"),
        ("%*d|%-*d|%.*f", [4, 7, 4, 7, 1, 2.55], "   7|7   |2.5"),
        ("%*d", [-4, 7], "7   "),
        ("%.*f", [-1, 2.5], "2.500000"),
        ("%.f", [2.5], "2"),
        ("%05s", ["ab"], "000ab"),
    ],
)
def test_formats(template: str, arguments: list[Any], expected: str) -> None:
    assert printf(template, arguments, max_chars=10_000) == expected


@pytest.mark.parametrize(
    "template, arguments, message",
    [
        ("%d", ["x"], "does not fit a string"),
        ("%s", [1], "does not fit an int"),
        ("%s", [None], "does not fit nil"),
        ("%d", [1.5], "does not fit a float"),
        ("%x", [1.5], "does not fit a float"),
        ("%t", [1], "does not fit an int"),
        ("%d", [True], "does not fit a bool"),
        ("%f", [1], "does not fit an int"),
        ("%#d", [1], "does not fit an int"),
        ("%#v", ["x"], "does not fit a string"),
        ("%#v", [[1]], "does not fit a list"),
        ("%#f", [1.0], "does not fit a float"),
        ("%d", [["x"]], "does not fit a string"),
        ("%d", [], "no argument for '%d'"),
        ("%d", [1, 2], "uses 1 of 2 arguments"),
        ("%", [], "does not know '%'"),
        ("%z", [1], "does not know '%z'"),
        ("%T", [1], "does not know '%T'"),
        ("%[1]d", [1], "does not know '%['"),
        ("%99999d", [1], "must not exceed"),
        ("%.99999999999f", [1.0], "must not exceed"),
        ("%*d", ["x", 1], "needs an int argument, found a string"),
        ("%*d", [], "needs an int argument, found nil"),
        ("%v", [["x" * 100] * 200], "longer than a template may produce"),
        ("%v" + "x" * 10_000, ["y" * 10_000], "longer"),
    ],
)
def test_misfits_are_errors(template: str, arguments: list[Any], message: str) -> None:
    with pytest.raises(TemplateFault) as caught:
        printf(template, arguments, max_chars=10_000)
    assert message in str(caught.value)
