from __future__ import annotations

import json
from pathlib import Path

import pytest

from pytest_mindtrial.core.record import Result
from pytest_mindtrial.core.values import Kind
from pytest_mindtrial.results.compare import compare
from pytest_mindtrial.results.compare_writers import COMPARE_FORMATS, write_comparison
from tests.support.golden import check_golden
from tests.support.sample_results import HOSTILE, attempt, awkward, full

HERE = Path(__file__).parent


def empty() -> tuple[list[Result], list[Result]]:
    return [attempt("gone", tokens=None, seconds=0)], [attempt("new", tokens=None, seconds=0)]


def changed() -> tuple[list[Result], list[Result]]:
    new = [attempt(item.task, provider=item.provider, run=item.run, tokens=1500) for item in full()]
    broken = [attempt(f"b{index}", Kind.FAILED) for index in range(7)]
    before = [attempt(f"b{index}") for index in range(7)]
    extra = [attempt("lost", run="old only"), *before]
    return [*full(), *extra], [*new, *broken, attempt("more", provider="new", run="only")]


def hostile() -> tuple[list[Result], list[Result]]:
    def flip(item: Result) -> Result:
        kind = Kind.PASSED if item.kind is Kind.FAILED else Kind.FAILED
        return attempt(item.task, kind, provider=item.provider, run=item.run)

    return awkward(), [flip(item) for item in awkward()]


CASES = {"empty": empty, "full": changed, "awkward": hostile}


@pytest.mark.parametrize("name", CASES)
@pytest.mark.parametrize("compare_format", COMPARE_FORMATS)
def test_comparisons(name: str, compare_format: str) -> None:
    check_golden(HERE / f"{name}.{compare_format}", write_comparison(compare(*CASES[name]()), compare_format))


@pytest.mark.parametrize("compare_format", COMPARE_FORMATS)
@pytest.mark.parametrize("text", HOSTILE.values(), ids=HOSTILE)
def test_hostile_names(compare_format: str, text: str) -> None:
    old = [attempt(text, provider=text, run=text)]
    new = [attempt(text, Kind.FAILED, provider=text, run=text)]
    written = write_comparison(compare(old, new), compare_format)
    if compare_format == "json":
        assert json.loads(written)["Runs"][0]["Tasks"][0]["task"] == text
    else:
        written.encode()
        assert not any(mark in written for mark in ("\x1b", "\x00", "\u202e"))
    if compare_format == "markdown":
        assert not any(mark in written for mark in ("<img", "</script", '=HYPERLINK("', "|`"))
        assert len(written) < 5000


@pytest.mark.parametrize("compare_format", ["text", "markdown"])
def test_long_lists_are_cut(compare_format: str) -> None:
    old = [attempt(f"t{index:03}") for index in range(60)]
    new = [attempt(f"t{index:03}", Kind.FAILED) for index in range(60)]
    written = write_comparison(compare(old, new), compare_format)
    assert "and 10 more" in written
    assert "t049" in written
    assert "t050" not in written
