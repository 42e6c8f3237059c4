"""What the HTML report shows, as plain data: an index of all results and one body per result.

Does not make HTML or JSON text. The index is small and read by the page at once; the bodies stand in chunks, which are
read when a row is shown, so that a report of 10,000 results opens at once. Long texts are cut, and transcripts are left
out where a report would grow beyond its budget; the journal has everything. Source: spec mindtrial 7.5; field pain 5.
"""

from __future__ import annotations

import re
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import fields
from datetime import datetime
from email.utils import format_datetime
from itertools import accumulate
from typing import Any

from pytest_mindtrial.core.jsontext import value_text
from pytest_mindtrial.core.record import AnswerRecord, ErrorRecord, Result, ValidationRecord
from pytest_mindtrial.core.values import Kind
from pytest_mindtrial.core.wire import to_wire
from pytest_mindtrial.results.costs import candidate_cost, candidate_tokens
from pytest_mindtrial.results.evaluation import EvaluationInfo
from pytest_mindtrial.results.json_writer import got_value
from pytest_mindtrial.results.repeats import Estimate, RepeatSummary, summarize_repeats
from pytest_mindtrial.results.spending import spending_notes
from pytest_mindtrial.results.statistics import RunSummary, summarize

__all__ = ["CHUNK_SIZE", "MAX_TRANSCRIPTS", "body", "index", "transcript_size", "with_transcript"]

CHUNK_SIZE = 50
"""Results per chunk of bodies."""

MAX_TEXT = 100_000
"""Characters of one text; longer ones are cut with a mark."""

MAX_TRANSCRIPTS = 24_000_000
"""Characters of all transcripts together; the ones beyond are left out."""

_KIND_NUMBERS = {kind: number for number, kind in enumerate(Kind)}

_NOT_IN_ID = re.compile(r"[^A-Za-z0-9_-]")

_PART_NAMES = {
    kind: tuple(each.name for each in fields(kind) if each.name not in ("content", "expected", "semantic"))
    for kind in (AnswerRecord, ValidationRecord, ErrorRecord)
}
"""Fields of the records in a body that need no form of their own."""


class _Names(dict[str, int]):
    """Numbers texts in the order of their first use."""

    def __missing__(self, name: str) -> int:
        number = self[name] = len(self)
        return number


def index(results: Sequence[Result], evaluation: EvaluationInfo, shown: Sequence[bool] | None = None) -> dict[str, Any]:
    """Return the index: facts, runs with their summaries, names, one short row per result.

    Args:
        results: All of them.
        evaluation: Facts for the head.
        shown: `with_transcript` of the results; None = found out here.
    """
    summaries = summarize(results)
    members: dict[tuple[str, str], list[Result]] = {}
    for result in results:
        members.setdefault((result.provider, result.run), []).append(result)
    runs = {(summary.provider, summary.run): number for number, summary in enumerate(summaries)}
    tasks, labels = _Names(), _Names({"": 0})
    rows = [_row(result, runs[result.provider, result.run], tasks, labels) for result in results]
    return {
        "evaluation": _evaluation(evaluation),
        "runs": [
            _run(number, summary, members[summary.provider, summary.run]) for number, summary in enumerate(summaries)
        ],
        "tasks": list(tasks),
        "labels": list(labels),
        "rows": rows,
        "ids": row_ids(results),
        "chunk_size": CHUNK_SIZE,
        "cut": _cut_note(with_transcript(results) if shown is None else shown),
        "repeats": [_repeats(summary) for summary in summarize_repeats(results)],
        "spending": spending_notes(results),
    }


def _evaluation(evaluation: EvaluationInfo) -> dict[str, Any]:
    created = evaluation.created_at
    return {
        "app_name": evaluation.app_name,
        "app_version": evaluation.app_version,
        "created_at": format_datetime(created) if isinstance(created, datetime) else created or "",
        "seed": evaluation.seed,
        "suites": list(evaluation.suites),
        "config": evaluation.config,
        "expected": evaluation.expected,
        "is_complete": evaluation.is_complete,
        "incomplete_reason": evaluation.incomplete_reason,
        "concurrency": evaluation.concurrency,
    }


def _run(number: int, summary: RunSummary, members: Sequence[Result]) -> dict[str, Any]:
    counts, interval = summary.counts, summary.counts.pass_interval
    configs = (result.run_config for result in members if result.run_config)
    return {
        "number": number,
        "provider": summary.provider,
        "run": summary.run,
        "model": str(next(configs, {}).get("Model", "")),
        "Passed": counts.passed,
        "Failed": counts.failed,
        "Error": counts.error,
        "Skipped": counts.skipped,
        "count": counts.attempted,
        "passRate": counts.pass_rate,
        "accuracy": counts.passed / counts.decided if counts.decided else None,
        "errorRate": counts.error / counts.attempted if counts.attempted else None,
        "interval": [interval.lower, interval.upper] if interval else None,
        "p50_ns": summary.p50_ns,
        "p95_ns": summary.p95_ns,
        "total_ns": sum(result.duration_ns for result in members),
        "input_tokens": summary.input_tokens,
        "output_tokens": summary.output_tokens,
        "cost": summary.cost,
        "currency": summary.currency,
        "judge_cost": summary.judge_cost,
        "judge_currency": summary.judge_currency,
        "retries": summary.retries,
        "is_mock": summary.is_mock,
    }


def _repeats(summary: RepeatSummary) -> dict[str, Any]:
    def rates(estimates: Iterable[Estimate]) -> list[list[float]]:
        return [[item.value, item.interval.lower, item.interval.upper] for item in estimates]

    return {
        "provider": summary.provider,
        "run": summary.run,
        "tasks": len(summary.tallies),
        "any_of": rates(summary.any_of),
        "all_of": rates(summary.all_of),
        "flaky": [[tally.task, tally.passed, tally.tries] for tally in summary.flaky],
    }


