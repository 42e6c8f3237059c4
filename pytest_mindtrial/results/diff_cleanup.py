"""Make a raw difference readable: join pieces, drop chance matches, move edits to natural boundaries.

Does not compare texts (``results/diff.py``). Source: spec mindtrial 7.3 ("semantic cleanup"); Neil Fraser, "Diff
Strategies", 2006.
"""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from typing import Literal, NamedTuple

__all__ = ["Piece", "common_prefix", "common_suffix", "merge", "semantic"]


class Piece(NamedTuple):
    """A stretch of text: ``=`` in both, ``-`` only in the old, ``+`` only in the new text."""

    op: Literal["=", "-", "+"]
    text: str


def common_prefix(a: str, b: str) -> int:
    """Return the number of equal characters at the start."""
    low, high = 0, min(len(a), len(b))
    while low < high:
        middle = (low + high + 1) // 2
        if a[low:middle] == b[low:middle]:
            low = middle
        else:
            high = middle - 1
    return low


def common_suffix(a: str, b: str) -> int:
    """Return the number of equal characters at the end."""
    low, high = 0, min(len(a), len(b))
    while low < high:
        middle = (low + high + 1) // 2
        if a[len(a) - middle : len(a) - low] == b[len(b) - middle : len(b) - low]:
            low = middle
        else:
            high = middle - 1
    return low


def merge(pieces: Iterable[Piece]) -> list[Piece]:
    """Join neighbours, put deletions before insertions, and give what both share back to the equal text.

    Invariant: the result alternates between equal pieces and edits, and no piece is empty.
    """
    out = _join(pieces)
    while _shift(out):
        out = _join(out)
    return out


def _join(pieces: Iterable[Piece]) -> list[Piece]:
    out: list[Piece] = []
    deleted = inserted = ""
    for piece in pieces:
        if piece.op == "-":
            deleted += piece.text
        elif piece.op == "+":
            inserted += piece.text
        elif piece.text:
            _close(out, deleted, inserted, piece.text)
            deleted = inserted = ""
    _close(out, deleted, inserted, "")
    return out


def _close(out: list[Piece], deleted: str, inserted: str, following: str) -> None:
    if deleted and inserted:
        start = common_prefix(deleted, inserted)
        _append(out, Piece("=", deleted[:start]))
        deleted, inserted = deleted[start:], inserted[start:]
        end = common_suffix(deleted, inserted)
        following = deleted[len(deleted) - end :] + following
        deleted, inserted = deleted[: len(deleted) - end], inserted[: len(inserted) - end]
    for piece in (Piece("-", deleted), Piece("+", inserted), Piece("=", following)):
        _append(out, piece)


def _append(out: list[Piece], piece: Piece) -> None:
    if not piece.text:
        return
    if out and out[-1].op == piece.op:
        piece = Piece(piece.op, out.pop().text + piece.text)
    out.append(piece)


def _shift(pieces: list[Piece]) -> bool:
    """Slide single edits over a whole neighbour they repeat (A·BA·C → AB·A·C), which saves a piece."""
    changed = False
    index = 1
    while index < len(pieces) - 1:
        before, edit, after = pieces[index - 1 : index + 2]
        if before.op == after.op == "=" != edit.op:
            if edit.text.endswith(before.text):
                moved = before.text + edit.text[: len(edit.text) - len(before.text)]
                pieces[index - 1 : index + 2] = [Piece(edit.op, moved), Piece("=", before.text + after.text)]
                changed = True
            elif edit.text.startswith(after.text):
                moved = edit.text[len(after.text) :] + after.text
                pieces[index - 1 : index + 2] = [Piece("=", before.text + after.text), Piece(edit.op, moved)]
                changed = True
        index += 1
    return changed


def semantic(pieces: Sequence[Piece]) -> list[Piece]:
    """Return an equivalent difference that people read more easily; ``pieces`` is a merged one."""
    return _split_overlaps(merge(_align(merge(_drop_chance_matches(pieces)))))


