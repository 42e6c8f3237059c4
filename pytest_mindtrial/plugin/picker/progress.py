"""The screen that shows an evaluation at work: percentage, bar, log.

Watches only: closing it leaves the attempts running. Events that arrive faster than they can be drawn are dropped;
the engine never waits for a screen. Source: spec mindtrial 9.
"""

from __future__ import annotations

import queue
from collections.abc import Callable, Iterable, Iterator
from typing import ClassVar

from textual.app import App, ComposeResult
from textual.binding import Binding, BindingType
from textual.content import Content
from textual.widgets import Footer, ProgressBar, RichLog, Static

from pytest_mindtrial.core.display import one_line

__all__ = ["Feed", "ProgressApp"]

_REFRESH_S = 0.1
_LOG_LINES = 5_000
_IDLE_DRAWS = 3


class Feed:
    """Lines on finished attempts on their way to the screen; may be filled from any thread.

    Args:
        size: Lines kept until they are drawn; more are dropped.

    Attributes:
        dropped: How many were.
    """

    def __init__(self, size: int = 1_000) -> None:
        self.dropped = 0
        self._lines: queue.Queue[str] = queue.Queue(size)

    def put(self, line: str) -> None:
        """Add a line; never blocks."""
        try:
            self._lines.put_nowait(line)
        except queue.Full:
            self.dropped += 1

    def lines(self) -> Iterator[str]:
        """Yield what has arrived."""
        while True:
            try:
                yield self._lines.get_nowait()
            except queue.Empty:
                return


class ProgressApp(App[bool]):
    """Ends with True when all is done or the user closed it, False when the evaluation shall be cancelled.

    Args:
        feed: Lines on finished attempts.
        progress: Returns how many attempts are done, how many there will be, and whether any is under way.
        status: Returns one line per provider on what it is doing.
    """

    CSS = "#title { text-style: bold; } RichLog { height: 1fr; }"
    BINDINGS: ClassVar[list[BindingType]] = [
        Binding("q,escape", "close", "close (goes on)"),
        Binding("ctrl+c", "cancel", "cancel", priority=True),
    ]
    ENABLE_COMMAND_PALETTE = False

    def __init__(
        self, feed: Feed, progress: Callable[[], tuple[int, int, bool]], status: Callable[[], Iterable[str]]
    ) -> None:
        super().__init__()
        self._feed = feed
        self._progress = progress
        self._status = status
        self._idle_draws = 0

    def compose(self) -> ComposeResult:
        """Lay out."""
        yield Static(Content("Task Progress"), id="title")
        yield Static(id="percentage")
        yield ProgressBar(total=1, show_eta=False, show_percentage=False, id="bar")
        yield Static(id="status")
        yield RichLog(max_lines=_LOG_LINES, markup=False, highlight=False, wrap=True, id="log")
        yield Footer()

    def on_mount(self) -> None:
        """Draw at a steady pace."""
        self.query_one(RichLog).focus()
        self.set_interval(_REFRESH_S, self.draw)
        self.draw()

    def draw(self) -> None:
        """Show what has arrived; end when nothing more will."""
        log = self.query_one(RichLog)
        for line in self._feed.lines():
            log.write(one_line(line))
        done, total, is_busy = self._progress()
        share = done / total if total else 1.0
        self.query_one("#percentage", Static).update(Content(f"{share:.0%} · {done} of {total} attempts"))
        self.query_one(ProgressBar).update(total=max(1, total), progress=done)
        self.query_one("#status", Static).update(Content("\n".join(map(one_line, self._status()))))
        # Under --maxfail the look-ahead waits for pytest's own loop: then there is nothing more to watch here.
        self._idle_draws = 0 if is_busy else self._idle_draws + 1
        if done >= total or self._idle_draws > _IDLE_DRAWS:
            self.exit(True)

    def action_close(self) -> None:
        """Close the screen; the attempts go on and results are written."""
        self.exit(True)

    def action_cancel(self) -> None:
        """Cancel the evaluation."""
        self.exit(False)
