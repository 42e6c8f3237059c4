"""A terminal that remembers what a person would see: rows, a cursor, scrolling, and the few sequences in use.

Does not know colours or full-screen programs; an unknown sequence is an error, so that a test notices it.
"""

from __future__ import annotations

import re

__all__ = ["Screen"]

_PIECES = re.compile(r"\x1b\[(\d*)([A-Za-z])|\r|\n|[^\x1b\r\n]+")


class Screen:
    """What stands on a terminal, including what has scrolled out of it.

    Args:
        rows: Height; a line feed in the last row scrolls.
        columns: Width; longer lines wrap.
    """

    def __init__(self, rows: int = 24, columns: int = 80) -> None:
        self._rows = rows
        self._columns = columns
        self._lines = [""]
        self._row = 0
        self._column = 0

    def write(self, text: str) -> None:
        """Take output as a terminal does."""
        for piece in _PIECES.finditer(text):
            if piece[2]:
                self._move(piece[2], int(piece[1] or 1))
            elif piece[0] == "\r":
                self._column = 0
            elif piece[0] == "\n":
                self._feed()
            else:
                for character in piece[0]:
                    self._put(character)

    @property
    def text(self) -> str:
        """Everything, trailing blanks removed."""
        return "\n".join(line.rstrip() for line in self._lines).rstrip("\n")

    def _feed(self) -> None:
        self._row += 1
        if self._row == len(self._lines):
            self._lines.append("")

    def _put(self, character: str) -> None:
        if self._column == self._columns:
            self._column = 0
            self._feed()
        line = self._lines[self._row].ljust(self._column)
        self._lines[self._row] = line[: self._column] + character + line[self._column + 1 :]
        self._column += 1

    def _move(self, kind: str, count: int) -> None:
        if kind == "A":
            top = max(0, len(self._lines) - self._rows)  # the cursor cannot leave the visible rows
            self._row = max(top, self._row - count)
        elif kind == "C":
            self._column = min(self._columns - 1, self._column + count)
        elif kind == "J":
            self._lines[self._row] = self._lines[self._row][: self._column]
            # Erased rows stay rows: what scrolled does not come back.
            self._lines[self._row + 1 :] = ["" for _ in self._lines[self._row + 1 :]]
        else:
            raise AssertionError(f"unknown sequence: {kind}")
