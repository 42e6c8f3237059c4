"""Prompts, files and parameter values that the tests of all dialects share."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

from pytest_mindtrial.providers.base import Attachment, Prompt, ToolDefinition
from pytest_mindtrial.providers.structure import UNSTRUCTURED_INSTRUCTION, schema_instruction, wrapper_schema
from pytest_mindtrial.suite.parameter_types import ParameterTable, Row

__all__ = [
    "ADD",
    "ANSWER_SCHEMA",
    "LOCAL_ONLY",
    "MULTIPLY",
    "PDF",
    "PICTURE",
    "PLAIN",
    "TEXT_FILE",
    "WITH_TOOLS",
    "ends",
    "readable",
]

ANSWER_SCHEMA = {"type": "array", "items": {"type": "integer"}}
ADD = ToolDefinition("add", "Adds", {"type": "object", "properties": {"a": {"type": "integer"}}})
MULTIPLY = ToolDefinition("multiply", "Multiplies", {"type": "object"})
PLAIN = Prompt("sum", "What is 2+2?", "one number", system_prompt="Answer with one number.")
WITH_TOOLS = Prompt("sum", "Use add on 2 and 2.", "one number", tools=(ADD, MULTIPLY))
PICTURE = Attachment("pic", "image/png", b"\x89PNG\r\n\x1a\n", "pic.png", image_detail="medium")
PDF = Attachment("doc", "application/pdf", b"%PDF-", "doc.pdf")
TEXT_FILE = Attachment("note", "text/plain", "Grüße\n".encode(), "note.txt")
LOCAL_ONLY = Attachment("table", "text/csv", None, "table.csv")


def ends(table: ParameterTable, *, high: bool) -> dict[str, Any]:
    """Return every parameter at one end of its range; of two that exclude each other, the first."""
    values = {row.name: _end(row, high=high) for row in table.rows if row.kind != "server-tools"}
    for exclusion in table.exclusions:
        if exclusion.first in values:
            values.pop(exclusion.second, None)
    if table.provider == "anthropic":
        # The highest effort excludes a thinking mode; effort overrules a budget.
        values.pop("thinking" if high else "thinking-budget-tokens")
    return values


def _end(row: Row, *, high: bool) -> Any:
    if row.kind == "bool":
        return high
    if row.kind == "choice":
        return row.choices[-1 if high else 0]
    value = row.maximum if high else row.minimum
    if value is None:
        value = 2**31 if high else 0
    return int(value) if row.kind == "int" else value


def readable(value: Any) -> Any:
    """Abbreviate the wrapper schemas and the instructions that hold them, for snapshots that people read."""
    for name, form in (("wrapper", "text"), ("wrapper of the task's schema", ANSWER_SCHEMA)):
        schema = wrapper_schema(form)
        if value == schema:
            return {"…": name}
        if value == schema_instruction(schema):
            return f"…JSON schema instruction, {name}…"
    if value == UNSTRUCTURED_INSTRUCTION:
        return "…unstructured instruction…"
    if isinstance(value, Mapping):
        return {key: readable(item) for key, item in value.items()}
    return [readable(item) for item in value] if isinstance(value, list) else value
