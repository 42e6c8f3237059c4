"""Brings a growing file to disk beside whoever writes it.

A disk takes milliseconds, during which the engine's loop would read no reply and send no request. Does not write and
does not close the file. Source: design D7; issue 5.
"""

from __future__ import annotations

import os
import threading

__all__ = ["DiskSync"]


class DiskSync:
    """Syncs one open file in a thread of its own, which is started when it is first needed.

    Args:
        handle: Descriptor of the file; it must stay open until `end`.

    Attributes:
        problem: Why the file could not be brought to disk; None while it could.
    """

    def __init__(self, handle: int) -> None:
        self.problem: OSError | None = None
        self._handle = handle
        self._wanted = threading.Event()
        self._is_over = False
        self._thread: threading.Thread | None = None

    def soon(self) -> None:
        """Bring to disk, soon, what has been written by now; does not wait."""
        if self._thread is None:
            self._thread = threading.Thread(target=self._serve, name="mindtrial-journal", daemon=True)
            self._thread.start()
        self._wanted.set()

    def end(self) -> None:
        """Wait until the thread has ended; nothing is synced any more."""
        self._is_over = True
        self._wanted.set()
        if self._thread is not None:
            self._thread.join()

    def _serve(self) -> None:
        while True:
            self._wanted.wait()
            self._wanted.clear()
            if self._is_over:
                return
            try:
                os.fsync(self._handle)
            except OSError as error:
                self.problem = error
                return
