"""The screens, driven key by key with textual's pilot."""

from __future__ import annotations

import asyncio
from collections.abc import Callable, Sequence
from typing import Any

import pytest

pytest.importorskip("textual", reason="the extra tui is not installed")

from textual.widgets import Input, RichLog, Static

from pytest_mindtrial.plugin.picker.progress import Feed, ProgressApp
from pytest_mindtrial.plugin.picker.screens import PickerApp, RunScreen, TaskScreen
from pytest_mindtrial.plugin.picker.selection import RunChoice, RunTree, TaskChoice, TaskList


def picker() -> PickerApp:
    runs = RunTree([RunChoice("a1", "A", "mock", "x"), RunChoice("a2", "A", "mock", "y", False)])
    tasks = TaskList(
        [
            TaskChoice("1", "one [bold]", "core", "math", "easy", ("must",)),
            TaskChoice("2", "two\x1b[31m", "core", "words", "hard"),
            TaskChoice("3", "three", "extra", "math", "hard", is_enabled=False),
        ]
    )
    return PickerApp(runs, tasks)


def press(app: Any, *keys: str, look: Callable[[Any], None] | None = None, before: Sequence[str] = ()) -> Any:
    """Press keys; ``look`` is called after those of ``before`` and before ``keys``."""

    async def run() -> None:
        async with app.run_test() as pilot:
            await pilot.pause()
            await pilot.press(*before)
            await pilot.pause()
            if look is not None:
                look(app)
            await pilot.press(*keys)
            await pilot.pause()

    asyncio.run(run())
    return app.return_value


def shown(app: Any) -> list[str]:
    options = app.screen.options
    return [str(options.get_option_at_index(index).prompt) for index in range(options.option_count)]


def text(app: Any, name: str) -> str:
    return str(app.screen.query_one(name, Static).render())


def test_enter_twice_runs_what_the_files_enable():
    app = picker()
    assert press(app, "enter", "enter") is True
    assert (app._runs.chosen, app._tasks.chosen) == ({"a1"}, {"1", "2"})


def test_the_run_screen_shows_a_tree():
    def look(app):
        assert isinstance(app.screen, RunScreen)
        assert text(app, "#title") == "Select Provider Configurations"
        assert shown(app) == ["[ ] Select All", "[ ]   mock", "[x]     x", "[ ]     y"]

    press(picker(), "ctrl+c", look=look)


@pytest.mark.parametrize(
    "keys, chosen",
    [
        (["space"], {"a1", "a2"}),
        (["space", "space"], set()),
        (["down", "space"], {"a1", "a2"}),
        (["j", "j", "space"], set()),
        (["j", "j", "j", "space"], {"a1", "a2"}),
        (["j", "j", "j", "k", "space"], set()),
        (["down", "down", "down", "up", "space"], set()),
    ],
)
def test_keys_of_the_run_screen(keys, chosen):
    app = picker()
    assert press(app, *keys, "enter", "enter") is True
    assert app._runs.chosen == chosen


@pytest.mark.parametrize("key", ["q", "escape"])
def test_leaving_a_screen_keeps_what_the_files_say(key):
    app = picker()
    assert press(app, "space", key, "space", key) is True
    assert (app._runs.chosen, app._tasks.chosen) == ({"a1"}, {"1", "2"})


def test_ctrl_c_starts_nothing():
    assert press(picker(), "space", "ctrl+c") is False
    assert press(picker(), "enter", "space", "ctrl+c") is False


def test_the_task_screen_shows_names_as_text():
    def look(app):
        assert isinstance(app.screen, TaskScreen)
        assert text(app, "#title") == "Select Tasks"
        assert shown(app) == ["[x] one [bold]", "[x] two\\x1b[31m", "[ ] three"]
        assert text(app, "#counts") == "3 visible / 3 total • 2 selected"
        assert text(app, "#filters") == "filters: none"

    press(picker(), "enter", before=["enter"], look=look)


