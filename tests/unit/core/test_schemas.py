from __future__ import annotations

import subprocess
import sys
import types

import pytest

from pytest_mindtrial.core import schemas
from pytest_mindtrial.core.schemas import SchemaError, compile_schema, plain_json, schema_problems


@pytest.mark.parametrize(
    "schema, value, fits",
    [
        ({"const": 1}, 1.0, True),
        ({"const": 1}, True, False),
        ({"const": True}, 1, False),
        ({"enum": [0]}, False, False),
        ({"const": [1]}, [True], False),
        ({"enum": [{"a": [True]}]}, {"a": [1]}, False),
        ({"uniqueItems": True}, [1, True], True),
        ({"type": "integer"}, 4.0, True),
        ({"type": "integer"}, True, False),
        ({"multipleOf": 0.01}, 4.02, True),
        ({"multipleOf": 0.01}, 4.025, False),
        ({"multipleOf": 3}, 10**400, False),
        ({"multipleOf": 3}, "x", True),
        ({"multipleOf": 3}, float("inf"), False),
        ({"format": "date"}, "no date", True),
        ({"pattern": r"^(?=a)a\d$"}, "a1", True),
        (True, "anything", True),
        (False, "anything", False),
        ({"type": "object"}, types.MappingProxyType({"a": (1,)}), True),
        ({"type": "array", "items": {"type": "integer"}}, (1, 2), True),
        ({"$schema": "http://json-schema.org/draft-07/schema#", "items": [{"const": 1}]}, [2], False),
        ({"$defs": {"n": {"type": "number"}}, "$ref": "#/$defs/n"}, "x", False),
        ({"$id": "https://example.org/s", "$defs": {"n": {"const": 1}}, "$ref": "#/$defs/n"}, 1, True),
        ({"$defs": {"a/b~c d": {"const": 1}}, "$ref": "#/$defs/a~1b~0c%20d"}, 1, True),
        ({"allOf": [{"const": 1}], "$ref": "#/allOf/0"}, 1, True),
    ],
)
def test_fit(schema: object, value: object, fits: bool) -> None:
    assert compile_schema(schema).fits(value) is fits
    assert (schema_problems(compile_schema(schema), value) == []) is fits


@pytest.mark.parametrize(
    "schema, path, reason",
    [
        ("text", "$", "an object, found str"),
        ({"type": "strin"}, "$.type", "'strin'"),
        ({"properties": {"a": {"minimum": "x"}}}, "$.properties.a.minimum", "not of type 'number'"),
        ({"pattern": "("}, "$.pattern", "not a 'regex'"),
        ({"$schema": "https://example.org/nope"}, "$['$schema']", "unknown draft"),
        ({"$schema": 5}, "$['$schema']", "unknown draft"),
        ({"properties": {"a": {"$ref": "http://127.0.0.1:9/x"}}}, "$.properties.a", "never fetched"),
        ({"items": {"$ref": "#/$defs/none"}}, "$.items", "points to nothing"),
        ({"allOf": [{"$ref": "#/allOf/7"}]}, "$.allOf[0]", "points to nothing"),
        ({"$ref": "#/type/x", "type": "string"}, "$", "points to nothing"),
        ({1: 2, "a": 3}, "$", "not JSON"),
    ],
)
def test_unusable_schema(schema: object, path: str, reason: str) -> None:
    with pytest.raises(SchemaError) as caught:
        compile_schema(schema)
    assert caught.value.path == path
    assert reason in caught.value.reason
    assert str(caught.value).startswith(path + ": ")


def test_embedded_documents_are_left_to_validation_and_never_fetched() -> None:
    inner = {"$id": "https://example.org/inner", "const": 1}
    good = compile_schema({"$defs": {"x": inner}, "$ref": "https://example.org/inner"})
    assert good.fits(1)
    bad = compile_schema({"$defs": {"x": inner}, "$ref": "http://127.0.0.1:9/else"})
    with pytest.raises(SchemaError, match="cannot be resolved"):
        bad.fits(1)


def test_endless_reference_is_a_schema_error() -> None:
    with pytest.raises(SchemaError, match="without end"):
        compile_schema({"$ref": "#"}).fits(1)


def test_problems_name_the_path_and_stop_at_twenty() -> None:
    compiled = compile_schema({"items": {"type": "integer"}})
    assert schema_problems(compiled, [1, "x"]) == ["$[1]: 'x' is not of type 'integer'"]
    assert len(schema_problems(compiled, ["x"] * 20)) == 20
    many = schema_problems(compiled, ["x"] * 50)
    assert len(many) == 20
    assert many[-1] == "… and more"


def test_long_messages_are_cut() -> None:
    (problem,) = schema_problems(compile_schema({"type": "integer"}), "x" * 10_000)
    assert len(problem) < 400
    assert problem.endswith("…")


def test_equal_schemas_are_compiled_once_and_the_cache_is_bounded(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(schemas, "MAX_CACHED", 2)
    first = compile_schema({"title": "cache", "type": "string"})
    assert compile_schema({"type": "string", "title": "cache"}) is first
    assert compile_schema({"const": 1}) is not compile_schema({"const": True})
    while len(schemas._cache) > 2:
        schemas._cache.popitem(last=False)
    compile_schema({"const": "fresh"})
    assert len(schemas._cache) == 2


def test_plain_json_copies_mappings_and_sequences() -> None:
    assert plain_json(types.MappingProxyType({"a": (1, [2])})) == {"a": [1, [2]]}


def test_importing_the_module_does_not_import_jsonschema() -> None:
    code = "import sys, pytest_mindtrial.core.schemas; sys.exit('jsonschema' in sys.modules)"
    assert subprocess.run([sys.executable, "-c", code], check=False).returncode == 0
