"""What OpenAI's strict mode refuses (spec providers 4.3), and when it is asked."""

from __future__ import annotations

from typing import Any

import pytest

from pytest_mindtrial.core.errors import TaskError
from pytest_mindtrial.core.secret import Secret
from pytest_mindtrial.providers.base import Prompt
from pytest_mindtrial.providers.http import Http
from pytest_mindtrial.providers.registry import build_client
from pytest_mindtrial.providers.strict_schema import strict_problem
from pytest_mindtrial.suite.model import ClientConfig, Provider, Run

INTEGER = {"type": "integer"}


def closed(**properties: Any) -> dict[str, Any]:
    return {
        "type": "object",
        "properties": properties,
        "required": list(properties),
        "additionalProperties": False,
    }


@pytest.mark.parametrize(
    "schema, problem",
    [
        ({"type": "object"}, "#: an object needs 'additionalProperties: false'"),
        ({"properties": {}}, "#: an object needs 'additionalProperties: false'"),
        (closed(a=INTEGER) | {"additionalProperties": True}, "#: an object needs 'additionalProperties: false'"),
        (closed(a=INTEGER, b=INTEGER) | {"required": ["a"]}, "#/properties/b: every property must be listed"),
        (closed(a=INTEGER) | {"required": None}, "#/properties/a: every property must be listed"),
        ({"allOf": []}, "#: 'allOf' is not allowed"),
        (closed(a={"not": INTEGER}), "#/properties/a: 'not' is not allowed"),
        ({"type": "array", "items": {"if": {}}}, "#/items: 'if' is not allowed"),
        ({"then": {}}, "'then'"),
        ({"else": {}}, "'else'"),
        ({"dependentRequired": {}}, "'dependentRequired'"),
        ({"patternProperties": {}}, "'patternProperties'"),
        ({"anyOf": [INTEGER, {"type": "object"}]}, "#/anyOf/1: an object"),
        ({"prefixItems": [{"allOf": []}]}, "#/prefixItems/0: 'allOf'"),
        ({"$defs": {"x": {"type": "object"}}, **closed()}, "#/$defs/x: an object"),
        (closed(a={"$ref": "#/$defs/x", "minimum": 1}), "#/properties/a: '$ref' may not stand beside"),
    ],
)
def test_problems_have_a_path(schema: dict[str, Any], problem: str) -> None:
    found = strict_problem(schema)
    assert found is not None
    assert problem in found


@pytest.mark.parametrize(
    "schema",
    [
        {},
        INTEGER,
        closed(a=INTEGER, b={"type": "array", "items": closed(c={"enum": [1, 2]})}),
        closed(a={"$ref": "#/$defs/x", "description": "d"}) | {"$defs": {"x": INTEGER}},
        {"anyOf": [INTEGER, {"type": "null"}]},
        {"items": True, "properties": None, "additionalProperties": False},
    ],
)
def test_good_schemas(schema: dict[str, Any]) -> None:
    assert strict_problem(schema) is None


OPEN = Prompt("t", "?", {"type": "object"})


def check(vendor: str = "openai", prompt: Prompt = OPEN, endpoint: str | None = None, **parameters: Any) -> None:
    run = Run("r", vendor, "gpt-4.1", {name.replace("_", "-"): value for name, value in parameters.items()})
    provider = Provider(vendor, 0, ClientConfig(endpoint=endpoint), (run,))
    policy: Any = None
    build_client(provider, run, key=Secret("k"), key_from_env=False, policy=policy, http=Http()).check(prompt)


def test_the_user_is_told_before_anything_is_sent() -> None:
    with pytest.raises(TaskError, match=r"task 't': openai enforces schemas .* #: an object needs"):
        check()


def test_only_where_strict_mode_is_used() -> None:
    check("xai")
    check(prompt=Prompt("t", "?", "text"))
    check(prompt=Prompt("t", "?", closed(a=INTEGER)))
    check(endpoint="http://127.0.0.1:1/v1")
    check(text_response_format=True)
