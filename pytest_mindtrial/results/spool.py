"""Texts that are kept out of memory until they are needed: an unnamed file that vanishes with the process.

Does not know what the texts are, and is no record: nothing in it outlives the session. Source: issue 5 (peak memory).
"""

from __future__ import annotations

import tempfile
from array import array
from typing import BinaryIO, cast

__all__ = ["Spool"]

_BUFFER = 128 * 1024


class Spool:
    """Takes texts first and gives them back afterwards; for one thread.

    Reading in the order of adding is fastest, any order works.

    Raises:
        OSError: There is no place for temporary files; also from `add`.
    """

    def __init__(self) -> None:
        self._file = cast("BinaryIO", tempfile.TemporaryFile(buffering=_BUFFER))  # noqa: SIM115 - open as long as we are
        self._starts = array("Q")
        self._sizes = array("Q")
        self._at = -1

    def add(self, text: str) -> int:
        """Keep a text.

        Returns:
            Its number: 0, 1, 2, …
        """
        start = self._file.tell()  # not the end of the last text: after an interruption there may be half of one
        size = self._file.write(text.encode("utf-8", "surrogatepass"))
        self._starts.append(start)
        self._sizes.append(size)
        return len(self._sizes) - 1

    def read(self, number: int) -> str:
        """Return a text by its number; from now on nothing can be added.

        Raises:
            OSError: It did not reach the file, or cannot be read.
        """
        start, size = self._starts[number], self._sizes[number]
        if start != self._at:
            self._file.seek(start)
        data = self._file.read(size)
        self._at = start + len(data)
        if len(data) < size:
            raise OSError("the spool has lost a text")
        return data.decode("utf-8", "surrogatepass")

    def close(self) -> None:
        """Let go of the file; a second call does nothing."""
        self._file.close()
