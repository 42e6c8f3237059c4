"""Schemas for Anthropic and Google: what changes, what does not, and that answers keep being valid (spec 4.3)."""

from __future__ import annotations

import json
from typing import Any

import jsonschema
import pytest
from hypothesis import given
from hypothesis import strategies as st

from pytest_mindtrial.core.errors import TaskError
from pytest_mindtrial.providers.schema_adaptation import for_anthropic, for_google

CLOSED = {"additionalProperties": False}

ANTHROPIC: dict[str, tuple[Any, Any]] = {
    "enforced keywords stay": (
        {"type": "string", "title": "T", "description": "D", "enum": ["a"], "default": "a", "format": "date"},
        {"type": "string", "title": "T", "description": "D", "enum": ["a"], "default": "a", "format": "date"},
    ),
    "one of becomes any of": ({"oneOf": [{"type": "null"}]}, {"anyOf": [{"type": "null"}]}),
    "one of beside any of is told": (
        {"anyOf": [{"type": "null"}], "oneOf": [{"type": "null"}]},
        {"anyOf": [{"type": "null"}], "description": '{oneOf: [{"type": "null"}]}'},
    ),
    "all of stays": ({"allOf": [{"const": 1}]}, {"allOf": [{"const": 1}]}),
    "objects are closed": (
        {"type": "object", "properties": {"a": {}}},
        {"type": "object", "properties": {"a": {}}, **CLOSED},
    ),
    "open objects are closed": (
        {"type": ["object", "null"], "additionalProperties": True},
        {"type": ["object", "null"], **CLOSED},
    ),
    "schemas of other members are told": (
        {"type": "object", "additionalProperties": {"type": "integer"}},
        {"type": "object", **CLOSED, "description": '{additionalProperties: {"type": "integer"}}'},
    ),
    "bounds are told": (
        {"type": "integer", "minimum": 1, "maximum": 9, "description": "Count"},
        {"type": "integer", "description": "Count\n\n{minimum: 1, maximum: 9}"},
    ),
    "patterns and unknown formats are told": (
        {"type": "string", "pattern": "^a$", "format": "regex"},
        {"type": "string", "description": "{pattern: ^a$, format: regex}"},
    ),
    "few items stay": ({"type": "array", "minItems": 1}, {"type": "array", "minItems": 1}),
    "many items are told": (
        {"type": "array", "minItems": 2, "uniqueItems": True},
        {"type": "array", "description": "{minItems: 2, uniqueItems: true}"},
    ),
    "values that are not plain are told": ({"const": {"a": 1}}, {"description": '{const: {"a": 1}}'}),
    "lists among the values are told": ({"enum": [1, [2]]}, {"description": "{enum: [1, [2]]}"}),
    "references stand alone": (
        {"$ref": "#/$defs/a", "description": "x", "$defs": {"a": {"type": "integer", "minimum": 1}}},
        {"$ref": "#/$defs/a", "$defs": {"a": {"type": "integer", "description": "{minimum: 1}"}}},
    ),
    "names are not keywords": (
        {"properties": {"minimum": {"type": "integer"}, "$ref": {"oneOf": []}}},
        {"properties": {"minimum": {"type": "integer"}, "$ref": {"anyOf": []}}, **CLOSED},
    ),
    "truth is a schema": ({"type": "array", "items": True}, {"type": "array", "items": True}),
}


@pytest.mark.parametrize("name", ANTHROPIC)
def test_anthropic(name: str) -> None:
    schema, adapted = ANTHROPIC[name]
    before = json.dumps(schema)
    assert for_anthropic(schema) == adapted
    assert json.dumps(schema) == before


@pytest.mark.parametrize(
    "schema",
    [
        {"$ref": "#"},
        {"properties": {"next": {"$ref": "#"}}},
        {
            "$ref": "#/$defs/a",
            "$defs": {"a": {"items": {"$ref": "#/$defs/b"}}, "b": {"anyOf": [{"$ref": "#/$defs/a"}]}},
        },
    ],
)
def test_anthropic_refuses_recursion(schema: Any) -> None:
    with pytest.raises(TaskError, match="refers to itself"):
        for_anthropic(schema)


def test_anthropic_takes_a_definition_that_is_used_twice() -> None:
    schema = {"properties": {"a": {"$ref": "#/$defs/x"}, "b": {"$ref": "#/$defs/x"}}, "$defs": {"x": {"type": "null"}}}
    assert for_anthropic(schema) == {**schema, **CLOSED}
    assert for_anthropic({"$ref": "https://elsewhere.example/x"}) == {"$ref": "https://elsewhere.example/x"}


