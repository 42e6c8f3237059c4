"""One spending limit for all workers of xdist: the controller's file and its end of the session, a worker's access.

The controller makes the file (``engine/ledger.py``) in this machine's directory for temporary files, gives every worker
a page, closes the pages of workers that have ended, and fails the session once a worker has left an item out. What was
in flight in a worker that crashed counts as spent, as much as was expected of it, because it may be billed; what its
replacement takes over from its journal costs nothing. Does not count and sends nothing.
"""

from __future__ import annotations

import contextlib
import os
import tempfile
from pathlib import Path
from typing import TYPE_CHECKING

import pytest

from pytest_mindtrial.engine.budget import Limits
from pytest_mindtrial.engine.ledger import Ledger
from pytest_mindtrial.engine.shared_budget import SharedLimit, spent, used_up
from pytest_mindtrial.plugin.budgeting import limits_of, refuse_several

if TYPE_CHECKING:
    from pytest_mindtrial.plugin.evaluation import Evaluation

__all__ = ["SessionBudget", "open_limit"]


def open_limit(evaluation: Evaluation, limits: Limits, currency: str, path: str, number: int) -> SharedLimit:
    """Return a worker's share in the session's limit.

    Args:
        evaluation: The worker's state.
        limits: How much all workers may spend.
        currency: Of the prices of what this worker runs; blank = there are none.
        path: The session's file.
        number: This worker's page.

    Raises:
        pytest.UsageError: Other workers know prices in another currency, or the file cannot be used.
    """
    try:
        ledger = Ledger(Path(path))
        evaluation.at_end.append(ledger.close)
        limit = SharedLimit(limits, ledger, number)
        others = limit.register(currency)
    except OSError as error:
        raise pytest.UsageError(f"{_cannot_be_shared(evaluation)}: {path}: {error.strerror}") from None
    refuse_several(others | {currency} - {""})
    return limit


class SessionBudget:
    """The controller's side.

    Args:
        evaluation: The session's state.

    Raises:
        pytest.UsageError: The amount is none, or the file cannot be made.
    """

    def __init__(self, evaluation: Evaluation) -> None:
        self._limits = limits_of(evaluation.settings)
        try:
            descriptor, path = tempfile.mkstemp(prefix="pytest-mindtrial-budget-")
            os.close(descriptor)
            self._path = Path(path)
            self._ledger = Ledger(self._path)
        except OSError as error:
            raise pytest.UsageError(f"{_cannot_be_shared(evaluation)}: {error}") from None
        evaluation.at_end.append(self._end)

    def add_worker(self) -> tuple[str, int]:
        """Return what a new worker needs to know: file and page."""
        return str(self._path), self._ledger.add()

    def ended(self, number: int) -> None:
        """Close the page of a worker that has ended."""
        page = self._ledger.pages()[number]
        page.close()
        self._ledger.write(number, page)

    def has_stopped(self, number: int) -> bool:
        """Tell whether a worker has left an item out."""
        return self._ledger.pages()[number].is_stopped

    @property
    def stopped(self) -> str:
        """Why items were left out; blank when none was."""
        return self.exhausted if any(page.is_stopped for page in self._ledger.pages()) else ""

    @property
    def exhausted(self) -> str:
        """Why nothing was sent any more; blank while something was left."""
        return used_up(self._limits, self._ledger.pages())

    @property
    def spent(self) -> str:
        """What all workers have spent, for people."""
        return spent(self._limits, self._ledger.pages())

    def _end(self) -> None:
        self._ledger.close()
        with contextlib.suppress(OSError):
            self._path.unlink()


def _cannot_be_shared(evaluation: Evaluation) -> str:
    name = "--mt-max-cost" if evaluation.settings.max_cost is not None else "--mt-max-tokens"
    return f"{name}: the limit cannot be shared between workers"
