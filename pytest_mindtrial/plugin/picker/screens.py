"""The two screens on which runs and tasks are chosen.

Draw and handle keys; what is chosen is kept in `selection`. Source: spec mindtrial 9.
"""

from __future__ import annotations

from typing import ClassVar, Literal

from textual.app import App, ComposeResult
from textual.binding import Binding, BindingType
from textual.content import Content
from textual.screen import Screen
from textual.widgets import Footer, Input, OptionList, Static
from textual.widgets.option_list import Option

from pytest_mindtrial.core.display import one_line
from pytest_mindtrial.plugin.picker.selection import RunTree, TaskList

__all__ = ["PickerApp"]


class Choices(OptionList):
    """The list; Enter confirms also when filters have left no line."""

    def action_select(self) -> None:
        """Confirm."""
        if self.highlighted is None:
            self.post_message(self.OptionSelected(self, Option(""), -1))
        else:
            super().action_select()


class ChoiceScreen(Screen[bool]):
    """A list with check boxes; ends with True when it is confirmed, False when it is left."""

    CSS = "#title { text-style: bold; } OptionList { height: 1fr; border: none; }"
    BINDINGS: ClassVar[list[BindingType]] = [
        Binding("j", "move(1)", "down", show=False),
        Binding("k", "move(-1)", "up", show=False),
        Binding("space", "toggle_line", "toggle"),
        Binding("q,escape", "leave", "as in the files"),
    ]
    HEADING = ""

    def compose(self) -> ComposeResult:
        """Lay out."""
        yield Static(Content(self.HEADING), id="title")
        yield Static(id="counts")
        yield Static(id="filters")
        yield Choices(id="list")
        yield Footer()

    def on_mount(self) -> None:
        """Fill the list."""
        self.redraw()
        self.options.focus()

    @property
    def options(self) -> OptionList:
        """The list."""
        return self.query_one("#list", OptionList)

    def lines(self) -> list[tuple[bool, str]]:
        """Return for every line whether it is checked, and its text."""
        raise AssertionError("every screen has its lines")

    def toggle_line(self, index: int) -> None:
        """Toggle a line."""
        raise AssertionError("every screen toggles its lines")

    def redraw(self) -> None:
        """Draw the lines anew; the cursor stays where it was, as far as there is a line."""
        place = self.options.highlighted or 0
        prompts = [Content(f"[{'x' if checked else ' '}] {one_line(text)}") for checked, text in self.lines()]
        self.options.clear_options()
        self.options.add_options(prompts)
        self.options.highlighted = min(place, len(prompts) - 1) if prompts else None

    def on_option_list_option_selected(self) -> None:
        """Confirm: the list takes the Enter key itself."""
        self.dismiss(True)

    def action_leave(self) -> None:
        """Leave; what the files say stands."""
        self.dismiss(False)

    def action_move(self, step: int) -> None:
        """Move the cursor."""
        if step > 0:
            self.options.action_cursor_down()
        else:
            self.options.action_cursor_up()

    def action_toggle_line(self) -> None:
        """Toggle the line under the cursor."""
        if self.options.highlighted is not None:
            self.toggle_line(self.options.highlighted)
            self.redraw()


class RunScreen(ChoiceScreen):
    """Choose runs in a tree."""

    HEADING = "Select Provider Configurations"

    def __init__(self, tree: RunTree) -> None:
        super().__init__()
        self._tree = tree

    def lines(self) -> list[tuple[bool, str]]:
        """Return the lines of the tree, indented by depth."""
        return [(self._tree.is_checked(row), "  " * row.depth + row.label) for row in self._tree.rows]

    def toggle_line(self, index: int) -> None:
        """Toggle a line and everything below it."""
        self._tree.toggle(self._tree.rows[index])


class TagSearch(Input):
    """The line in which tags are searched; Escape clears the search."""

    BINDINGS: ClassVar[list[BindingType]] = [Binding("escape", "clear_search", "clear")]

    def action_clear_search(self) -> None:
        """Empty the search and leave the line."""
        self.value = ""
        self.post_message(self.Submitted(self, ""))


