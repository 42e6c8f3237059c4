"""Spec docker 4.3 and 4.4: what a model may send, and what becomes of it."""

from __future__ import annotations

from typing import Any

import pytest

from pytest_mindtrial.sandbox.arguments import ArgumentError, check_arguments, parameter_files, parse_arguments


@pytest.mark.parametrize("text, value", [("null", {}), (" {} ", {}), ('{"a": {"b": 1}}', {"a": {"b": 1}})])
def test_objects_and_null_are_accepted(text: str, value: Any) -> None:
    assert parse_arguments(text) == value


@pytest.mark.parametrize(
    "text, problem",
    [
        ("", "they are empty"),
        ("  ", "they are empty"),
        ("{", "they are not JSON"),
        ("{} {}", "they are not JSON"),
        ('{"a": NaN}', "NaN is not a JSON number"),
        ('{"a": -Infinity}', "-Infinity is not a JSON number"),
        ("[" * 100_000, "they are not JSON"),
        ("[]", "not an array"),
        ('"x"', "not a string"),
        ("1.5", "not a number"),
        ("true", "not a boolean"),
    ],
)
def test_everything_else_is_refused(text: str, problem: str) -> None:
    with pytest.raises(ArgumentError, match=problem):
        parse_arguments(text)


SCHEMA = {
    "type": "object",
    "properties": {"n": {"type": "integer"}, "when": {"type": "string", "format": "date-time"}},
    "required": ["n"],
    "additionalProperties": False,
}


def test_arguments_that_fit_pass_and_format_is_not_asserted() -> None:
    check_arguments({"n": 1, "when": "tomorrow"}, SCHEMA)


def test_up_to_five_violations_are_listed_with_their_paths() -> None:
    schema = {"items": {"type": "integer"}, "type": "object", "properties": {"l": {"items": {"type": "integer"}}}}
    with pytest.raises(ArgumentError) as caught:
        check_arguments({"l": list("abcdefg")}, schema)
    assert str(caught.value).startswith("$.l[0]: 'a' is not of type 'integer'; $.l[1]: ")
    assert str(caught.value).endswith("; and 2 more")


def test_long_values_are_shortened() -> None:
    with pytest.raises(ArgumentError) as caught:
        check_arguments({"n": "x" * 10_000}, SCHEMA)
    assert len(str(caught.value)) < 400


def test_the_dialect_that_the_schema_names_decides() -> None:
    limit = {"maximum": 1, "exclusiveMaximum": True}
    draft4 = {"$schema": "http://json-schema.org/draft-04/schema#", "properties": {"n": limit}}
    with pytest.raises(ArgumentError, match=r"\$\.n: "):
        check_arguments({"n": 1}, draft4)


def test_nothing_remote_is_fetched() -> None:
    with pytest.raises(ArgumentError, match="cannot be checked"):
        check_arguments({"n": 1}, {"properties": {"n": {"$ref": "http://192.0.2.1/schema.json"}}})


@pytest.mark.parametrize(
    "value, data",
    [
        ("as it is\n", b"as it is\n"),
        (2**63 + 1, b"9223372036854775809"),
        (2.0, b"2.0"),
        (True, b"true"),
        (None, b"null"),
        ([1, "ä"], '[1,"ä"]'.encode()),
        ({"b": 1, "a": "<&>"}, b'{"a":"<&>","b":1}'),
    ],
)
def test_values_become_text(value: Any, data: bytes) -> None:
    (file,) = parameter_files({"a": value}, {"a": "/in/a"})
    assert (file.target, file.data, file.read_only) == ("/in/a", data, False)


def test_absent_parameters_have_no_file_and_others_no_way_in() -> None:
    assert parameter_files({"b": 1}, {"a": "/in/a"}) == []


@pytest.mark.parametrize("value", ["\ud800", {"a": "\ud800"}, float("nan")])
def test_what_cannot_be_written_is_refused(value: Any) -> None:
    with pytest.raises(ArgumentError, match="a cannot be written as text"):
        parameter_files({"a": value}, {"a": "/in/a"})
