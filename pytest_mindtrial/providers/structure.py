"""The wrapper around every structured answer, and the sentences that ask for it.

Does not adapt schemas to a vendor's dialect (``providers/dialects``) and does not read replies
(``providers/reading.py``). Source: spec mindtrial 4.1; spec providers 1.1 and 4.1.
"""

from __future__ import annotations

import json
from collections.abc import Callable, Mapping
from typing import Any

__all__ = [
    "SCHEMA_INSTRUCTION",
    "SUBMIT_INSTRUCTION",
    "UNSTRUCTURED_INSTRUCTION",
    "schema_instruction",
    "wrapper_schema",
]

SCHEMA_INSTRUCTION = (
    "Reply with exactly one JSON object and nothing else: no text before or after it, no code fence. "
    "It must be valid under this JSON Schema:\n"
)
"""Comes before the compact schema where the service cannot enforce it. JSON modes want the word JSON in a message."""

UNSTRUCTURED_INSTRUCTION = (
    "Reply in plain text with the definitive answer only. Keep to every formatting instruction you are given. "
    "Add no introduction, no explanation and no closing remark."
)
"""Sent instead of any schema when structured output is disabled."""

SUBMIT_INSTRUCTION = "Deliver your final reply only by calling the tool submit_response; do not write it as text."
"""Sent with Anthropic's reserved answer tool (spec providers 4.4)."""

_CONTENT_POINTER = "#/properties/final_answer/properties/content"
_SHARED = ("$defs", "definitions")
_IDENTITY = ("$schema", "$id")
_NAMED_SCHEMAS = frozenset(("properties", "patternProperties", "dependentSchemas", *_SHARED))
_PLAIN_VALUES = frozenset(("const", "enum", "default", "examples", "required"))


def wrapper_schema(response_format: str | Mapping[str, Any]) -> dict[str, Any]:
    """Return the JSON Schema of a whole reply.

    Args:
        response_format: Text instruction, or the JSON Schema of a structured answer; it stands unchanged below
            ``final_answer.content``, except that its ``$schema`` and ``$id`` go, its ``$defs`` move to the root and
            references follow them.
    """
    shared: dict[str, Any] = {}
    if isinstance(response_format, str):
        answer: dict[str, Any] = {
            "type": "string",
            "title": "Final Answer",
            "description": "The definitive answer to the task, exactly in the form the answer format asks for",
        }
    else:
        content = _embedded(response_format)
        shared = {key: content.pop(key) for key in _SHARED if key in content}
        answer = {
            "type": "object",
            "title": "Final Answer",
            "description": "Holds the definitive answer; its content follows the given schema",
            "properties": {"content": content},
            "required": ["content"],
            "additionalProperties": False,
        }
    return {
        "type": "object",
        "properties": {
            "title": {
                "type": "string",
                "title": "Response Title",
                "description": "A summary of this reply in 3 to 8 words",
            },
            "explanation": {
                "type": "string",
                "title": "Response Explanation",
                "description": "How the answer was reached: reasoning, method and relevant context",
            },
            "final_answer": answer,
        },
        "required": ["title", "explanation", "final_answer"],
        "additionalProperties": False,
        **shared,
    }


def schema_instruction(schema: Mapping[str, Any]) -> str:
    """Return the message that describes a wrapper schema in words and as compact JSON."""
    return SCHEMA_INSTRUCTION + json.dumps(schema, ensure_ascii=False, separators=(",", ":"))


def _embedded(schema: Mapping[str, Any]) -> dict[str, Any]:
    """Return a copy of a schema that works below ``final_answer.content``."""
    pointers: dict[str, str] = {}

    def note_identity(node: Mapping[str, Any], pointer: str) -> None:
        if isinstance(node.get("$id"), str):
            pointers[node["$id"].rstrip("#")] = pointer

    _walk(schema, "#", note_identity)
    copy: dict[str, Any] = _rewrite(schema, pointers)
    return copy


def _walk(node: Any, pointer: str, visit: Callable[[Mapping[str, Any], str], None]) -> None:
    """Visit every subschema with its place."""
    if isinstance(node, Mapping):
        visit(node, pointer)
        for key, item in node.items():
            if key in _NAMED_SCHEMAS and isinstance(item, Mapping):
                for name, inner in item.items():
                    _walk(inner, f"{pointer}/{key}/{_escape(name)}", visit)
            elif key not in _PLAIN_VALUES:
                _walk(item, f"{pointer}/{_escape(key)}", visit)
    elif isinstance(node, list | tuple):
        for number, item in enumerate(node):
            _walk(item, f"{pointer}/{number}", visit)


def _rewrite(node: Any, pointers: Mapping[str, str]) -> Any:
    """Copy a subschema without its identity, with references that fit its new place."""
    if isinstance(node, list | tuple):
        return [_rewrite(item, pointers) for item in node]
    if not isinstance(node, Mapping):
        return node
    out: dict[str, Any] = {}
    for key, item in node.items():
        if key in _IDENTITY and isinstance(item, str):
            continue
        if key == "$ref" and isinstance(item, str):
            out[key] = _moved(item, pointers)
        elif key in _NAMED_SCHEMAS and isinstance(item, Mapping):
            out[key] = {name: _rewrite(inner, pointers) for name, inner in item.items()}
        else:
            out[key] = item if key in _PLAIN_VALUES else _rewrite(item, pointers)
    return out


def _moved(reference: str, pointers: Mapping[str, str]) -> str:
    """Return a reference as it reads from the wrapper's root."""
    document, _, fragment = reference.partition("#")
    if document in pointers and (not fragment or fragment.startswith("/")):
        reference = pointers[document] + fragment
    if reference == "#" or reference.startswith("#/"):
        is_shared = reference.split("/")[1:2] and reference.split("/")[1] in _SHARED
        return reference if is_shared else _CONTENT_POINTER + reference[1:]
    return reference


def _escape(name: Any) -> str:
    return str(name).replace("~", "~0").replace("/", "~1")
