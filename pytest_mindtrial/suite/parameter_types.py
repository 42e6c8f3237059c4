"""Shape of the model-parameter tables: rows, exclusions, one table per provider.

Holds no rows (``suite/parameter_rows.py``) and checks nothing (``suite/parameters.py``). Source: spec providers 14.1.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field
from functools import cached_property
from typing import Any, Literal, NamedTuple

__all__ = ["Dialect", "Exclusion", "ParameterTable", "Row", "RowKind"]

Dialect = Literal["chat", "responses", "anthropic", "google"]
"""Request shapes: ``chat`` is the chat-completions dialect of all vendors that speak it (and of ``local``)."""

RowKind = Literal["bool", "int", "number", "choice", "server-tools"]


@dataclass(frozen=True, slots=True, eq=False)
class Row:
    """One parameter of one provider.

    Attributes:
        name: Key as written in ``model-parameters``.
        kind: What the value must be; ``choice`` is one of ``choices``.
        description: One or two sentences for the manual and the editor.
        minimum: Smallest allowed number, included; None = unchecked.
        maximum: Largest allowed number, included; None = unchecked.
        choices: Allowed words of a ``choice``.
        default: What holds when the key is missing, in words; blank = the model's own default.
        deprecated: Why and what to use instead; blank = current.
        target: Dotted path in the request body; None = code decides (response modes, streaming, thinking, caching).
        responses_target: The same for the OpenAI Responses API.
        ignored_in: Dialects that cannot carry the parameter: it is dropped there with one warning per run.
        values: Written word → value sent, where they differ.
        rejected_by: Beginnings of model names known to answer the parameter with an error. It is sent all the same,
            after a warning: services change their mind.
    """

    name: str
    kind: RowKind
    description: str
    minimum: float | None = None
    maximum: float | None = None
    choices: tuple[str, ...] = ()
    default: str = ""
    deprecated: str = ""
    target: str | None = None
    responses_target: str | None = None
    ignored_in: tuple[Dialect, ...] = ()
    values: Mapping[str, Any] = field(default_factory=dict)
    rejected_by: tuple[str, ...] = ()

    def target_in(self, dialect: Dialect) -> str | None:
        """Return the body path for a dialect; None = code decides, or the dialect ignores the parameter."""
        if dialect in self.ignored_in:
            return None
        return self.responses_target if dialect == "responses" else self.target

    def sent(self, value: Any) -> Any:
        """Return the value as it goes into the request body."""
        return self.values.get(value, value) if self.values else value


class Exclusion(NamedTuple):
    """Two parameters that may not both be set. A boolean written as false counts as not set."""

    first: str
    second: str
    advice: str


@dataclass(frozen=True, eq=False)
class ParameterTable:
    """All parameters of one provider.

    Attributes:
        provider: Provider name.
        rows: In manual order.
        exclusions: Pairs that exclude each other.
        passes_unknown: True when further keys go into the request body unchanged (OpenRouter); a key with a hyphen is
            then still an error, because request bodies have none.
        reserved: Pass-through keys that may not be given, because the request builder owns them.
        is_free: True when any key is accepted and its meaning is the provider's own business (``mock``).
    """

    provider: str
    rows: tuple[Row, ...]
    exclusions: tuple[Exclusion, ...] = ()
    passes_unknown: bool = False
    reserved: tuple[str, ...] = ()
    is_free: bool = False

    @cached_property
    def by_name(self) -> Mapping[str, Row]:
        """Rows by their key."""
        return {row.name: row for row in self.rows}