@pytest.mark.parametrize(
    "keys, lines, filters, chosen",
    [
        (["space"], 3, "none", {"2"}),
        (["j", "j", "space"], 3, "none", {"1", "2", "3"}),
        (["a"], 3, "none", {"1", "2", "3"}),
        (["A"], 3, "none", set()),
        (["s"], 2, "suite = core", {"1", "2"}),
        (["s", "s"], 1, "suite = extra", {"1", "2"}),
        (["s", "s", "s"], 3, "none", {"1", "2"}),
        (["s", "s", "a"], 1, "suite = extra", {"1", "2", "3"}),
        (["c"], 2, "category = math", {"1", "2"}),
        (["d"], 1, "difficulty = easy", {"1", "2"}),
        (["s", "c", "d"], 1, "suite = core • category = math • difficulty = easy", {"1", "2"}),
        (["s", "c", "S"], 2, "category = math", {"1", "2"}),
        (["s", "c", "C"], 2, "suite = core", {"1", "2"}),
        (["s", "d", "D"], 2, "suite = core", {"1", "2"}),
        (["s", "c", "r"], 3, "none", {"1", "2"}),
        (["slash", "M", "u", "enter"], 1, "tags: mu", {"1", "2"}),
        (["slash", "a", "s", "enter", "A"], 0, "tags: as", {"1", "2"}),
        (["slash", "m", "enter", "A", "slash", "escape"], 3, "none", {"2"}),
        (["slash", "m", "enter", "r"], 3, "none", {"1", "2"}),
    ],
)
def test_keys_of_the_task_screen(keys, lines, filters, chosen):
    def look(app):
        assert len(shown(app)) == lines
        assert text(app, "#filters") == f"filters: {filters}"
        assert not app.screen.query_one(Input).display

    app = picker()
    assert press(app, "enter", before=["enter", *keys], look=look) is True
    assert app._tasks.chosen == chosen


def test_an_empty_list_can_be_confirmed():
    app = picker()
    assert press(app, "enter", before=["enter", "slash", "z", "enter", "space"]) is True
    assert app._tasks.chosen == {"1", "2"}


def progress(feed: Feed, *states: tuple[int, int, bool]) -> ProgressApp:
    """Make the screen; the last state stays."""
    remaining = list(states)

    def state() -> tuple[int, int, bool]:
        return remaining.pop(0) if len(remaining) > 1 else remaining[0]

    return ProgressApp(feed, state, lambda: ["mock: 1 in flight\x1b"])


@pytest.mark.parametrize("key, value", [("q", True), ("escape", True), ("ctrl+c", False)])
def test_progress_can_be_closed_or_cancelled(key, value):
    def look(app):
        assert text(app, "#percentage") == "25% · 1 of 4 attempts"
        assert text(app, "#status") == "mock: 1 in flight\\x1b"
        assert [line.text for line in app.query_one(RichLog).lines] == ["Passed  mock-x: [b]one[/b]\\n"]

    feed = Feed()
    feed.put("Passed  mock-x: [b]one[/b]\n")
    assert press(progress(feed, (1, 4, True)), key, look=look) is value


def test_the_log_scrolls_by_keys():
    def look(app):
        log = app.query_one(RichLog)
        assert log.has_focus
        assert log.max_scroll_y > 0
        assert log.scroll_target_y == 0

    feed = Feed()
    for number in range(200):
        feed.put(f"line {number}")
    press(progress(feed, (1, 4, True)), "q", before=["home"], look=look)


@pytest.mark.parametrize("states", [[(0, 4, True), (4, 4, False)], [(0, 0, False)], [(2, 4, False)]])
def test_progress_ends_by_itself(states):
    app = progress(Feed(), *states)

    async def run() -> None:
        async with app.run_test() as pilot:
            for _ in range(50):
                await pilot.pause(0.05)
                if app.return_value is not None:
                    return

    asyncio.run(run())
    assert app.return_value is True


def test_a_full_feed_drops_lines_and_never_blocks():
    feed = Feed(size=2)
    for number in range(5):
        feed.put(str(number))
    assert (list(feed.lines()), feed.dropped) == (["0", "1"], 3)
