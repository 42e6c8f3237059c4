"""The page about the frozen values that fixtures and hooks hand out, from the dataclasses.

Does not list methods; a field without words of its own shows its name and type only.
"""

from __future__ import annotations

import dataclasses
import inspect
import re

from pytest_mindtrial.core import record, values
from pytest_mindtrial.plugin import tool_handles
from pytest_mindtrial.providers import base as providers
from pytest_mindtrial.results.evaluation import EvaluationInfo
from pytest_mindtrial.sandbox import endpoints
from pytest_mindtrial.suite import model
from pytest_mindtrial.validators import base as validators
from reference.markdown import code, page, prose, table

__all__ = ["value_list"]

CLASSES: tuple[type, ...] = (
    record.Result,
    record.AnswerRecord,
    record.ValidationRecord,
    record.ErrorRecord,
    record.RequestRecord,
    record.ToolCallRecord,
    record.ToolUsageRecord,
    record.OutputRecord,
    record.Semantic,
    record.Metadata,
    values.Usage,
    values.ToolCall,
    values.ToolResult,
    tool_handles.TaskTool,
    endpoints.ServiceEndpoint,
    EvaluationInfo,
    model.Task,
    model.Rules,
    model.Run,
    model.Provider,
    providers.Prompt,
    providers.Turn,
    providers.Attachment,
    providers.ToolDefinition,
    validators.Candidate,
    validators.Verdict,
)


def value_list() -> str:
    """Return the page."""
    parts = []
    for kind in CLASSES:
        summary, about = _documentation(kind)
        rows = [(code(field.name), _type(field), about.get(field.name, "")) for field in dataclasses.fields(kind)]
        parts += [f"## {kind.__name__}", f"`{kind.__module__}`", summary]
        parts += [table(("field", "type", "meaning"), rows)]
    introduction = (
        "What hooks and fixtures hand out: frozen dataclasses. A changed copy is made with `dataclasses.replace`. The "
        "journal holds each `Result` under the same names; there, what has its default value is left out. None means "
        "unknown or absent, never zero; names that end in `_ns` are nanoseconds, in `_s` seconds."
    )
    return page("Values", introduction, *parts)


def _documentation(kind: type) -> tuple[str, dict[str, str]]:
    """Return a docstring without its list of attributes, and the attributes' own words."""
    text = inspect.cleandoc(kind.__doc__ or "")
    head, _, listed = text.partition("\nAttributes:\n")
    entries = re.split(r"\n(?=\S)", inspect.cleandoc(listed)) if listed else []
    pairs = (" ".join(entry.split()).partition(": ") for entry in entries)
    return prose(head), {name: about.replace("``", "`") for name, _, about in pairs}


def _type(field: dataclasses.Field[object]) -> str:
    """Return the annotation as it is written."""
    return code(str(field.type))
