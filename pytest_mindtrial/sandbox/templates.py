"""Templates of service inputs, dependency environments and custom validators: fields, functions, data.

Does not parse or render by itself (`suite.gotemplate`). Parsed templates are kept, because the same few are rendered
for every attempt. Source: seed 000, section Templates; spec docker 7; spec mindtrial 3.
"""

from __future__ import annotations

import functools
from collections.abc import Mapping
from typing import Any, Literal

from pytest_mindtrial.core.errors import Position
from pytest_mindtrial.sandbox.endpoints import ServiceEndpoint
from pytest_mindtrial.suite.gotemplate import (
    EXECUTION_FIELDS,
    EXECUTION_FUNCTIONS,
    SERVICE_FIELDS,
    VALIDATOR_FIELDS,
    FieldSpec,
    Template,
    parse,
)

__all__ = ["TemplateKind", "check_template", "execution_data", "render", "render_dependency"]

TemplateKind = Literal["service input", "dependency env", "validator"]

_FIELDS: Mapping[str, FieldSpec] = {
    "service input": EXECUTION_FIELDS,
    "dependency env": SERVICE_FIELDS,
    "validator": VALIDATOR_FIELDS,
}


def check_template(text: str, kind: TemplateKind, where: str, position: Position | None = None) -> None:
    """Parse a template to find mistakes before anything runs.

    Args:
        text: The template.
        kind: Decides the fields.
        where: Which template, for the message, such as ``validator 'cart' env EXPECTED``.
        position: Of the definition that holds it.

    Raises:
        TemplateError: Syntax error, unknown function or unknown field.
    """
    parse(text, kind=where, functions=EXECUTION_FUNCTIONS, fields=_FIELDS[kind], position=position)


def render(text: str, kind: TemplateKind, data: Mapping[str, Any]) -> str:
    """Return a template's text for the data.

    Raises:
        TemplateError: The template is wrong or a field is missing.
    """
    return _parsed(text, kind).render(data)


def render_dependency(text: str, endpoint: ServiceEndpoint) -> str:
    """Return the text of a dependency's variable for a running service."""
    data = {"Name": endpoint.name, "Host": endpoint.host, "Port": endpoint.port, "Endpoint": endpoint.url}
    return render(text, "dependency env", data)


def execution_data(seed: str, task: str, provider: str, run: str) -> dict[str, Any]:
    """Return the data that service inputs and validators share."""
    return {
        "Evaluation": {"Seed": seed},
        "Task": {"Name": task},
        "Provider": {"Name": provider},
        "Run": {"Name": run},
    }


@functools.lru_cache(maxsize=512)
def _parsed(text: str, kind: TemplateKind) -> Template:
    return parse(text, kind=kind, functions=EXECUTION_FUNCTIONS, fields=_FIELDS[kind])
