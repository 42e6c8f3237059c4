"""A difference in the patch text form of the diff-match-patch libraries, as MindTrial shows a wrong answer.

Does not apply patches. A patch is ``@@ -start,length +start,length @@`` and lines that begin with a space, ``-`` or
``+``; their texts are percent-encoded like a URI, so a newline is ``%0A``. Starts are 1-based and count in the text as
changed by the patches before. Source: spec mindtrial 7.3; the published format ("Unidiff", diff-match-patch wiki).
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from urllib.parse import quote

from pytest_mindtrial.results.diff import Piece, diff

__all__ = ["patch_text"]

_MARGIN = 4
_MAX_PATTERN = 32
_PLAIN = "!~*'();/?:@&=+$,# -_."
_PREFIX = {"=": " ", "-": "-", "+": "+"}


def patch_text(old: str, new: str) -> str:
    """Return the patch that turns ``old`` into ``new``, lines ended by a newline; blank when they are equal."""
    pieces = diff(old, new)
    return "".join(_render(group, start, current) for group, start, current in _groups(pieces, old, new))


def _groups(pieces: Sequence[Piece], old: str, new: str) -> Iterator[tuple[list[Piece], int, str]]:
    """Yield edits that lie close together, where they start, and the text they apply to."""
    group: list[Piece] = []
    at_old = at_new = start = 0
    current = old
    for index, piece in enumerate(pieces):
        size = len(piece.text)
        if piece.op != "=":
            if not group:
                start = at_new
                current = new[:at_new] + old[at_old:]
            group.append(piece)
        elif group:
            if size <= 2 * _MARGIN and index + 1 < len(pieces):
                group.append(piece)
            if size >= 2 * _MARGIN:
                yield group, start, current
                group = []
        at_old += size if piece.op != "+" else 0
        at_new += size if piece.op != "-" else 0
    if group:
        yield group, start, current


def _render(group: Sequence[Piece], start: int, current: str) -> str:
    old_size = sum(len(piece.text) for piece in group if piece.op != "+")
    new_size = sum(len(piece.text) for piece in group if piece.op != "-")
    before, after = _context(current, start, old_size)
    start -= len(before)
    shared = len(before) + len(after)
    lines = [f"@@ -{_range(start, old_size + shared)} +{_range(start, new_size + shared)} @@"]
    for op, text in (("=", before), *group, ("=", after)):
        if text:
            lines.append(_PREFIX[op] + quote(text, safe=_PLAIN, errors="replace"))
    return "\n".join(lines) + "\n"


def _context(current: str, start: int, size: int) -> tuple[str, str]:
    """Return as much text around the edit as makes the place unique, plus a margin."""
    padding = 0
    pattern = current[start : start + size]
    while len(pattern) < _MAX_PATTERN - 2 * _MARGIN and current.find(pattern) != current.rfind(pattern):
        padding += _MARGIN
        pattern = current[max(0, start - padding) : start + size + padding]
    padding += _MARGIN
    return current[max(0, start - padding) : start], current[start + size : start + size + padding]


def _range(start: int, size: int) -> str:
    if size == 0:
        return f"{start},0"
    return f"{start + 1}" if size == 1 else f"{start + 1},{size}"
