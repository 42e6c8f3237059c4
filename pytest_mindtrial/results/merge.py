"""Merging the results of several documents or journals, the last one winning.

Does not read files and does not write any. Source: spec mindtrial 8.1 and A.5. Three additions: repeats of one task are
different results, so are tasks of the same name from two files of one evaluation, and results of different evaluations
are never mixed without a note.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterable, Sequence
from dataclasses import dataclass

from pytest_mindtrial.core.record import Result

__all__ = ["MergedResults", "MergedRun", "Source", "merge"]

_Key = tuple[str, int | None, str]
_Name = tuple[str, str, str, int | None]


@dataclass(frozen=True, slots=True)
class Source:
    """What was read from one place.

    Attributes:
        name: How the user called it, usually a path; used in notes.
        results: In file order.
    """

    name: str
    results: Sequence[Result]


@dataclass(frozen=True, slots=True)
class MergedRun:
    """The merge statistics of one run.

    Attributes:
        total: Results after the merge.
        updated: Distinct tasks that were replaced at least once, also by a duplicate inside one source.
    """

    provider: str
    run: str
    total: int
    updated: int


@dataclass(frozen=True, slots=True)
class MergedResults:
    """The outcome of a merge.

    Attributes:
        results: Providers, runs and tasks each in the order they were first seen; a replacement keeps the place.
        runs: Statistics in the same order.
        notes: Sentences for people when results of different evaluations stand side by side; empty otherwise.
    """

    results: tuple[Result, ...]
    runs: tuple[MergedRun, ...]
    notes: tuple[str, ...]


def merge(sources: Iterable[Source]) -> MergedResults:
    """Merge by provider, run, task and repeat; later sources win.

    Invariant: idempotent, and associative in its results where no evaluation has a name in two task files.
    """
    sources = tuple(sources)
    ambiguous = _names_in_several_files(sources)
    groups: dict[str, dict[str, dict[_Key, tuple[Result, str]]]] = {}
    replaced: dict[tuple[str, str], set[_Key]] = {}
    for source in sources:
        for result in source.results:
            run = groups.setdefault(result.provider, {}).setdefault(result.run, {})
            key = (result.task, result.repeat, _task_file(result) if _name(result) in ambiguous else "")
            if key in run:
                replaced.setdefault((result.provider, result.run), set()).add(key)
            run[key] = (result, source.name)
    kept = [entry for runs in groups.values() for tasks in runs.values() for entry in tasks.values()]
    statistics = tuple(
        MergedRun(provider, run, len(tasks), len(replaced.get((provider, run), ())))
        for provider, runs in groups.items()
        for run, tasks in runs.items()
    )
    return MergedResults(tuple(result for result, _ in kept), statistics, _notes(kept))


def _names_in_several_files(sources: Iterable[Source]) -> set[_Name]:
    """Return the names that one evaluation took from more than one task file; results JSON does not say the file."""
    files: dict[tuple[str, str, _Name], str] = {}
    names = set()
    for source in sources:
        for result in source.results:
            name = _name(result)
            file = _task_file(result)
            if file and files.setdefault((source.name, result.evaluation_seed, name), file) != file:
                names.add(name)
    return names


def _name(result: Result) -> _Name:
    return (result.provider, result.run, result.task, result.repeat)


def _task_file(result: Result) -> str:
    return result.nodeid.partition("::")[0]


def _notes(kept: Sequence[tuple[Result, str]]) -> tuple[str, ...]:
    """Say which evaluation came from where; blank seeds (MindTrial before seeds) count as one evaluation per source."""
    counts = Counter((result.evaluation_seed, name) for result, name in kept)
    evaluations = {seed or name for seed, name in counts}
    if len(evaluations) < 2:
        return ()
    lines = [f"the merged results come from {len(evaluations)} different evaluations:"]
    for (seed, name), count in counts.items():
        label = f"evaluation {seed}" if seed else "an evaluation without a seed"
        lines.append(f"  {count} result{'' if count == 1 else 's'} of {label} from {name}")
    return tuple(lines)
