"""Results read from the files a user names: MindTrial's JSON and our journals, merged in order.

Does not write. Source: spec mindtrial 8.1.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, replace
from datetime import datetime
from email.utils import parsedate_to_datetime
from pathlib import Path

from pytest_mindtrial.cli.console import say
from pytest_mindtrial.core.errors import ResultsError
from pytest_mindtrial.core.record import Result
from pytest_mindtrial.results.evaluation import EvaluationInfo
from pytest_mindtrial.results.journal_reader import read_journal
from pytest_mindtrial.results.json_reader import Header, read_results_json
from pytest_mindtrial.results.merge import MergedResults, Source, merge

__all__ = ["Inputs", "read_inputs", "read_results"]


@dataclass(frozen=True, slots=True)
class Inputs:
    """What was read.

    Attributes:
        merged: The results with their merge statistics.
        info: For the head of what is written: of the one input, or of this merge.
        created_at: The only document's own date, as written there; blank otherwise.
    """

    merged: MergedResults
    info: EvaluationInfo
    created_at: str = ""

    @property
    def results(self) -> tuple[Result, ...]:
        """The merged results."""
        return self.merged.results


@dataclass(frozen=True, slots=True)
class _Loaded:
    source: Source
    info: EvaluationInfo
    created_at: str = ""


def read_inputs(paths: Sequence[str], now: datetime) -> Inputs:
    """Read files in order and merge them, the last one winning.

    One document alone keeps its head (who wrote it, when), so that a conversion loses nothing.

    Raises:
        ResultsError: A file has an extension that is not read, cannot be read, or holds something else.
    """
    loaded = [_load(path) for path in paths]
    merged = merge(item.source for item in loaded)
    if len(loaded) == 1:
        return Inputs(merged, loaded[0].info, loaded[0].created_at)
    seeds = {result.evaluation_seed for result in merged.results}
    incomplete = [item for item in loaded if not item.info.is_complete]
    info = EvaluationInfo(
        created_at=now,
        seed=seeds.pop() if len(seeds) == 1 else "",
        is_complete=not incomplete,
        incomplete_reason="; ".join(f"{item.source.name}: {item.info.incomplete_reason}" for item in incomplete),
    )
    return Inputs(merged, info)


def read_results(path: str) -> tuple[Result, ...]:
    """Read one file; duplicates inside it are merged."""
    return merge([_load(path).source]).results


def _load(path: str) -> _Loaded:
    say(f"Loading results from file: {path}")
    suffix = Path(path).suffix.lower()
    if suffix == ".jsonl":
        journal = read_journal(Path(path))
        if journal.torn:
            say(f"{path}: a line was cut off when its session was killed; that attempt is left out")
        return _Loaded(Source(path, journal.results), journal.header)
    if suffix != ".json":
        raise ResultsError(f'unsupported input format: "{suffix.removeprefix(".")}" ({path}); allowed: json, jsonl')
    document = read_results_json(Path(path))
    info = _info(document.header)
    seeds = {result.evaluation_seed for result in document.results}
    return _Loaded(
        Source(path, document.results),
        replace(info, seed=seeds.pop() if len(seeds) == 1 else ""),
        document.header.created_at,
    )


def _info(header: Header) -> EvaluationInfo:
    try:
        created: datetime | None = parsedate_to_datetime(header.created_at)
    except ValueError:
        created = None
    return EvaluationInfo(header.app_name, header.app_version, created)
