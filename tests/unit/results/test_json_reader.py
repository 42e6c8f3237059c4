from __future__ import annotations

import json
import pickle
from email.utils import parsedate_to_datetime
from pathlib import Path
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from pytest_mindtrial.core.errors import ResultsError
from pytest_mindtrial.core.gonumbers import LiteralFloat
from pytest_mindtrial.core.jsontext import pretty_json
from pytest_mindtrial.core.record import AnswerRecord, ErrorRecord, Metadata, Result, ToolUsageRecord
from pytest_mindtrial.core.values import Kind, Usage
from pytest_mindtrial.results.evaluation import EvaluationInfo
from pytest_mindtrial.results.json_fields import parse_json
from pytest_mindtrial.results.json_reader import Header, parse_results_json, read_results_json
from pytest_mindtrial.results.json_writer import document, write_json

DATA = Path(__file__).parents[3] / "../shared/data/mindtrial"


def entry(**changes: Any) -> dict[str, Any]:
    return {
        "TraceID": "01A",
        "Kind": "Passed",
        "Task": "t",
        "Provider": "p",
        "Run": "r",
        "Got": "x",
        "Want": "x",
        "Details": {},
        "DurationNS": 1,
    } | changes


def text(*entries: dict[str, Any], **root: Any) -> str:
    return json.dumps({"FormatVersion": 1, "Results": {"p": list(entries)}} | root)


def one(**changes: Any) -> Result:
    (result,) = parse_results_json(text(entry(**changes))).results
    return result


def rewritten(source: str) -> str:
    read = parse_results_json(source)
    info = EvaluationInfo(
        app_name=read.header.app_name,
        app_version=read.header.app_version,
        created_at=parsedate_to_datetime("Mon, 24 Aug 2026 20:08:32 -0400"),
    )
    return pretty_json(document(read.results, info) | {"CreatedAt": read.header.created_at}) + "\n"


def test_tries_of_one_task_in_a_document_of_ours_are_numbered() -> None:
    entries = [entry(TraceID=mark, Evaluation={"Seed": "s"}) for mark in "abc"]
    other = entry(Task="once", Evaluation={"Seed": "s"})
    ours = parse_results_json(text(*entries, other, AppName="pytest-mindtrial")).results
    assert [result.repeat for result in ours] == [1, 2, 3, None]
    theirs = parse_results_json(text(*entries, AppName="MindTrial")).results
    assert [result.repeat for result in theirs] == [None] * 3


def test_a_task_of_two_evaluations_in_one_document_is_not_a_repeat() -> None:
    entries = [entry(TraceID=mark, Evaluation={"Seed": mark}) for mark in "ab"]
    ours = parse_results_json(text(*entries, AppName="pytest-mindtrial")).results
    assert [result.repeat for result in ours] == [None, None]


@pytest.mark.shared_data
@pytest.mark.skipif(not DATA.is_dir(), reason="the shared data folder is not here")
@pytest.mark.parametrize("name", ["results.json", "empty.json"])
def test_mindtrials_documents_come_back_byte_for_byte(name: str) -> None:
    source = (DATA / name).read_bytes().decode()
    assert rewritten(source) == source


