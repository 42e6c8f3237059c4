"""Pages about model parameters and the mock's script, from the tables that the loader uses.

Does not list models: services change them daily.
"""

from __future__ import annotations

import inspect
import re

from pytest_mindtrial.providers import mock_script
from pytest_mindtrial.providers.local_server import LocalOptions
from pytest_mindtrial.suite.field_types import kebab
from pytest_mindtrial.suite.keys import KEY_VARIABLES
from pytest_mindtrial.suite.parameter_rows import TABLES
from pytest_mindtrial.suite.parameter_types import ParameterTable, Row
from reference.markdown import code, page, prose, table

__all__ = ["mock", "model_parameters"]


def model_parameters() -> str:
    parts = []
    for name, rows in TABLES.items():
        parts += [f"## {name}", _provider_note(name, rows)]
        if rows.rows:
            parts.append(table(("parameter", "value", "default", "meaning"), map(_parameter_row, rows.rows)))
        parts += [_exclusions(rows)]
    parts += ["## client-config of local", prose(LocalOptions.__doc__ or "", names=kebab)]
    introduction = (
        "What may stand under `model-parameters` of a run, by provider. A parameter that is not written is not sent, "
        "so that the service's own default holds; the default column says what that is where it is known."
    )
    return page("Model parameters", introduction, *parts)


def _provider_note(name: str, rows: ParameterTable) -> str:
    notes = []
    if variable := KEY_VARIABLES.get(name):
        notes.append(f"Key: `{variable}`.")
    if rows.passes_unknown:
        reserved = ", ".join(map(code, rows.reserved))
        notes.append(
            "Any further parameter goes into the request unchanged; it is written with underscores, as the service "
            f"names it. Not {reserved}: the run sets them."
        )
    if rows.is_free:
        notes.append("Free of charge; its parameters are its script, see [mock](mock.md).")
    return " ".join(notes)


def _parameter_row(row: Row) -> tuple[str, str, str, str]:
    meaning = row.description + (f" **Deprecated:** {row.deprecated}" if row.deprecated else "")
    if row.ignored_in:
        meaning += f" Not sent by: {', '.join(row.ignored_in)}."
    return code(row.name), _parameter_value(row), row.default or "–", meaning


_KINDS = {"bool": "true or false", "int": "whole number", "number": "number", "server-tools": "list of maps"}


def _parameter_value(row: Row) -> str:
    if row.kind == "choice":
        return ", ".join(map(code, row.choices))
    word = {"bool": "true or false", "int": "whole number", "number": "number", "server-tools": "list of maps"}[
        row.kind
    ]
    if row.minimum is None and row.maximum is None:
        return word
    if row.maximum is None:
        return f"{word}, at least {row.minimum:.12g}"
    return f"{word}, {row.minimum:.12g} to {row.maximum:.12g}"


def _exclusions(rows: ParameterTable) -> str:
    return "\n".join(f"- `{pair.first}` excludes `{pair.second}`: {pair.advice}." for pair in rows.exclusions)


def mock() -> str:
    text = inspect.cleandoc(mock_script.__doc__ or "")
    _, _, body, rest = re.split(r"^=+ +=+$", text, flags=re.MULTILINE)
    rows: list[list[str]] = []
    for line in body.strip("\n").splitlines():
        key, meaning = line[:13].strip(), line[13:].strip()
        if key:
            rows.append([code(key), meaning])
        else:
            rows[-1][1] += " " + meaning
    cells = [(key, meaning.replace("``", "`")) for key, meaning in rows]
    introduction = (
        "The `mock` provider answers inside the process, for free and always in the same way. Reports mark its "
        "results. What stands under `model-parameters` of a run is its script; [models](../guide/models.md#mock) shows "
        "it at work."
    )
    return page(
        "Mock script", introduction, table(("key", "meaning"), cells), " ".join(rest.replace("``", "`").split())
    )
