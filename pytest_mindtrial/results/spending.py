"""What a session has spent itself, beside what its results are worth: attempts used again and cached replies are free.

A result's own cost always says what the attempt costs when it is made. Does not price tokens (``results/costs.py``).
Source: field pains 6 and 12; issue "The engine at scale and under faults".
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterable, Sequence

from pytest_mindtrial.core.record import Result
from pytest_mindtrial.core.values import Kind
from pytest_mindtrial.results.costs import Spent, candidate_cost, judge_cost, total_cost

__all__ = ["cached_worth", "regrading_note", "reused_worth", "spending_notes", "spent_now"]


def spent_now(results: Iterable[Result]) -> Spent:
    """Return what was spent in the session that holds these results.

    Candidates and judges of attempts that were made now, without cached replies; of a regraded answer its new judge.
    """
    return total_cost(amount for result in results for amount in _spent_on(result))


def reused_worth(results: Iterable[Result]) -> Spent:
    """Return what the attempts that were used again had cost when they were made, regraded ones without their judge."""
    reused = [result for result in results if result.reused_from]
    return total_cost(cost for result in reused for cost in (candidate_cost(result), *_old_judge(result)))


def cached_worth(results: Iterable[Result]) -> Spent:
    """Return what the replies that came from the response cache now would have cost."""
    return total_cost(_saved(result) for result in results if _cached_now(result))


def spending_notes(results: Sequence[Result]) -> list[str]:
    """Return a line each on reused attempts, cached replies and regraded answers, where there are any."""
    lines = []
    reused = [result for result in results if result.reused_from]
    if reused:
        places = ", ".join(dict.fromkeys(result.reused_from for result in reused))
        lines.append(f"reused: {len(reused)} of {len(results)} results from {places}{_worth(reused_worth(reused))}")
    cached = sum(map(_cached_now, results))
    if cached:
        replies = "1 reply" if cached == 1 else f"{cached} replies"
        lines.append(f"cached: {replies} came from the response cache{_worth(cached_worth(results))}")
    if lines and (now := spent_now(results)).amount is not None:
        lines.append(f"spent now: {now.amount:.4f} {now.currency}".rstrip())
    note = regrading_note(results)
    return [*lines, note] if note else lines


def regrading_note(results: Iterable[Result]) -> str:
    """Return how many verdicts a regrading has changed; blank where nothing was regraded."""
    kept = [result for result in results if result.previous is not None]
    regraded = [result for result in kept if result.kind is not Kind.SKIPPED]
    left = len(kept) - len(regraded)
    if not kept:
        return ""
    pairs = [(result.previous.kind.value, result.kind.value) for result in regraded if result.previous is not None]
    changes = Counter(pair for pair in pairs if pair[0] != pair[1])
    answers = "1 answer" if len(regraded) == 1 else f"{len(regraded)} answers"
    line = f"regraded: {answers}, {changes.total()} verdict{'s' if changes.total() != 1 else ''} changed"
    listed = ", ".join(f"{count} {before} → {after}" for (before, after), count in sorted(changes.items()))
    return f"{line}{f' ({listed})' if listed else ''}{f'; {left} not regraded' if left else ''}"


def _cached_now(result: Result) -> int:
    """Return the cached replies of this session; those of an attempt that is used again were another's."""
    return result.cached if not result.reused_from or result.previous is not None else 0


def _spent_on(result: Result) -> tuple[Spent, ...]:
    if result.reused_from and result.previous is None:
        return ()
    amounts = (judge_cost(result),) if result.reused_from else (candidate_cost(result), judge_cost(result))
    if not result.cached:
        return amounts
    saved = _saved(result)
    return (*amounts, saved if saved.amount is None else Spent(-saved.amount, saved.currency))


def _old_judge(result: Result) -> tuple[Spent, ...]:
    return () if result.previous is not None else (judge_cost(result),)


def _saved(result: Result) -> Spent:
    return Spent(is_unknown=True) if result.saved is None else Spent(result.saved, result.currency)


def _worth(worth: Spent) -> str:
    if worth.amount is None:
        return " (worth unknown)" if worth.is_unknown else ""
    return f" (worth {worth.amount:.4f} {worth.currency}, not spent again)".replace(" ,", ",")
