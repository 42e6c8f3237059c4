"""What a process printed: captured up to a ceiling, counted, cut for previews.

Does not talk to Docker. Source: spec docker 4.5.
"""

from __future__ import annotations

from collections.abc import Iterable

from pytest_mindtrial.core.record import OutputRecord
from pytest_mindtrial.sandbox.streams import STDERR

__all__ = ["Capture", "Captured", "tail_text"]

PREVIEW_BYTES = 2048
TAIL_BYTES = 8192


class Captured:
    """One stream. ``size_bytes`` counts all that was read, ``data`` keeps it up to the ceiling."""

    def __init__(self, ceiling_bytes: int) -> None:
        self._ceiling = ceiling_bytes
        self._chunks: list[bytes] = []
        self.size_bytes = 0

    def add(self, chunk: bytes) -> None:
        """Take a chunk."""
        room = self._ceiling - self.size_bytes
        self.size_bytes += len(chunk)
        if room > 0:
            self._chunks.append(chunk[:room])

    @property
    def is_over(self) -> bool:
        """True when more came than is kept."""
        return self.size_bytes > self._ceiling

    @property
    def text(self) -> str:
        """Return what was kept as text; bytes that are not UTF-8 become U+FFFD."""
        return b"".join(self._chunks).decode("utf-8", "replace")

    def record(self, *, with_preview: bool = True) -> OutputRecord:
        """Return the record: total size, and the first 2048 bytes cut at a character boundary."""
        if not with_preview:
            return OutputRecord(self.size_bytes)
        data = b"".join(self._chunks)
        head = data[:PREVIEW_BYTES]
        if len(data) > PREVIEW_BYTES:
            head = head[: _whole_characters(data)]
        return OutputRecord(self.size_bytes, head.decode("utf-8", "replace"), self.size_bytes > PREVIEW_BYTES)


class Capture:
    """Both streams of a process; written by a reader thread, read when it is done."""

    def __init__(self, ceiling_bytes: int) -> None:
        self.stdout = Captured(ceiling_bytes)
        self.stderr = Captured(ceiling_bytes)

    @property
    def is_over(self) -> bool:
        """True when one of the streams passed its ceiling."""
        return self.stdout.is_over or self.stderr.is_over

    def read(self, frames: Iterable[tuple[int, bytes]]) -> None:
        """Read frames of stream number and bytes to the end, or until a ceiling is passed."""
        for stream, chunk in frames:
            (self.stderr if stream == STDERR else self.stdout).add(chunk)
            if self.is_over:
                return


def tail_text(data: bytes) -> str:
    """Return the last 8192 bytes as text."""
    return data[-TAIL_BYTES:].decode("utf-8", "replace")


def _whole_characters(data: bytes) -> int:
    """Return the largest cut ≤ 2048 that does not fall inside a UTF-8 character."""
    cut = PREVIEW_BYTES
    while cut > PREVIEW_BYTES - 4 and data[cut] & 0xC0 == 0x80:
        cut -= 1
    return cut if data[cut] & 0xC0 != 0x80 else PREVIEW_BYTES