def test_a_full_entry_comes_back_byte_for_byte() -> None:
    call = {
        "Tool": "calc",
        "CallID": "c1",
        "ConversationTurn": 2,
        "StartedAt": "2026-01-01T00:00:00Z",
        "CompletedAt": "2026-01-01T00:00:01.5Z",
        "DurationNS": 3,
        "WallTimeNS": 4,
        "ExitCode": 137,
        "TimedOut": True,
        "Status": "timeout",
        "Stdout": {"Bytes": 9, "Preview": "héllo", "Truncated": True},
        "Stderr": {"Bytes": 0},
        "ErrorMessage": "killed",
    }
    usage = {
        "InputTokens": 0,
        "OutputTokens": 2,
        "ReasoningTokens": 1,
        "InputCacheWriteTokens": 3,
        "InputCacheReadTokens": 4,
        "InputTokenAccounting": "cache_tokens_included",
        "OutputTokenAccounting": "reasoning_tokens_separate",
    }
    config = {
        "Model": "m",
        "MaxRequestsPerMinute": 3,
        "ModelParameters": {"top-p": 0.5, "seed": None, "stream": False},
        "RetryPolicy": {"MaxRetryAttempts": 2, "InitialDelaySeconds": 5},
        "Pricing": {"Currency": "EUR", "InputPerMillion": 0, "OutputPerMillion": 1.25},
    }
    full = {
        "TraceID": "01A",
        "Kind": "Error",
        "Task": "t <b>&\u2028",
        "Provider": "p",
        "Run": "r",
        "RunConfig": config,
        "Evaluation": {"Seed": "s"},
        "Got": {"a": [1, 12345678901234567890, 0.1, 1e-7, True, None], "z": ""},
        "Want": [["a", "b"]],
        "TaskMetadata": {"Suite": "s", "Category": "c", "Difficulty": "d", "Tags": ["x", "y"]},
        "Details": {
            "Answer": {
                "Title": "T",
                "Explanation": ["one", "", "two", ""],
                "ActualAnswer": ["x"],
                "ExpectedAnswer": [["a", "b"]],
                "Usage": usage,
                "ToolUsage": {"calc": {"CallCount": 1, "TotalDurationNS": 3}},
                "ToolCalls": [call],
            },
            "Validation": {
                "Title": "V",
                "Usage": usage,
                "Semantic": {
                    "Verdict": {"ok": True},
                    "JudgeName": "j",
                    "Provider": "jp",
                    "Variant": "jr",
                    "VariantConfig": config,
                },
                "Method": "semantic",
            },
            "Error": {
                "Title": "E",
                "Message": "m",
                "Details": {"Raw": ["l1", "l2"]},
                "ResponseParsing": True,
                "Transient": False,
                "FromValidation": True,
            },
        },
        "DurationNS": 5,
    }
    head = {
        "$schema": "https://raw.githubusercontent.com/petmal/mindtrial/main/schema/results-v1.schema.json",
        "FormatVersion": 1,
        "AppName": "MindTrial",
        "AppVersion": "v1",
        "CreatedAt": "Mon, 24 Aug 2026 20:08:32 -0400",
    }
    source = pretty_json(head | {"Results": {"p": [full]}}) + "\n"
    assert rewritten(source) == source


def test_the_head_is_kept() -> None:
    read = parse_results_json(text(AppName="A", AppVersion="1", CreatedAt="then"))
    assert read.header == Header("A", "1", "then")
    assert read.results == ()


@pytest.mark.parametrize(
    "want, expected, read",
    [
        (None, None, None),
        ([], None, ()),
        ("a", None, ("a",)),
        (["a", "b"], None, ("a", "b")),
        (["a"], None, (["a"],)),
        (["a", "b"], [["["]], (["a", "b"],)),
        (["a", "b"], [["a"], ["b"]], ("a", "b")),
        ({"k": 1}, None, ({"k": 1},)),
    ],
)
def test_accepted_answers(want: Any, expected: Any, read: Any) -> None:
    details = {"Answer": {"ExpectedAnswer": expected}} if expected else {}
    assert one(Want=want, Details=details).want == read


@pytest.mark.parametrize("want", [None, [], "a", ["a", "b"], ["a"], [["a", "b"]], {"k": 1}])
def test_accepted_answers_survive_a_round_trip(want: Any) -> None:
    result = one(Kind="Skipped", Want=want, Got=None, Details={"Error": {"Title": "x", "Message": "m"}})
    assert json.loads(write_json([result], EvaluationInfo()))["Results"]["p"][0]["Want"] == want


def test_transient_has_three_states() -> None:
    states = [
        one(Kind="Error", Details={"Error": fields}).error for fields in ({}, {"Transient": True}, {"Transient": False})
    ]
    assert [state.transient for state in states if state] == [None, True, False]


def test_unknown_members_are_ignored() -> None:
    result = one(Future={"x": 1}, Details={"Answer": {"Mood": "good", "Title": "T"}})
    assert result.answer is not None
    assert result.answer.title == "T"


def test_an_unknown_accounting_mode_makes_the_totals_unknown() -> None:
    usage = {"InputTokens": 5, "OutputTokens": 6, "InputTokenAccounting": "new", "OutputTokenAccounting": "new"}
    result = one(Details={"Answer": {"Usage": usage}})
    assert result.answer is not None
    assert (result.answer.usage.effective_input, result.answer.usage.effective_output) == (None, None)


def test_missing_members_are_zero_values() -> None:
    (result,) = parse_results_json(text({"Kind": "Error", "Provider": "p"})).results
    assert result == Result("", Kind.ERROR, "", "p", "")


def test_numbers_keep_all_their_digits() -> None:
    source = text(entry()).replace(
        '"Got": "x"', '"Got": [0.12345678901234567890123, 123456789012345678901234567890, 0.1]'
    )
    (result,) = parse_results_json(source).results
    assert "0.12345678901234567890123" in write_json([result], EvaluationInfo())
    assert "123456789012345678901234567890" in write_json([result], EvaluationInfo())
    assert type(result.got[2]) is float


def test_a_literal_float_computes_and_pickles() -> None:
    number = LiteralFloat("0.50000000000000000000")
    copy = pickle.loads(pickle.dumps(number))
    assert number == 0.5
    assert copy.literal == "0.50000000000000000000"


