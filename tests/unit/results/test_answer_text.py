"""What stands in the Answer column."""

from __future__ import annotations

from dataclasses import replace
from typing import Any

import pytest

from pytest_mindtrial.core.record import ErrorRecord, Result, ValidationRecord
from pytest_mindtrial.core.values import Kind
from pytest_mindtrial.results.answer_text import answer_text


def result(kind: Kind, got: Any, want: Any = None, **changes: Any) -> Result:
    return replace(Result("T1", kind, "task", "provider", "run", got=got, want=want), **changes)


@pytest.mark.parametrize("kind", [Kind.PASSED, Kind.ERROR, Kind.SKIPPED])
@pytest.mark.parametrize(
    "got, text", [("as is\n", "as is\n"), ({"b": 1, "a": "<"}, '{\n  "a": "<",\n  "b": 1\n}'), (0, "0")]
)
def test_answer_itself(kind: Kind, got: Any, text: str) -> None:
    assert answer_text(result(kind, got, ("other",))) == text


def test_no_answer() -> None:
    assert answer_text(result(Kind.PASSED, None)) == ""
    assert answer_text(result(Kind.SKIPPED, None, error=ErrorRecord("T", "text-only"))) == "text-only"


def test_one_wrong_answer_is_a_patch() -> None:
    assert (
        answer_text(result(Kind.FAILED, "grape, peech", ("grape, peach",)))
        == "@@ -2,11 +2,11 @@\n rape, pe\n-a\n+e\n ch"
    )


def test_several_accepted_answers_are_a_list() -> None:
    assert answer_text(result(Kind.FAILED, "b", ("a", "b", {"k": 1}))).split("\n") == [
        "[",
        "    @@ -1 +1 @@",
        "    -a",
        "    +b",
        "  ,",
        "    b",
        "  ,",
        "    @@ -1,12 +1 @@",
        "    -%7B%0A  %22k%22: 1%0A%7D",
        "    +b",
        "]",
    ]


@pytest.mark.parametrize("want", [None, ()])
def test_nothing_to_compare_with(want: Any) -> None:
    assert answer_text(result(Kind.FAILED, "raw", want)) == "raw"


def test_custom_and_schema_show_the_raw_answer() -> None:
    custom = ValidationRecord("custom", "T", "reason")
    assert answer_text(result(Kind.FAILED, [1], ("x",), validation=custom)) == "[\n  1\n]"
    schema = ValidationRecord("schema", "T", "$: 1 is not a string")
    assert answer_text(result(Kind.FAILED, 1, ({},), validation=schema)) == "1\n\n$: 1 is not a string"
    assert answer_text(result(Kind.FAILED, "", ({},), validation=replace(schema, explanation=""))) == ""