GOOGLE: dict[str, tuple[Any, Any]] = {
    "most is sent as it is": (
        {"type": ["string", "null"], "pattern": "x", "oneOf": [{"minimum": 1}], "additionalProperties": False},
        {"type": ["string", "null"], "pattern": "x", "oneOf": [{"minimum": 1}], "additionalProperties": False},
    ),
    "the dialect goes": ({"$schema": "s", "items": {"$schema": "s"}}, {"items": {}}),
    "a constant is a list of one": ({"const": {"$schema": 1}}, {"enum": [{"$schema": 1}]}),
    "a constant beats a list": ({"enum": [1, 2], "const": 1}, {"enum": [1]}),
    "a lone reference stays": ({"$ref": "#/$defs/a", "$defs": {"a": {}}}, {"$ref": "#/$defs/a", "$defs": {"a": {}}}),
    "a reference with siblings is resolved": (
        {"properties": {"a": {"$ref": "#/$defs/x", "title": "A"}}, "$defs": {"x": {"const": 1}}},
        {"properties": {"a": {"title": "A", "enum": [1]}}, "$defs": {"x": {"enum": [1]}}},
    ),
    "escapes and lists in references": (
        {"anyOf": [{"const": 1}], "properties": {"a/b": {"$ref": "#/anyOf/0", "title": "A"}}},
        {"anyOf": [{"enum": [1]}], "properties": {"a/b": {"enum": [1], "title": "A"}}},
    ),
    "a reference to itself loses its siblings": (
        {
            "$defs": {"n": {"properties": {"next": {"$ref": "#/$defs/n", "title": "N"}}}},
            "$ref": "#/$defs/n",
            "title": "T",
        },
        {"properties": {"next": {"$ref": "#/$defs/n"}}, "title": "T"},
    ),
    "a reference to nowhere loses its siblings": (
        {
            "anyOf": [
                {"$ref": "#/nothing/1", "title": "a"},
                {"$ref": "other.json", "title": "b"},
                {"$ref": "#/anyOf/9/x", "title": "c"},
            ]
        },
        {"anyOf": [{"$ref": "#/nothing/1"}, {"$ref": "other.json"}, {"$ref": "#/anyOf/9/x"}]},
    ),
}


@pytest.mark.parametrize("name", GOOGLE)
def test_google(name: str) -> None:
    schema, adapted = GOOGLE[name]
    before = json.dumps(schema)
    assert for_google(schema) == adapted
    assert json.dumps(schema) == before


LEAVES = st.sampled_from(
    [
        {"type": "integer", "minimum": 0, "maximum": 9},
        {"type": "string", "minLength": 1, "pattern": "a"},
        {"const": "k"},
        {"enum": [1, "two", None]},
        {"$ref": "#/$defs/word", "description": "w"},
        {"type": "array", "items": {"type": "integer"}, "maxItems": 3},
    ]
)
SCHEMAS = st.recursive(
    LEAVES,
    lambda inner: st.one_of(
        st.builds(lambda items: {"oneOf": items}, st.lists(inner, min_size=1, max_size=2)),
        st.builds(
            lambda members: {"type": "object", "properties": members, "required": list(members)},
            st.dictionaries(st.sampled_from("abc"), inner, max_size=3),
        ),
        st.builds(lambda item: {"type": "array", "items": item, "minItems": 2}, inner),
    ),
    max_leaves=8,
)
VALUES = st.recursive(
    st.sampled_from([0, 5, "a", "k", "two", None, 1]),
    lambda inner: st.lists(inner, max_size=3) | st.dictionaries(st.sampled_from("abc"), inner, max_size=3),
    max_leaves=8,
)


@given(SCHEMAS, VALUES)
def test_what_the_author_accepts_is_accepted_by_what_is_sent(schema: Any, value: Any) -> None:
    whole = {**schema, "$defs": {"word": {"type": "string", "maxLength": 5}}}
    if not jsonschema.Draft202012Validator(whole).is_valid(value) or _has_more(value, whole):
        return
    assert jsonschema.Draft202012Validator(for_google(whole)).is_valid(value)
    assert jsonschema.Draft202012Validator(for_anthropic(whole)).is_valid(value)


def _has_more(value: Any, schema: Any) -> bool:
    """Tell whether a value may have members the schema does not name; Anthropic forbids those."""
    closed = json.loads(
        json.dumps(schema), object_hook=lambda node: {**node, **CLOSED} if "properties" in node else node
    )
    return not jsonschema.Draft202012Validator(closed).is_valid(value)
