"""JSON Schemas of config.yaml and task files, for editors.

Generated from the models and the parameter table, so that they cannot disagree with the loader's keys and ranges. Rules
between keys (spec mindtrial 2.9) are the loader's alone. Source: design D11.
"""

from __future__ import annotations

from typing import Any

from pytest_mindtrial.suite.config_models import ClientConfigModel, ConfigFileModel
from pytest_mindtrial.suite.field_types import YamlModel
from pytest_mindtrial.suite.parameters import TABLES, ParameterTable, Row
from pytest_mindtrial.suite.provider_nodes import OPEN_PROVIDERS
from pytest_mindtrial.suite.task_models import TaskFileModel, TaskModel

__all__ = ["config_schema", "tasks_schema"]

_DRAFT = "https://json-schema.org/draft/2020-12/schema"
_REF = "#/$defs/{model}"


def tasks_schema() -> dict[str, Any]:
    """Return the JSON Schema of a task file."""
    schema = _root(TaskFileModel, "MindTrial task file")
    _add(schema, TaskModel)
    tasks = schema["$defs"]["TaskConfigModel"]["properties"]["tasks"]
    tasks |= {"type": "array", "items": {"$ref": _REF.format(model="TaskModel")}}
    return schema


def config_schema() -> dict[str, Any]:
    """Return the JSON Schema of config.yaml; each provider's model parameters are those of its table."""
    schema = _root(ConfigFileModel, "MindTrial configuration")
    _add(schema, ClientConfigModel)
    definitions = schema["$defs"]
    open_client = dict(definitions["ClientConfigModel"])
    del open_client["additionalProperties"]
    definitions["OpenClientConfigModel"] = open_client
    for name, table in TABLES.items():
        definitions[f"parameters-{name}"] = _parameters(table)
    provider = definitions["ProviderModel"]
    provider["allOf"] = [_provider_case(name) for name in TABLES]
    provider["properties"]["client-config"]["type"] = ["object", "null"]
    definitions["RunModel"]["properties"]["model-parameters"]["type"] = ["object", "null"]
    return schema


def _root(kind: type[YamlModel], title: str) -> dict[str, Any]:
    schema = kind.model_json_schema(by_alias=True)
    _drop_titles(schema)
    return {"$schema": _DRAFT, "title": title, **schema}


def _add(schema: dict[str, Any], kind: type[YamlModel]) -> None:
    """Add a model, and those it uses, to the definitions."""
    added = kind.model_json_schema(by_alias=True)
    _drop_titles(added)
    schema["$defs"] |= added.pop("$defs", {})
    schema["$defs"][kind.__name__] = added


def _provider_case(name: str) -> dict[str, Any]:
    client = "OpenClientConfigModel" if name in OPEN_PROVIDERS else "ClientConfigModel"
    parameters = {"anyOf": [{"$ref": _REF.format(model=f"parameters-{name}")}, {"type": "null"}]}
    return {
        "if": {"properties": {"name": {"const": name}}, "required": ["name"]},
        "then": {
            "properties": {
                "client-config": {"anyOf": [{"$ref": _REF.format(model=client)}, {"type": "null"}]},
                "runs": {"items": {"properties": {"model-parameters": parameters}}},
            }
        },
    }


def _parameters(table: ParameterTable) -> dict[str, Any]:
    schema: dict[str, Any] = {"type": "object", "properties": {row.name: _row(row) for row in table.rows}}
    if table.passes_unknown:
        schema["patternProperties"] = {"^[^-]*$": {}}
    if not table.is_free:
        schema["additionalProperties"] = False
    return schema


def _row(row: Row) -> dict[str, Any]:
    text = row.description
    if row.default:
        text += f" Default: {row.default}."
    if row.deprecated:
        text += f" Deprecated: {row.deprecated}"
    return {"description": text, **({"deprecated": True} if row.deprecated else {}), **_row_type(row)}


def _row_type(row: Row) -> dict[str, Any]:
    if row.kind == "choice":
        return {"enum": [*row.choices, None]}
    if row.kind == "server-tools":
        entry = {
            "type": "object",
            "properties": {"type": {"type": "string", "minLength": 1}, "parameters": {"type": ["object", "null"]}},
            "required": ["type"],
            "additionalProperties": False,
        }
        return {"type": ["array", "null"], "items": entry}
    kinds = {"bool": "boolean", "int": "integer", "number": "number"}
    schema: dict[str, Any] = {"type": [kinds[row.kind], "null"]}
    if row.minimum is not None:
        schema["minimum"] = row.minimum
    if row.maximum is not None:
        schema["maximum"] = row.maximum
    return schema


def _drop_titles(value: Any) -> None:
    """Remove the titles pydantic makes from field names; they say less than the descriptions."""
    if isinstance(value, dict):
        if isinstance(value.get("title"), str):
            del value["title"]
        for item in value.values():
            _drop_titles(item)
    elif isinstance(value, list):
        for item in value:
            _drop_titles(item)
