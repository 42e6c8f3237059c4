"""Stored results, whichever of our forms they have.

Does not merge several files and says nothing about what it reads (``cli/inputs.py`` does). Source: spec mindtrial 8.1.
"""

from __future__ import annotations

from pathlib import Path

from pytest_mindtrial.core.errors import ResultsError
from pytest_mindtrial.core.record import Result
from pytest_mindtrial.results.journal_reader import read_journal
from pytest_mindtrial.results.json_reader import read_results_json
from pytest_mindtrial.results.merge import Source, merge

__all__ = ["read_stored_results"]


def read_stored_results(path: Path) -> tuple[Result, ...]:
    """Return the results of a results JSON or a journal; of a task that stands there twice, the last one.

    Raises:
        ResultsError: The extension is neither ``.json`` nor ``.jsonl``, or the file cannot be read.
    """
    suffix = path.suffix.lower()
    if suffix == ".jsonl":
        found = read_journal(path).results
    elif suffix == ".json":
        found = read_results_json(path).results
    else:
        raise ResultsError(f"{path}: results are read from .json and .jsonl files")
    return merge([Source(str(path), found)]).results
