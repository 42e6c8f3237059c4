"""One Markdown report for a pull request or a CI job summary.

Does not write files and shows no transcripts: what did not pass, with the answer and the place in the task file; the
rest is in the HTML report. All texts are data (``results/markdown_text.py``). The size is bounded, because GitHub drops
a job summary beyond 1 MiB. Source: issue "From results to decisions"; design D15, D17; field pains 28, 29, 35.
"""

from __future__ import annotations

from collections.abc import Sequence

from pytest_mindtrial.core.durations import format_duration, round_duration
from pytest_mindtrial.core.jsontext import value_text
from pytest_mindtrial.core.record import Result
from pytest_mindtrial.core.values import Kind
from pytest_mindtrial.results.compare import Comparison
from pytest_mindtrial.results.compare_writers import write_comparison
from pytest_mindtrial.results.evaluation import EvaluationInfo
from pytest_mindtrial.results.gate_decision import Decision
from pytest_mindtrial.results.gates import Answer
from pytest_mindtrial.results.json_writer import got_value
from pytest_mindtrial.results.markdown_text import code, table
from pytest_mindtrial.results.statistics import RunSummary, summarize

__all__ = ["render_markdown"]

_MAX_RUNS = 100
_MAX_ITEMS = 50
_MARKS = {Answer.GREEN: "✅ green", Answer.RED: "❌ red", Answer.UNDECIDED: "❓ undecided"}
_RUN_COLUMNS = ("run", "passed", "failed", "error", "skipped", "pass rate", "95 % interval", "p50 / p95", "cost")
_ITEM_COLUMNS = ("result", "task", "run", "got", "expected", "where")


def render_markdown(
    results: Sequence[Result],
    evaluation: EvaluationInfo,
    decision: Decision | None = None,
    comparison: Comparison | None = None,
) -> str:
    """Return the report with a final newline.

    Args:
        results: All results.
        evaluation: Facts for the head; an incomplete evaluation is announced first.
        decision: The gates' answer; None or without answer = no gate section.
        comparison: Against a baseline; None = no such section.
    """
    parts = [f"### {_headline(results, decision)}"]
    if not evaluation.is_complete:
        parts.append(f"**Incomplete:** {code(evaluation.incomplete_reason or 'the session did not finish')}")
    if decision and decision.answer is not None:
        parts.append(_gates(decision))
    runs = summarize(results)
    if runs:
        parts.append(table(_RUN_COLUMNS, [_run_cells(run) for run in runs[:_MAX_RUNS]]) + _rest(len(runs), _MAX_RUNS))
    if any(run.is_mock for run in runs):
        parts.append("Some answers came from the mock provider, not from a model.")
    parts += _items(results)
    if comparison is not None:
        parts += ["### Compared with the baseline", write_comparison(comparison, "markdown").rstrip("\n")]
    parts.append(_footer(evaluation))
    return "\n\n".join(parts) + "\n"


def _headline(results: Sequence[Result], decision: Decision | None) -> str:
    passed = sum(result.kind is Kind.PASSED for result in results)
    attempted = sum(result.kind is not Kind.SKIPPED for result in results)
    gate = f"{_MARKS[decision.answer]}: " if decision and decision.answer is not None else ""
    return f"{gate}{passed} of {attempted} passed"


def _gates(decision: Decision) -> str:
    rows = [
        [
            _MARKS[outcome.answer],
            code(outcome.gate),
            code(outcome.group) if outcome.group else "",
            code(outcome.arithmetic),
        ]
        for outcome in decision.outcomes[:_MAX_ITEMS]
    ]
    reasons = "".join(f"\n\n- {code(reason)}" for reason in decision.reasons[:_MAX_ITEMS])
    return table(["gate", "rule", "group", "measured"], rows) + _rest(len(decision.outcomes), _MAX_ITEMS) + reasons


def _run_cells(run: RunSummary) -> list[str]:
    counts, interval = run.counts, run.counts.pass_interval
    return [
        code(f"{run.provider}/{run.run}"),
        *(str(count) for count in (counts.passed, counts.failed, counts.error, counts.skipped)),
        f"{counts.pass_percent:.1f} % of {counts.attempted}" if counts.attempted else "–",
        f"{interval.lower * 100:.1f} to {interval.upper * 100:.1f}" if interval else "–",
        f"{_time(run.p50_ns)} / {_time(run.p95_ns)}",
        "–" if run.cost is None else f"{run.cost:.6f} {code(run.currency)}",
    ]


def _time(duration_ns: int | None) -> str:
    return "–" if duration_ns is None else format_duration(round_duration(duration_ns))


def _items(results: Sequence[Result]) -> list[str]:
    order = {Kind.FAILED: 0, Kind.ERROR: 1}
    listed = sorted((item for item in results if item.kind in order), key=lambda item: order[item.kind])
    if not listed:
        return []
    rows = [_item_cells(item) for item in listed[:_MAX_ITEMS]]
    return [f"#### What did not pass ({len(listed)})", table(_ITEM_COLUMNS, rows) + _rest(len(listed), _MAX_ITEMS)]


def _item_cells(result: Result) -> list[str]:
    got = got_value(result)
    wanted = " or ".join(code(value_text(value), 80) for value in (result.want or ())[:3])
    repeat = f" r{result.repeat}" if result.repeat is not None else ""
    return [
        result.kind.value.lower(),
        code(result.task + repeat),
        code(f"{result.provider}/{result.run}"),
        "" if got is None else code(value_text(got)),
        wanted + (" …" if len(result.want or ()) > 3 else ""),
        code(result.source) if result.source else "",
    ]


def _rest(count: int, limit: int) -> str:
    return f"\n\n… and {count - limit} more." if count > limit else ""


def _footer(evaluation: EvaluationInfo) -> str:
    seed = f", seed {code(evaluation.seed)}" if evaluation.seed else ""
    suites = ", ".join(code(suite) for suite in evaluation.suites[:10])
    return (
        f"<sub>{code(f'{evaluation.app_name} {evaluation.app_version}')}{seed}{', ' + suites if suites else ''}</sub>"
    )
