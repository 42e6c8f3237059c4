"""The ``mindtrial`` fixture: models and validators for hand-written Python tests.

Uses the session's engine, so rate limits, retries and the journal work as for task files. Does not create items and
does not add rows to the reports: a Python test is its own item.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING, Any

import pytest

from pytest_mindtrial.core.errors import ConfigError
from pytest_mindtrial.core.record import ValidationRecord
from pytest_mindtrial.core.values import Kind
from pytest_mindtrial.suite.model import Config, FileRef, JudgePrompt, JudgeSelection, Provider, Rules, Run, Task
from pytest_mindtrial.validators.base import Candidate, Verdict

if TYPE_CHECKING:
    from pytest_mindtrial.core.record import Result
    from pytest_mindtrial.plugin.evaluation import Evaluation
    from pytest_mindtrial.plugin.runner import Runner

__all__ = ["MindTrial", "Reply"]


@dataclass(frozen=True, slots=True)
class Reply:
    """A model's answer.

    Attributes:
        text: The answer as text; structured answers are in `content`.
        content: The answer, any JSON value.
        result: Everything known of the attempt.
    """

    text: str
    content: Any
    result: Result


class _NoJudgement:
    """Accepts every answer: the Python test judges."""

    name = "none"
    method = "custom"

    async def validate(self, candidate: Candidate) -> Verdict:
        record = ValidationRecord(method="custom", title="Not judged", validator=self.name)
        return Verdict(passed=True, got=candidate.answer, want=(), record=record)


class MindTrial:
    """What the ``mindtrial`` fixture gives."""

    def __init__(self, evaluation: Evaluation) -> None:
        self._evaluation = evaluation

    @property
    def config(self) -> Config:
        """The configuration of ``--mt-config``, or config.yaml in the root directory.

        Raises:
            pytest.UsageError: There is none, or it is wrong.
        """
        try:
            return self._evaluation.config_for(self._evaluation.pytest_config.rootpath / "tasks.yaml")
        except ConfigError as error:
            raise pytest.UsageError(str(error)) from None

    def ask(
        self,
        prompt: str,
        *,
        run: str | None = None,
        response_format: Any = "plain text",
        system_prompt: str | None = None,
        files: Sequence[str | Path] = (),
    ) -> Reply:
        """Send one prompt and return the answer.

        Args:
            prompt: The task.
            run: ``provider-run`` or a run's name; may be omitted when the configuration has just one enabled run.
            response_format: Text instruction or JSON Schema.
            system_prompt: Sent before the prompt.
            files: Paths or URLs of attachments.

        Returns:
            The reply.

        Raises:
            NoAnswer: The attempt ended in an error, or the run cannot take the task.
        """
        provider, chosen = self._run(run)
        base = self._evaluation.invocation_dir
        task = Task(
            name=prompt.strip().splitlines()[0][:60] if prompt.strip() else "question",
            prompt=prompt,
            response_format=response_format,
            system_prompt=system_prompt,
            files=tuple(FileRef(Path(str(file)).name, str(file), base) for file in files),
        )
        result = self._runner().ask(task, provider, chosen, _NoJudgement())
        if result.kind in (Kind.ERROR, Kind.SKIPPED) or result.answer is None:
            from pytest_mindtrial.plugin.items import NoAnswer

            raise NoAnswer(result)
        content = result.answer.content
        return Reply(content if isinstance(content, str) else _json(content), content, result)

    def grade(
        self,
        answer: Any,
        *,
        expected: Any,
        prompt: str = "",
        response_format: Any = "plain text",
        case_sensitive: bool = False,
        ignore_whitespace: bool = False,
        trim_lines: bool = False,
        judge: str | None = None,
        variant: str = "",
    ) -> Verdict:
        """Judge an answer by value match, or by a judge of the configuration.

        Args:
            answer: Any JSON value.
            expected: One accepted answer, or a list of alternatives.
            prompt: What was asked; only a judge looks at it.
            response_format: Text instruction or JSON Schema of the answer.
            case_sensitive: As in ``validation-rules``.
            ignore_whitespace: As in ``validation-rules``.
            trim_lines: As in ``validation-rules``.
            judge: Name of a judge; None = value match.
            variant: Run of the judge.

        Returns:
            The verdict; ``passed`` is the decision, ``record`` the reasons.

        Raises:
            ValidationError: The judge could not decide.
        """
        selection = JudgeSelection(judge is not None, judge or "", variant, JudgePrompt())
        rules = Rules(case_sensitive, ignore_whitespace, trim_lines, judge=selection)
        accepted = tuple(expected) if isinstance(expected, list | tuple) else (expected,)
        task = Task("graded answer", prompt, response_format, accepted, rules)
        candidate = Candidate(task.name, prompt, response_format, accepted, rules, answer)
        providers = self.config.providers
        if not providers or not providers[0].runs:
            raise pytest.UsageError("mindtrial.grade: the configuration has no run")
        return self._runner().grade(task, candidate, providers[0], providers[0].runs[0])

    def _runner(self) -> Runner:
        if self._evaluation.runner is None:
            self.config  # noqa: B018 - read before the engine starts, so that a mistake is a usage error
            self._evaluation.start_runner([])
        runner = self._evaluation.runner
        assert runner is not None
        return runner

    def _run(self, name: str | None) -> tuple[Provider, Run]:
        pairs = [(provider, run) for provider in self.config.providers for run in provider.runs if not run.disabled]
        wanted = [pair for pair in pairs if name is None or name in (pair[1].name, f"{pair[0].name}-{pair[1].name}")]
        if len(wanted) == 1:
            return wanted[0]
        known = ", ".join(f"{provider.name}-{run.name}" for provider, run in pairs) or "none"
        problem = "say which run to ask" if name is None else f"run {name!r} is not one of the enabled runs"
        raise pytest.UsageError(f"mindtrial.ask: {problem}; enabled runs: {known}")


def _json(value: Any) -> str:
    from pytest_mindtrial.core.jsontext import compact_json

    return compact_json(value)
