"""Rules between the keys of a merged task; disabled tasks are held to them too.

Judge, validator, tool and service *names* need the configuration and are checked later (``suite/start_checks.py``).
Source: spec mindtrial 2.3, 2.4, 2.9 (rule numbers in the code).
"""

from __future__ import annotations

from collections.abc import Callable, Mapping
from typing import Any, TypeAlias

from pytest_mindtrial.suite.json_schema import json_problem, mismatch, schema_problem
from pytest_mindtrial.suite.model import JudgePrompt, Rules, Task
from pytest_mindtrial.suite.templates import template_problem

__all__ = ["Report", "check_service_inputs", "check_task"]

Report: TypeAlias = Callable[..., None]
"""Takes a message and the keys, below the task, of the value at fault."""

_FORMAT, _EXPECTED, _RULES = "response-result-format", "expected-result", "validation-rules"


def check_task(task: Task, report: Report) -> None:
    """Report every rule a task breaks."""
    rules = task.rules
    format_is_usable = _check_format(task, report)  # 6, 7, 8
    if _check_exclusions(rules, report):
        _check_expected(task, format_is_usable, report)
        if rules.judge.enabled:
            _check_judge(task, report)


def _check_exclusions(rules: Rules, report: Report) -> bool:
    """Check rules 2 and 3; return whether what follows makes sense."""
    if rules.custom_validator and (rules.schema_validation or rules.judge.enabled):
        message = "custom-validator is mutually exclusive with schema-validation and judge validation"
        report(message, _RULES, "custom-validator")
        return False
    if rules.schema_validation and rules.judge.enabled:
        report("schema-validation and judge validation are mutually exclusive", _RULES, "schema-validation")
        return False
    return True


def _check_format(task: Task, report: Report) -> bool:
    """Check that the format is text or a schema."""
    form: Any = task.response_format
    if isinstance(form, str):
        return True
    if not isinstance(form, Mapping):
        message = f"{_FORMAT} must be either plain text or a JSON schema object, found {form!r}"
        report(message, _FORMAT)
        return False
    problem = schema_problem(form)
    if problem:
        report(f"{_FORMAT} contains an invalid JSON schema: {problem}", _FORMAT)
    return problem is None


def _check_expected(task: Task, format_is_usable: bool, report: Report) -> None:
    if task.rules.custom_validator:
        problem = json_problem(task.expected)
        if problem:
            report(f"{_EXPECTED} must be JSON, so that the validator can read it: {problem}", _EXPECTED)
        return
    if not task.expected:
        report("expected-result is required unless custom-validator is configured", _EXPECTED)  # 4
    elif task.rules.schema_validation:
        _check_expected_schema(task.expected, report)
    elif format_is_usable and isinstance(task.response_format, str):
        _check_texts(task.expected, report)
    elif format_is_usable:
        _check_conformity(task.response_format, task.expected, report)


def _check_expected_schema(expected: tuple[Any, ...], report: Report) -> None:
    """Check rule 7."""
    if len(expected) != 1 or not isinstance(expected[0], Mapping):
        found = f"{len(expected)} values" if len(expected) > 1 else repr(expected[0])
        report(
            f"with schema-validation, {_EXPECTED} must contain exactly one JSON Schema object, found {found}", _EXPECTED
        )
        return
    problem = schema_problem(expected[0])
    if problem:
        report(f"{_EXPECTED} contains an invalid JSON schema: {problem}", _EXPECTED)


def _check_texts(expected: tuple[Any, ...], report: Report) -> None:
    """Check rule 8 for plain-text formats."""
    for index, value in enumerate(expected):
        if not isinstance(value, str):
            shown = value.isoformat() if hasattr(value, "isoformat") else repr(value)
            report(
                f"when {_FORMAT} is plain text, all {_EXPECTED} values must be plain text, found {shown}"
                f"{'' if isinstance(value, Mapping | list) else '; put it in quotes'}",
                _EXPECTED,
                index,
            )


def _check_conformity(schema: Any, expected: tuple[Any, ...], report: Report) -> None:
    """Check rule 8 for schemas."""
    for index, value in enumerate(expected):
        problem = mismatch(schema, value)
        if problem:
            hint = ""
            if schema.get("type") == "array" and not isinstance(value, list):
                hint = "; an array answer is written as a list inside the list of alternatives"
            report(
                f"{_EXPECTED} does not conform to {_FORMAT} schema: item {index + 1} {problem}{hint}", _EXPECTED, index
            )


def _check_judge(task: Task, report: Report) -> None:
    if not isinstance(task.response_format, str):
        report(f"semantic validation cannot be used with structured schema-based {_FORMAT}", _RULES, "judge")  # 9
        return
    prompt = task.rules.judge.prompt
    place = (_RULES, "judge", "prompt")
    if (prompt.verdict_format is None) != (prompt.passing_verdicts is None):  # 10
        report("verdict-format and passing-verdicts must either both be specified or both be left unset", *place)
    elif prompt.verdict_format is not None:
        _check_verdicts(prompt, report, place)


def _check_verdicts(prompt: JudgePrompt, report: Report, place: tuple[str, ...]) -> None:
    form: Any = prompt.verdict_format
    verdicts = prompt.passing_verdicts or ()
    if not isinstance(form, str | Mapping):
        report(
            f"verdict-format must be either plain text or a JSON schema object, found {form!r}",
            *place,
            "verdict-format",
        )
        return
    problem = schema_problem(form) if isinstance(form, Mapping) else None
    if problem:
        report(f"verdict-format contains an invalid JSON schema: {problem}", *place, "verdict-format")
        return
    if not verdicts:
        report("passing-verdicts must specify at least one value", *place, "passing-verdicts")  # 11
    elif _is_schema_set(verdicts):
        problem = schema_problem(verdicts[0])  # 12
        if problem:
            report(f"passing-verdicts contains an invalid JSON schema: {problem}", *place, "passing-verdicts")
    else:
        _check_literal_verdicts(form, verdicts, report, (*place, "passing-verdicts"))


def _is_schema_set(verdicts: tuple[Any, ...]) -> bool:
    if len(verdicts) != 1 or not isinstance(verdicts[0], Mapping):
        return False
    named = verdicts[0].get("$schema")
    return isinstance(named, str) and bool(named.strip())


def _check_literal_verdicts(form: Any, verdicts: tuple[Any, ...], report: Report, place: tuple[str, ...]) -> None:
    """Check rule 13."""
    for index, verdict in enumerate(verdicts):
        if isinstance(form, str):
            problem = None if isinstance(verdict, str) else f"must be a plain text, found {verdict!r}"
        else:
            problem = mismatch(form, verdict)
        if problem:
            report(f"passing-verdicts do not conform to verdict-format: item {index + 1} {problem}", *place, index)


def check_service_inputs(inputs: Mapping[str, Mapping[str, Any]], report: Report) -> None:
    """Check rule 5 and the syntax of text inputs."""
    for service, values in inputs.items():
        if not service.strip():
            report("service-inputs needs the name of a service, found a blank key", "service-inputs", service)
        for name, value in values.items():
            place = ("service-inputs", service, name)
            if not name.strip():
                report(f"service-inputs {service} needs the name of an input, found a blank key", *place)
            elif not isinstance(value, str | bool | int | float):
                report(f"service-inputs {service}.{name} must be a scalar value: a text, number or boolean", *place)
            elif isinstance(value, str):
                problem = template_problem(value, "service input")
                if problem:
                    report(problem, *place)
