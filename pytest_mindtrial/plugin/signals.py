"""SIGUSR1: say what every attempt in flight is doing, for a session that seems to hang.

``kill -USR1 PID`` prints one line per attempt to standard error, whatever pytest captures. Only where signals exist and
pytest runs in the main thread, and only where nobody else handles the signal. Does not stop anything.

Source: spec field 2, pain 41.
"""

from __future__ import annotations

import contextlib
import os
import signal
import sys
import threading
from collections.abc import Callable
from typing import Any

__all__ = ["dump_on_signal"]


def dump_on_signal(
    dump: Callable[[], str],
    before: Callable[[], None] | None = None,
    run: Callable[[Callable[[], None]], None] = lambda work: work(),
) -> Callable[[], None]:
    """Print the dump on every SIGUSR1; call this while nothing is captured.

    Args:
        dump: Returns one line per attempt.
        before: Called first; clears what is drawn on the screen. None = nothing is.
        run: Runs what takes the dump and prints it, elsewhere where that may wait.

    Returns:
        What undoes it.
    """
    number = getattr(signal, "SIGUSR1", None)
    is_ours = threading.current_thread() is threading.main_thread()
    if number is None or not is_ours or signal.getsignal(number) is not signal.SIG_DFL:
        return lambda: None
    try:
        descriptor = os.dup(sys.stderr.fileno())
    except (OSError, ValueError, AttributeError):  # standard error is no file
        return lambda: None

    def show(_number: int, _frame: Any) -> None:
        if before is not None:
            before()
        run(write)

    def write() -> None:
        lines = dump().splitlines()
        head = f"mindtrial: {len(lines)} attempts in flight" if lines else "mindtrial: no attempt is in flight"
        with contextlib.suppress(OSError):
            os.write(descriptor, ("\n".join(["", head, *(f"  {line}" for line in lines)]) + "\n").encode())

    def undo() -> None:
        if signal.getsignal(number) is show:
            signal.signal(number, signal.SIG_DFL)
        os.close(descriptor)

    signal.signal(number, show)
    return undo
