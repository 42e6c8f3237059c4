"""MindTrial's results document from result records.

Does not read documents (``results/json_reader.py``) and shows only what the published schema knows: turns, repeats,
costs and transcripts live in the journal and the HTML report. Equal input gives equal bytes.
Source: spec mindtrial 7.1; design D8.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from datetime import datetime
from email.utils import format_datetime
from typing import Any

from pytest_mindtrial.core.jsontext import pretty_json, sorted_keys, text_lines, value_lines
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
from pytest_mindtrial.results.evaluation import EvaluationInfo

__all__ = [
    "SCHEMA_URL",
    "details_object",
    "document",
    "entry_object",
    "entry_text",
    "got_value",
    "json_pieces",
    "want_value",
    "write_json",
]

SCHEMA_URL = "https://raw.githubusercontent.com/petmal/mindtrial/main/schema/results-v1.schema.json"

_ENTRY_DEPTH = 3
"""Levels around an entry: the document, ``Results``, the provider's list."""

_RUN_CONFIG_KEYS = (
    "Model",
    "MaxRequestsPerMinute",
    "TextOnly",
    "DisableStructuredOutput",
    "ModelParameters",
    "RetryPolicy",
    "Pricing",
)
_RETRY_KEYS = ("MaxRetryAttempts", "InitialDelaySeconds")
_PRICING_KEYS = (
    "Currency",
    "InputPerMillion",
    "OutputPerMillion",
    "CacheReadPerMillion",
    "CacheWritePerMillion",
    "ReasoningPerMillion",
)


def write_json(results: Sequence[Result], evaluation: EvaluationInfo) -> str:
    """Return the document as text with a final newline.

    Args:
        results: In the order in which they shall appear; providers are sorted, the order inside a provider stays.
        evaluation: Facts for the head of the document.
    """
    return "".join(json_pieces(results, evaluation))


def json_pieces(
    results: Iterable[Result], evaluation: EvaluationInfo, entry: Callable[[Result], str] | None = None
) -> Iterator[str]:
    """Yield what `write_json` returns piece by piece, without ever holding the whole.

    Args:
        results: As of `write_json`.
        evaluation: As of `write_json`.
        entry: Returns the `entry_text` of a result; None = makes it.
    """
    entry = entry or entry_text
    yield pretty_json(_head(evaluation)).removesuffix("\n}") + ',\n  "Results": {'
    ends = ""
    for provider, members in _by_provider(results):
        yield f"{ends}\n    {pretty_json(provider)}: ["
        comma = ""
        for result in members:
            yield f"{comma}\n      {entry(result)}"
            comma = ","
        ends = "\n    ],"
    yield (ends.removesuffix(",") + "\n  " if ends else "") + "}\n}\n"


def entry_text(result: Result) -> str:
    """Return one entry of ``Results`` as it stands in the document, without what precedes it on its first line."""
    return pretty_json(entry_object(result), depth=_ENTRY_DEPTH)


def document(results: Iterable[Result], evaluation: EvaluationInfo) -> dict[str, Any]:
    """Return the document as plain data, keys in writing order."""
    by_provider = {provider: [entry_object(each) for each in members] for provider, members in _by_provider(results)}
    return _head(evaluation) | {"Results": by_provider}


def _by_provider(results: Iterable[Result]) -> list[tuple[str, list[Result]]]:
    groups: dict[str, list[Result]] = {}
    for result in results:
        groups.setdefault(result.provider, []).append(result)
    return sorted(groups.items())


def _head(evaluation: EvaluationInfo) -> dict[str, Any]:
    head: dict[str, Any] = {"$schema": SCHEMA_URL, "FormatVersion": 1}
    created = evaluation.created_at
    if isinstance(created, datetime):
        created = format_datetime(created)
    return head | _present(AppName=evaluation.app_name, AppVersion=evaluation.app_version, CreatedAt=created)


def entry_object(result: Result) -> dict[str, Any]:
    """Return one entry of ``Results``."""
    entry: dict[str, Any] = {
        "TraceID": result.trace_id,
        "Kind": result.kind.value,
        "Task": result.task,
        "Provider": result.provider,
        "Run": result.run,
    }
    if config := _run_config(result.run_config):
        entry["RunConfig"] = config
    if result.evaluation_seed:
        entry["Evaluation"] = {"Seed": result.evaluation_seed}
    entry["Got"] = sorted_keys(got_value(result))
    entry["Want"] = sorted_keys(want_value(result))
    if metadata := _metadata(result.metadata):
        entry["TaskMetadata"] = metadata
    entry["Details"] = details_object(result)
    entry["DurationNS"] = result.duration_ns
    return entry


def got_value(result: Result) -> Any:
    """Return what stands in ``Got``: the answer, or the error's message where there is no answer."""
    if result.got is None and result.error is not None and result.kind in (Kind.ERROR, Kind.SKIPPED):
        return result.error.message
    return result.got


def want_value(result: Result) -> Any:
    """Return what stands in ``Want``: null before validation, one value bare, several as a list."""
    if result.want is None:
        return None
    return result.want[0] if len(result.want) == 1 else list(result.want)


