"""Typed access to the members of a JSON document, with the place in every message.

Does not know what the members mean (``results/json_reader.py``). Unknown members are ignored; a member of another type
is an error; a missing or null member is its zero value, as in MindTrial.
"""

from __future__ import annotations

import json
from collections.abc import Iterator, Mapping
from dataclasses import dataclass
from typing import Any, NoReturn

from pytest_mindtrial.core.errors import ResultsError
from pytest_mindtrial.core.gonumbers import LiteralFloat

__all__ = ["Fields", "parse_json"]

_NAMES = {dict: "an object", list: "an array", str: "a string", bool: "a boolean", int: "an integer", float: "a number"}


def _number(literal: str) -> float:
    value = float(literal)
    return value if len(literal) <= 17 else LiteralFloat(literal)


def _refuse_constant(name: str) -> NoReturn:
    raise ValueError(f"{name} is not a JSON number")


def parse_json(text: str) -> Any:
    """Read one JSON document; integers are exact, long decimals keep their digits, the last duplicate member wins.

    Raises:
        ResultsError: The text is no JSON, is nested too deeply or goes on after the document.
    """
    try:
        return json.loads(text, parse_float=_number, parse_constant=_refuse_constant)
    except json.JSONDecodeError as error:
        what = "text after the document" if error.msg == "Extra data" else error.msg
        raise ResultsError(f"{what} (line {error.lineno}, column {error.colno})") from error
    except RecursionError as error:
        raise ResultsError("the document is nested too deeply") from error
    except ValueError as error:
        raise ResultsError(str(error)) from error


@dataclass(frozen=True, slots=True)
class Fields:
    """One object of the document.

    Attributes:
        data: Its members.
        path: Where it is, such as ``Results.openai[3].Details``.
    """

    data: Mapping[str, Any]
    path: str

    @classmethod
    def of(cls, value: Any, path: str) -> Fields:
        """Wrap a value that must be an object."""
        if not isinstance(value, dict):
            _wrong_type(path, "an object", value)
        return cls(value, path)

    def text(self, name: str) -> str:
        """Return a string member; blank when missing."""
        return self._typed(name, str, "")  # type: ignore[no-any-return]  # checked inside

    def integer(self, name: str) -> int:
        """Return an integer member; 0 when missing."""
        return self._typed(name, int, 0)  # type: ignore[no-any-return]  # checked inside

    def optional_integer(self, name: str) -> int | None:
        """Return an integer member; None when missing."""
        return self._typed(name, int, None)  # type: ignore[no-any-return]  # checked inside

    def boolean(self, name: str) -> bool | None:
        """Return a boolean member; None when missing."""
        return self._typed(name, bool, None)  # type: ignore[no-any-return]  # checked inside

    def mapping(self, name: str) -> dict[str, Any] | None:
        """Return an object member as it is; None when missing."""
        return self._typed(name, dict, None)  # type: ignore[no-any-return]  # checked inside

    def child(self, name: str) -> Fields | None:
        """Return an object member wrapped; None when missing."""
        value = self.mapping(name)
        return None if value is None else Fields(value, self._path(name))

    def children(self, name: str) -> Iterator[Fields]:
        """Yield the objects of an array member."""
        for index, item in enumerate(self._typed(name, list, [])):
            yield Fields.of(item, f"{self._path(name)}[{index}]")

    def named_children(self, name: str) -> Iterator[tuple[str, Fields]]:
        """Yield the members of an object member, which must be objects."""
        for key, item in (self.mapping(name) or {}).items():
            yield key, Fields.of(item, f"{self._path(name)}.{key}")

    def texts(self, name: str) -> tuple[str, ...]:
        """Return an array of strings; empty when missing."""
        items = self._typed(name, list, [])
        for index, item in enumerate(items):
            if not isinstance(item, str):
                _wrong_type(f"{self._path(name)}[{index}]", "a string", item)
        return tuple(items)

    def lines(self, name: str) -> str:
        """Return an array of lines as one text."""
        return "\n".join(self.texts(name))

    def line_lists(self, name: str) -> tuple[str, ...]:
        """Return an array of arrays of lines as texts; a null inside is an empty text."""
        inner = {f"[{index}]": item for index, item in enumerate(self._typed(name, list, []))}
        nested = Fields(inner, self._path(name))
        return tuple(nested.lines(key) for key in inner)

    def _path(self, name: str) -> str:
        return f"{self.path}.{name}" if self.path and not name.startswith("[") else self.path + name

    def _typed(self, name: str, kind: type, missing: Any) -> Any:
        value = self.data.get(name)
        if value is None:
            return missing
        if not isinstance(value, kind) or (kind is int and isinstance(value, bool)):
            _wrong_type(self._path(name), _NAMES[kind], value)
        return value


def _wrong_type(path: str, expected: str, value: Any) -> NoReturn:
    found = "null" if value is None else _NAMES.get(type(value), "a number")
    raise ResultsError(f"{path}: expected {expected}, found {found}")
