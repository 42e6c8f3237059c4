"""Less work for the cyclic garbage collector while thousands of items are alive.

A full collection walks every object there is: with 10,000 items it would cost half as much as the items themselves.
What lives when the run loop starts (items, tasks, modules) is therefore set aside until the run loop ends, and the
collector looks at the rest less often. It is never switched off during the run; a user who has set it up differently
and sessions with other tests are left alone. The hooks at the session's end see an ordinary collector, because plugins
ask it who refers to what (hypothesis does); only pytest's own last collections are spared the walk again.
Does not change when objects without cycles are freed.
"""

from __future__ import annotations

import contextlib
import gc
from collections.abc import Callable, Iterator

__all__ = ["paused", "set_aside"]

_ALLOCATIONS = 20_000
"""New objects that are awaited before the youngest are looked at; Python's own number is 700."""


@contextlib.contextmanager
def paused() -> Iterator[None]:
    """Pause the collector for code that makes many objects and keeps them."""
    was_enabled = gc.isenabled()
    gc.disable()
    try:
        yield
    finally:
        if was_enabled:
            gc.enable()


def set_aside() -> Callable[[], None]:
    """Set aside every object there is and collect less often.

    Returns:
        What undoes it.
    """
    if not gc.isenabled() or gc.get_freeze_count():
        return lambda: None
    thresholds = gc.get_threshold()
    gc.freeze()
    gc.set_threshold(max(thresholds[0], _ALLOCATIONS), *thresholds[1:])

    def undo() -> None:
        gc.set_threshold(*thresholds)
        gc.unfreeze()

    return undo
