"""The facts of an evaluation that belong to no single result: who wrote the reports, when, of what, how complete.

Does not hold results. Source: spec mindtrial 7.1 (document head); design D7, D15.
"""

from __future__ import annotations

from dataclasses import dataclass
from datetime import datetime

from pytest_mindtrial import __version__

__all__ = ["APP_NAME", "EvaluationInfo"]

APP_NAME = "pytest-mindtrial"


@dataclass(frozen=True, slots=True)
class EvaluationInfo:
    """What every report says about its evaluation.

    Attributes:
        app_name: Writer of the document.
        app_version: Its version.
        created_at: When the evaluation started, with zone; a text is written as it is (a document that was read);
            None = unknown (left out of the documents).
        seed: Evaluation seed; blank = unknown.
        suites: Task files as the user named them.
        config: Configuration file; blank = none.
        expected: Number of selected items (tasks × runs × repeats); None = unknown.
        is_complete: False when the session was interrupted or stopped early.
        incomplete_reason: Why, in words; blank when complete.
        config_digest: Digest of the configuration's content; blank = unknown.
        concurrency: Attempts in flight per provider, as the option is written; None = unknown.
    """

    app_name: str = APP_NAME
    app_version: str = __version__
    created_at: datetime | str | None = None
    seed: str = ""
    suites: tuple[str, ...] = ()
    config: str = ""
    expected: int | None = None
    is_complete: bool = True
    incomplete_reason: str = ""
    config_digest: str = ""
    concurrency: int | str | None = None