def _drop_chance_matches(pieces: Sequence[Piece]) -> list[Piece]:
    """Turn equal text into an edit where it is no longer than the edits on both of its sides."""
    groups: list[tuple[str, str, str]] = []
    equal = deleted = inserted = ""
    for piece in [*pieces, Piece("=", "")]:
        if piece.op == "-":
            deleted += piece.text
        elif piece.op == "+":
            inserted += piece.text
        else:
            if deleted or inserted:
                while groups and _is_chance(equal, groups[-1], deleted, inserted):
                    earlier, was_deleted, was_inserted = groups.pop()
                    deleted, inserted = was_deleted + equal + deleted, was_inserted + equal + inserted
                    equal = earlier
                groups.append((equal, deleted, inserted))
                equal = deleted = inserted = ""
            equal += piece.text
    out: list[Piece] = []
    for before, old, new in groups:
        out += [Piece("=", before), Piece("-", old), Piece("+", new)]
    return [*out, Piece("=", equal)]


def _is_chance(equal: str, before: tuple[str, str, str], deleted: str, inserted: str) -> bool:
    return len(equal) <= max(len(before[1]), len(before[2])) and len(equal) <= max(len(deleted), len(inserted))


def _align(pieces: Sequence[Piece]) -> list[Piece]:
    """Slide each single edit between two equal pieces to the best boundary: line, sentence, word."""
    out = list(pieces)
    for index in range(1, len(out) - 1):
        before, edit, after = out[index - 1 : index + 2]
        if before.op == after.op == "=" != edit.op:
            first, middle, last = _best_position(before.text, edit.text, after.text)
            out[index - 1 : index + 2] = [Piece("=", first), Piece(edit.op, middle), Piece("=", last)]
    return out


def _best_position(before: str, edit: str, after: str) -> tuple[str, str, str]:
    back = common_suffix(before, edit)
    if back:
        shared = edit[len(edit) - back :]
        before, edit, after = before[: len(before) - back], shared + edit[: len(edit) - back], shared + after
    best, best_score = (before, edit, after), _boundary(before, edit) + _boundary(edit, after)
    while after and edit[0] == after[0]:
        before, edit, after = before + edit[0], edit[1:] + after[0], after[1:]
        score = _boundary(before, edit) + _boundary(edit, after)
        if score >= best_score:
            best, best_score = (before, edit, after), score
    return best


def _boundary(left: str, right: str) -> int:
    """Return how natural a cut between two texts is: 6 at an end of the text … 0 inside a word."""
    if not left or not right:
        return 6
    a, b = left[-1], right[0]
    if a == "\r" and b == "\n":
        return 0
    if a in "\r\n" or b in "\r\n":
        is_blank_line = left.endswith(("\n\n", "\n\r\n")) or right.startswith(("\n\n", "\r\n\r\n", "\n\r\n", "\r\n\n"))
        return 5 if is_blank_line else 4
    if not a.isalnum() and not a.isspace() and b.isspace():
        return 3
    if a.isspace() or b.isspace():
        return 2
    return 0 if a.isalnum() and b.isalnum() else 1


def _split_overlaps(pieces: Sequence[Piece]) -> list[Piece]:
    """Find equal text again where the end of a deletion starts its insertion, or the other way round."""
    out: list[Piece] = []
    for piece in pieces:
        if not (out and out[-1].op == "-" and piece.op == "+"):
            out.append(piece)
            continue
        deleted, inserted = out.pop().text, piece.text
        after, before = _overlap(deleted, inserted), _overlap(inserted, deleted)
        enough = min(len(deleted), len(inserted)) / 2
        if after >= before and after and after >= enough:
            middle = inserted[:after]
            parts = [Piece("-", deleted[: len(deleted) - after]), Piece("=", middle), Piece("+", inserted[after:])]
        elif before and before >= enough:
            middle = deleted[:before]
            parts = [Piece("+", inserted[: len(inserted) - before]), Piece("=", middle), Piece("-", deleted[before:])]
        else:
            parts = [Piece("-", deleted), Piece("+", inserted)]
        out += [part for part in parts if part.text]
    return out


def _overlap(left: str, right: str) -> int:
    """Return the length of the longest end of ``left`` that starts ``right``."""
    size = min(len(left), len(right))
    left, right = left[len(left) - size :], right[:size]
    best, length = 0, 1
    while length <= size:
        found = right.find(left[size - length :])
        if found < 0:
            break
        length += found
        if left[size - length :] == right[:length]:
            best = length
            length += 1
    return best
