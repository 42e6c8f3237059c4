"""Environment variables from several sources, where equal values agree and different ones are an error.

Does not render templates. Source: spec docker 5.3 and 5.7.
"""

from __future__ import annotations

from collections.abc import Mapping

from pytest_mindtrial.core.errors import SandboxRuntimeError
from pytest_mindtrial.core.gonumbers import json_float

__all__ = ["Environment", "scalar_text"]


class Environment:
    """Variables of one container under construction.

    Args:
        owner: Whose environment, for messages, such as ``service 'cart'``.
        own: Variables that the definition itself sets.
    """

    def __init__(self, owner: str, own: Mapping[str, str]) -> None:
        self._owner = owner
        self._values = dict(own)
        self._sources = dict.fromkeys(own, "env")

    def set(self, variable: str, value: str, source: str) -> None:
        """Set a variable.

        Raises:
            SandboxRuntimeError: It already has another value; the message names both sources but no value, because
                values may be secrets.
        """
        if self._values.setdefault(variable, value) != value:
            raise SandboxRuntimeError(
                f"{self._owner}: variable {variable} gets different values from {self._sources[variable]} and {source}"
            )
        self._sources.setdefault(variable, source)

    @property
    def values(self) -> Mapping[str, str]:
        """Return the variables."""
        return self._values


def scalar_text(value: str | bool | int | float) -> str:
    """Return a service input that is not a template as the service sees it."""
    if isinstance(value, bool):
        return "true" if value else "false"
    return json_float(value) if isinstance(value, float) else str(value)
