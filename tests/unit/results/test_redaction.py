"""Secrets stay out of every document, whatever characters they have."""

from __future__ import annotations

import json
from collections.abc import Callable, Sequence
from dataclasses import replace

import pytest

from pytest_mindtrial.core.record import AnswerRecord, ErrorRecord, RequestRecord, Result, Semantic, ValidationRecord
from pytest_mindtrial.core.secret import Redactor, Secret
from pytest_mindtrial.core.values import Kind
from pytest_mindtrial.results.csv_writer import write_csv
from pytest_mindtrial.results.evaluation import EvaluationInfo
from pytest_mindtrial.results.json_writer import write_json
from pytest_mindtrial.results.log_tables import log_text
from pytest_mindtrial.results.redaction import clean_text, redact_results, redacted
from tests.golden.results.samples import awkward, full

CANARY = 'canary-"<\\key>&\nü'


@pytest.fixture
def redact() -> Redactor:
    redactor = Redactor()
    redactor.add(Secret(CANARY))
    return redactor


def leaky() -> Result:
    text = f"Bearer {CANARY}"
    return Result(
        text, Kind.FAILED, text, text, text, {text: [text]}, (text,), text,
        {"Model": text, "ModelParameters": {text: text}}, text,
        answer=AnswerRecord(text, text, text, (text,), raw_text=text),
        validation=ValidationRecord("exact", text, text, semantic=Semantic(text, text, text, text)),
        error=ErrorRecord(text, text, {text: text}),
        requests=(RequestRecord(1, 1, cause=text, request_id=text),),
        transcript=({"role": text, "text": text},),
    )  # fmt: skip


@pytest.mark.parametrize("write", [lambda r: write_json(r, EvaluationInfo()), write_csv, log_text])
def test_no_document_shows_it(write: Callable[[Sequence[Result]], str], redact: Redactor) -> None:
    assert "canary" in write([leaky()])
    assert "canary" not in write(redact_results([leaky()], redact))


@pytest.mark.parametrize("make", [full, awkward])
def test_other_results_stay_as_they_are(make: Callable[[], list[Result]], redact: Redactor) -> None:
    results = [replace(result, got=None) for result in make()]
    assert redact_results(results, redact) == results


def test_the_kind_is_never_touched() -> None:
    redactor = Redactor()
    redactor.add(Secret("Passed"))
    (result,) = redact_results([Result("Passed!", Kind.PASSED, "", "", "")], redactor)
    assert (result.kind, result.trace_id) == (Kind.PASSED, "**********!")


def test_plain_data(redact: Redactor) -> None:
    assert redacted({CANARY: [CANARY, 1, None, True]}, redact) == {"**********": ["**********", 1, None, True]}


@pytest.mark.parametrize("secret", ['quo"ted-key', "back\\slash", "line\nbreak", "clé-ünï-😀", "a\\u0041b"])
def test_the_quick_look_sees_every_secret(secret: str) -> None:
    redactor = Redactor()
    redactor.add(Secret(secret))
    assert clean_text({"a": [f"x{secret}y"]}, redactor) is None
    assert clean_text({secret: 1}, redactor) is None
    other = {"a": ["else"], "b": 'quo"te\n\\ é'}
    assert json.loads(clean_text(other, redactor) or "") == other


def test_the_quick_look_leaves_deep_and_odd_values_to_the_slow_one() -> None:
    deep: object = "end"
    for _ in range(150):
        deep = [deep]
    assert clean_text({"a": deep}, Redactor()) is None
    assert clean_text({"a": [["wide"]] * 150}, Redactor()) is not None
    assert clean_text({"a": object()}, Redactor()) is None


def test_clean_results_are_not_copied(redact: Redactor) -> None:
    results = full()
    assert [found is result for found, result in zip(redact_results(results, redact), results, strict=True)] == [
        True
    ] * len(results)
