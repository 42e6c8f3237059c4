from __future__ import annotations

import json
from typing import Any

import pytest

from pytest_mindtrial.core.schemas import compile_schema
from pytest_mindtrial.providers.structure import (
    SUBMIT_INSTRUCTION,
    UNSTRUCTURED_INSTRUCTION,
    schema_instruction,
    wrapper_schema,
)


def content_of(schema: dict[str, Any]) -> Any:
    return wrapper_schema(schema)["properties"]["final_answer"]["properties"]["content"]


def wrapped(content: Any) -> dict[str, Any]:
    return {"title": "t", "explanation": "e", "final_answer": {"content": content}}


def test_text_task() -> None:
    schema = wrapper_schema("one word")
    assert schema["additionalProperties"] is False
    assert list(schema["properties"]) == schema["required"] == ["title", "explanation", "final_answer"]
    assert [item["type"] for item in schema["properties"].values()] == ["string"] * 3
    assert [item["title"] for item in schema["properties"].values()] == [
        "Response Title",
        "Response Explanation",
        "Final Answer",
    ]
    assert all(item["description"] for item in schema["properties"].values())
    assert compile_schema(schema).fits({"title": "", "explanation": "", "final_answer": "x"})
    assert not compile_schema(schema).fits({"title": "", "final_answer": "x"})


@pytest.mark.parametrize(
    "schema",
    [{"type": "array", "items": {"type": "integer"}}, {"type": "number"}, {"type": "object", "properties": {}}],
)
def test_schema_task_holds_the_schema_verbatim(schema: dict[str, Any]) -> None:
    answer = wrapper_schema(schema)["properties"]["final_answer"]
    assert answer["properties"] == {"content": schema}
    assert (answer["type"], answer["required"], answer["additionalProperties"]) == ("object", ["content"], False)


def test_definitions_move_to_the_root_and_references_still_work() -> None:
    schema = {
        "$schema": "https://json-schema.org/draft/2020-12/schema",
        "$id": "https://example.org/s",
        "$defs": {"a/b": {"type": "integer"}},
        "type": "object",
        "properties": {
            "direct": {"$ref": "#/$defs/a~1b"},
            "by_id": {"$ref": "https://example.org/s#/$defs/a~1b"},
            "self": {"$ref": "#"},
            "other": {"$ref": "#/properties/direct"},
            "list": {"type": "array", "items": [{"$ref": "#/$defs/a~1b"}]},
            "$id": {"const": {"$ref": "#kept", "$id": "kept"}},
            "$schema": {"type": "string"},
        },
    }
    before = json.dumps(schema)
    wrapper = wrapper_schema(schema)
    assert json.dumps(schema) == before
    assert wrapper["$defs"] == {"a/b": {"type": "integer"}}
    content = wrapper["properties"]["final_answer"]["properties"]["content"]
    assert "$schema" not in content
    assert "$id" not in content
    assert "$defs" not in content
    assert content["properties"]["by_id"] == {"$ref": "#/$defs/a~1b"}
    assert content["properties"]["$id"] == {"const": {"$ref": "#kept", "$id": "kept"}}
    assert content["properties"]["$schema"] == {"type": "string"}
    del content["properties"]["list"]
    compiled = compile_schema(wrapper)
    assert compiled.fits(wrapped({"direct": 1, "by_id": 1, "other": 1, "self": {"direct": 2}}))
    for bad in ({"direct": "x"}, {"by_id": "x"}, {"other": "x"}, {"self": {"direct": "x"}}):
        assert not compiled.fits(wrapped(bad))


def test_old_definitions_and_embedded_documents() -> None:
    assert wrapper_schema({"definitions": {"n": {"const": 1}}, "$ref": "#/definitions/n"})["definitions"]
    content = content_of({"anyOf": [{"$id": "https://example.org/in", "const": 1}, {"$ref": "https://example.org/in"}]})
    assert content["anyOf"][1] == {"$ref": "#/properties/final_answer/properties/content/anyOf/0"}
    anchored = {"$anchor": "a", "properties": {"x": {"$ref": "#a"}, "y": {"$ref": "https://example.org/out#z"}}}
    assert content_of(anchored) == anchored


def test_instructions() -> None:
    schema = wrapper_schema({"type": "object", "title": "ü"})
    text = schema_instruction(schema)
    assert "JSON" in text.splitlines()[0]
    assert json.loads(text.splitlines()[1]) == schema
    assert ": " not in text.splitlines()[1].replace("reply in", "").replace("reached: reasoning", "")
    assert "plain text" in UNSTRUCTURED_INSTRUCTION
    assert "submit_response" in SUBMIT_INSTRUCTION
