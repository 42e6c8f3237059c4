"""The ``mindtrial`` fixture: models and validators for hand-written Python tests.

Uses the session's engine, so rate limits, retries and the journal work as for task files. Does not create items and
does not add rows to the reports: a Python test is its own item.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from contextlib import contextmanager
from dataclasses import replace
from pathlib import Path
from typing import TYPE_CHECKING, Any

import pytest

from pytest_mindtrial.core.errors import ConfigError
from pytest_mindtrial.plugin.replies import NoJudgement, Reply, alternatives, file_refs, prompt_title, reply_of
from pytest_mindtrial.suite.model import Config, JudgePrompt, JudgeSelection, Provider, Rules, Run, Task, ToolSelection
from pytest_mindtrial.suite.suggest import allowed_list, near_match
from pytest_mindtrial.validators.base import Candidate, Verdict

if TYPE_CHECKING:
    from pytest_mindtrial.plugin.evaluation import Evaluation
    from pytest_mindtrial.plugin.live_attempt import LiveAttempt
    from pytest_mindtrial.plugin.runner import Runner

__all__ = ["MindTrial", "Reply"]


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
            name=prompt_title(prompt),
            prompt=prompt,
            response_format=response_format,
            system_prompt=system_prompt,
            files=file_refs(files, base),
        )
        return reply_of(self._runner().ask(task, provider, chosen, NoJudgement()))

    @contextmanager
    def attempt(
        self,
        tools: Sequence[str | ToolSelection] = (),
        services: Sequence[str] = (),
        *,
        validators: Sequence[str] = (),
        service_inputs: Mapping[str, Mapping[str, Any]] | None = None,
        files: Sequence[str | Path] = (),
        task: Task | None = None,
        run: str | None = None,
    ) -> Iterator[LiveAttempt]:
        """Start tools and services for the time of a ``with`` block; everything is removed at its end.

        Args:
            tools: Tools of the configuration, by name or with limits. The services that they depend on start.
            services: Further services.
            validators: Custom validators that will be asked; the services that they depend on start, too.
            service_inputs: service → input → scalar or template, as in ``service-inputs``.
            files: Paths of files that tools with an ``auxiliary-dir`` find there.
            task: Start also what this task needs; its inputs, files and turn limit hold.
            run: Who is asked, as for `ask`; its name goes into templates.

        Yields:
            The running attempt.

        Raises:
            pytest.UsageError: A name is unknown, an image is missing, or no engine answers; nothing was started.
            SandboxError: A service did not become ready; nothing is left behind.
        """
        from pytest_mindtrial.plugin.live_attempt import LiveAttempt

        provider, chosen = self._run(run)
        base = task or Task("attempt", "", "plain text")
        selected = {selection.name: selection for selection in base.tools}
        selected |= {each.name: each for each in map(_selection, tools)}
        whole = replace(
            base,
            tools=tuple(selected.values()),
            service_inputs={**base.service_inputs, **(service_inputs or {})},
            files=(*base.files, *file_refs(files, self._evaluation.invocation_dir)),
        )
        named = [*services, *self._needed_by(validators)]
        live = LiveAttempt(self._runner(), self.config, whole, named, provider, chosen, self._evaluation.seed)
        try:
            live.open()
            yield live
        finally:
            live.close()

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
        accepted = alternatives(expected)
        task = Task("graded answer", prompt, response_format, accepted, rules)
        candidate = Candidate(task.name, prompt, response_format, accepted, rules, answer)
        providers = self.config.providers
        if not providers or not providers[0].runs:
            raise pytest.UsageError("mindtrial.grade: the configuration has no run")
        return self._runner().grade(task, candidate, providers[0], providers[0].runs[0])

    def _needed_by(self, validators: Sequence[str]) -> list[str]:
        """Return the services that validators depend on."""
        known = {validator.name: validator for validator in self.config.validators}
        if unknown := [name for name in validators if name not in known]:
            hint = f"(defined: {allowed_list(known)}){near_match(unknown[0], known)}"
            raise pytest.UsageError(f"mindtrial.attempt: validator {unknown[0]!r} is not defined {hint}")
        return [dependency.service for name in validators for dependency in known[name].dependencies]

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
        raise pytest.UsageError(f"mindtrial: {problem}; enabled runs: {known}")


def _selection(tool: str | ToolSelection) -> ToolSelection:
    return ToolSelection(tool) if isinstance(tool, str) else tool
