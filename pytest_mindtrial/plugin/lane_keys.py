"""What the node ids of task items mean, for the side that has only ids: xdist's controller never collects.

An id is ours when a configuration belongs to its file and its bracket names an enabled run. Does not distribute
anything (``plugin/lanes.py``). Source: spec pytest 4.1.
"""

from __future__ import annotations

import re
from collections.abc import Hashable, Iterable, Iterator
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING

from pytest_mindtrial.core.errors import UserError
from pytest_mindtrial.core.ids import content_digest
from pytest_mindtrial.plugin.naming import item_name

if TYPE_CHECKING:
    from pytest_mindtrial.plugin.evaluation import Evaluation
    from pytest_mindtrial.suite.model import Config, JudgeSelection, Provider, Run, Task

__all__ = ["ItemIdentity", "TaskIds"]

_REPEAT = re.compile(r"-r(\d+)\]$")


@dataclass(frozen=True, slots=True)
class ItemIdentity:
    """What an id says of its item.

    Attributes:
        path: The task file.
        name: The task's name as ids show it (`naming.item_name`).
        repeat: 1-based repeat index; None without repeats.
    """

    path: Path
    config: Config
    provider: Provider
    run: Run
    name: str
    repeat: int | None


class TaskIds:
    """Reads node ids.

    Args:
        evaluation: Gives configurations and, where judges with rate limits are in play, suites.
    """

    def __init__(self, evaluation: Evaluation) -> None:
        self._evaluation = evaluation
        self._runs: dict[str, tuple[Config, dict[str, tuple[Provider, Run]]] | None] = {}
        self._judged: dict[Path, dict[str, tuple[Hashable, ...]]] = {}

    def identity(self, nodeid: str) -> ItemIdentity | None:
        """Return what an id means; None when it is no item of a task file."""
        file, separator, name = nodeid.partition("::")
        known = self._runs_of(file) if separator else None
        name = name[: name.rfind("]") + 1]  # --dist=loadgroup appends "@group"
        if known is None or not name:
            return None
        config, runs = known
        repeat = _REPEAT.search(name)
        candidates: list[tuple[str, int | None]] = [(name, None)]
        if repeat:
            candidates.append((name[: repeat.start()] + "]", int(repeat[1])))
        for text, index in candidates:
            for bracket, (provider, run) in runs.items():
                if text.endswith(bracket):
                    task = text.removesuffix(bracket)
                    return ItemIdentity(self._path(file), config, provider, run, task, index)
        return None

    def keys(self, nodeid: str) -> tuple[Hashable, ...]:
        """Return what an item shares with others (`lanes.plan_lanes`); empty when it is not ours."""
        identity = self.identity(nodeid)
        if identity is None:
            return ()
        return (_credential(identity.config, identity.provider), *self._judge_keys(identity))

    def task(self, identity: ItemIdentity) -> Task | None:
        """Return the task of an item; reads the suite."""
        suite = self._evaluation.load_suite(identity.path, identity.config)
        return next((task for task in suite.tasks if _task_part(task.name) == identity.name), None)

    def tasks(self, identities: Iterable[ItemIdentity]) -> Iterator[Task]:
        """Yield the tasks of items, each once; reads the suites."""
        names: dict[Path, tuple[Config, set[str]]] = {}
        for identity in identities:
            names.setdefault(identity.path, (identity.config, set()))[1].add(identity.name)
        for path, (config, wanted) in names.items():
            suite = self._evaluation.load_suite(path, config)
            yield from (task for task in suite.tasks if _task_part(task.name) in wanted)

    def _path(self, file: str) -> Path:
        return self._evaluation.pytest_config.rootpath / file

    def _runs_of(self, file: str) -> tuple[Config, dict[str, tuple[Provider, Run]]] | None:
        if file not in self._runs:
            self._runs[file] = self._read(file)
        return self._runs[file]

    def _read(self, file: str) -> tuple[Config, dict[str, tuple[Provider, Run]]] | None:
        if not file.endswith((".yaml", ".yml")):
            return None
        try:
            config = self._evaluation.config_for(self._path(file))
        except UserError:  # a YAML file of another plugin; a wrong configuration of ours never gets this far
            return None
        pairs = [(provider, run) for provider in config.providers for run in provider.runs if not run.disabled]
        brackets = {item_name("", provider.name, run.name): (provider, run) for provider, run in pairs}
        # Longest first: a run may be called like the end of another one.
        return config, dict(sorted(brackets.items(), key=lambda item: -len(item[0])))

    def _judge_keys(self, identity: ItemIdentity) -> tuple[Hashable, ...]:
        """Return a key per rate-limited judge variant that the item's task asks."""
        if not any(_is_limited(run) for judge in identity.config.judges for run in judge.provider.runs):
            return ()
        if identity.path not in self._judged:
            suite = self._evaluation.load_suite(identity.path, identity.config)
            self._judged[identity.path] = {
                _task_part(task.name): _judge_key(identity.config, task.rules.judge) for task in suite.tasks
            }
        return self._judged[identity.path].get(identity.name, ())


def _task_part(task: str) -> str:
    return item_name(task, "", "").removesuffix("[-]")


def _judge_key(config: Config, selection: JudgeSelection) -> tuple[Hashable, ...]:
    from pytest_mindtrial.engine.clients import find_variant

    if not selection.enabled:
        return ()
    judge, run = find_variant(config.judges, selection)
    return (("judge", str(config.path), judge.name, run.name),) if _is_limited(run) else ()


def _is_limited(run: Run) -> bool:
    return bool(run.max_requests_per_minute or run.max_tokens_per_minute)


def _credential(config: Config, provider: Provider) -> Hashable:
    """Return what tells accounts apart, without resolving a key: entries that send one key share its limits."""
    from pytest_mindtrial.suite.keys import KEY_VARIABLES

    written = provider.client.api_key.strip()
    if written or provider.name in KEY_VARIABLES:
        return ("account", provider.name, provider.client.endpoint, content_digest(written) if written else "")
    return ("entry", str(config.path), provider.index)
