"""Invented values: every one is checked with the real validator."""

import jsonschema
import pytest
from hypothesis import given
from hypothesis import strategies as st

from pytest_mindtrial.providers.mock_pattern import PatternError, text_matching
from pytest_mindtrial.providers.mock_schema import InstanceError, minimal_instance

SCHEMAS = [
    {},
    {"type": "null"},
    {"type": "boolean"},
    {"type": "string"},
    {"type": "string", "minLength": 9},
    {"type": "string", "maxLength": 2},
    {"type": "string", "format": "date"},
    {"type": "string", "pattern": "^#[0-9A-Fa-f]{6}$"},
    {"pattern": "^x+$", "minLength": 4},
    {"type": ["null", "integer"], "minimum": 3},
    {"type": ["null"]},
    {"type": "number", "minimum": 9.9, "maximum": 10.1},
    {"type": "number", "exclusiveMinimum": 1, "exclusiveMaximum": 2},
    {"type": "number", "exclusiveMinimum": 1},
    {"type": "number", "exclusiveMaximum": -1},
    {"type": "number", "maximum": -7},
    {"type": "number", "minimum": 1, "exclusiveMinimum": 1, "maximum": 5},
    {"type": "integer", "minimum": 1.5},
    {"type": "integer", "exclusiveMinimum": 4},
    {"type": "integer", "exclusiveMaximum": 4},
    {"type": "integer", "maximum": 4.5},
    {"type": "integer", "multipleOf": 7, "minimum": 10},
    {"const": {"a": 1}},
    {"enum": ["b", "a"]},
    {"type": "string", "examples": ["mine"]},
    {"type": "integer", "default": 12},
    {"type": "array"},
    {"type": "array", "minItems": 2, "items": {"type": "integer"}},
    {"type": "array", "minItems": 3, "uniqueItems": True, "items": {"type": "integer"}},
    {"type": "array", "minItems": 3, "uniqueItems": True, "items": {"type": "string"}},
    {"type": "array", "minItems": 2, "uniqueItems": True, "items": {"enum": ["x", "y"]}},
    {"prefixItems": [{"type": "string"}, {"type": "integer"}]},
    {"contains": {"const": 5}},
    {"type": "object", "properties": {"a": {"type": "integer"}, "b": {}}, "required": ["a", "c"]},
    {"minProperties": 1, "properties": {"a": {"type": "integer"}, "b": {"type": "string"}}},
    {"allOf": [{"type": "integer", "minimum": 3}, {"minimum": 5, "maximum": 9}, {"maximum": 6}, True]},
    {"allOf": [{"required": ["a"], "properties": {"a": {"type": "string"}}}, {"required": ["a", "b"]}]},
    {
        "type": "object",
        "properties": {"a": {"const": 1}},
        "required": ["a"],
        "allOf": [{"properties": {"b": {"type": "integer"}}, "required": ["b"]}],
    },
    {"anyOf": [{"type": "string"}, {"type": "integer"}]},
    {"oneOf": [{"type": "integer", "minimum": 4}, {"type": "string"}]},
    {"$ref": "#/$defs/a~1b", "$defs": {"a/b": {"type": "array", "items": False}}},
    {"$defs": {"n": {"prefixItems": [{}, {"type": "integer"}]}}, "$ref": "#/$defs/n/prefixItems/1", "minimum": 2},
]


@pytest.mark.parametrize("schema", SCHEMAS, ids=str)
def test_the_value_is_accepted(schema):
    value = minimal_instance(schema)
    jsonschema.Draft202012Validator(schema).validate(value)
    assert minimal_instance(schema) == value


def test_true_accepts_null():
    assert minimal_instance(True) is None


@pytest.mark.parametrize(
    "schema, message",
    [
        (False, "False accepts nothing"),
        ("string", "'string' is no schema"),
        ({"type": "text"}, "unknown type 'text'"),
        ({"allOf": [False]}, "a branch of the schema accepts nothing"),
        ({"$ref": "other.json"}, "the reference 'other.json' leaves the schema"),
        ({"$ref": "#/$defs/missing"}, "the reference '#/$defs/missing' leads nowhere"),
        ({"$ref": "#"}, "refers to itself without end"),
        ({"required": ["a"], "properties": {"a": {"$ref": "#"}}}, "refers to itself without end"),
        ({"minItems": 2, "uniqueItems": True, "items": {"type": "boolean"}}, "cannot make different items"),
    ],
    ids=str,
)
def test_hopeless_schemas_say_why(schema, message):
    with pytest.raises(InstanceError, match=message.replace("$", r"\$")):
        minimal_instance(schema)


@pytest.mark.parametrize(
    "pattern, expected",
    [
        ("abc", "abc"),
        ("^a|b$", "a"),
        (r"\d{3}-\w", "000-a"),
        (r"[^a-y]+", "z"),
        (r"[^\w]", " "),
        (r"(?:ab){2}c?", "abab"),
        (r"(?P<year>\d{4})", "0000"),
        (r"(?<!x)|y", None),
        (r"(?i)\bParis\b", "Paris"),
        (r"(?s-i:a)b", "ab"),
        (r"a.c", "aac"),
        (r"x{2,}?y*", "xx"),
        (r"x{,3}z", "z"),
        (r"a{b", "a{b"),
        (r"[]a]", "]"),
        (r"[a-]{2}", "aa"),
        (r"[\]-a]", "]"),
        (r"[\x41-\x43]\u0042", "AB"),
        (r"\t\.\bend", "\t.end"),
        (r"(a)\1", None),
        (r"(?=a)a", None),
        (r"(", None),
        (r"[^\s\S]", None),
    ],
)
def test_patterns(pattern, expected):
    if expected is None:
        with pytest.raises(PatternError, match=r"pattern|regular expression"):
            text_matching(pattern)
    else:
        assert text_matching(pattern) == expected


def test_repeated_parts_grow_to_the_wanted_length():
    assert len(text_matching("^a+b*$", 5)) >= 5
    with pytest.raises(PatternError, match="cannot make"):
        text_matching("^ab$", 5)


@given(st.from_regex(r"[a-c]{0,2}[0-9]?(x|y)[^a-f]*", fullmatch=True))
def test_plain_text_matches_itself(text):
    import re

    assert text_matching(re.escape(text)) == text
