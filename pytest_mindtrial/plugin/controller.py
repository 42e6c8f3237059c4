"""The evaluation on xdist's controller: the one journal, the results that workers send, and those that crashed.

The controller has no engine; for reporting it stands where the `Runner` stands in a plain session. Does not distribute
(``plugin/xdist_scheduler.py``). Source: spec pytest 4.3 and 4.4; design D6.
"""

from __future__ import annotations

import os
from collections.abc import Iterable, Sequence
from datetime import datetime
from pathlib import Path
from typing import TYPE_CHECKING

import pytest

from pytest_mindtrial.core.errors import ConfigError, UserError
from pytest_mindtrial.core.ids import TraceIds
from pytest_mindtrial.core.record import ErrorRecord, Metadata, Result
from pytest_mindtrial.core.secret import Redactor
from pytest_mindtrial.core.values import Kind
from pytest_mindtrial.plugin.journaling import SessionJournal
from pytest_mindtrial.plugin.lane_keys import TaskIds
from pytest_mindtrial.plugin.outputs import Outputs
from pytest_mindtrial.plugin.transport import Inbox
from pytest_mindtrial.results.lane_journals import absorb

if TYPE_CHECKING:
    from pytest_mindtrial.plugin.evaluation import Evaluation
    from pytest_mindtrial.plugin.shared_budget import SessionBudget
    from pytest_mindtrial.results.evaluation import EvaluationInfo

__all__ = ["Controller"]


class Controller:
    """State of an evaluation whose attempts are made by workers.

    Args:
        evaluation: The session's state.
        task_ids: Reads node ids.
        collection: Node ids of all tests of the session, in collection order.
        budget: The session's spending limit; None = there is none.

    Attributes:
        inline_reasons: As of `Runner`; workers do not tell.
        redactor: Knows every key of the configurations.

    Raises:
        pytest.UsageError: The journal cannot be written.
    """

    def __init__(
        self,
        evaluation: Evaluation,
        task_ids: TaskIds,
        collection: Sequence[str],
        budget: SessionBudget | None = None,
    ) -> None:
        self._evaluation = evaluation
        self._budget = budget
        self._ids = task_ids
        self.redactor = _all_keys(evaluation)
        self._inbox = Inbox()
        self._trace_ids = TraceIds()
        self._journalled: set[str] = set()
        self._order = {nodeid: place for place, nodeid in enumerate(collection)}
        self.inline_reasons: set[str] = set()
        self.outputs = Outputs(evaluation)
        try:
            self._journal = SessionJournal(self.outputs.journal, evaluation.info(), self.redactor)
        except UserError as error:
            raise pytest.UsageError(str(error)) from None

    @property
    def journal_path(self) -> Path:
        """Where the session's journal is."""
        return self.outputs.journal

    @property
    def problem(self) -> str:
        """Why the session should stop; blank while all is well."""
        return self._journal.problem

    @property
    def exhausted(self) -> str:
        """Why the budget lets nothing more run; blank while it does."""
        return self._budget.exhausted if self._budget is not None else ""

    @property
    def notes(self) -> list[str]:
        """As of `Runner`; what workers note of their caches stays there."""
        return [f"budget: {self._budget.spent}"] if self._budget is not None else []

    def is_clean(self, result: Result) -> bool:
        """Tell whether the journal has written this very result as it is."""
        return self._journal.is_clean(result)

    def redact(self, text: str) -> str:
        """Return a text without any key of the configurations."""
        return self.redactor(text)

    def unpack(self, data: dict[str, str]) -> Result:
        """Return a result that a worker sent; one that got lost on the way is an error of its own."""
        return self._inbox.unpack(data)

    def reported(self, result: Result) -> None:
        """Journal an attempt whose report has arrived."""
        self._journalled.add(result.trace_id)
        self._journal.attempt(result)
        self._journal.reported(result)

    def crashed(self, report: pytest.TestReport) -> Result | None:
        """Return the Error of the item during which a worker died; None when the item is not ours."""
        nodeid, message = report.nodeid, str(report.longrepr)
        identity = self._ids.identity(nodeid)
        if identity is None:
            return None
        task = self._ids.task(identity)
        now = datetime.now().astimezone().isoformat()
        return Result(
            trace_id=self._trace_ids(),
            kind=Kind.ERROR,
            task=task.name if task else identity.name,
            provider=identity.provider.name,
            run=identity.run.name,
            got=message,
            nodeid=nodeid,
            evaluation_seed=self._evaluation.seed,
            metadata=task.metadata if task else Metadata(),
            error=ErrorRecord("Worker Crashed", message, cause="worker-crash"),
            started_at=now,
            finished_at=now,
            repeat=identity.repeat,
            source=str(task.position).partition(" ")[0] if task and task.position else "",
            is_mock=identity.provider.name == "mock",
        )

    def sort(self, results: list[Result]) -> None:
        """Bring results into the order of the collection, in which a plain session reports them."""
        results.sort(key=lambda result: self._order.get(result.nodeid, len(self._order)))

    def close(self, info: EvaluationInfo, lanes: Iterable[Path]) -> list[str]:
        """Take over what workers have journalled, and end the journal; the workers have ended.

        Returns:
            Problems in words.
        """
        problems = absorb(lanes, self._journalled, self._journal.attempt)
        self._journal.close(info)
        return problems


def _all_keys(evaluation: Evaluation) -> Redactor:
    """Learn every key that a worker may have used; a missing one is the worker's to report."""
    from pytest_mindtrial.suite.keys import resolve_key

    redactor = Redactor()
    for config in evaluation.configs:
        for provider in (*config.providers, *(judge.provider for judge in config.judges)):
            try:
                secret = resolve_key(provider, os.environ)
            except ConfigError:
                continue
            if secret is not None:
                redactor.add(secret)
    return redactor
