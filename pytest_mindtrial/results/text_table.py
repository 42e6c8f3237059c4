"""A plain table: left-aligned columns, two spaces between them, the last one not padded.

Does not clean its cells. Source: spec mindtrial 8.4.
"""

from __future__ import annotations

from collections.abc import Sequence

__all__ = ["text_table"]


def text_table(rows: Sequence[Sequence[str]]) -> str:
    """Return the rows as lines, each ended by a newline; all rows have the same number of cells."""
    widths = [max(map(len, column)) for column in zip(*rows, strict=True)]
    if widths:
        widths[-1] = 0
    return "".join("  ".join(cell.ljust(width) for cell, width in zip(row, widths, strict=True)) + "\n" for row in rows)
