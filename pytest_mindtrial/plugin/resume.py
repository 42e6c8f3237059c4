"""``--mt-resume``: which items of the session have a finished attempt in an earlier journal.

Does not decide about a single attempt (``results/reuse.py``) and makes none. Source: design D7; field pains 12 and 20.
"""

from __future__ import annotations

import os
from collections import Counter
from collections.abc import Iterable, Iterator
from dataclasses import replace
from pathlib import Path
from typing import TYPE_CHECKING, Any, cast

import pytest

from pytest_mindtrial.core.display import one_line
from pytest_mindtrial.core.errors import ResultsError
from pytest_mindtrial.results.lane_journals import read_session
from pytest_mindtrial.results.reuse import Decision, Rerun, StoredResults, Wanted

if TYPE_CHECKING:
    from pytest_mindtrial.core.record import Result
    from pytest_mindtrial.plugin.evaluation import Evaluation
    from pytest_mindtrial.plugin.items import TaskItem

__all__ = ["Resume", "stored_results", "taken_over", "wanted_of"]

_CAUSES = {"missing": "not in the journal", "changed": "changed", "error": "ended in an error", "wish": "asked for"}


def wanted_of(evaluation: Evaluation, item: TaskItem) -> Wanted:
    """Return what an item's attempt is, by its definition."""
    definition = evaluation.definition_of(item)
    return Wanted(
        item.nodeid,
        item.provider.name,
        item.run.name,
        item.task.name,
        item.repeat,
        definition.digest,
        definition.parts,
    )


def stored_results(journal: Path, items: Iterable[TaskItem]) -> StoredResults:
    """Return the results of a journal.

    Raises:
        pytest.UsageError: It cannot be read.
    """
    try:
        content = read_session(journal)
    except ResultsError as error:
        raise pytest.UsageError(str(error)) from None
    return StoredResults(content.results, {item.nodeid for item in items})


def taken_over(evaluation: Evaluation, item: TaskItem, stored: Result, journal: Path, **changes: Any) -> Result:
    """Return a stored result as a result of this session: today's labels and id, and where it comes from."""
    return replace(
        stored,
        nodeid=item.nodeid,
        metadata=item.task.metadata,
        reused_from=evaluation.shown(journal),
        **changes,
    )


class Resume:
    """The decisions of one session.

    Args:
        evaluation: The session's state.
        items: Our items.

    Raises:
        pytest.UsageError: The journal cannot be read.
    """

    def __init__(self, evaluation: Evaluation, items: list[TaskItem]) -> None:
        assert evaluation.settings.resume is not None
        self._evaluation = evaluation
        self.journal = evaluation.settings.resume
        stored = stored_results(self.journal, items)
        rerun = cast("Rerun", evaluation.settings.rerun)
        self._decisions: list[tuple[TaskItem, Decision]] = [
            (item, stored.decide(wanted_of(evaluation, item), rerun)) for item in items
        ]

    def reused(self) -> dict[str, Result]:
        """Return the results that need no attempt, by node id, in the order of the items."""
        return {
            item.nodeid: taken_over(self._evaluation, item, decision.stored, self.journal)
            for item, decision in self._decisions
            if decision.stored is not None
        }

    def continues(self, journal: Path) -> bool:
        """Tell whether a session that writes this journal goes on writing the one it resumes."""
        return journal.exists() and os.path.samefile(journal, self.journal)

    def summary(self) -> str:
        """Return one line: how many items are reused, how many run, and why."""
        causes: Counter[str] = Counter(decision.cause for _, decision in self._decisions)
        count = len(self._decisions) - causes["reused"]
        why = ", ".join(f"{causes[cause]} {text}" for cause, text in _CAUSES.items() if causes[cause])
        line = f"resumes {self._evaluation.shown(self.journal)}: {causes['reused']} reused, {count} to run"
        return f"{line} ({why})" if why else line

    def explanation(self) -> Iterator[str]:
        """Yield one line per item."""
        for item, decision in self._decisions:
            word = "reuse" if decision.stored is not None else "run  "
            yield f"{word} {item.nodeid}: {one_line(decision.reason)}"
