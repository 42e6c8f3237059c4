"""llama.cpp's own OpenAI-compatible server through ``openai`` + ``endpoint``: text, schema, stream, usage, judge."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import replace
from pathlib import Path
from typing import Any

import pytest

from pytest_mindtrial.core.record import Result
from pytest_mindtrial.core.values import Kind, Usage
from pytest_mindtrial.engine.engine import Engine
from pytest_mindtrial.engine.plan import AttemptPlan
from pytest_mindtrial.providers import local
from pytest_mindtrial.suite.model import ClientConfig, Config, Judge, JudgeSelection, Provider, Rules, Run, Task

pytestmark = pytest.mark.local_model

PARAMETERS = {"temperature": 0, "max-completion-tokens": 400}
TASK = Task(
    "opposite", "What is the opposite of hot? Answer in one short sentence.", "one short sentence", expected=("cold",)
)
EXAMPLE = (
    'Write like this: {"title": "Opposites", "explanation": "Cold is the opposite of hot.", '
    '"final_answer": {"content": {"word": "cold"}}}. '
)
"""Without an example a model this small writes titles without end; the grammar allows that."""

WORD = {
    "type": "object",
    "properties": {"word": {"enum": ["hot", "cold"]}},
    "required": ["word"],
    "additionalProperties": False,
}


@pytest.fixture(scope="module")
def url() -> Iterator[str]:
    yield local.ensure_server({"context": 4096})
    local.stop_servers()


def entry_at(url: str, *, off: bool = False, **parameters: Any) -> Provider:
    run = Run("small", "openai", "smollm2", {**PARAMETERS, **parameters}, disable_structured_output=off)
    return Provider("openai", 0, ClientConfig(endpoint=url), (run,))


def result_of(entry: Provider, task: Task, judges: tuple[Judge, ...] = ()) -> Result:
    engine = Engine(configs=[Config(Path("config.yaml"), (entry,), judges)])
    engine.start()
    try:
        return engine.submit(AttemptPlan(task, entry.runs[0], entry, "seed")).result(120)
    finally:
        engine.close(5)


@pytest.fixture(autouse=True)
def no_key(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.delenv("OPENAI_API_KEY", raising=False)


def counted(usage: Usage) -> bool:
    return (usage.input_tokens or 0) > 10 and (usage.output_tokens or 0) > 1 and len(usage.raw) == 1


@pytest.mark.parametrize("stream", [False, True])
def test_text_plain_and_streamed_with_usage(url: str, stream: bool) -> None:
    result = result_of(entry_at(url, off=True, stream=stream), TASK)
    assert result.kind in (Kind.PASSED, Kind.FAILED), result.error
    assert result.answer is not None
    assert "cold" in result.answer.content.lower()
    assert counted(result.answer.usage)
    (record,) = result.requests
    assert (record.status, record.cause) == (200, "")
    if stream:
        assert record.first_byte_ns is not None
        assert record.first_byte_ns < record.duration_ns


def test_a_stream_and_a_plain_reply_say_the_same(url: str) -> None:
    answers = [result_of(entry_at(url, off=True, stream=stream), TASK).answer for stream in (False, True)]
    assert [answer and answer.content for answer in answers] == [answers[0] and answers[0].content] * 2


def test_the_enforced_schema_is_read_and_judged_by_value(url: str) -> None:
    task = replace(
        TASK, prompt=EXAMPLE + TASK.prompt, response_format=WORD, expected=({"word": "cold"}, {"word": "hot"})
    )
    result = result_of(entry_at(url), task)
    assert result.kind is Kind.PASSED, result.error
    assert result.answer is not None
    assert result.answer.content["word"] in ("hot", "cold")
    assert not result.answer.repaired
    assert counted(result.answer.usage)


def test_a_cut_off_answer_is_an_error_that_says_so(url: str) -> None:
    result = result_of(entry_at(url, **{"max-completion-tokens": 5}), TASK)
    assert result.kind is Kind.ERROR
    assert result.error is not None
    assert result.error.details["Stop Reason"] == "length"
    assert result.error.usage.output_tokens == 5


def test_a_judge_decides_on_the_same_server(url: str) -> None:
    judge = Judge("strict", entry_at(url))
    task = replace(TASK, rules=Rules(judge=JudgeSelection(True, "strict", "small")))
    result = result_of(entry_at(url, off=True), task, (judge,))
    assert result.kind in (Kind.PASSED, Kind.FAILED), result.error
    assert result.validation is not None
    assert result.validation.semantic is not None
    assert isinstance(result.validation.semantic.verdict["correct"], bool)
    assert counted(result.validation.usage)
    assert [record.purpose for record in result.requests] == ["candidate", "judge"]
