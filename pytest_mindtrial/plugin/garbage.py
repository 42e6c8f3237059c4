"""Less work for the cyclic garbage collector while thousands of items are alive.

A full collection walks every object there is: with 10,000 items it would cost half as much as the items themselves.
The collector is therefore off from the first task file until the run loop starts. What lives then (items, tasks,
modules) is set aside until the run loop ends, and the collector, on again, looks at the rest less often. A user who has
set it up differently and sessions without task files are left alone; sessions with other tests set nothing aside. The
hooks at the session's end see an ordinary collector, because plugins ask it who refers to what (hypothesis does); only
pytest's own last collections, and Python's at its exit, are spared the walk again.
Does not change when objects without cycles are freed.
"""

from __future__ import annotations

import atexit
import contextlib
import gc
import io
import threading
from collections.abc import Callable, Iterator
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    import pytest

__all__ = ["Pause", "paused", "python_exit", "set_aside"]

_ALLOCATIONS = 20_000
"""New objects that are awaited before the youngest are looked at; Python's own number is 700."""


_pauses: list[Pause] = []
"""Pauses that will switch the collector on again."""


class Pause:
    """A pause of the collector, from the making of this object until `end`.

    As a plugin it ends before the first item of the session runs.
    """

    def __init__(self) -> None:
        if gc.isenabled():
            gc.disable()
            _pauses.append(self)

    def end(self) -> None:
        """Switch the collector on, unless it was off before; a second call does nothing."""
        if self in _pauses:
            _pauses.remove(self)
            gc.enable()

    def pytest_runtestloop(self, session: pytest.Session) -> None:
        """End the pause, unless nothing will run; what was set aside by now is not looked at any more."""
        if not session.config.option.collectonly:
            self.end()


@contextlib.contextmanager
def paused() -> Iterator[None]:
    """Pause the collector for code that makes many objects and keeps them."""
    pause = Pause()
    try:
        yield
    finally:
        pause.end()


def set_aside() -> Callable[[], None]:
    """Set aside every object there is and collect less often.

    Returns:
        What undoes it.
    """
    if not (gc.isenabled() or _pauses) or gc.get_freeze_count():
        return lambda: None
    thresholds = gc.get_threshold()
    gc.freeze()
    gc.set_threshold(max(thresholds[0], _ALLOCATIONS), *thresholds[1:])

    def undo() -> None:
        gc.set_threshold(*thresholds)
        gc.unfreeze()

    return undo


_WRITTEN_AT_EXIT = (io.TextIOWrapper, io.BufferedWriter, io.BufferedRandom)


class _Exit:
    """Python's own end, as the process will see it."""

    def __init__(self) -> None:
        self.is_watched = False
        self.is_spared = False

    def watch(self) -> None:
        """Be called at exit, after whoever asks for the same later; a second call does nothing."""
        if not self.is_watched:
            self.is_watched = True
            atexit.register(self._leave)

    def spare(self) -> None:
        """Let Python end without walking and freeing every object there is.

        It would take longer than all reports of a session: 0.2 s with 1,000 items, 2 s with 10,000. Files that are
        still open are written, as they would be; finalizers of other objects, which Python does not promise to call at
        its exit, are not called.
        """
        self.is_spared = True

    def _leave(self) -> None:
        # A thread that still lives may be stuck in writing to a file, and whoever flushes that file waits for it.
        if not self.is_spared or threading.active_count() > 1:
            return
        gc.unfreeze()  # what is set aside is not listed
        objects = gc.get_objects()
        kinds = {kind for kind in set(map(type, objects)) if issubclass(kind, _WRITTEN_AT_EXIT)}
        for each in objects:
            if type(each) in kinds:  # five times as fast as isinstance, among a million objects
                with contextlib.suppress(Exception):  # closed, detached, nobody reads: Python is silent, too
                    each.flush()
        gc.freeze()


python_exit = _Exit()