@pytest.mark.parametrize(
    "source, message",
    [
        ("", "Expecting value (line 1, column 1)"),
        ("{} x", "text after the document (line 1, column 4)"),
        ("[]", "document: expected an object, found an array"),
        ("{}", "unsupported format version 0 (expected 1)"),
        ('{"FormatVersion": 2}', "unsupported format version 2 (expected 1)"),
        ('{"FormatVersion": "1"}', "unsupported format version 1 (expected 1)"),
        ('{"FormatVersion": true}', "unsupported format version True (expected 1)"),
        ('{"FormatVersion": NaN}', "NaN is not a JSON number"),
        ("[" * 100_000, "the document is nested too deeply"),
        (text(Results=[]), "Results: expected an object, found an array"),
        (text(Results={"p": 1.5}), "Results.p: expected an array, found a number"),
        (text(Results={"p": [None]}), "Results.p[0]: expected an object, found null"),
        (
            text(entry(), entry(Kind="Unknown (9)")),
            "Results.p[1].Kind: unknown kind 'Unknown (9)'; allowed: Passed, Failed",
        ),
        (text(entry(Provider="q")), "Results.p[0]: the entry's Provider 'q' is not the list's 'p'"),
        (text(entry(DurationNS="5")), "Results.p[0].DurationNS: expected an integer, found a string"),
        (text(entry(DurationNS=True)), "Results.p[0].DurationNS: expected an integer, found a boolean"),
        (text(entry(TaskMetadata={"Tags": ["a", 1]})), "Results.p[0].TaskMetadata.Tags[1]: expected a string"),
        (
            text(entry(Details={"Answer": {"ExpectedAnswer": [["a"], "b"]}})),
            "Results.p[0].Details.Answer.ExpectedAnswer[1]: expected an array, found a string",
        ),
    ],
)
def test_bad_documents_are_named(source: str, message: str) -> None:
    with pytest.raises(ResultsError) as caught:
        parse_results_json(source)
    assert str(caught.value).startswith(message)


def test_a_number_with_too_many_digits_is_an_error_not_a_crash() -> None:
    with pytest.raises(ResultsError, match="digit"):
        parse_json("1" * 5000)


@pytest.mark.parametrize(
    "content, message",
    [(None, "No such file"), (b"\xff", "not UTF-8 at byte 0"), (b"{}", "unsupported format version 0")],
)
def test_unreadable_files_name_the_file(tmp_path: Path, content: bytes | None, message: str) -> None:
    path = tmp_path / "r.json"
    if content is not None:
        path.write_bytes(content)
    with pytest.raises(ResultsError, match=r"failed to read results: .*r\.json: ") as caught:
        read_results_json(path)
    assert message in str(caught.value)


texts = st.text(max_size=12) | st.sampled_from(["", "\n", "a\r\nb", "\ud83d", "<&>\u2028", "=1+1", "\x00"])
numbers = st.integers(0, 2**70)
values = st.recursive(
    st.none() | st.booleans() | numbers | st.floats(allow_nan=False, allow_infinity=False) | texts,
    lambda inner: st.lists(inner, max_size=3) | st.dictionaries(texts, inner, max_size=3),
    max_leaves=5,
)
usages = st.builds(
    Usage,
    *[st.none() | numbers] * 5,
    st.sampled_from([None, "cache_tokens_separate", "cache_tokens_included"]),
    st.sampled_from([None, "reasoning_tokens_separate", "reasoning_tokens_included"]),
)
answers = st.builds(AnswerRecord, texts, texts, values, st.lists(values, max_size=3).map(tuple), usages)
errors = st.builds(
    ErrorRecord,
    texts,
    texts,
    st.dictionaries(texts, texts, max_size=2),
    usages,
    st.dictionaries(texts, st.builds(ToolUsageRecord, numbers, numbers), max_size=2),
    transient=st.sampled_from([None, True, False]),
    from_validation=st.booleans(),
)
results = st.builds(
    Result,
    texts,
    st.sampled_from(Kind),
    texts,
    st.sampled_from(["p", "q", "\u00e9"]),
    texts,
    values,
    st.none() | st.lists(values, max_size=3).map(tuple),
    evaluation_seed=texts,
    metadata=st.builds(Metadata, texts, texts, texts, st.lists(texts, max_size=2).map(tuple)),
    answer=st.none() | answers,
    error=st.none() | errors,
    duration_ns=numbers,
)


@given(st.lists(results, max_size=4))
def test_what_is_written_is_read_and_written_again_as_the_same_bytes(items: list[Result]) -> None:
    once = write_json(items, EvaluationInfo())
    assert write_json(parse_results_json(once).results, EvaluationInfo()) == once
