"""The one text that shows an answer in tables and CSV: the answer itself, or how a wrong one differs.

Does not escape for its target; the writers do. Source: spec mindtrial 7.3 and 5.5; design D19 (schema).
"""

from __future__ import annotations

from collections.abc import Sequence

from pytest_mindtrial.core.jsontext import value_text
from pytest_mindtrial.core.record import Result
from pytest_mindtrial.core.values import Kind
from pytest_mindtrial.results.json_writer import got_value
from pytest_mindtrial.results.patch_text import patch_text

__all__ = ["answer_text"]


def answer_text(result: Result) -> str:
    """Return what stands in the Answer column.

    Passed, Error and Skipped: what was got. Failed: for each accepted answer the patch that turns it into what was
    got; the raw answer where a custom validator judged, and with the schema's errors where a schema did, because a
    diff against those says nothing. A patch's final newline is left out.
    """
    got = value_text(got_value(result)) if got_value(result) is not None else ""
    if result.kind is not Kind.FAILED:
        return got
    method = result.validation.method if result.validation else ""
    if method == "custom":
        return got
    if method == "schema" and result.validation:
        return "\n\n".join(part for part in (got, result.validation.explanation) if part)
    return _alternatives([_against(value_text(want), got) for want in result.want or ()] or [got])


def _against(want: str, got: str) -> str:
    return got if want == got else patch_text(want, got).removesuffix("\n")


def _alternatives(answers: Sequence[str]) -> str:
    if len(answers) == 1:
        return answers[0]
    indented = ("\n".join("    " + line for line in answer.split("\n")) for answer in answers)
    return "[\n" + "\n  ,\n".join(indented) + "\n]"
