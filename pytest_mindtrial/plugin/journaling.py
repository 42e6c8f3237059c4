"""The journal of a session: written while it works, one clear problem when it no longer can.

A journal that cannot be written must not lose results that are on their way to their items, and must not let the
session spend more money on attempts that nobody would find again: the session stops cleanly. Does not read journals.

Source: design D7; spec field 2 (pain 26).
"""

from __future__ import annotations

import threading
from collections.abc import Callable
from pathlib import Path
from typing import TYPE_CHECKING

from pytest_mindtrial.core.errors import UserError
from pytest_mindtrial.results.journal import Journal

if TYPE_CHECKING:
    from pytest_mindtrial.core.record import Result
    from pytest_mindtrial.core.secret import Redactor
    from pytest_mindtrial.results.evaluation import EvaluationInfo

__all__ = ["SessionJournal"]


class SessionJournal:
    """A `results.journal.Journal` that remembers its first failure instead of raising it; usable from any thread.

    Args:
        path: The file.
        evaluation: Facts for the header line.
        redact: Applied to every text that is written; may learn secrets meanwhile.

    Attributes:
        problem: Why it can no longer be written; blank while it can. What was written before is intact.

    Raises:
        UserError: It cannot be opened.
    """

    def __init__(self, path: Path, evaluation: EvaluationInfo, redact: Redactor) -> None:
        self.path = path
        self.problem = ""
        self._lock = threading.Lock()
        self._is_closed = False
        self._journal = Journal(path, evaluation, redact)

    def attempt(self, result: Result) -> None:
        """Record a finished attempt."""
        self._try(lambda: self._journal.attempt(result))

    def reported(self, result: Result) -> None:
        """Record that an item was reported."""
        self._try(lambda: self._journal.reported(result))

    def is_clean(self, result: Result) -> bool:
        """Tell whether this very result was written as it is, and no secret was learnt since."""
        return self._journal.is_clean(result)

    def close(self, evaluation: EvaluationInfo) -> None:
        """Record the end of the session and close; a second call does nothing."""
        if self._is_closed:
            return
        self._is_closed = True
        self._try(lambda: self._journal.finished(evaluation))
        try:
            self._journal.close()
        except UserError as error:
            self._fail(error)

    def _try(self, write: Callable[[], None]) -> None:
        if self.problem:
            return
        try:
            write()
        except UserError as error:
            self._fail(error)

    def _fail(self, error: UserError) -> None:
        with self._lock:
            self.problem = self.problem or str(error)
