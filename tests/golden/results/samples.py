"""Results for golden files, report tests and browser tests: empty, full and awkward, with a fixed clock and version."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace
from datetime import datetime, timedelta, timezone

from pytest_mindtrial.core.record import (
    AnswerRecord,
    ErrorRecord,
    Metadata,
    OutputRecord,
    RequestRecord,
    Result,
    Semantic,
    ToolCallRecord,
    ToolUsageRecord,
    ValidationRecord,
)
from pytest_mindtrial.core.values import Kind, Usage
from pytest_mindtrial.results.evaluation import EvaluationInfo

EVALUATION = EvaluationInfo(
    app_version="(testing)",
    created_at=datetime(2026, 8, 24, 20, 8, 32, tzinfo=timezone(timedelta(hours=-4))),
    seed="7f3a0c5e9b1d2f4a6c8e0b1d3f5a7c9e",
    suites=("example_suites/quickstart/tasks.yaml",),
    config="example_suites/quickstart/config.yaml",
    expected=8,
    concurrency=10,
)

INCOMPLETE = replace(EVALUATION, expected=40, is_complete=False, incomplete_reason="interrupted by Ctrl-C")

_PRICING = {
    "Currency": "USD",
    "InputPerMillion": 1.25,
    "OutputPerMillion": 10.0,
    "CacheReadPerMillion": 0.0,
    "CacheWritePerMillion": None,
}

_CONFIG = {
    "Model": "gpt-5.2",
    "MaxRequestsPerMinute": 30,
    "TextOnly": False,
    "ModelParameters": {"reasoning-effort": "xhigh", "temperature": None, "text-verbosity": "low"},
    "RetryPolicy": {"MaxRetryAttempts": 3, "InitialDelaySeconds": 0},
    "Pricing": _PRICING,
}

_USAGE = Usage(1200, 340, 250, None, 400, "cache_tokens_included", "reasoning_tokens_included")

_CALLS = (
    ToolCallRecord(
        "python",
        "call_9f8c2e1a4b3d",
        1,
        "2026-08-24T20:08:40Z",
        "2026-08-24T20:08:40.145Z",
        145_000_000,
        "success",
        duration_ns=120_000_000,
        exit_code=0,
        stdout=OutputRecord(12),
        arguments='{"code": "print(6 * 7)"}',
    ),
    ToolCallRecord(
        "python",
        "call_1a2b3c4d5e6f",
        2,
        "2026-08-24T20:08:41Z",
        "2026-08-24T20:09:41Z",
        60_000_000_000,
        "timeout",
        timed_out=True,
        stderr=OutputRecord(4096, "still\nworking", truncated=True),
        error_message="tool execution timeout: execution timed out after 1m0s",
    ),
)


def _result(number: int, kind: Kind, task: str, provider: str = "openai", run: str = "gpt-5.2-xhigh") -> Result:
    return Result(
        trace_id=f"01K3DQ7Z8X00000000000000{number:02d}",
        kind=kind,
        task=task,
        provider=provider,
        run=run,
        nodeid=f"tasks.yaml::{task}[{provider}-{run}]",
        run_config=_CONFIG,
        evaluation_seed=EVALUATION.seed,
        metadata=Metadata("core", "reasoning", "hard", ("nightly", "smoke")),
        duration_ns=22_741_666_400,
        started_at="2026-08-24T20:08:33-04:00",
        finished_at="2026-08-24T20:08:56-04:00",
        source="tasks.yaml:41:7",
        definition="9c1185a5c5e9fc54612808977ee8f548b2258d31",
    )


def full() -> list[Result]:
    """One result of every kind and every validation method, two providers, tools, judge, retries, costs."""
    passed = replace(
        _result(1, Kind.PASSED, "anagram of fruits"),
        got="grape, peach",
        want=("grape, peach",),
        answer=AnswerRecord(
            "Both fruits found",
            "I sorted the letters.\nThen I compared.",
            "GRAPE, PEACH\n",
            ("GRAPE, PEACH\n",),
            usage=_USAGE,
            tool_usage={"python": ToolUsageRecord(2, 60_120_000_000)},
            tool_calls=_CALLS,
        ),
        validation=ValidationRecord(
            "exact", "Response Assessment", "The response matches one accepted answer.", validator="value match"
        ),
        requests=(
            RequestRecord(1, 1, duration_ns=950_000_000, status=429, cause="http-429"),
            RequestRecord(1, 2, waited_ns=2_000_000_000, duration_ns=9_000_000_000, status=200, request_id="req_1"),
            RequestRecord(2, 1, duration_ns=12_000_000_000, first_byte_ns=800_000_000, status=200),
        ),
        transcript=(
            {"role": "user", "text": "Find two fruits in: parge, heapc"},
            {"role": "assistant", "text": "I shall count.", "name": "python", "arguments": '{"code": "print(6 * 7)"}'},
            {"role": "tool", "name": "python", "text": "42"},
            {"role": "assistant", "text": "GRAPE, PEACH"},
        ),
        cost=0.0044,
        currency="USD",
    )
    failed = replace(
        _result(2, Kind.FAILED, "rooks on a board"),
        got="eight rooks can stand there",
        want=("nine rooks can stand there", "9"),
        answer=AnswerRecord(
            "Rooks", "One per row.", "Eight rooks can stand there", ("Nine rooks can stand there", "9"), usage=_USAGE
        ),
        validation=ValidationRecord(
            "semantic",
            "Semantic Assessment",
            "Not semantically equivalent.\n\nJudge reasoning:\nEight is not nine.",
            usage=Usage(900, 20, None, None, None, "cache_tokens_separate"),
            semantic=Semantic("careful", "anthropic", "opus", False, {"Model": "claude-opus", "TextOnly": True}),
            duration_ns=3_000_000_000,
            validator="opus careful judge",
        ),
        cost=0.0044,
        judge_cost=0.0021,
        currency="USD",
    )
    custom = replace(
        _result(3, Kind.FAILED, "service check", "anthropic", "opus"),
        got={"port": 8080, "ready": False},
        want=(),
        answer=AnswerRecord("", "", {"ready": False, "port": 8080}, (), usage=Usage(10, 5), repaired=True),
        validation=ValidationRecord(
            "custom", "Port closed", "Nothing listened on 8080.", validator="custom validator x"
        ),
    )
    schema = replace(
        _result(4, Kind.FAILED, "log lines", "anthropic", "opus"),
        got=[1, 2.5, 1e21],
        want=({"type": "array", "items": {"type": "string"}},),
        answer=AnswerRecord("", "", [1, 2.5, 1e21], ({"type": "array", "items": {"type": "string"}},)),
        validation=ValidationRecord("schema", "Schema Assessment", "$[0]: 1 is not of type 'string'"),
    )
    error = replace(
        _result(5, Kind.ERROR, "chess position", "anthropic", "opus"),
        got="the service is overloaded (529)",
        want=("mate in two",),
        error=ErrorRecord(
            "Execution Error",
            "the service is overloaded (529)",
            {"HTTP Response": '{"type": "error"}\r\n', "Attempts": "4"},
            usage=Usage(0, 0),
            transient=True,
            cause="http-529",
        ),
        requests=tuple(RequestRecord(1, n, waited_ns=n * 10**9, status=529, cause="http-529") for n in (1, 2, 3, 4)),
        duration_ns=0,
    )
    undecided = replace(
        _result(6, Kind.ERROR, "rooks on a board", "anthropic", "opus"),
        got="nine",
        want=("nine rooks",),
        answer=AnswerRecord("Nine", "", "nine", ("nine rooks",), usage=Usage(100, 10)),
        validation=ValidationRecord("semantic", semantic=Semantic("careful", "openai", "gpt-5.2")),
        error=ErrorRecord(
            "Validation Response Parsing Error",
            "the judge's verdict is unreadable",
            {},
            Usage(30, 2),
            from_validation=True,
        ),
    )
    skipped = replace(
        _result(7, Kind.SKIPPED, "what is in the picture", "anthropic", "text-only"),
        got=None,
        want=None,
        metadata=Metadata(),
        run_config=None,
        error=ErrorRecord("Feature Not Supported", "the run is text-only, the task has 1 image", transient=False),
        duration_ns=0,
    )
    mock = replace(
        _result(8, Kind.PASSED, "anagram of fruits", "mock", "careless"),
        got={"a": True, "b": None},
        want=({"a": True, "b": None}, ["x"]),
        answer=AnswerRecord("", "", {"b": None, "a": True}, ({"a": True, "b": None}, ["x"])),
        validation=ValidationRecord("exact", "Response Assessment", "Matches.", validator="value match"),
        is_mock=True,
        repeat=2,
        duration_ns=1_500_000,
    )
    return [passed, failed, custom, schema, error, undecided, skipped, mock]


HOSTILE = (
    "<script>window.hacked=1</script>",
    "</script><script>window.hacked=2</script>",
    '<img src=x onerror="window.hacked=3">',
    "javascript:window.hacked=4",
    "<!--<script>",
    '" onmouseover="window.hacked=5" x="',
    "<svg/onload=window.hacked=6>",
    "{{constructor.constructor('window.hacked=7')()}}",
)


def awkward() -> list[Result]:
    """Hostile markup, formulas, control characters, lone surrogates, huge and missing values."""
    results = []
    for number, text in enumerate(HOSTILE, 1):
        result = _result(number, Kind.FAILED if number % 2 else Kind.PASSED, f"task {text}", text, f"run {text}")
        results.append(
            replace(
                result,
                got=text,
                want=(text + "x",) if number % 2 else (text,),
                metadata=Metadata(text, text, text, (text, "a,b")),
                answer=AnswerRecord(text, f"{text}\n{text}", text, (text,), raw_text=f"{text} "),
                validation=ValidationRecord("exact", text, text, validator=text),
                transcript=({"role": text, "text": text},),
                nodeid=text,
            )
        )
    odd = (
        "=1+1",
        "+cmd|' /C calc'!A0",
        "-2",
        "@SUM(A1)",
        "\tTAB first",
        "\rCR first",
        " leading space",
        r"\.",
        'quote " and, comma',
        "line one\nline two\r\nline three",
        "\x1b[31mred\x1b[0m \x07 \x00",
        "right\u202eto left\u2066",
        "lone \ud83d half",
        "line\u2028separator\u2029",
        "emoji 🍇 wide 日本語 combining e\u0301",
        "tab\there",
        "",
    )
    for number, text in enumerate(odd, 20):
        results.append(
            replace(
                _result(number, Kind.PASSED, text or "(blank)", "odd", text),
                got=text,
                want=None,
                metadata=Metadata(text),
            )
        )
    huge = "word " * 3000
    results += [
        replace(_result(50, Kind.FAILED, "huge"), got=huge, want=(huge + "more",)),
        replace(_result(51, Kind.PASSED, "numbers"), got=[2**70, 0.25, 1e-7, float("nan"), float("-inf")], want=()),
        replace(_result(52, Kind.ERROR, "nothing known"), run_config=None, evaluation_seed="", metadata=Metadata()),
    ]
    return results


def many(count: int) -> Sequence[Result]:
    """Results of ``count`` attempts spread over 10 runs, cheap to make."""
    base = full()
    out = []
    for number in range(count):
        kind = base[number % 7]
        out.append(
            replace(
                kind,
                trace_id=f"01K3DQ7Z8X{number:016d}",
                task=f"task {number // 10:04d}",
                provider=f"provider{number % 2}",
                run=f"run-{number % 10}",
                duration_ns=(number * 7919 % 60_000) * 1_000_000,
            )
        )
    return out
