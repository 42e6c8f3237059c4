"""Which stored results stand for attempts that a session would make, and why or why not.

Decided per attempt by the digest of its definition, never by position or count. Of several stored results of one
attempt and definition the last one counts. Does not read journals and makes no attempts. Source: design D7; field pains
12, 13 and 20.
"""

from __future__ import annotations

from collections.abc import Collection, Iterable, Mapping
from dataclasses import dataclass, field
from typing import Literal

from pytest_mindtrial.core.record import Result
from pytest_mindtrial.core.values import Kind

__all__ = ["Decision", "Rerun", "StoredResults", "Wanted", "changed_parts"]

Rerun = Literal["error", "failed", "all"]
"""Which finished attempts are made again: those that ended in an error, failed ones too, or all."""


@dataclass(frozen=True, slots=True)
class Wanted:
    """An attempt that a session would make.

    Attributes:
        nodeid: pytest's id of the item.
        definition: Digest of everything that decides the attempt.
        parts: The definition's parts, as in `Result.definition_parts`.
    """

    nodeid: str
    provider: str
    run: str
    task: str
    repeat: int | None = None
    definition: str = ""
    parts: Mapping[str, str] = field(default_factory=dict)


@dataclass(frozen=True, slots=True)
class Decision:
    """What becomes of one attempt.

    Attributes:
        stored: The result to use again; None = the attempt is made.
        reason: Why, in words.
        cause: ``reused``, ``missing``, ``changed``, ``error`` or ``wish`` (failed, or all are wanted).
    """

    stored: Result | None
    reason: str
    cause: Literal["reused", "missing", "changed", "error", "wish"]


class StoredResults:
    """The results of a journal, found by what they are results of.

    Args:
        results: In the order of their making.
        current: Node ids of the session's items: a stored result of one of them never stands for another item, even
            where two task files hold equal tasks.
    """

    def __init__(self, results: Iterable[Result], current: Collection[str] = ()) -> None:
        self._current = frozenset(current)
        self._by_key: dict[tuple[str, str, str, int | None], list[Result]] = {}
        for result in results:
            key = (result.provider, result.run, result.task, result.repeat)
            self._by_key.setdefault(key, []).append(result)

    def of(self, wanted: Wanted) -> list[Result]:
        """Return every stored result of an attempt, whatever its definition, the last one last."""
        stored = self._by_key.get((wanted.provider, wanted.run, wanted.task, wanted.repeat), [])
        own = [result for result in stored if result.nodeid == wanted.nodeid]
        # Run from another directory, the same items have other ids.
        return own or [result for result in stored if result.nodeid not in self._current]

    def decide(self, wanted: Wanted, rerun: Rerun = "error") -> Decision:
        """Say whether a stored result may be used again."""
        stored = self.of(wanted)
        if not stored:
            return Decision(None, "not in the journal", "missing")
        equal = [result for result in stored if result.definition and result.definition == wanted.definition]
        if not equal:
            return Decision(None, _change(stored[-1], wanted), "changed")
        last = equal[-1]
        if last.kind is Kind.ERROR:
            return Decision(None, f"ended in an error ({_error(last)})", "error")
        if rerun == "all" or (rerun == "failed" and last.kind is Kind.FAILED):
            return Decision(None, f"{last.kind.value.lower()}, and --mt-rerun={rerun}", "wish")
        return Decision(last, f"{last.kind.value.lower()} at {last.finished_at or 'an unknown time'}", "reused")


def changed_parts(before: Mapping[str, str], after: Mapping[str, str]) -> list[str]:
    """Return the names of the parts that are not equal, those of ``after`` first."""
    names = dict.fromkeys((*after, *before))
    return [name for name in names if before.get(name) != after.get(name)]


def _change(stored: Result, wanted: Wanted) -> str:
    names = changed_parts(stored.definition_parts, wanted.parts) if stored.definition_parts else []
    return f"changed: {', '.join(names)}" if names else "its definition has changed"


def _error(result: Result) -> str:
    error = result.error
    return (error.cause or error.title) if error else "no answer"
