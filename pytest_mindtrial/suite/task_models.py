"""The keys of a task file: types, ranges and descriptions.

The descriptions become the manual's reference and the editor schema. Merging and rules between keys are in
``suite/tasks.py`` and ``suite/task_rules.py``. Source: spec mindtrial 2.
"""

from __future__ import annotations

from typing import Annotated, Any, Literal

from pydantic import AfterValidator, Field, WithJsonSchema

from pytest_mindtrial.suite.config_models import Limit, Memory, Percent
from pytest_mindtrial.suite.field_types import (
    ExpectedSet,
    PositiveDuration,
    RawNode,
    RequiredText,
    Text,
    YamlModel,
    unique,
)

__all__ = [
    "FileModel",
    "FileOptionsModel",
    "JudgePromptModel",
    "JudgeSelectionModel",
    "RulesModel",
    "SystemPromptModel",
    "TaskConfigModel",
    "TaskFileModel",
    "TaskModel",
    "ToolChoiceModel",
    "ToolSelectorModel",
]

TextOrSchema = Annotated[
    Any, WithJsonSchema({"type": ["string", "object"], "description": "A text instruction or a JSON Schema."})
]


def _distinct(value: list[str] | None) -> list[str] | None:
    if value is not None and len(set(value)) != len(value):
        raise ValueError("lists a value twice")
    return value


class JudgePromptModel(YamlModel):
    """What a judge is asked and which verdicts pass."""

    template: Text | None = Field(None, description="Prompt template; blank = the built-in one.")
    verdict_format: TextOrSchema = Field(
        None, description="Text instruction or JSON Schema of the verdict; only together with passing-verdicts."
    )
    passing_verdicts: ExpectedSet | None = Field(
        None, description="Verdicts that pass: one or several values, or one JSON Schema that names its $schema."
    )


class JudgeSelectionModel(YamlModel):
    """Which judge decides."""

    enabled: bool | None = Field(None, description="Let a judge decide instead of comparing values.")
    name: Text | None = Field(None, description="Name of a judge of config.yaml.")
    variant: Text | None = Field(None, description="Name of one of the judge's runs.")
    prompt: JudgePromptModel | None = Field(None, description="Own prompt and verdicts.")


class RulesModel(YamlModel):
    """How answers are compared with expected results. Keys that are not written are inherited."""

    case_sensitive: bool | None = Field(None, description="Upper and lower case differ.")
    ignore_whitespace: bool | None = Field(None, description="Remove all white space before comparing.")
    trim_lines: bool | None = Field(
        None, description="Strip every line before comparing; without effect under ignore-whitespace."
    )
    schema_validation: bool | None = Field(
        None, description="The single expected result is a JSON Schema that the answer must satisfy."
    )
    custom_validator: Text | None = Field(
        None, description="Name of a validator of config.yaml; a blank text switches an inherited one off."
    )
    judge: JudgeSelectionModel | None = Field(None, description="Validation by a model.")


class SystemPromptModel(YamlModel):
    """How the answer format is put to the model."""

    template: Text | None = Field(
        None, description="Template over {{.ResponseResultFormat}}; blank = the built-in sentence."
    )
    enable_for: Literal["all", "text", "none"] | None = Field(
        None, description="Kinds of tasks that get it; text when missing."
    )


class ToolChoiceModel(YamlModel):
    """A tool of config.yaml, with limits per call."""

    name: RequiredText = Field(description="Name of the tool.")
    disabled: bool | None = Field(None, description="Own value, or missing to inherit the selector's.")
    max_calls: Annotated[int, Field(ge=1)] | None = Field(None, description="Calls allowed per attempt.")
    timeout: PositiveDuration | None = Field(None, description="Longest time of one call, such as 60s.")
    max_memory_mb: Memory | None = Field(None, description="Memory limit in MB, at least 6.")
    cpu_percent: Percent | None = Field(None, description="CPU limit in percent of the whole host.")


class ToolSelectorModel(YamlModel):
    """Which tools are offered, and what their services are given."""

    disabled: bool | None = Field(None, description="Offer no tool unless a tool says disabled: false.")
    tools: Annotated[list[ToolChoiceModel], AfterValidator(unique("name"))] = Field(
        default_factory=list, description="Tools; merged by name with the inherited ones."
    )
    service_inputs: dict[str, dict[str, Any]] = Field(
        default_factory=dict,
        description="Service name to input name to value; a text, number or boolean. Texts are templates.",
    )


class FileOptionsModel(YamlModel):
    """How attached files are used."""

    image_detail: Literal["auto", "low", "medium", "high", "original"] | None = Field(
        None, description="Fidelity of pictures; only OpenAI honours it."
    )
    access: Annotated[list[Literal["native", "local"]], AfterValidator(_distinct)] | None = Field(
        None,
        description="native: sent to the model; local: readable by tools. Both when missing; replaces the default.",
    )


class FileModel(YamlModel):
    """An attached file."""

    name: RequiredText = Field(description="Name announced to the model, unique in the task.")
    uri: Text = Field(description="Local path, or http/https URL.")
    type: Text = Field("", description="MIME type; missing = inferred.")
    options: FileOptionsModel | None = Field(None, description="Own options.")


class TaskModel(YamlModel):
    """One question with its expected results."""

    name: RequiredText = Field(description="Display name, unique in the file.")
    prompt: RequiredText = Field(description="What the model is asked.")
    response_result_format: TextOrSchema = Field(
        description="How the answer must look: a text instruction, or a JSON Schema for structured answers."
    )
    expected_result: ExpectedSet = Field(
        (), description="Accepted answers: one value or a list of alternatives. Required without custom-validator."
    )
    disabled: bool | None = Field(None, description="Own value, or missing to inherit task-config's.")
    validation_rules: RulesModel | None = Field(None, description="Own rules; missing keys are inherited.")
    system_prompt: SystemPromptModel | None = Field(None, description="Own system prompt; missing keys are inherited.")
    tool_selector: ToolSelectorModel | None = Field(None, description="Own tools; merged by name.")
    files: Annotated[list[FileModel], AfterValidator(unique("name"))] = Field(
        default_factory=list, description="Attached files."
    )
    max_turns: Limit | None = Field(None, description="Longest conversation in turns; 0 = unlimited.")
    suite: Text = Field("", description="Free label for grouping.")
    category: Text = Field("", description="Free label for grouping.")
    difficulty: Text = Field("", description="Free label for grouping.")
    tags: list[Text] = Field(default_factory=list, description="Free labels for grouping.")
    repeat: Annotated[int, Field(ge=1)] | None = Field(
        None, description="Times the task is tried per run; missing = once."
    )
    must_pass: bool = Field(False, description="The session fails when this task fails, whatever the pass rate.")


class TaskConfigModel(YamlModel):
    """Tasks and their defaults."""

    tasks: RawNode = Field(description="Tasks.")
    disabled: bool = Field(False, description="Default of the tasks' own disabled.")
    validation_rules: RulesModel | None = Field(None, description="Default rules.")
    system_prompt: SystemPromptModel | None = Field(None, description="Default system prompt.")
    tool_selector: ToolSelectorModel | None = Field(None, description="Default tools.")
    file_options: FileOptionsModel | None = Field(None, description="Default options of files.")
    max_turns: Limit = Field(0, description="Default of the tasks' max-turns.")


class TaskFileModel(YamlModel):
    """Root of a task file."""

    task_config: TaskConfigModel = Field(description="Tasks and their defaults.")
