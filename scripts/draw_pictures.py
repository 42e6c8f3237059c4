#!/usr/bin/env python3
"""Draw the pictures of the example suites: coloured shapes on white, written as PNG with the standard library alone.

Does not need a drawing library and gives the same bytes on every machine (edges are not smoothed), so a test can tell
whether a committed picture still comes from this script. Run it without arguments to write all pictures anew.
"""

from __future__ import annotations

import struct
import zlib
from collections.abc import Callable
from pathlib import Path

ROOT = Path(__file__).resolve().parent.parent

Colour = tuple[int, int, int]
Shape = Callable[[float, float], bool]

WHITE: Colour = (255, 255, 255)
RED: Colour = (214, 39, 40)
BLUE: Colour = (31, 90, 180)
GREEN: Colour = (44, 140, 60)


def circle(x: float, y: float, radius: float) -> Shape:
    """Return a disc around a point."""
    return lambda px, py: (px - x) ** 2 + (py - y) ** 2 <= radius**2


def square(x: float, y: float, side: float) -> Shape:
    """Return a square around a point."""
    return lambda px, py: abs(px - x) <= side / 2 and abs(py - y) <= side / 2


def triangle(x: float, y: float, side: float) -> Shape:
    """Return a triangle that points up, around a point."""
    return lambda px, py: -side / 2 <= py - y <= side / 2 and abs(px - x) <= (py - y + side / 2) / 2


def png(width: int, height: int, shapes: list[tuple[Shape, Colour]]) -> bytes:
    """Return a picture with an 8-bit palette; later shapes cover earlier ones."""
    palette = [WHITE, *dict.fromkeys(colour for _, colour in shapes)]
    rows = bytearray()
    for y in range(height):
        rows.append(0)  # filter type of the row: none
        for x in range(width):
            index = 0
            for shape, colour in shapes:
                if shape(x + 0.5, y + 0.5):
                    index = palette.index(colour)
            rows.append(index)
    header = struct.pack(">IIBBBBB", width, height, 8, 3, 0, 0, 0)
    colours = b"".join(bytes(colour) for colour in palette)
    chunks = [(b"IHDR", header), (b"PLTE", colours), (b"IDAT", _deflated(bytes(rows))), (b"IEND", b"")]
    return b"\x89PNG\r\n\x1a\n" + b"".join(_chunk(kind, data) for kind, data in chunks)


def _deflated(data: bytes) -> bytes:
    # Level 9 of zlib and of its drop-in replacements differ in bytes; run lengths alone do not.
    compressor = zlib.compressobj(9, zlib.DEFLATED, 15, 9, zlib.Z_RLE)
    return compressor.compress(data) + compressor.flush()


def _chunk(kind: bytes, data: bytes) -> bytes:
    return struct.pack(">I", len(data)) + kind + data + struct.pack(">I", zlib.crc32(kind + data))


def shapes_to_count() -> bytes:
    """Three red circles, two blue squares, one green triangle."""
    return png(
        320,
        200,
        [
            (circle(60, 55, 34), RED),
            (square(165, 60, 56), BLUE),
            (circle(262, 60, 28), RED),
            (triangle(62, 145, 64), GREEN),
            (circle(160, 148, 36), RED),
            (square(260, 146, 48), BLUE),
        ],
    )


PICTURES = {"taskdata/shapes-to-count.png": shapes_to_count}


def main() -> None:
    """Write every picture."""
    for name, draw in PICTURES.items():
        (ROOT / name).write_bytes(draw())
        print(name)


if __name__ == "__main__":
    main()