def _row(result: Result, run: int, tasks: _Names, labels: _Names) -> list[Any]:
    metadata, cost = result.metadata, candidate_cost(result)
    return [
        run,
        tasks[result.task],
        _KIND_NUMBERS[result.kind],
        result.duration_ns,
        labels[metadata.suite],
        labels[metadata.category],
        labels[metadata.difficulty],
        [labels[tag] for tag in metadata.tags],
        *candidate_tokens(result),
        _tool_calls(result),
        cost.amount,
        int(cost.is_unknown),
        labels[cost.currency],
        result.repeat,
    ]


def _tool_calls(result: Result) -> int | None:
    error = result.error if result.error and not result.error.from_validation else None
    used = [part.tool_usage for part in (result.answer, error) if part and part.tool_usage]
    return sum(totals.call_count for usage in used for totals in usage.values()) if used else None


def row_ids(results: Sequence[Result]) -> list[str]:
    """Return the address of each row: ``run-<provider>-<run>-<task>``, numbered where that is taken."""
    taken: set[str] = set()
    numbers: dict[str, int] = {}
    ids = []
    for result in results:
        base = _NOT_IN_ID.sub("_", f"run-{result.provider}-{result.run}-{result.task}".replace(" ", "-"))
        if result.repeat is not None:
            base += f"-r{result.repeat}"
        candidate, number = base, numbers.get(base, 1)
        while candidate in taken:
            number += 1
            candidate = f"{base}-{number}"
        numbers[base] = number
        taken.add(candidate)
        ids.append(candidate)
    return ids


def transcript_size(result: Result) -> int:
    """Return the characters of a result's transcript as far as a report shows them."""
    return sum(min(len(str(message.get("text", ""))), MAX_TEXT) for message in result.transcript)


def with_transcript(results: Iterable[Result]) -> list[bool]:
    """Return for each result whether its transcript is within the report's budget."""
    return [used <= MAX_TRANSCRIPTS for used in accumulate(map(transcript_size, results))]


def _cut_note(shown: Sequence[bool]) -> str:
    missing = shown.count(False)
    return f"transcripts of the last {missing} results are only in the journal" if missing else ""


def body(result: Result, has_transcript: bool) -> dict[str, Any]:
    """Return what the page shows of a result when its row is opened."""
    got = got_value(result)
    messages = result.transcript if has_transcript else ()
    return {
        "trace_id": result.trace_id,
        "nodeid": result.nodeid,
        "source": result.source,
        "definition": result.definition,
        "started_at": result.started_at,
        "finished_at": result.finished_at,
        "run_config": value_text(result.run_config) if result.run_config else "",
        "got": None if got is None else _text(got),
        "want": [_text(want) for want in result.want or ()],
        "answer": _answer(result.answer, messages) if result.answer else None,
        "validation": _validation(result.validation) if result.validation else None,
        "error": _part(result.error) if result.error else None,
        "requests": [to_wire(request) for request in result.requests],
        "transcript": [_message(message) for message in messages],
        **_origin(result),
    }


def _origin(result: Result) -> dict[str, Any]:
    """Return where the result was taken from, and its verdict before a regrading; nothing where it was made now."""
    facts: dict[str, Any] = {"reused_from": result.reused_from} if result.reused_from else {}
    previous = result.previous
    if previous is None:
        return facts
    validation = previous.validation
    reason = f"{validation.title}\n{validation.explanation}".strip() if validation else ""
    return {**facts, "previous": {"kind": previous.kind.value, "reason": _text(reason)}}


def _answer(answer: AnswerRecord, messages: Iterable[Mapping[str, Any]]) -> dict[str, Any]:
    """Return an answer; its raw reply only where the page does not show it among the messages."""
    part = _part(answer)
    if "raw_text" in part and any(message.get("text") == answer.raw_text for message in messages):
        del part["raw_text"]
    return {"content": _text(answer.content), "expected": [_text(value) for value in answer.expected]} | part


def _validation(validation: ValidationRecord) -> dict[str, Any]:
    part, semantic = _part(validation), validation.semantic
    if semantic is not None:
        part["semantic"] = {
            "judge_name": semantic.judge_name,
            "provider": semantic.provider,
            "variant": semantic.variant,
            "verdict": None if semantic.verdict is None else _text(semantic.verdict),
        }
    return part


def _part(record: AnswerRecord | ValidationRecord | ErrorRecord) -> dict[str, Any]:
    """Return the fields of `_PART_NAMES`, long texts cut; those without content are left out."""
    wire = to_wire(record)
    usage = wire["usage"] = dict(wire.get("usage", ()))
    usage.pop("raw", None)
    return {
        name: _cut(value)
        for name in _PART_NAMES[type(record)]
        # "permanent" (transient: false) is content, and so is that no tokens were reported.
        if (value := wire.get(name)) or name in ("transient", "usage")
    }


def _cut(value: Any) -> Any:
    if isinstance(value, str):
        return _text(value)
    if isinstance(value, dict):
        return {key: _cut(item) for key, item in value.items()}
    if isinstance(value, list):
        return [_cut(item) for item in value]
    return value


def _message(message: Mapping[str, Any]) -> dict[str, str]:
    return {key: _text(message[key]) for key in ("role", "name", "text", "arguments") if message.get(key)}


def _text(value: Any) -> str:
    text = value_text(value)
    if len(text) <= MAX_TEXT:
        return text
    return f"{text[:MAX_TEXT]}\n… (cut: {len(text) - MAX_TEXT} more characters are in the journal)"
