"""Task files become collectors, task × run becomes an item.

Does not run anything, resolve keys or touch the network (design D9). Source: spec pytest 2.
"""

from __future__ import annotations

import fnmatch
import re
from collections.abc import Iterable, Iterator
from pathlib import Path
from typing import TYPE_CHECKING, Any

import pytest

from pytest_mindtrial.core.errors import ConfigError, UserError
from pytest_mindtrial.plugin.evaluation import evaluation_of
from pytest_mindtrial.plugin.naming import item_name, marker_name

if TYPE_CHECKING:
    from pytest_mindtrial.core.record import Metadata
    from pytest_mindtrial.plugin.items import TaskItem
    from pytest_mindtrial.suite.model import Config, Provider, Run, Suite, Task

__all__ = ["TaskFile", "claims", "may_claim"]

_TASK_ROOT = re.compile(rb"^[\"']?task-config[\"']?[ \t]*:", re.MULTILINE)
_PEEK_BYTES = 65_536


def claims(path: Path, parent: pytest.Collector) -> bool:
    """Tell whether a file is ours without parsing it.

    True for a file that matches ``mt_files``, and for a YAML file named on the command line that has the root key
    ``task-config`` or stands beside a ``--mt-config``.
    """
    if path.suffix not in (".yaml", ".yml"):
        return False
    settings = evaluation_of(parent.config).settings
    relative = path.relative_to(parent.config.rootpath) if path.is_relative_to(parent.config.rootpath) else path
    for pattern in settings.files:
        if fnmatch.fnmatch(path.name, pattern) or fnmatch.fnmatch(relative.as_posix(), pattern):
            return True
    if not parent.session.isinitpath(path):
        return False
    if parent.config.getoption("mt_config", None):
        return True
    with path.open("rb") as stream:
        return bool(_TASK_ROOT.search(stream.read(_PEEK_BYTES)))


def may_claim(path: Path, parent: pytest.Collector) -> bool:
    """Tell whether a YAML file named on the command line, which nobody else wants, deserves our explanation."""
    return path.suffix in (".yaml", ".yml") and parent.session.isinitpath(path)


class TaskFile(pytest.Module):
    """A task file. To pytest it is a module, as its own text doctests are, so that fixtures may have that scope."""

    obj = None

    def collect(self) -> Iterable[pytest.Item]:
        """Yield one item per enabled task × enabled run (× repeat), in file order.

        Raises:
            CollectError: The task file is wrong; the message has file:line:column.
        """
        evaluation = evaluation_of(self.config)
        evaluation.pause_collector()
        try:
            config = evaluation.config_for(self.path)
        except ConfigError as error:
            # A wrong configuration is a usage error of the whole session (exit status 4); it is raised when collection
            # ends, because an exception here would be reported as this file's fault.
            evaluation.usage_error = error
            return ()
        try:
            suite = evaluation.load_suite(self.path, config)
            items = list(self._items(config, suite))
        except UserError as error:
            raise self.CollectError(str(error)) from None
        if not items:
            evaluation.note(f"{self.name}: nothing to run: no enabled task or no enabled run")
        evaluation.expect_tasks(len({item.task.name for item in items}), len({item.run_key for item in items}))
        return items

    def _items(self, config: Config, suite: Suite) -> Iterator[TaskItem]:
        from pytest_mindtrial.plugin.items import TaskItem

        # Where the user chooses on a screen, what the files disable can be chosen too.
        settings = evaluation_of(self.config).settings
        shows_disabled = settings.interactive
        pairs = [(provider, run) for provider in config.providers for run in provider.runs]
        runs = [pair for pair in pairs if shows_disabled or not pair[1].disabled]
        marks = _Marks(self.config)
        seen: dict[str, Any] = {}
        twin: TaskItem | None = None
        for task in suite.tasks:
            if task.disabled and not shows_disabled:
                continue
            for provider, run in runs:
                labels, marked = marks.of(task, provider)
                for repeat in _repeats(settings.repeat or task.repeat):
                    name = item_name(task.name, provider.name, run.name, repeat)
                    if name in seen:
                        raise _duplicate(name, seen[name], task, run)
                    seen[name] = (task, run)
                    item = TaskItem.from_parent(
                        self,
                        name=name,
                        config_=config,
                        task=task,
                        provider=provider,
                        run=run,
                        repeat=repeat,
                        twin=twin,
                        keywords=marked,
                    )
                    twin = twin or item
                    # Not add_marker: for five markers it takes as long as the item itself.
                    item.own_markers.extend(marked.values())
                    item.extra_keyword_matches.update(labels)
                    yield item


def _repeats(count: int | None) -> Iterable[int | None]:
    return range(1, count + 1) if count else (None,)


def _duplicate(name: str, first: tuple[Task, Run], task: Task, run: Run) -> UserError:
    same_run = first[0] is task
    thing, where = ("run", first[1].position) if same_run else ("task", first[0].position)
    return UserError(
        f"two items would have the id {name!r}; the other {thing} is at {where}. Rename one of them.",
        run.position if same_run else task.position,
    )


class _Marks:
    """What labels mean for items: each is a keyword, and a marker that is registered once."""

    def __init__(self, config: pytest.Config) -> None:
        self._config = config
        self._known: dict[str, pytest.Mark] = {}
        self._of: dict[tuple[Metadata, bool, str], tuple[list[str], dict[str, pytest.Mark]]] = {}

    def of(self, task: Task, provider: Provider) -> tuple[list[str], dict[str, pytest.Mark]]:
        """Return labels and markers, by name, of a task's items; thousands of tasks share few."""
        key = (task.metadata, task.must_pass, provider.name)
        if key not in self._of:
            metadata = task.metadata
            labels = [metadata.suite, metadata.category, metadata.difficulty, *metadata.tags, provider.name]
            labels = [label for label in dict.fromkeys(labels) if label.strip()]
            names = dict.fromkeys(name for name in map(marker_name, labels) if name)
            marks = {"mindtrial": pytest.mark.mindtrial.mark, **{name: self._registered(name) for name in names}}
            if task.must_pass:
                marks["must_pass"] = pytest.mark.must_pass.mark
            self._of[key] = labels, marks
        return self._of[key]

    def _registered(self, name: str) -> pytest.Mark:
        if name not in self._known:
            self._config.addinivalue_line("markers", f"{name}: label of a task in a MindTrial suite")
            self._known[name] = getattr(pytest.mark, name).mark
        return self._known[name]
