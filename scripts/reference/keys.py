"""Pages about the keys of config.yaml and task files, from the pydantic models.

Does not explain a key: its description at the field does.
"""

from __future__ import annotations

import inspect
from collections.abc import Iterable, Mapping
from typing import Any, get_args

from pydantic import BaseModel
from pydantic.fields import FieldInfo

from pytest_mindtrial.suite import config_models, task_models
from pytest_mindtrial.suite.field_types import AsSet, AsWritten, GoDuration, kebab
from pytest_mindtrial.suite.parameter_rows import TABLES
from reference.markdown import code, page, prose, table

__all__ = ["configuration", "tasks"]


def keys_page(title: str, introduction: str, models: Mapping[str, type[BaseModel]]) -> str:
    """Return a page with one section per place of a file and one table row per key."""
    parts = []
    for place, model in models.items():
        rows = [_field_row(model, name, field) for name, field in model.model_fields.items()]
        parts += [f"## {place}", prose(model.__doc__ or ""), table(("key", "type", "default", "meaning"), rows)]
    return page(title, introduction, *parts)


def _field_row(model: type[BaseModel], name: str, field: FieldInfo) -> tuple[str, str, str, str]:
    default = "**required**" if field.is_required() else _default(field)
    kind = _READ_LATER.get(name) or _type(field.annotation, field.metadata)
    if (model, name) == (config_models.ProviderModel, "name"):
        kind = " or ".join(map(code, TABLES))
    return code(kebab(name)), kind, default, field.description or ""


_READ_LATER = {
    "client_config": "map",
    "model_parameters": "map",
    "tasks": "list of maps",
    "response_result_format": "text or JSON Schema",
    "verdict_format": "text or JSON Schema",
}
"""Fields whose type pydantic does not know, because the loader reads them in its own way."""


def _default(field: FieldInfo) -> str:
    if any(isinstance(mark, GoDuration) for mark in field.metadata) and isinstance(field.default, float):
        return code(f"{field.default:g}s")
    value = field.get_default(call_default_factory=True)
    if value in (None, "", (), [], {}):
        return "–"
    return code({True: "true", False: "false"}.get(value, str(value)) if isinstance(value, bool) else str(value))


_PLAIN = {str: "text", int: "whole number", float: "number", bool: "true or false"}


def _type(annotation: Any, metadata: Iterable[Any] = ()) -> str:
    """Return a field's type in the words of the guide."""
    metadata = list(metadata)
    while hasattr(annotation, "__metadata__"):
        metadata += annotation.__metadata__
        annotation = annotation.__origin__
    if any(isinstance(mark, GoDuration) for mark in metadata):
        return "duration"
    if any(isinstance(mark, AsSet) for mark in metadata):
        return "value or list"
    if any(isinstance(mark, AsWritten) for mark in metadata) or annotation is Any:
        return "any value"
    text = _type_word(annotation)
    return text + _bounds(metadata)


def _type_word(annotation: Any) -> str:
    if annotation in _PLAIN:
        return _PLAIN[annotation]
    if inspect.isclass(annotation) and issubclass(annotation, BaseModel):
        return "map"
    arguments = get_args(annotation)
    if arguments and all(isinstance(argument, str) for argument in arguments):
        return " or ".join(map(code, arguments))
    origin = getattr(annotation, "__origin__", None)
    if origin is list:
        return f"list of {_plural(_type(arguments[0]))}"
    if origin is dict or annotation is dict:
        return "map"
    optional = [argument for argument in arguments if argument is not type(None)]
    return _type(optional[0]) if len(optional) == 1 else "any value"


def _plural(word: str) -> str:
    return {"text": "texts", "map": "maps"}.get(word, word)


def _bounds(metadata: list[Any]) -> str:
    low = next((mark.ge for mark in metadata if getattr(mark, "ge", None) is not None), None)
    high = next((mark.le for mark in metadata if getattr(mark, "le", None) is not None), None)
    for mark in metadata:  # a Field inside Annotated keeps its own list
        if isinstance(mark, FieldInfo):
            return _bounds(mark.metadata)
    if low is None:
        return ""
    return f", at least {low}" if high is None else f", {low} to {high}"


CONFIG_PLACES = {
    "config": config_models.ConfigModel,
    "config.providers[]": config_models.ProviderModel,
    "config.providers[].client-config": config_models.ClientConfigModel,
    "config.providers[].runs[]": config_models.RunModel,
    "retry-policy": config_models.RetryPolicyModel,
    "pricing": config_models.PricingModel,
    "config.judges[]": config_models.JudgeModel,
    "config.tools[]": config_models.ToolModel,
    "dependencies[]": config_models.DependencyModel,
    "config.services[]": config_models.ServiceModel,
    "config.services[].endpoint": config_models.EndpointModel,
    "config.validators[]": config_models.ValidatorModel,
    "config.validators[].template-files[]": config_models.TemplateFileModel,
}

TASK_PLACES = {
    "task-config": task_models.TaskConfigModel,
    "task-config.tasks[]": task_models.TaskModel,
    "files[]": task_models.FileModel,
    "file-options and files[].options": task_models.FileOptionsModel,
    "validation-rules": task_models.RulesModel,
    "validation-rules.judge": task_models.JudgeSelectionModel,
    "validation-rules.judge.prompt": task_models.JudgePromptModel,
    "system-prompt": task_models.SystemPromptModel,
    "tool-selector": task_models.ToolSelectorModel,
    "tool-selector.tools[]": task_models.ToolChoiceModel,
}

_DURATIONS = "A *duration* is written as `90s`, `1m30s` or `500ms`. An unknown key is an error."


def configuration() -> str:
    return keys_page(
        "Keys of config.yaml",
        f"The file has one root key, `config`. {_DURATIONS} The guide explains them: "
        "[models](../guide/models.md), [judges](../guide/judges.md), [tools](../guide/tools-and-services.md).",
        CONFIG_PLACES,
    )


def tasks() -> str:
    return keys_page(
        "Keys of task files",
        f"The file has one root key, `task-config`. {_DURATIONS} The guide explains them: [tasks](../guide/tasks.md).",
        TASK_PLACES,
    )
