"""The result record: what is known of one attempt, as it is journalled, reported and sent between workers.

Does not compute statistics and does not write files. MindTrial's own JSON (``results/json_writer.py``) shows a subset
of it. Source: spec mindtrial 7.1; design D7, D8.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field
from typing import Any

from pytest_mindtrial.core.values import Kind, Usage

__all__ = [
    "AnswerRecord",
    "ErrorRecord",
    "Metadata",
    "OutputRecord",
    "PreviousVerdict",
    "RequestRecord",
    "Result",
    "Semantic",
    "ToolCallRecord",
    "ToolUsageRecord",
    "ValidationRecord",
]


@dataclass(frozen=True, slots=True)
class Metadata:
    """The task's free labels; blank strings and an empty tuple mean not given."""

    suite: str = ""
    category: str = ""
    difficulty: str = ""
    tags: tuple[str, ...] = ()


@dataclass(frozen=True, slots=True)
class OutputRecord:
    """One output stream of a tool process.

    Attributes:
        bytes: Total size of the stream in bytes.
        preview: The first 2048 bytes as text, cut at a character boundary.
        truncated: True when preview is not everything.
    """

    bytes: int
    preview: str | None = None
    truncated: bool = False


@dataclass(frozen=True, slots=True)
class ToolCallRecord:
    """One tool call that was accepted. Times are RFC 3339; durations are nanoseconds."""

    tool: str
    call_id: str
    turn: int
    started_at: str
    completed_at: str
    wall_time_ns: int
    status: str
    duration_ns: int | None = None
    exit_code: int | None = None
    timed_out: bool = False
    stdout: OutputRecord | None = None
    stderr: OutputRecord | None = None
    error_message: str | None = None
    arguments: str | None = None


@dataclass(frozen=True, slots=True)
class ToolUsageRecord:
    """Totals per tool; only processes that really ran count."""

    call_count: int = 0
    total_duration_ns: int = 0


@dataclass(frozen=True, slots=True)
class AnswerRecord:
    """The candidate's answer.

    Attributes:
        title: Short summary by the model.
        explanation: The model's reasoning.
        content: The answer itself, any JSON value, raw.
        expected: The accepted answers, raw, in file order (for schema validation: the schema).
        usage: Tokens of all turns of this attempt, judges excluded.
        tool_usage: Totals by tool.
        tool_calls: Every accepted call, in order.
        repaired: True when the reply's JSON had to be repaired before it could be read.
        coerced: True when a bare JSON scalar was turned into text for a plain-text task (design D19).
        truncated: True when the model stopped at its token limit and the text was taken nevertheless.
        raw_text: The reply's text when it differs from a plain rendering of the answer; None otherwise.
        problems: Why a structured answer does not fit the task's schema, one line each; it was read all the same.
    """

    title: str
    explanation: str
    content: Any
    expected: tuple[Any, ...] = ()
    usage: Usage = field(default_factory=Usage)
    tool_usage: Mapping[str, ToolUsageRecord] = field(default_factory=dict)
    tool_calls: tuple[ToolCallRecord, ...] = ()
    repaired: bool = False
    coerced: bool = False
    truncated: bool = False
    raw_text: str | None = None
    problems: tuple[str, ...] = ()


@dataclass(frozen=True, slots=True)
class Semantic:
    """Which judge said what. ``variant_config`` has the shape of `Result.run_config`."""

    judge_name: str
    provider: str
    variant: str
    verdict: Any = None
    variant_config: Mapping[str, Any] | None = None


@dataclass(frozen=True, slots=True)
class ValidationRecord:
    """How the answer was judged.

    Attributes:
        method: ``exact``, ``schema``, ``semantic`` or ``custom``.
        title: Heading; blank when the validator could not decide.
        explanation: Reason in words.
        usage: The judge's tokens; never part of the answer's usage.
        duration_ns: Wall time of the validation; never part of `Result.duration_ns`.
        validator: Display name, such as ``value match``.
    """

    method: str
    title: str = ""
    explanation: str = ""
    usage: Usage = field(default_factory=Usage)
    semantic: Semantic | None = None
    tool_usage: Mapping[str, ToolUsageRecord] = field(default_factory=dict)
    tool_calls: tuple[ToolCallRecord, ...] = ()
    duration_ns: int = 0
    validator: str = ""