def details_object(result: Result) -> dict[str, Any]:
    """Return the ``Details`` object; parts without content are left out."""
    return _present(
        Answer=_answer(result.answer) if result.answer else None,
        Validation=_validation(result.validation) if result.validation else None,
        Error=_error(result.error) if result.error else None,
    )


def _answer(answer: AnswerRecord) -> dict[str, Any]:
    return _present(
        Title=answer.title,
        Explanation=text_lines(answer.explanation),
        ActualAnswer=value_lines(answer.content),
        ExpectedAnswer=[value_lines(item) for item in answer.expected],
        Usage=_usage(answer.usage),
        ToolUsage=_tool_usage(answer.tool_usage),
        ToolCalls=[_tool_call(call) for call in answer.tool_calls],
    )


def _validation(validation: ValidationRecord) -> dict[str, Any]:
    return _present(
        Title=validation.title,
        Explanation=text_lines(validation.explanation),
        Usage=_usage(validation.usage),
        ToolUsage=_tool_usage(validation.tool_usage),
        ToolCalls=[_tool_call(call) for call in validation.tool_calls],
        Semantic=_semantic(validation.semantic) if validation.semantic else None,
        Method=validation.method,
    )


def _error(error: ErrorRecord) -> dict[str, Any]:
    out = _present(
        Title=error.title,
        Message=error.message,
        Details={heading: text_lines(text) for heading, text in sorted(error.details.items())},
        Usage=_usage(error.usage),
        ToolUsage=_tool_usage(error.tool_usage),
        ToolCalls=[_tool_call(call) for call in error.tool_calls],
        ResponseParsing=error.response_parsing,
    )
    # False is a statement ("permanent") and must be written; None is "unknown" and must not.
    if error.transient is not None:
        out["Transient"] = error.transient
    return out | _present(FromValidation=error.from_validation)


def _semantic(semantic: Semantic) -> dict[str, Any]:
    # A verdict of false, 0 or "" is a verdict.
    out = {} if semantic.verdict is None else {"Verdict": sorted_keys(semantic.verdict)}
    return out | _present(
        JudgeName=semantic.judge_name,
        Provider=semantic.provider,
        Variant=semantic.variant,
        VariantConfig=_run_config(semantic.variant_config),
    )


def _usage(usage: Usage) -> dict[str, Any]:
    counters = {
        "InputTokens": usage.input_tokens,
        "OutputTokens": usage.output_tokens,
        "ReasoningTokens": usage.reasoning_tokens,
        "InputCacheWriteTokens": usage.cache_write_tokens,
        "InputCacheReadTokens": usage.cache_read_tokens,
        "InputTokenAccounting": usage.input_accounting,
        "OutputTokenAccounting": usage.output_accounting,
    }
    return {name: value for name, value in counters.items() if value is not None}


def _tool_usage(usage: Mapping[str, ToolUsageRecord]) -> dict[str, Any]:
    return {
        tool: _present(CallCount=totals.call_count, TotalDurationNS=totals.total_duration_ns)
        for tool, totals in sorted(usage.items())
    }


def _tool_call(call: ToolCallRecord) -> dict[str, Any]:
    out: dict[str, Any] = {"Tool": call.tool, "CallID": call.call_id}
    out |= _present(ConversationTurn=call.turn)
    out |= {"StartedAt": call.started_at, "CompletedAt": call.completed_at}
    if call.duration_ns is not None:
        out["DurationNS"] = call.duration_ns
    out["WallTimeNS"] = call.wall_time_ns
    if call.exit_code is not None:
        out["ExitCode"] = call.exit_code
    return out | _present(
        TimedOut=call.timed_out,
        Status=call.status,
        Stdout=_output(call.stdout) if call.stdout else None,
        Stderr=_output(call.stderr) if call.stderr else None,
        ErrorMessage=call.error_message,
    )


def _output(stream: OutputRecord) -> dict[str, Any]:
    return {"Bytes": stream.bytes} | _present(Preview=stream.preview, Truncated=stream.truncated)


def _metadata(metadata: Metadata) -> dict[str, Any]:
    return _present(
        Suite=metadata.suite,
        Category=metadata.category,
        Difficulty=metadata.difficulty,
        Tags=list(metadata.tags),
    )


def _run_config(config: Mapping[str, Any] | None) -> dict[str, Any]:
    """Return the known keys with a value, in the schema's order; prices of 0 and null parameters are values."""
    if not config:
        return {}
    out: dict[str, Any] = {}
    for key in _RUN_CONFIG_KEYS:
        value = config.get(key)
        if value and key == "RetryPolicy":
            value = {name: value[name] for name in _RETRY_KEYS if value.get(name)}
        elif value and key == "Pricing":
            value = {name: value[name] for name in _PRICING_KEYS if value.get(name) not in (None, "")}
        if value:
            out[key] = value
    return out


def _present(**fields: Any) -> dict[str, Any]:
    """Return the fields that carry a value: not None, not blank, not zero, not empty."""
    return {name: value for name, value in fields.items() if value}
