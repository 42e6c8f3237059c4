"""What is chosen on the screens: runs in a tree, tasks in a list with filters.

Pure state without a screen. Chosen runs and tasks only decide which items stay; nothing here changes a suite.
Source: spec mindtrial 9.
"""

from __future__ import annotations

from collections.abc import Hashable, Iterable, Sequence
from dataclasses import dataclass, field

__all__ = ["DIMENSIONS", "RunChoice", "RunTree", "TaskChoice", "TaskList"]

DIMENSIONS = ("suite", "category", "difficulty")
"""What tasks can be filtered by, beside tags."""


@dataclass(frozen=True, slots=True)
class RunChoice:
    """A run that can be chosen.

    Attributes:
        key: What tells runs apart.
        group: What tells provider entries apart: two may have one name.
    """

    key: Hashable
    group: Hashable
    provider: str
    name: str
    is_enabled: bool = True


@dataclass(frozen=True, slots=True)
class TaskChoice:
    """A task that can be chosen."""

    key: Hashable
    name: str
    suite: str = ""
    category: str = ""
    difficulty: str = ""
    tags: tuple[str, ...] = ()
    is_enabled: bool = True

    def value(self, dimension: str) -> str:
        """Return the task's value of one of `DIMENSIONS`."""
        return str(getattr(self, dimension))

    def has_tags(self, tokens: Iterable[str]) -> bool:
        """Tell whether every token is the beginning of one of the tags, whatever the case."""
        own = [tag.casefold() for tag in self.tags]
        return all(any(tag.startswith(token) for tag in own) for token in tokens)


@dataclass(frozen=True, slots=True)
class TreeRow:
    """One line of the tree.

    Attributes:
        depth: 0 everything, 1 provider, 2 run.
        runs: The runs at or below the line.
    """

    depth: int
    label: str
    runs: tuple[Hashable, ...]


class RunTree:
    """Select All > provider > run.

    Attributes:
        rows: Lines from top to bottom.
        chosen: Keys of the chosen runs.
    """

    def __init__(self, runs: Sequence[RunChoice]) -> None:
        groups: dict[Hashable, list[RunChoice]] = {}
        for run in runs:
            groups.setdefault(run.group, []).append(run)
        self.rows = [TreeRow(0, "Select All", tuple(run.key for run in runs))]
        for members in groups.values():
            self.rows.append(TreeRow(1, members[0].provider, tuple(run.key for run in members)))
            self.rows += [TreeRow(2, run.name, (run.key,)) for run in members]
        self.chosen = {run.key for run in runs if run.is_enabled}

    def is_checked(self, row: TreeRow) -> bool:
        """Tell whether a line is checked: a parent is when all its runs are."""
        return bool(row.runs) and self.chosen.issuperset(row.runs)

    def toggle(self, row: TreeRow) -> None:
        """Check a line with all below it, or uncheck them."""
        if self.is_checked(row):
            self.chosen.difference_update(row.runs)
        else:
            self.chosen.update(row.runs)


@dataclass(slots=True)
class TaskList:
    """The tasks, what is chosen and what is shown.

    Attributes:
        tasks: All, in file order.
        chosen: Keys of the chosen tasks; filters do not change it.
        filters: Dimension → value; only tasks with this value are shown.
        tags: Tokens in lower case, all of which a shown task has.
    """

    tasks: Sequence[TaskChoice]
    chosen: set[Hashable] = field(default_factory=set)
    filters: dict[str, str] = field(default_factory=dict)
    tags: tuple[str, ...] = ()

    def __post_init__(self) -> None:
        self.chosen = {task.key for task in self.tasks if task.is_enabled}

    @property
    def visible(self) -> list[TaskChoice]:
        """The tasks that pass every filter."""
        return self._passing(self.filters)

    def _passing(self, filters: dict[str, str]) -> list[TaskChoice]:
        return [
            task
            for task in self.tasks
            if all(task.value(name) == value for name, value in filters.items()) and task.has_tags(self.tags)
        ]

    def toggle(self, task: TaskChoice) -> None:
        """Choose a task, or not."""
        self.chosen ^= {task.key}

    def choose_visible(self, is_chosen: bool) -> None:
        """Choose all shown tasks, or none of them; those not shown stay as they are."""
        keys = {task.key for task in self.visible}
        self.chosen = self.chosen | keys if is_chosen else self.chosen - keys

    def cycle(self, dimension: str) -> None:
        """Filter by the next value that goes with the other filters; after the last one the filter is off."""
        others = {name: value for name, value in self.filters.items() if name != dimension}
        values = sorted({task.value(dimension) for task in self._passing(others)} - {""})
        current = self.filters.get(dimension)
        later = values if current is None else [value for value in values if value > current]
        self.filters = others | ({dimension: later[0]} if later else {})

    def clear(self, dimension: str = "") -> None:
        """Switch one filter off, or all of them, tags too."""
        self.filters = {name: value for name, value in self.filters.items() if dimension and name != dimension}
        if not dimension:
            self.tags = ()

    def search(self, text: str) -> None:
        """Filter by tags: tokens separated by commas, each the beginning of a tag."""
        self.tags = tuple(token.strip().casefold() for token in text.split(",") if token.strip())

    @property
    def counts(self) -> str:
        """How many are shown, there are, and are chosen."""
        return f"{len(self.visible)} visible / {len(self.tasks)} total • {len(self.chosen)} selected"

    @property
    def active_filters(self) -> str:
        """The filters in words; blank without any."""
        parts = [f"{name} = {self.filters[name]}" for name in DIMENSIONS if name in self.filters]
        if self.tags:
            parts.append(f"tags: {', '.join(self.tags)}")
        return " • ".join(parts)
