from __future__ import annotations

from collections.abc import Callable

import pytest

from pytest_mindtrial.core.schemas import compile_schema
from pytest_mindtrial.suite.gotemplate import TemplateError
from pytest_mindtrial.suite.model import JudgePrompt, Rules
from pytest_mindtrial.validators.base import Candidate
from pytest_mindtrial.validators.judge_prompt import (
    DEFAULT_PASSING_VERDICTS,
    DEFAULT_VERDICT_FORMAT,
    judge_template,
    passing_verdicts_of,
    render_judge_prompt,
    verdict_format_of,
)

Make = Callable[..., Candidate]


def test_built_in_prompt_holds_every_fact(candidate: Make) -> None:
    rules = Rules(case_sensitive=True)
    text = render_judge_prompt(JudgePrompt(), candidate("the {{answer}}", " one", "two <b>", rules=rules))
    assert "the prompt" in text
    assert "a word" in text
    assert "\n-  one\n- two <b>\n" in text
    assert "\nthe {{answer}}\n" in text
    assert "case matter: yes" in text
    assert "White space is ignored: no" in text
    assert "rim" not in text.split("Comparison settings")[1].split("Procedure")[0]
    assert [line[:2] for line in text.split("Procedure\n")[1].splitlines()[:3]] == ["1.", "2.", "3."]
    assert "exactly according to the Verdict Format." in text
    shown = text.split("Verdict Format\n")[1]
    assert shown.startswith('{\n  "additionalProperties": false,\n  "properties": {\n    "correct": {\n')
    assert text.index("the prompt") < text.index("a word") < text.index("two <b>") < text.index("{{answer}}")


def test_custom_template_sees_the_raw_values(candidate: Make) -> None:
    template = (
        "{{.OriginalTask.Prompt}}|{{.OriginalTask.ResponseResultFormat}}|{{.OriginalTask.ExpectedResults}}|"
        "{{.Candidate.Response}}|{{.Rules.CaseSensitive}} {{.Rules.IgnoreWhitespace}} {{.Rules.TrimLines}}|"
        "{{.Verdict.Format}}"
    )
    prompt = JudgePrompt(template, "say YES", ("YES",))
    text = render_judge_prompt(prompt, candidate("A", "X y", rules=Rules(trim_lines=True)))
    assert text == "the prompt|a word|[X y]|A|false false true|say YES"
    schema = JudgePrompt("{{.Verdict.Format}}{{.OriginalTask.ResponseResultFormat}}", {"b": "<", "a": []}, (1,))
    shown = '{\n  "a": [],\n  "b": "\\u003c"\n}'
    assert render_judge_prompt(schema, candidate("A", response_format={"b": "<", "a": []})) == shown * 2


@pytest.mark.parametrize("template", [None, "", " \n"])
def test_a_blank_template_is_the_built_in_one(template: str | None) -> None:
    assert judge_template(JudgePrompt(template)) is judge_template(JudgePrompt())


@pytest.mark.parametrize("template", ["{{.Candidate.Respons}}", "{{.PassingVerdicts}}", "{{json .Rules}}", "{{if}}"])
def test_mistakes_are_found_before_any_call(template: str) -> None:
    with pytest.raises(TemplateError, match="judge prompt template, line 1"):
        judge_template(JudgePrompt(template))


def test_defaults() -> None:
    assert verdict_format_of(JudgePrompt()) is DEFAULT_VERDICT_FORMAT
    assert passing_verdicts_of(JudgePrompt()) is DEFAULT_PASSING_VERDICTS
    assert verdict_format_of(JudgePrompt(None, "", ())) == ""
    assert passing_verdicts_of(JudgePrompt(None, "", ())) == ()
    compiled = compile_schema(DEFAULT_VERDICT_FORMAT)
    assert compiled.fits(DEFAULT_PASSING_VERDICTS[0])
    assert not compiled.fits({"correct": 1})
    assert not compiled.fits({"correct": True, "more": 1})
