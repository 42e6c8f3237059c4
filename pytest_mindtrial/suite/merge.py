"""How a task's own settings join the defaults of ``task-config``.

Null and missing keys inherit. Does not check anything (``suite/task_rules.py``). Source: spec mindtrial 2, 2.2, 2.5,
2.6, 2.7; traps 4, 6, 7, 8.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from typing import Any

from pytest_mindtrial.suite.model import (
    Access,
    ContainerLimits,
    JudgePrompt,
    JudgeSelection,
    Rules,
    ToolSelection,
)
from pytest_mindtrial.suite.task_models import (
    FileModel,
    FileOptionsModel,
    JudgePromptModel,
    JudgeSelectionModel,
    RulesModel,
    SystemPromptModel,
    ToolChoiceModel,
    ToolSelectorModel,
)

__all__ = ["BOTH_ACCESSES", "SystemPrompt", "file_settings", "merge_rules", "merge_service_inputs", "merge_tools"]

BOTH_ACCESSES: frozenset[Access] = frozenset(("native", "local"))


def _own(value: Any, inherited: Any) -> Any:
    return inherited if value is None else value


def merge_rules(own: RulesModel | None, base: Rules) -> Rules:
    """Return validation rules: field by field, recursively into the judge and its prompt."""
    if own is None:
        return base
    validator = base.custom_validator
    if own.custom_validator is not None:
        validator = own.custom_validator if own.custom_validator.strip() else ""
    return Rules(
        case_sensitive=_own(own.case_sensitive, base.case_sensitive),
        ignore_whitespace=_own(own.ignore_whitespace, base.ignore_whitespace),
        trim_lines=_own(own.trim_lines, base.trim_lines),
        schema_validation=_own(own.schema_validation, base.schema_validation),
        custom_validator=validator,
        judge=_merge_judge(own.judge, base.judge),
    )


def _merge_judge(own: JudgeSelectionModel | None, base: JudgeSelection) -> JudgeSelection:
    if own is None:
        return base
    return JudgeSelection(
        enabled=_own(own.enabled, base.enabled),
        name=_own(own.name, base.name),
        variant=_own(own.variant, base.variant),
        prompt=_merge_prompt(own.prompt, base.prompt),
    )


def _merge_prompt(own: JudgePromptModel | None, base: JudgePrompt) -> JudgePrompt:
    if own is None:
        return base
    return JudgePrompt(
        template=_template(own.template, base.template),
        verdict_format=_own(own.verdict_format, base.verdict_format),
        passing_verdicts=_own(own.passing_verdicts, base.passing_verdicts),
    )


def _template(own: str | None, base: str | None) -> str | None:
    """A blank template means the built-in one, not the inherited one."""
    if own is None:
        return base
    return own if own.strip() else None


class SystemPrompt:
    """Merged ``system-prompt`` settings.

    Attributes:
        template: Own text; None = the built-in sentence.
        enable_for: ``all``, ``text`` or ``none``.
    """

    __slots__ = ("enable_for", "template")

    def __init__(self, template: str | None = None, enable_for: str = "text") -> None:
        self.template = template
        self.enable_for = enable_for

    def merged(self, own: SystemPromptModel | None) -> SystemPrompt:
        """Return these settings with a task's own ones over them."""
        if own is None:
            return self
        return SystemPrompt(_template(own.template, self.template), own.enable_for or self.enable_for)


def merge_tools(own: ToolSelectorModel | None, base: ToolSelectorModel | None) -> tuple[ToolSelection, ...]:
    """Return the enabled tools: defaults first, in their order, then the task's further ones."""
    disabled = False
    merged: dict[str, dict[str, Any]] = {}
    for selector in (base, own):
        if selector is None:
            continue
        disabled = _own(selector.disabled, disabled)
        for tool in selector.tools:
            known = merged.setdefault(tool.name, {})
            known.update((key, value) for key, value in _settings(tool) if value is not None)
    return tuple(
        ToolSelection(
            name=name,
            max_calls=tool.get("max_calls"),
            limits=ContainerLimits(tool.get("timeout"), tool.get("max_memory_mb"), tool.get("cpu_percent")),
        )
        for name, tool in merged.items()
        if not tool.get("disabled", disabled)
    )


def _settings(tool: ToolChoiceModel) -> Iterable[tuple[str, Any]]:
    for key in ("disabled", "max_calls", "timeout", "max_memory_mb", "cpu_percent"):
        yield key, getattr(tool, key)


def merge_service_inputs(
    own: ToolSelectorModel | None, base: ToolSelectorModel | None
) -> Mapping[str, Mapping[str, Any]]:
    """Return service inputs per service and input, the task's values winning."""
    if own is None or not own.service_inputs:
        return base.service_inputs if base is not None else {}
    merged = {service: dict(inputs) for service, inputs in (base.service_inputs if base is not None else {}).items()}
    for service, inputs in own.service_inputs.items():
        merged.setdefault(service, {}).update(inputs)
    return merged


def file_settings(file: FileModel, base: FileOptionsModel | None) -> tuple[str, frozenset[Access]]:
    """Return image detail and access of a file; a written access list replaces the inherited one."""
    detail, access = "", None
    for options in (base, file.options):
        if options is not None:
            detail = options.image_detail or detail
            access = _own(options.access, access)
    return detail, BOTH_ACCESSES if access is None else frozenset(access)
