"""Reading MindTrial's results JSON into result records.

Does not check the document against its schema beyond the types it needs, and does not read journals
(``results/journal.py``). What a record has no field for is kept like this: texts that the document holds as lines stay
texts (the answer's content is its text, also where it was an object), the document's own head is a `Header`; unknown
members are dropped. The format has no field for repeats: entries of one task in a document of ours are numbered.
Reading and writing again (``results/json_writer.py``) gives MindTrial's bytes.

Source: spec mindtrial 7.1.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterator, Sequence
from dataclasses import dataclass, replace
from pathlib import Path
from typing import Any, cast

from pytest_mindtrial.core.errors import ResultsError
from pytest_mindtrial.core.record import (
    AnswerRecord,
    ErrorRecord,
    Metadata,
    OutputRecord,
    Result,
    Semantic,
    ToolCallRecord,
    ToolUsageRecord,
    ValidationRecord,
)
from pytest_mindtrial.core.values import Kind, Usage
from pytest_mindtrial.results.evaluation import APP_NAME
from pytest_mindtrial.results.json_fields import Fields, parse_json

__all__ = ["Header", "ResultsDocument", "parse_results_json", "read_results_json"]

FORMAT_VERSION = 1


@dataclass(frozen=True, slots=True)
class Header:
    """Who wrote the document and when; blank where the document does not say."""

    app_name: str = ""
    app_version: str = ""
    created_at: str = ""


@dataclass(frozen=True, slots=True)
class ResultsDocument:
    """A results document: providers in file order, entries in list order."""

    header: Header
    results: tuple[Result, ...]


def read_results_json(path: Path) -> ResultsDocument:
    """Read a file.

    Raises:
        ResultsError: ``failed to read results: FILE: …`` with the place inside the document where one is known.
    """
    try:
        return parse_results_json(path.read_bytes().decode())
    except OSError as error:
        reason = error.strerror or str(error)
        raise ResultsError(f"failed to read results: {path}: {reason}") from error
    except UnicodeDecodeError as error:
        raise ResultsError(f"failed to read results: {path}: not UTF-8 at byte {error.start}") from error
    except ResultsError as error:
        raise ResultsError(f"failed to read results: {path}: {error.message}") from error


def parse_results_json(text: str) -> ResultsDocument:
    """Read a document.

    Raises:
        ResultsError: Bad JSON, another format version, an unknown kind, a provider that is not its list's, or a member
            of another type.
    """
    document = Fields.of(parse_json(text), "document")
    root = Fields(document.data, "")
    version = root.data.get("FormatVersion", 0)
    if type(version) is not int or version != FORMAT_VERSION:
        raise ResultsError(f"unsupported format version {version} (expected {FORMAT_VERSION})")
    header = Header(root.text("AppName"), root.text("AppVersion"), root.text("CreatedAt"))
    results = tuple(_results(root))
    return ResultsDocument(header, _numbered(results) if header.app_name == APP_NAME else results)


def _numbered(results: Sequence[Result]) -> tuple[Result, ...]:
    """Number the tries of tasks that were tried more than once in one evaluation, so that none is taken for a copy."""
    keys = [(result.evaluation_seed, result.provider, result.run, result.task) for result in results]
    totals = Counter(keys)
    tries: Counter[tuple[str, ...]] = Counter()
    numbered = []
    for key, result in zip(keys, results, strict=True):
        tries[key] += 1
        numbered.append(replace(result, repeat=tries[key]) if totals[key] > 1 else result)
    return tuple(numbered)


def _results(root: Fields) -> Iterator[Result]:
    groups = root.mapping("Results") or {}
    lists = Fields(groups, "Results")
    for provider in groups:
        for entry in lists.children(provider):
            if entry.text("Provider") != provider:
                raise ResultsError(
                    f"{entry.path}: the entry's Provider {entry.text('Provider')!r} is not the list's {provider!r}"
                )
            yield _result(entry)


def _result(entry: Fields) -> Result:
    details = entry.child("Details") or Fields({}, entry.path)
    evaluation = entry.child("Evaluation")
    answer = _answer(details.child("Answer"))
    return Result(
        trace_id=entry.text("TraceID"),
        kind=_kind(entry),
        task=entry.text("Task"),
        provider=entry.text("Provider"),
        run=entry.text("Run"),
        got=entry.data.get("Got"),
        want=_want(entry.data.get("Want"), answer),
        run_config=entry.mapping("RunConfig"),
        evaluation_seed=evaluation.text("Seed") if evaluation else "",
        metadata=_metadata(entry.child("TaskMetadata")),
        answer=answer,
        validation=_validation(details.child("Validation")),
        error=_error(details.child("Error")),
        duration_ns=entry.integer("DurationNS"),
    )


def _kind(entry: Fields) -> Kind:
    text = entry.text("Kind")
    try:
        return Kind(text)
    except ValueError:
        allowed = ", ".join(kind.value for kind in Kind)
        raise ResultsError(f"{entry.path}.Kind: unknown kind {text!r}; allowed: {allowed}") from None


def _want(value: Any, answer: AnswerRecord | None) -> tuple[Any, ...] | None:
    """Read the accepted answers: one stands bare, several as an array.

    An array is therefore ambiguous. It is one answer that is a list when it has one item (a set of one would stand
    bare) or when the answer's details show one accepted answer.
    """
    if value is None:
        return None
    if not isinstance(value, list):
        return (value,)
    is_one = len(value) == 1 or (value and answer is not None and len(answer.expected) == 1)
    return (value,) if is_one else tuple(value)


def _metadata(fields: Fields | None) -> Metadata:
    if fields is None:
        return Metadata()
    return Metadata(fields.text("Suite"), fields.text("Category"), fields.text("Difficulty"), fields.texts("Tags"))


def _answer(fields: Fields | None) -> AnswerRecord | None:
    if fields is None:
        return None
    return AnswerRecord(
        title=fields.text("Title"),
        explanation=fields.lines("Explanation"),
        content=fields.lines("ActualAnswer"),
        expected=fields.line_lists("ExpectedAnswer"),
        usage=_usage(fields.child("Usage")),
        tool_usage=_tool_usage(fields),
        tool_calls=_tool_calls(fields),
    )


def _validation(fields: Fields | None) -> ValidationRecord | None:
    if fields is None:
        return None
    return ValidationRecord(
        method=fields.text("Method"),
        title=fields.text("Title"),
        explanation=fields.lines("Explanation"),
        usage=_usage(fields.child("Usage")),
        semantic=_semantic(fields.child("Semantic")),
        tool_usage=_tool_usage(fields),
        tool_calls=_tool_calls(fields),
    )


def _semantic(fields: Fields | None) -> Semantic | None:
    if fields is None:
        return None
    return Semantic(
        judge_name=fields.text("JudgeName"),
        provider=fields.text("Provider"),
        variant=fields.text("Variant"),
        verdict=fields.data.get("Verdict"),
        variant_config=fields.mapping("VariantConfig"),
    )


def _error(fields: Fields | None) -> ErrorRecord | None:
    if fields is None:
        return None
    details = fields.child("Details") or Fields({}, "")
    return ErrorRecord(
        title=fields.text("Title"),
        message=fields.text("Message"),
        details={name: details.lines(name) for name in details.data},
        usage=_usage(fields.child("Usage")),
        tool_usage=_tool_usage(fields),
        tool_calls=_tool_calls(fields),
        response_parsing=bool(fields.boolean("ResponseParsing")),
        transient=fields.boolean("Transient"),
        from_validation=bool(fields.boolean("FromValidation")),
    )


def _usage(fields: Fields | None) -> Usage:
    if fields is None:
        return Usage()
    return Usage(
        input_tokens=fields.optional_integer("InputTokens"),
        output_tokens=fields.optional_integer("OutputTokens"),
        reasoning_tokens=fields.optional_integer("ReasoningTokens"),
        cache_write_tokens=fields.optional_integer("InputCacheWriteTokens"),
        cache_read_tokens=fields.optional_integer("InputCacheReadTokens"),
        # A mode that we do not know is kept: it makes totals and costs unknown (spec mindtrial 7.1 and 8.3).
        input_accounting=cast("Any", fields.text("InputTokenAccounting") or None),
        output_accounting=cast("Any", fields.text("OutputTokenAccounting") or None),
    )


def _tool_usage(fields: Fields) -> dict[str, ToolUsageRecord]:
    return {
        name: ToolUsageRecord(usage.integer("CallCount"), usage.integer("TotalDurationNS"))
        for name, usage in fields.named_children("ToolUsage")
    }


def _tool_calls(fields: Fields) -> tuple[ToolCallRecord, ...]:
    return tuple(_tool_call(call) for call in fields.children("ToolCalls"))


def _tool_call(fields: Fields) -> ToolCallRecord:
    return ToolCallRecord(
        tool=fields.text("Tool"),
        call_id=fields.text("CallID"),
        turn=fields.integer("ConversationTurn"),
        started_at=fields.text("StartedAt"),
        completed_at=fields.text("CompletedAt"),
        wall_time_ns=fields.integer("WallTimeNS"),
        status=fields.text("Status"),
        duration_ns=fields.optional_integer("DurationNS"),
        exit_code=fields.optional_integer("ExitCode"),
        timed_out=bool(fields.boolean("TimedOut")),
        stdout=_output(fields.child("Stdout")),
        stderr=_output(fields.child("Stderr")),
        error_message=fields.data.get("ErrorMessage") and fields.text("ErrorMessage"),
    )


def _output(fields: Fields | None) -> OutputRecord | None:
    if fields is None:
        return None
    preview = fields.text("Preview") if fields.data.get("Preview") is not None else None
    return OutputRecord(fields.integer("Bytes"), preview, bool(fields.boolean("Truncated")))
