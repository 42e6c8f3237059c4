"""A value that must never be written: API keys.

Does not encrypt; it makes accidental printing, formatting, pickling and serialising impossible.
"""

from __future__ import annotations

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
    """Replaces every known secret in a text; the writers apply it to all they write.

    Secrets shorter than 6 characters are ignored: replacing them would garble ordinary text.
    """

    def __init__(self) -> None:
        self._values: set[str] = set()

    def add(self, secret: Secret) -> None:
        """Learn a secret."""
        if len(secret.reveal()) >= 6:
            self._values.add(secret.reveal())

    def __call__(self, text: str) -> str:
        """Return the text with every known secret masked."""
        for value in self._values:
            if value in text:
                text = text.replace(value, _MASK)
        return text
