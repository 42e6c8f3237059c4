"""The difference of two texts as a short list of equal, deleted and inserted pieces.

Myers' linear-space method on characters (on lines first, when both texts are long), then the clean-up of
``results/diff_cleanup.py``. Does not render; see ``results/patch_text.py``. The work is bounded by a step count, not by
a clock, so equal texts give equal diffs on every machine; past the bound, the rest is one deletion and one insertion.

Source: spec mindtrial 7.3; Myers, "An O(ND) Difference Algorithm and Its Variations", 1986; the published behaviour of
the diff-match-patch libraries.
"""

from __future__ import annotations

import functools
import re
from typing import Literal

from pytest_mindtrial.results.diff_cleanup import Piece, common_prefix, common_suffix, merge, semantic

__all__ = ["Piece", "diff"]

_MAX_STEPS = 60_000
"""Inner steps for one pair of texts: about 20 ms, enough for some 400 scattered changes."""

_LINE_MODE = 100
"""Characters from which on two texts are compared by lines first."""

_LINE = re.compile(r"[^\n]*\n|[^\n]+")


@functools.lru_cache(maxsize=64)
def diff(old: str, new: str) -> tuple[Piece, ...]:
    """Return the pieces that turn ``old`` into ``new``; nothing for two empty texts.

    Invariant: the texts of equal and deleted pieces joined are ``old``, of equal and inserted pieces ``new``.
    """
    return tuple(semantic(_Differ().compare(old, new)))


class _Differ:
    """One comparison with its budget of steps."""

    def __init__(self) -> None:
        self._steps_left = _MAX_STEPS

    def compare(self, old: str, new: str, by_lines: bool = True) -> list[Piece]:
        """Return merged pieces, not yet cleaned up for reading."""
        if old == new:
            return [Piece("=", old)] if old else []
        start = common_prefix(old, new)
        head, old, new = old[:start], old[start:], new[start:]
        end = common_suffix(old, new)
        tail = old[len(old) - end :]
        middle = self._changed(old[: len(old) - end], new[: len(new) - end], by_lines)
        return merge([Piece("=", head), *middle, Piece("=", tail)])

    def _changed(self, old: str, new: str, by_lines: bool) -> list[Piece]:
        """Compare two different texts without common ends."""
        if not old or not new:
            return [Piece("-", old), Piece("+", new)]
        short, long = (old, new) if len(old) < len(new) else (new, old)
        outer: Literal["+", "-"] = "+" if long is new else "-"
        at = long.find(short)
        if at >= 0:
            return [Piece(outer, long[:at]), Piece("=", short), Piece(outer, long[at + len(short) :])]
        if len(short) == 1:
            return [Piece("-", old), Piece("+", new)]
        if by_lines and len(old) > _LINE_MODE and len(new) > _LINE_MODE:
            return self._by_lines(old, new)
        return self._split(old, new)

    def _by_lines(self, old: str, new: str) -> list[Piece]:
        """Compare whole lines, then the characters inside each block that was replaced."""
        numbers: dict[str, str] = {}
        coded = [
            "".join(numbers.setdefault(line, chr(len(numbers) + 1)) for line in _LINE.findall(text))
            for text in (old, new)
        ]
        lines = {number: line for line, number in numbers.items()}
        blocks = [
            Piece(block.op, "".join(lines[number] for number in block.text))
            for block in self.compare(coded[0], coded[1], by_lines=False)
        ]
        out: list[Piece] = []
        for piece in semantic(blocks):
            if piece.op == "+" and out and out[-1].op == "-":
                out += self.compare(out.pop().text, piece.text, by_lines=False)
            else:
                out.append(piece)
        return out

    def _split(self, old: str, new: str) -> list[Piece]:
        """Find a point on a shortest path and compare both halves."""
        point = self._middle(old, new)
        if point is None:
            return [Piece("-", old), Piece("+", new)]
        x, y = point
        return self.compare(old[:x], new[:y], by_lines=False) + self.compare(old[x:], new[y:], by_lines=False)

    def _middle(self, old: str, new: str) -> tuple[int, int] | None:
        """Walk from both ends until the paths meet; None when nothing is common or the budget is spent."""
        limit = (len(old) + len(new) + 1) // 2
        forward, backward = _Front(old, new), _Front(old[::-1], new[::-1])
        is_odd = (len(old) - len(new)) % 2 != 0
        for distance in range(limit):
            diagonal = forward.advance(distance, backward if is_odd else None)
            if diagonal is None:
                diagonal = backward.advance(distance, None if is_odd else forward)
                if diagonal is not None:
                    diagonal = len(old) - len(new) - diagonal
            if diagonal is not None:
                x = forward.reached[diagonal]
                return x, x - diagonal
            self._steps_left -= 2 * distance + 2
            if self._steps_left < 0:
                return None
        return None


class _Front:
    """The furthest points reached from one end, by diagonal (old index minus new index)."""

    def __init__(self, old: str, new: str) -> None:
        self._old = old
        self._new = new
        self.reached = {1: 0}
        self._low = 0
        self._high = 0

    def advance(self, distance: int, other: _Front | None) -> int | None:
        """Extend every path by one edit; return the diagonal on which a path met the other front's.

        Diagonals that left the table are not followed any more.
        """
        reached, old, new = self.reached, self._old, self._new
        size_old, size_new = len(old), len(new)
        for diagonal in range(-distance + self._low, distance + 1 - self._high, 2):
            left, right = reached.get(diagonal - 1, -1), reached.get(diagonal + 1, -1)
            x = right if diagonal == -distance or (diagonal != distance and left < right) else left + 1
            y = x - diagonal
            while x < size_old and y < size_new and old[x] == new[y]:
                x += 1
                y += 1
            reached[diagonal] = x
            if x > size_old:
                self._high += 2
            elif y > size_new:
                self._low += 2
            elif other is not None:
                mirrored = other.reached.get(size_old - size_new - diagonal, -1)
                if mirrored != -1 and x >= size_old - mirrored:
                    return diagonal
        return None