class TaskScreen(ChoiceScreen):
    """Choose tasks in a list with filters."""

    HEADING = "Select Tasks"
    BINDINGS: ClassVar[list[BindingType]] = [
        Binding("a", "choose_visible(True)", "select visible"),
        Binding("A", "choose_visible(False)", "deselect visible"),
        Binding("s", "cycle('suite')", "suite"),
        Binding("c", "cycle('category')", "category"),
        Binding("d", "cycle('difficulty')", "difficulty"),
        Binding("S", "clear('suite')", show=False),
        Binding("C", "clear('category')", show=False),
        Binding("D", "clear('difficulty')", show=False),
        Binding("r", "clear('')", "clear filters"),
        Binding("slash", "search", "tags"),
    ]

    def __init__(self, tasks: TaskList) -> None:
        super().__init__()
        self._tasks = tasks

    def compose(self) -> ComposeResult:
        """Lay out, with a hidden line for tags."""
        yield from super().compose()
        yield TagSearch(placeholder="tags, separated by commas", id="search")

    def on_mount(self) -> None:
        """Fill the list and hide the search."""
        self.query_one(TagSearch).display = False
        super().on_mount()

    def lines(self) -> list[tuple[bool, str]]:
        """Return the visible tasks."""
        return [(task.key in self._tasks.chosen, task.name) for task in self._tasks.visible]

    def toggle_line(self, index: int) -> None:
        """Toggle a visible task."""
        self._tasks.toggle(self._tasks.visible[index])

    def redraw(self) -> None:
        """Draw the list and the lines above it."""
        super().redraw()
        filters = self._tasks.active_filters
        self.query_one("#counts", Static).update(Content(self._tasks.counts))
        self.query_one("#filters", Static).update(Content(f"filters: {one_line(filters) or 'none'}"))

    def action_choose_visible(self, is_chosen: bool) -> None:
        """Choose all visible tasks, or none of them."""
        self._tasks.choose_visible(is_chosen)
        self.redraw()

    def action_cycle(self, dimension: Literal["suite", "category", "difficulty"]) -> None:
        """Filter by the next value."""
        self._tasks.cycle(dimension)
        self.redraw()

    def action_clear(self, dimension: str) -> None:
        """Switch one filter off, or all."""
        self._tasks.clear(dimension)
        self.redraw()

    def action_search(self) -> None:
        """Ask for tags."""
        search = self.query_one(TagSearch)
        search.display = True
        search.focus()

    def on_input_submitted(self, event: Input.Submitted) -> None:
        """Filter by the tags typed."""
        self._tasks.search(event.value)
        event.input.display = False
        self.options.focus()
        self.redraw()


class PickerApp(App[bool]):
    """Runs first, then tasks; ends with True when an evaluation shall run, False when the user gave up.

    Args:
        runs: The runs; its choice is final when the app has ended with True.
        tasks: The tasks, likewise.
    """

    BINDINGS: ClassVar[list[BindingType]] = [Binding("ctrl+c", "abort", "exit", priority=True)]
    ENABLE_COMMAND_PALETTE = False

    def __init__(self, runs: RunTree, tasks: TaskList) -> None:
        super().__init__()
        self._runs = runs
        self._tasks = tasks
        self._as_in_files = set(runs.chosen), set(tasks.chosen)

    def on_mount(self) -> None:
        """Show the first screen."""
        self.push_screen(RunScreen(self._runs), self._with_runs)

    def _with_runs(self, is_confirmed: bool | None) -> None:
        if not is_confirmed:
            self._runs.chosen = set(self._as_in_files[0])
        self.push_screen(TaskScreen(self._tasks), self._with_tasks)

    def _with_tasks(self, is_confirmed: bool | None) -> None:
        if not is_confirmed:
            self._tasks.chosen = set(self._as_in_files[1])
        self.exit(True)

    def action_abort(self) -> None:
        """Leave without an evaluation."""
        self.exit(False)
