"""Server-sent events: bytes in, events out, in any chunking.

Does not read sockets and does not interpret ``data``. Source: spec providers 9; WHATWG HTML, "Parsing an event
stream" (``id`` and ``retry`` fields are of no use here and skipped).
"""

from __future__ import annotations

import codecs
from collections.abc import Iterator
from dataclasses import dataclass

__all__ = ["SseEvent", "SseParser"]


@dataclass(frozen=True, slots=True)
class SseEvent:
    """One event.

    Attributes:
        event: Value of the ``event`` field; blank when absent.
        data: The ``data`` lines joined by line feeds.
    """

    event: str
    data: str


class SseParser:
    """Incremental parser. Feed bytes as they come, then `close` at the end of the body.

    Invariant: the events do not depend on where the byte stream was cut into pieces.
    """

    def __init__(self) -> None:
        self._decoder = codecs.getincrementaldecoder("utf-8-sig")("replace")
        self._rest = ""
        self._event = ""
        self._data: list[str] = []

    def feed(self, chunk: bytes) -> Iterator[SseEvent]:
        """Yield the events that ``chunk`` completes."""
        return self._take(self._decoder.decode(chunk), is_last=False)

    def close(self) -> Iterator[SseEvent]:
        """Yield an event whose closing blank line never came.

        The standard drops such an event; vendors end bodies without the blank line, and `stream-cut` is decided by the
        dialect's terminator, not by this line.
        """
        yield from self._take(self._decoder.decode(b"", final=True), is_last=True)
        yield from self._dispatch()

    def _take(self, text: str, *, is_last: bool) -> Iterator[SseEvent]:
        text = self._rest + text
        position = 0
        while (end := _line_end(text, position, is_last)) is not None:
            line = text[position : end[0]]
            position = end[1]
            if line:
                self._field(line)
            else:
                yield from self._dispatch()
        self._rest = text[position:]

    def _field(self, line: str) -> None:
        name, _, value = line.partition(":")
        value = value.removeprefix(" ")
        if name == "data":
            self._data.append(value)
        elif name == "event":
            self._event = value

    def _dispatch(self) -> Iterator[SseEvent]:
        event, data = self._event, self._data
        self._event, self._data = "", []
        if data:
            yield SseEvent(event, "\n".join(data))


def _line_end(text: str, start: int, is_last: bool) -> tuple[int, int] | None:
    """Return where the line from ``start`` ends and where the next begins; None when it is not complete yet."""
    feed = text.find("\n", start)
    carriage = text.find("\r", start, feed if feed >= 0 else len(text))
    if carriage < 0:
        if feed >= 0:
            return feed, feed + 1
        return (len(text), len(text)) if is_last and start < len(text) else None
    if carriage + 1 < len(text):
        return carriage, carriage + (2 if text[carriage + 1] == "\n" else 1)
    # A final CR may be the first half of CRLF whose LF is in the next chunk.
    return (carriage, carriage + 1) if is_last else None
