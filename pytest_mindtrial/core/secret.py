"""A value that must never be written: API keys.

Does not encrypt; it makes accidental printing, formatting, pickling and serialising impossible.
"""

from __future__ import annotations

import re
import threading
from json.encoder import encode_basestring_ascii
from typing import NoReturn

__all__ = ["Redactor", "Secret"]

_MASK = "**********"


class Secret:
    """A string that shows only through `reveal`."""

    __slots__ = ("_value",)

    def __init__(self, value: str) -> None:
        self._value = value

    def reveal(self) -> str:
        """Return the text; call it only where a request header is built."""
        return self._value

    def __repr__(self) -> str:
        return f"Secret({_MASK})"

    def __str__(self) -> str:
        return _MASK

    def __format__(self, spec: str) -> str:
        return format(_MASK, spec)

    def __eq__(self, other: object) -> bool:
        return isinstance(other, Secret) and other._value == self._value

    def __hash__(self) -> int:
        return hash(("Secret", self._value))

    def __reduce__(self) -> NoReturn:
        raise TypeError("a Secret cannot be serialised")


class Redactor:
    """Replaces every known secret in a text; the writers apply it to all they write. Usable from several threads.

    Secrets shorter than 6 characters are ignored: replacing them would garble ordinary text.
    """

    def __init__(self) -> None:
        self._values: tuple[str, ...] = ()
        self._in_json: tuple[str, ...] = ()
        self._lock = threading.Lock()

    @property
    def version(self) -> int:
        """How many secrets are known. What was searched at this version need not be searched again until it grows."""
        return len(self._values)

    def add(self, secret: Secret) -> None:
        """Learn a secret."""
        value = secret.reveal()
        with self._lock:
            if len(value) >= 6 and value not in self._values:
                # New tuples, because other threads may be going through the old ones; what `version` counts comes last.
                self._in_json = (*self._in_json, encode_basestring_ascii(value)[1:-1])
                self._values = (*self._values, value)

    def __call__(self, text: str) -> str:
        """Return the text with every known secret masked; those that overlap or contain each other by one mask."""
        places: list[tuple[int, int]] = []
        for value in self._values:
            if value in text:
                places += [match.span(1) for match in re.finditer(f"(?=({re.escape(value)}))", text)]
        if not places:
            return text
        pieces, end = [], 0
        for start, stop in sorted(places):
            if start >= end:
                pieces += [text[end:start], _MASK]
            end = max(end, stop)
        return "".join(pieces) + text[end:]

    def may_be_in(self, text: str) -> bool:
        """Tell whether a secret may stand in a string of an ASCII JSON text; False is certain, True is not.

        Each character has one form in such a text (that of Python's ``json``), so a string with the secret in it shows
        the secret's own form, whatever characters it has. Other text may look like it by chance.
        """
        return any(value in text for value in self._in_json)
