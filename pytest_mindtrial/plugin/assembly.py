"""What a session gives to its engine: files with downloads.

Does not start anything. Source: design 3; spec mindtrial 2.7.
"""

from __future__ import annotations

from typing import TYPE_CHECKING

from pytest_mindtrial.engine.attempts import AttemptSettings
from pytest_mindtrial.suite.files import FileStore

if TYPE_CHECKING:
    from pytest_mindtrial.plugin.evaluation import Evaluation

__all__ = ["attempt_settings"]


def attempt_settings(evaluation: Evaluation) -> AttemptSettings:
    """Return the settings of all attempts of a session."""
    return AttemptSettings(files=FileStore(_download))


def _download(url: str) -> bytes:
    from pytest_mindtrial.providers.downloads import fetch_file  # only suites with remote files need HTTP for them

    return fetch_file(url)
