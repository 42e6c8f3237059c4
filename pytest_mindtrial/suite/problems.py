"""Gathers every mistake of a file, so that the user corrects them in one go.

Does not find mistakes.
"""

from __future__ import annotations

from collections.abc import Sequence

from pytest_mindtrial.core.errors import Position, UserError
from pytest_mindtrial.suite.nodes import Document, Node, Path, child, find, keys_of, path_text

__all__ = ["MAX_SHOWN", "Problems"]

MAX_SHOWN = 20
"""Mistakes listed in one message."""


class Problems:
    """Mistakes of one file.

    Args:
        document: The file; gives positions.
        error: Class of what is raised.
    """

    def __init__(self, document: Document, error: type[UserError]) -> None:
        self.document = document
        self._error = error
        self._found: list[UserError] = []
        self._paths: set[str] = set()

    def __len__(self) -> int:
        return len(self._found)

    def add(self, message: str, node: Node, path: Path) -> None:
        """Remember a mistake at a node."""
        self._paths.add(path_text(path))
        self._found.append(self._error(message, self.document.position(node, path)))

    def add_at(self, message: str, node: Node, path: Path, *keys: str | int) -> None:
        """Remember a mistake below a node: at the deepest of ``keys`` that is written, named by the full path."""
        place = node
        for key in keys:
            path = (path, key)
            found = child(place, key)
            place = place if found is None else found
        self.add(message, place, path)

    def add_path(self, message: str, path: Path) -> None:
        """Remember a mistake at a path from the root: at its deepest part that is written."""
        self.add_at(message, self.document.root, None, *keys_of(path))

    def position(self, path: Path) -> Position:
        """Return where the value of a path is."""
        return self.document.position(find(self.document.root, path), path)

    def extend(self, errors: Sequence[UserError]) -> None:
        """Remember mistakes that already know their place."""
        self._found += errors

    def covers(self, path: Path) -> bool:
        """True when a mistake was found at a path or at one of its parents, so that what follows from it is no news."""
        while path is not None:
            if path_text(path) in self._paths:
                return True
            path = path[0]
        return False

    def raise_if_any(self) -> None:
        """Raise one error with all mistakes, in file order.

        Raises:
            UserError: Of the class given; carries the position of the first mistake.
        """
        if not self._found:
            return
        self._found.sort(key=_place)
        if len(self._found) == 1:
            raise self._found[0]
        count = len(self._found)
        lines = [f"{self.document.file}: {count} problems", *(f"  {item}" for item in self._found[:MAX_SHOWN])]
        if count > MAX_SHOWN:
            lines.append(f"  … and {count - MAX_SHOWN} more")
        error = self._error("\n".join(lines))
        error.position = self._found[0].position
        raise error


def _place(error: UserError) -> tuple[int, int]:
    position: Position | None = error.position
    return (position.line, position.column) if position else (0, 0)
