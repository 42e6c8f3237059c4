"""MindTrial's document: exact fields, strict schema, stable bytes."""

from __future__ import annotations

import json
from collections.abc import Callable
from dataclasses import replace
from pathlib import Path
from typing import Any

import jsonschema
import pytest

from pytest_mindtrial.core.jsontext import pretty_json
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
from pytest_mindtrial.results.json_reader import parse_results_json, read_results_json
from pytest_mindtrial.results.json_writer import (
    SCHEMA_URL,
    details_object,
    document,
    entry_object,
    json_pieces,
    write_json,
)
from tests.golden.results.samples import EVALUATION, awkward, full

DATA = Path(__file__).parents[3] / "../shared/data/mindtrial"


def plain(**changes: Any) -> Result:
    return replace(Result("T1", Kind.PASSED, "task", "provider", "run"), **changes)


def test_head_of_the_document() -> None:
    assert document([], EVALUATION) == {
        "$schema": SCHEMA_URL,
        "FormatVersion": 1,
        "AppName": "pytest-mindtrial",
        "AppVersion": "(testing)",
        "CreatedAt": "Mon, 24 Aug 2026 20:08:32 -0400",
        "Results": {},
    }
    assert "CreatedAt" not in document([], EvaluationInfo())
    assert write_json([], EVALUATION).endswith('  "Results": {}\n}\n')


@pytest.mark.parametrize("make", [list, full, awkward])
def test_the_text_is_that_of_the_document(make: Callable[[], list[Result]]) -> None:
    assert write_json(make(), EVALUATION) == pretty_json(document(make(), EVALUATION)) + "\n"


def test_entries_that_were_rendered_before_are_taken() -> None:
    results = [plain(provider=p, trace_id=t) for p, t in (("b", "1"), ("a", "2"), ("b", "0"))]
    text = "".join(json_pieces(results, EVALUATION, lambda result: f'"{result.trace_id}"'))
    assert json.loads(text)["Results"] == {"a": ["2"], "b": ["1", "0"]}


def test_providers_are_sorted_and_entries_keep_their_order() -> None:
    results = [plain(provider=p, trace_id=t) for p, t in (("b", "1"), ("a", "2"), ("b", "0"), ("B", "3"))]
    written = document(results, EVALUATION)["Results"]
    assert {provider: [entry["TraceID"] for entry in entries] for provider, entries in written.items()} == {
        "B": ["3"],
        "a": ["2"],
        "b": ["1", "0"],
    }
    assert list(written) == ["B", "a", "b"]


def test_smallest_entry_has_exactly_the_required_fields() -> None:
    assert list(entry_object(plain()).items()) == [
        ("TraceID", "T1"),
        ("Kind", "Passed"),
        ("Task", "task"),
        ("Provider", "provider"),
        ("Run", "run"),
        ("Got", None),
        ("Want", None),
        ("Details", {}),
        ("DurationNS", 0),
    ]


@pytest.mark.parametrize(
    "want, written",
    [
        (None, None),
        ((), []),
        (("a",), "a"),
        ((["a", "b"],), ["a", "b"]),
        (("a", 1), ["a", 1]),
        (({"b": 1, "a": 2},), {}),
    ],
)
def test_want(want: tuple[Any, ...] | None, written: Any) -> None:
    entry = entry_object(plain(want=want))
    if written == {}:
        assert list(entry["Want"]) == ["a", "b"]
    else:
        assert entry["Want"] == written


def test_got_of_an_error_without_answer_is_its_message() -> None:
    error = ErrorRecord("Execution Error", "no route")
    assert entry_object(plain(kind=Kind.ERROR, error=error))["Got"] == "no route"
    assert entry_object(plain(kind=Kind.SKIPPED, error=error))["Got"] == "no route"
    assert entry_object(plain(kind=Kind.ERROR, error=error, got="nine"))["Got"] == "nine"
    assert entry_object(plain(got=None))["Got"] is None


@pytest.mark.parametrize("transient, written", [(None, {}), (True, {"Transient": True}), (False, {"Transient": False})])
def test_transient_has_three_states(transient: bool | None, written: dict[str, bool]) -> None:
    error = ErrorRecord("T", "M", transient=transient)
    assert details_object(plain(error=error))["Error"] == {"Title": "T", "Message": "M"} | written


def test_error_flags_and_details() -> None:
    error = ErrorRecord(
        "T", "", {"b": "x\r\ny", "a": ""}, Usage(1), response_parsing=True, from_validation=True, transient=False
    )
    assert list(details_object(plain(error=error))["Error"].items()) == [
        ("Title", "T"),
        ("Details", {"a": [], "b": ["x", "y"]}),
        ("Usage", {"InputTokens": 1}),
        ("ResponseParsing", True),
        ("Transient", False),
        ("FromValidation", True),
    ]


def test_usage_absent_is_not_zero() -> None:
    usage = Usage(0, None, 5, 0, None, "cache_tokens_included", "reasoning_tokens_separate", ({"secret": 1},))
    assert details_object(plain(answer=AnswerRecord("", "", None, usage=usage)))["Answer"]["Usage"] == {
        "InputTokens": 0,
        "ReasoningTokens": 5,
        "InputCacheWriteTokens": 0,
        "InputTokenAccounting": "cache_tokens_included",
        "OutputTokenAccounting": "reasoning_tokens_separate",
    }


