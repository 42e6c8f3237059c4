"""Semantic validation: an LLM judges whether the answer means what was expected.

Does not talk to a model (a `JudgeAsk` does) and never fails an answer because its judge failed. Source: spec
mindtrial 5.3 and 5.5.
"""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

from pytest_mindtrial.core.errors import (
    ProviderError,
    ReplyParseError,
    TurnLimitError,
    UnsupportedError,
    UserError,
    ValidationError,
)
from pytest_mindtrial.core.record import Semantic, ValidationRecord
from pytest_mindtrial.core.schemas import SchemaError, compile_schema, schema_problems
from pytest_mindtrial.suite.model import JudgePrompt, Rules
from pytest_mindtrial.validators.base import Candidate, JudgeAsk, JudgeReply, Verdict
from pytest_mindtrial.validators.canonical import canonical, comparison_key, trimmed, unique
from pytest_mindtrial.validators.judge_prompt import (
    judge_template,
    passing_verdicts_of,
    render_judge_prompt,
    verdict_format_of,
)

__all__ = ["JudgeValidator"]

_PARSING_TITLE = "Validation Response Parsing Error"


class JudgeValidator:
    """Judges plain-text answers by asking a judge variant.

    Args:
        ask: The judge variant.
        prompt: What to ask and which verdicts pass.

    Raises:
        TemplateError: The prompt's template is malformed or names an unknown field.
    """

    method = "semantic"

    def __init__(self, ask: JudgeAsk, prompt: JudgePrompt) -> None:
        judge_template(prompt)
        self.name = f"{ask.variant} {ask.judge_name} judge"
        self._ask = ask
        self._prompt = prompt

    async def validate(self, candidate: Candidate) -> Verdict:
        """Judge one answer; an answer that is not text fails without a call.

        Raises:
            ValidationError: The judge gave no usable verdict, or the prompt could not be made.
        """
        if not isinstance(candidate.answer, str):
            text = "The answer is not plain text; a judge compares plain text only."
            return self._verdict(False, candidate, "Invalid Response Type", text)
        reply = await self._reply(candidate)
        try:
            self._check(reply)
            passed = self._passes(reply.verdict)
        except SchemaError as error:
            message = f"the verdict format or the passing verdicts cannot be used: {error}"
            raise ValidationError(message, usage=reply.usage, semantic=self._semantic(reply.verdict)) from error
        relation = "semantically equivalent to one of" if passed else "not semantically equivalent to any of"
        text = f"The answer is {relation} the accepted answers."
        text += f"\n\nJudge reasoning:\n{reply.explanation}"
        return self._verdict(passed, candidate, "Semantic Assessment", text, reply)

    async def _reply(self, candidate: Candidate) -> JudgeReply:
        try:
            question = render_judge_prompt(self._prompt, candidate)
        except UserError as error:
            raise ValidationError(f"the judge prompt cannot be made: {error}", semantic=self._semantic()) from error
        try:
            return await self._ask(question, verdict_format_of(self._prompt))
        except ProviderError as error:
            is_parsing = isinstance(error, ReplyParseError)
            raise ValidationError(
                error.message,
                title=_PARSING_TITLE if is_parsing else "Validation Error",
                transient=error.transient,
                usage=error.usage,
                semantic=self._semantic(),
                details=error.details,
                response_parsing=is_parsing,
            ) from error
        except (TurnLimitError, UnsupportedError) as error:
            # Left alone, the latter would pass for a skipped task.
            raise ValidationError(str(error), semantic=self._semantic()) from error

    def _check(self, reply: JudgeReply) -> None:
        """Raise if the verdict does not have the verdict format; it says nothing then."""
        problem = self._misfit(reply.verdict)
        if not problem:
            return
        unreadable = ReplyParseError(problem, cause="unreadable")
        unreadable.requests = tuple(reply.requests)
        raise ValidationError(
            f"the judge's verdict does not fit the verdict format: {problem}",
            title=_PARSING_TITLE,
            usage=reply.usage,
            semantic=self._semantic(reply.verdict),
            response_parsing=True,
        ) from unreadable

    def _misfit(self, verdict: Any) -> str:
        expected = verdict_format_of(self._prompt)
        if isinstance(expected, str):
            return "" if isinstance(verdict, str) else f"text was asked for, found {type(verdict).__name__}"
        return "; ".join(schema_problems(compile_schema(expected), verdict))

    def _passes(self, verdict: Any) -> bool:
        """Compare with the passing verdicts: by their schema if they are one, else by value under default rules."""
        passing = passing_verdicts_of(self._prompt)
        if _is_schema(passing):
            return compile_schema(passing[0]).fits(verdict)
        accepted = {comparison_key(canonical(value, Rules())) for value in passing}
        return comparison_key(canonical(verdict, Rules())) in accepted

    def _semantic(self, verdict: Any = None) -> Semantic:
        ask = self._ask
        return Semantic(ask.judge_name, ask.provider, ask.variant, verdict, ask.variant_config)

    def _verdict(
        self, passed: bool, candidate: Candidate, title: str, explanation: str, reply: JudgeReply | None = None
    ) -> Verdict:
        want = unique(trimmed(value) for value in candidate.expected)
        record = ValidationRecord(self.method, title=title, explanation=explanation, validator=self.name)
        if reply is None:
            return Verdict(passed, candidate.answer, want, record)
        record = ValidationRecord(
            self.method,
            title=title,
            explanation=explanation,
            usage=reply.usage,
            semantic=self._semantic(reply.verdict),
            validator=self.name,
        )
        return Verdict(passed, trimmed(candidate.answer), want, record, tuple(reply.requests))


def _is_schema(passing: tuple[Any, ...]) -> bool:
    """Return whether the passing verdicts are one object that names its ``$schema``."""
    if len(passing) != 1 or not isinstance(passing[0], Mapping):
        return False
    name = passing[0].get("$schema")
    return isinstance(name, str) and bool(name.strip())
