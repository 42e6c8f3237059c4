"""A comparison as text, JSON and Markdown.

Does not compare (``results/compare.py``). Names of tasks and runs are data in every format. Source: design D15, D17.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

from pytest_mindtrial.core.display import one_line
from pytest_mindtrial.core.durations import format_duration, round_duration
from pytest_mindtrial.core.jsontext import pretty_json
from pytest_mindtrial.core.wire import to_wire
from pytest_mindtrial.results.compare import Change, Comparison, RunComparison, RunName, TaskChange
from pytest_mindtrial.results.costs import Spent
from pytest_mindtrial.results.markdown_text import code, table

__all__ = ["COMPARE_FORMATS", "SIGNIFICANCE_LEVEL", "write_comparison"]

COMPARE_FORMATS = ("text", "json", "markdown")
SIGNIFICANCE_LEVEL = 0.05

_LISTED = (Change.BROKEN, Change.FIXED, Change.UNDECIDED, Change.NEW, Change.GONE)
_MAX_LISTED = 50


def write_comparison(comparison: Comparison, compare_format: str) -> str:
    """Return the comparison as text with a final newline.

    Args:
        comparison: From `compare.compare`.
        compare_format: One of `COMPARE_FORMATS`; in JSON all tasks are listed, elsewhere those that changed.
    """
    if compare_format == "json":
        return pretty_json(_document(comparison)) + "\n"
    if compare_format == "markdown":
        return "\n".join(_markdown_run(run) for run in comparison.runs) + _unmatched(comparison, code, "\n")
    return "\n".join(_text_run(run) for run in comparison.runs) + _unmatched(comparison, one_line, "")


def _document(comparison: Comparison) -> dict[str, Any]:
    return {
        "FormatVersion": 1,
        "Runs": [_run_object(run) for run in comparison.runs],
        "OnlyOld": [list(name) for name in comparison.only_old],
        "OnlyNew": [list(name) for name in comparison.only_new],
    }


def _run_object(run: RunComparison) -> dict[str, Any]:
    interval = run.interval
    return {
        "Old": {"Provider": run.old[0], "Run": run.old[1]},
        "New": {"Provider": run.new[0], "Run": run.new[1]},
        "Counts": {change.value: run.count(change) for change in Change},
        "Pairs": run.pairs,
        "OldRate": run.old_rate,
        "NewRate": run.new_rate,
        "Difference": run.difference,
        "DifferenceInterval": [interval.lower, interval.upper] if interval else None,
        "Test": run.test,
        "PValue": run.p_value,
        "AdjustedPValue": run.adjusted_p,
        "PValueWorse": run.p_worse,
        "OldAmounts": to_wire(run.old_amounts),
        "NewAmounts": to_wire(run.new_amounts),
        "Tasks": [to_wire(item) for item in run.tasks],
    }


def _text_run(run: RunComparison) -> str:
    lines = [_title(run, one_line)]
    lines.append("  " + " · ".join(f"{run.count(change)} {change}" for change in Change))
    lines += [f"  {line}" for line in _evidence(run)]
    for change in _LISTED:
        listed = [item for item in run.tasks if item.change is change]
        lines += [f"  {change}: {one_line(item.task)}{_shares(item)}" for item in listed[:_MAX_LISTED]]
        if len(listed) > _MAX_LISTED:
            lines.append(f"  {change}: … and {len(listed) - _MAX_LISTED} more (all are in --format json)")
    return "\n".join(lines) + "\n"


def _markdown_run(run: RunComparison) -> str:
    changed = [item for item in run.tasks if item.change is not Change.SAME]
    rows = [[item.change.value, code(item.task), _shares(item).strip(" ()")] for item in changed[:_MAX_LISTED]]
    parts = [f"#### {_title(run, code)}", table([str(change) for change in Change], [_count_cells(run)])]
    parts.append("\n".join(f"- {line}" for line in _evidence(run)))
    if rows:
        parts.append(table(["change", "task", "passed"], rows))
    if len(changed) > _MAX_LISTED:
        parts.append(f"… and {len(changed) - _MAX_LISTED} more.")
    return "\n\n".join(parts) + "\n"


def _count_cells(run: RunComparison) -> list[str]:
    return [str(run.count(change)) for change in Change]


def _title(run: RunComparison, show: Callable[[str], str]) -> str:
    old, new = _name(run.old, show), _name(run.new, show)
    return old if run.old == run.new else f"{old} → {new}"


def _name(name: RunName, show: Callable[[str], str]) -> str:
    return show("/".join(name))


def _shares(item: TaskChange) -> str:
    if item.old is None or item.new is None:
        return ""
    return f" ({item.old.passed}/{item.old.decided} → {item.new.passed}/{item.new.decided})"


def _evidence(run: RunComparison) -> list[str]:
    if run.old_rate is None or run.new_rate is None or run.difference is None:
        lines = ["no task was decided on both sides; nothing can be said"]
    else:
        interval = (
            f" [{run.interval.lower:+.3f}, {run.interval.upper:+.3f}] 95 % paired bootstrap" if run.interval else ""
        )
        lines = [
            f"pass rate of {run.pairs} pairs: {run.old_rate:.3f} → {run.new_rate:.3f}, "
            f"difference {run.difference:+.3f}{interval}",
            _test_line(run),
        ]
    return [*lines, *_amount_lines(run)]


def _test_line(run: RunComparison) -> str:
    is_significant = run.adjusted_p < SIGNIFICANCE_LEVEL
    adjusted = f", {run.adjusted_p:.4f} adjusted for all runs" if run.adjusted_p != run.p_value else ""
    verdict = "a significant difference" if is_significant else "no significant difference"
    return f"{run.test}: p = {run.p_value:.4f}{adjusted}: {verdict} at {SIGNIFICANCE_LEVEL:g}"


def _amount_lines(run: RunComparison) -> list[str]:
    old, new = run.old_amounts, run.new_amounts
    return [
        f"cost: {_money(old.cost)} → {_money(new.cost)}{_relative(*_comparable(old.cost, new.cost))}",
        f"input tokens: {_count(old.input_tokens)} → {_count(new.input_tokens)}"
        f"{_relative(old.input_tokens, new.input_tokens)}",
        f"output tokens: {_count(old.output_tokens)} → {_count(new.output_tokens)}"
        f"{_relative(old.output_tokens, new.output_tokens)}",
        f"model time: {_time(old.duration_ns)} → {_time(new.duration_ns)}{_relative(old.duration_ns, new.duration_ns)}",
    ]


def _comparable(old: Spent, new: Spent) -> tuple[float | None, float | None]:
    return (old.amount, new.amount) if old.currency == new.currency else (None, None)


def _money(spent: Spent) -> str:
    return "unknown" if spent.amount is None else f"{spent.amount:.6f} {one_line(spent.currency)}"


def _count(value: int | None) -> str:
    return "unknown" if value is None else str(value)


def _time(value_ns: int) -> str:
    return format_duration(round_duration(value_ns))


def _relative(old: float | None, new: float | None) -> str:
    return "" if not old or new is None else f" ({(new - old) / old:+.1%})"


def _unmatched(comparison: Comparison, show: Callable[[str], str], before: str) -> str:
    lines = [f"only in the old results: {_name(name, show)}\n" for name in comparison.only_old]
    lines += [f"only in the new results: {_name(name, show)}\n" for name in comparison.only_new]
    return "".join(before + line for line in lines)