@dataclass(frozen=True, slots=True)
class ErrorRecord:
    """Why there is no verdict (kinds Error and Skipped).

    Attributes:
        transient: True, False or None for unknown; None is not "permanent".
        cause: Stable word such as ``http-429``; blank when there is none.
    """

    title: str
    message: str
    details: Mapping[str, str] = field(default_factory=dict)
    usage: Usage = field(default_factory=Usage)
    tool_usage: Mapping[str, ToolUsageRecord] = field(default_factory=dict)
    tool_calls: tuple[ToolCallRecord, ...] = ()
    response_parsing: bool = False
    transient: bool | None = None
    from_validation: bool = False
    cause: str = ""


@dataclass(frozen=True, slots=True)
class RequestRecord:
    """One try of one HTTP request (or one call of a provider that is not HTTP).

    Attributes:
        turn: 1-based turn of the conversation.
        attempt: 1 for the first try, 2 for the first retry, …
        purpose: ``candidate`` or ``judge``.
        waited_ns: Time spent waiting for rate limits and backing off before this try.
        duration_ns: From sending to the complete reply.
        first_byte_ns: From sending to the first byte of the reply; None when none came.
        status: HTTP status; None when no reply came.
        cause: Blank when the reply was good, else the error's cause word.
        request_id: The service's own id.
        cached: True when the reply came from the response cache and nothing was sent; status and times are then those
            of the request that was sent once.
    """

    turn: int
    attempt: int
    purpose: str = "candidate"
    waited_ns: int = 0
    duration_ns: int = 0
    first_byte_ns: int | None = None
    status: int | None = None
    cause: str = ""
    request_id: str | None = None
    cached: bool = False


@dataclass(frozen=True, slots=True)
class PreviousVerdict:
    """What a regraded answer counted as before (``--mt-regrade``)."""

    kind: Kind
    validation: ValidationRecord | None = None


@dataclass(frozen=True, slots=True)
class Result:
    """One attempt and its verdict.

    Attributes:
        trace_id: ULID of this task × run.
        nodeid: pytest's id of the item; blank outside pytest.
        run_config: MindTrial's RunConfig object as it appears in the results JSON; no name, no secrets.
        got: The answer in the form the validator compared (canonical for value match).
        want: The accepted answers in the same form; None for a task that was skipped before validation.
        duration_ns: Model request time summed over the turns: no rate-limit waiting, no failed tries, no tools, no
            validation.
        started_at: RFC 3339 with zone.
        finished_at: RFC 3339 with zone.
        repeat: 1-based repeat index; None when the task is not repeated.
        requests: Every request that was tried, judges included.
        transcript: Messages in order: mappings with ``role`` and ``text`` (and ``name``, ``arguments`` for tools).
        source: ``file:line:column`` of the task definition.
        definition: Digest of everything that decides the attempt and its verdict (task, files, run parameters,
            endpoint, repeat, judge, tools); blank = may never be used again.
        definition_parts: Part by the word of the task file → the first digits of its digest, so that a difference can
            be named.
        is_mock: True when the provider is the mock; reports must say so.
        cost: Candidate cost in ``currency``; None when unknown. Judges excluded; replies from the response cache
            included, as if they had been paid.
        judge_cost: Judge cost in the same currency; None when unknown or none ran. Cached replies included.
        cached: Requests, judges included, that the response cache answered.
        saved: What the cached replies would have cost, judges included; None when unknown or none was cached.
        reused_from: Journal that the attempt was taken from (``--mt-resume``, ``--mt-regrade``); blank when it was
            made now. Its cost was spent then, not now.
        previous: The verdict before a regrading; None when this is the first.
    """

    trace_id: str
    kind: Kind
    task: str
    provider: str
    run: str
    got: Any = None
    want: tuple[Any, ...] | None = None
    nodeid: str = ""
    run_config: Mapping[str, Any] | None = None
    evaluation_seed: str = ""
    metadata: Metadata = field(default_factory=Metadata)
    answer: AnswerRecord | None = None
    validation: ValidationRecord | None = None
    error: ErrorRecord | None = None
    duration_ns: int = 0
    started_at: str = ""
    finished_at: str = ""
    repeat: int | None = None
    requests: tuple[RequestRecord, ...] = ()
    transcript: tuple[Mapping[str, Any], ...] = ()
    source: str = ""
    definition: str = ""
    is_mock: bool = False
    cost: float | None = None
    judge_cost: float | None = None
    currency: str = ""
    definition_parts: Mapping[str, str] = field(default_factory=dict)
    cached: int = 0
    saved: float | None = None
    reused_from: str = ""
    previous: PreviousVerdict | None = None