def test_answer_lines() -> None:
    answer = AnswerRecord("T", "why\n", {"b": 1, "a": ["<"]}, ("x\n", "", {"k": 1}))
    assert details_object(plain(answer=answer))["Answer"] == {
        "Title": "T",
        "Explanation": ["why", ""],
        "ActualAnswer": ["{", '  "a": [', '    "<"', "  ],", '  "b": 1', "}"],
        "ExpectedAnswer": [["x", ""], [], ["{", '  "k": 1', "}"]],
    }


def test_tool_records() -> None:
    call = ToolCallRecord("t", "id", 0, "s", "c", 0, "", exit_code=0, duration_ns=0, stdout=OutputRecord(0))
    late = ToolCallRecord(
        "t", "id", 2, "s", "c", 5, "timeout", timed_out=True, stderr=OutputRecord(9, "ab", True), error_message="m"
    )
    answer = AnswerRecord(
        "", "", "", tool_usage={"z": ToolUsageRecord(0, 5), "a": ToolUsageRecord(2)}, tool_calls=(call, late)
    )
    written = details_object(plain(answer=answer))["Answer"]
    assert list(written["ToolUsage"].items()) == [("a", {"CallCount": 2}), ("z", {"TotalDurationNS": 5})]
    assert list(written["ToolCalls"][0].items()) == [
        ("Tool", "t"),
        ("CallID", "id"),
        ("StartedAt", "s"),
        ("CompletedAt", "c"),
        ("DurationNS", 0),
        ("WallTimeNS", 0),
        ("ExitCode", 0),
        ("Stdout", {"Bytes": 0}),
    ]
    assert list(written["ToolCalls"][1].items())[6:] == [
        ("TimedOut", True),
        ("Status", "timeout"),
        ("Stderr", {"Bytes": 9, "Preview": "ab", "Truncated": True}),
        ("ErrorMessage", "m"),
    ]


@pytest.mark.parametrize("verdict, written", [(None, {}), (False, {"Verdict": False}), (0, {"Verdict": 0})])
def test_a_falsy_verdict_is_a_verdict(verdict: Any, written: dict[str, Any]) -> None:
    validation = ValidationRecord("semantic", semantic=Semantic("j", "p", "v", verdict, {"Model": "m", "Odd": 1}))
    assert details_object(plain(validation=validation))["Validation"] == {
        "Semantic": written | {"JudgeName": "j", "Provider": "p", "Variant": "v", "VariantConfig": {"Model": "m"}},
        "Method": "semantic",
    }


def test_run_config_drops_zeros_and_unknown_keys_but_no_price_and_no_parameter() -> None:
    config = {
        "Pricing": {"InputPerMillion": 0, "Currency": "EUR", "OutputPerMillion": None, "Odd": 1},
        "Model": "m",
        "TextOnly": False,
        "MaxRequestsPerMinute": 0,
        "ModelParameters": {"z": None, "a": False},
        "RetryPolicy": {"MaxRetryAttempts": 0, "InitialDelaySeconds": 5},
        "Name": "never",
    }
    assert list(entry_object(plain(run_config=config))["RunConfig"].items()) == [
        ("Model", "m"),
        ("ModelParameters", {"z": None, "a": False}),
        ("RetryPolicy", {"InitialDelaySeconds": 5}),
        ("Pricing", {"Currency": "EUR", "InputPerMillion": 0}),
    ]
    assert "RunConfig" not in entry_object(plain(run_config={"Model": "", "Pricing": {}, "RetryPolicy": None}))


def test_metadata_and_seed() -> None:
    entry = entry_object(plain(metadata=Metadata(category="c", tags=("t",)), evaluation_seed="s"))
    assert entry["TaskMetadata"] == {"Category": "c", "Tags": ["t"]}
    assert entry["Evaluation"] == {"Seed": "s"}


@pytest.mark.parametrize("make", [list, full, awkward])
def test_reading_and_writing_again_gives_the_same_bytes(make: Any) -> None:
    text = write_json(make(), EVALUATION)
    read = parse_results_json(text)
    again = replace(EVALUATION, created_at=read.header.created_at)
    assert write_json(read.results, again) == text


@pytest.mark.shared_data
@pytest.mark.parametrize("name", ["results.json", "empty.json"])
def test_published_documents_round_trip_as_bytes(name: str) -> None:
    path = DATA / name
    if not path.is_file():
        pytest.skip("the shared data are not here")
    read = read_results_json(path)
    head = EvaluationInfo(read.header.app_name, read.header.app_version, read.header.created_at)
    assert write_json(read.results, head) == path.read_text()


@pytest.mark.shared_data
@pytest.mark.parametrize("make", [list, full, awkward])
def test_published_schema_accepts_the_document(make: Any) -> None:
    path = DATA / "results-v1.schema.json"
    if not path.is_file():
        pytest.skip("the shared data are not here")
    jsonschema.Draft202012Validator(json.loads(path.read_text())).validate(json.loads(write_json(make(), EVALUATION)))
