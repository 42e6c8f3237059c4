"""One attempt from plan to result: skip rules, files, sandbox, conversation, reading, validation.

Whatever happens becomes a `Result`; only a cancel escapes, after cleaning up. Does not choose clients or validators
(``engine/attempts.py``), does not wait for slots (``engine/engine.py``) and does not retry (``engine/requests.py``).
Source: design 3, spec mindtrial 6.3, 6.6 and 7.1, spec docker 5.9.
"""

from __future__ import annotations

import asyncio
from collections.abc import Awaitable, Callable, Mapping
from dataclasses import dataclass, replace
from typing import Any, TypeVar

from pytest_mindtrial.core.clock import Clock
from pytest_mindtrial.core.errors import (
    InternalError,
    MindTrialError,
    SandboxSetupError,
    UnsupportedError,
)
from pytest_mindtrial.core.pricing import Prices, cost_of, known_cost
from pytest_mindtrial.core.record import AnswerRecord, ErrorRecord, Result, ValidationRecord
from pytest_mindtrial.core.values import Kind
from pytest_mindtrial.engine.outcome import (
    configuration_error,
    error_record,
    requests_behind,
    saved_cost,
    skip_record,
    static_skip,
    undecided,
)
from pytest_mindtrial.engine.plan import (
    AttemptPlan,
    Feedback,
    FileSource,
    LoadedFile,
    Sandbox,
    SandboxSession,
    ToolExecutor,
)
from pytest_mindtrial.engine.threads import in_thread, was_cancelled
from pytest_mindtrial.engine.turns import Trail, converse, read_reply
from pytest_mindtrial.providers.base import Attachment, Conversation, ModelClient, Prompt, ToolDefinition
from pytest_mindtrial.providers.reading import ReadAnswer
from pytest_mindtrial.suite.model import FileRef
from pytest_mindtrial.validators.base import Candidate, Validator, Verdict

__all__ = ["AttemptServices", "SessionSource", "run_attempt"]

T = TypeVar("T")

SessionSource = Callable[[], SandboxSession]
"""Gives the attempt's sandbox session when a custom validator runs; validators are chosen before it is opened."""


@dataclass(frozen=True, slots=True)
class AttemptServices:
    """Collaborators of attempts, shared by all of them.

    Attributes:
        client: Gives the model client of a plan; may raise a `MindTrialError` (no key, no endpoint).
        validator: Gives the validator of a plan; may raise a `MindTrialError` (unknown judge).
        run_config: Gives MindTrial's RunConfig object of a plan's run.
        expected_form: Gives the accepted answers in the form the task's validator compares.
        judge_prices: Gives the prices of the judge that a plan uses, and their currency.
        files: Reads attached files; None = no task has files.
        tools: Gives the definitions of the tools that a plan's task may use, in its order.
        sandbox: Gives what runs a plan's tools, services and custom validator; None = there is no Docker.
        feedback: Answers failed verdicts; None = the first verdict counts.
        off_loop: Runs blocking code in another thread.
    """

    clock: Clock
    client: Callable[[AttemptPlan], ModelClient]
    validator: Callable[[AttemptPlan, SessionSource], Validator]
    run_config: Callable[[AttemptPlan], Mapping[str, Any] | None] = lambda plan: None
    expected_form: Callable[[AttemptPlan], tuple[Any, ...]] = lambda plan: plan.task.expected
    judge_prices: Callable[[AttemptPlan], tuple[Prices | None, str]] = lambda plan: (None, "")
    files: FileSource | None = None
    tools: Callable[[AttemptPlan], tuple[ToolDefinition, ...]] = lambda plan: ()
    sandbox: Callable[[AttemptPlan], Sandbox | None] = lambda plan: None
    feedback: Feedback | None = None
    off_loop: Callable[[Callable[[], Any]], Awaitable[Any]] = in_thread


async def run_attempt(plan: AttemptPlan, services: AttemptServices, trace_id: str = "") -> Result:
    """Make one attempt.

    Args:
        plan: What to do.
        services: Collaborators.
        trace_id: ULID of the result; blank = the plan's.

    Returns:
        The result, whatever happened; an unexpected exception becomes an Error with the traceback in its details.

    Raises:
        asyncio.CancelledError: The attempt was cancelled; its tools and services are gone.
    """
    attempt = _Attempt(plan, services, trace_id or plan.trace_id)
    try:
        await attempt.run()
    except BaseException as error:  # the border: also what a user's client raises to end a test
        if was_cancelled(error):
            raise
        attempt.fail(error)
    finally:
        await attempt.clean_up()
    return attempt.result()


class _Attempt:
    """The state of one attempt; its fields fill as it goes."""

    def __init__(self, plan: AttemptPlan, services: AttemptServices, trace_id: str) -> None:
        self._plan = plan
        self._trace_id = trace_id
        self._services = services
        self._started_at = services.clock.now().isoformat()
        self._trail = Trail()
        self._tools: ToolExecutor | None = plan.tools
        self._opened: SandboxSession | None = None
        self._is_mock = False
        self._kind = Kind.ERROR
        self._got: Any = None
        self._want: tuple[Any, ...] | None = None
        self._answer: AnswerRecord | None = None
        self._validation: ValidationRecord | None = None
        self._error: ErrorRecord | None = None

    async def run(self) -> None:
        plan = self._plan
        skip = static_skip(plan.task, plan.run)
        if skip is not None:
            self._set_error(Kind.SKIPPED, skip)
            return
        client = self._configured(lambda: plan.client or self._services.client(plan))
        if client is None:
            return
        self._is_mock = client.is_mock
        prompt = await self._announced_prompt()
        want = self._services.expected_form(plan)
        self._want = want
        client.check(prompt)
        self._want = None  # of an attempt without a validator there is nothing to say
        validator = self._configured(lambda: plan.validator or self._services.validator(plan, self._session))
        if validator is None:
            return
        self._want = want
        prompt = await self._loaded_prompt(client, prompt)
        await self._converse_and_judge(client.start(prompt), prompt, validator)

    def fail(self, error: BaseException) -> None:
        """Turn an exception into the attempt's outcome."""
        if isinstance(error, UnsupportedError) and not self._trail.requests:
            self._set_error(Kind.SKIPPED, skip_record(error.title, error.message))
        else:
            self._set_error(Kind.ERROR, error_record(error, self._trail, self._tools))

    async def clean_up(self) -> None:
        """Remove tools and services; a cancel waits until they are gone. Their own trouble changes no result."""
        opened = self._opened if self._opened is not self._tools else None
        ends = [_closed(executor) for executor in (self._tools, opened) if executor is not None]
        if not ends:
            return
        closing = asyncio.gather(*ends, return_exceptions=True)
        try:
            await asyncio.shield(closing)
        except asyncio.CancelledError:
            await asyncio.wait({closing})
            raise

    def result(self) -> Result:
        plan, trail = self._plan, self._trail
        pricing = plan.run.pricing
        judge_cost = self._judge_cost()
        return Result(
            trace_id=self._trace_id,
            kind=self._kind,
            task=plan.task.name,
            provider=plan.provider.name,
            run=plan.run.name,
            got=self._got,
            want=self._want,
            nodeid=plan.nodeid,
            run_config=self._services.run_config(plan),
            evaluation_seed=plan.evaluation_seed,
            metadata=plan.task.metadata,
            answer=self._answer,
            validation=self._validation,
            error=self._error,
            duration_ns=trail.duration_ns,
            started_at=self._started_at,
            finished_at=self._services.clock.now().isoformat(),
            repeat=plan.repeat,
            requests=tuple(trail.requests),
            transcript=tuple(trail.transcript),
            source=_place(plan),
            definition=plan.definition,
            definition_parts=plan.definition_parts,
            is_mock=self._is_mock,
            cost=known_cost(cost_of(trail.usage, pricing)),
            judge_cost=judge_cost,
            currency=pricing.currency if pricing else "",
            cached=sum(request.cached for request in trail.requests),
            saved=saved_cost(trail, pricing, judge_cost),
        )

    # Before the first request ----------------------------------------------------------------------------------------

    def _configured(self, make: Callable[[], T]) -> T | None:
        """Make a client or validator; a mistake in the configuration ends the attempt as such."""
        try:
            return make()
        except InternalError:
            raise
        except MindTrialError as error:
            self._set_error(Kind.ERROR, configuration_error(error))
            return None

    async def _announced_prompt(self) -> Prompt:
        """Return the prompt with the types of its files, but without their content."""
        task, plan = self._plan.task, self._plan
        attachments: tuple[Attachment, ...] = ()
        if task.files:
            source = self._files()
            types = await self._services.off_loop(lambda: [source.infer_mime(file) for file in task.files])
            attachments = tuple(
                Attachment(file.name, mime, None, image_detail=file.image_detail, is_native=file.is_native)
                for file, mime in zip(task.files, types, strict=True)
            )
        return Prompt(
            task=task.name,
            text=task.prompt,
            response_format=task.response_format,
            system_prompt=task.system_prompt,
            attachments=attachments,
            tools=self._tool_definitions(),
            expected=task.expected,
            repeat=plan.repeat,
            seed=plan.evaluation_seed,
        )

    def _tool_definitions(self) -> tuple[ToolDefinition, ...]:
        own = getattr(self._plan.tools, "definitions", None)
        return tuple(own) if own is not None else self._services.tools(self._plan)

    async def _loaded_prompt(self, client: ModelClient, prompt: Prompt) -> Prompt:
        """Load the files, start tools and services, and check again what only the content could tell."""
        task = self._plan.task
        contents: dict[str, LoadedFile] = {}
        if task.files:
            source = self._files()
            loaded = await self._services.off_loop(lambda: [source.load(file) for file in task.files])
            contents = {file.name: content for file, content in zip(task.files, loaded, strict=True)}
            prompt = replace(prompt, attachments=tuple(_attachment(file, contents[file.name]) for file in task.files))
            client.check(prompt)
        await self._open_sandbox({file.name: contents[file.name].data for file in task.files if file.is_local})
        return prompt

    async def _open_sandbox(self, local_files: Mapping[str, bytes]) -> None:
        """Start what runs in containers: the task's tools unless others were given, and the custom validator."""
        plan, own = self._plan, self._tools
        contained = getattr(own, "contained", ())
        tools = tuple(tool for tool in plan.task.tools if own is None or tool.name in contained)
        rules = plan.task.rules if plan.validator is None else replace(plan.task.rules, custom_validator="")
        if not (tools or rules.custom_validator):
            return
        sandbox = self._services.sandbox(plan)
        if sandbox is None:
            raise SandboxSetupError("the task needs tools or a custom validator, but there is no Docker to run them")
        task = replace(plan.task, tools=tools, rules=rules)
        extra: dict[str, Any] = {"running": plan.services} if plan.services else {}
        self._opened = await sandbox.open(
            task, plan.run, plan.provider.name, plan.evaluation_seed, local_files, **extra
        )
        if own is None:
            self._tools = self._opened
        elif tools:
            own.attach(self._opened)  # type: ignore[attr-defined] # what has `contained` has it (`AttemptPlan.tools`)

    def _session(self) -> SandboxSession:
        if self._opened is None:
            raise SandboxSetupError("the custom validator has no sandbox to run in")
        return self._opened

    def _files(self) -> FileSource:
        if self._services.files is None:
            raise InternalError("a task has files, but the engine was given no file source")
        return self._services.files

    # Conversation and verdict ----------------------------------------------------------------------------------------

    async def _converse_and_judge(self, conversation: Conversation, prompt: Prompt, validator: Validator) -> None:
        task, trail = self._plan.task, self._trail
        trail.open(prompt)
        rounds = 0
        while True:
            turn = await converse(conversation, trail, tools=self._tools, max_turns=task.max_turns)
            answer = read_reply(turn, prompt.response_format)
            self._answer = self._answer_record(answer)
            candidate = Candidate(
                task.name, task.prompt, task.response_format, task.expected, task.rules, answer.content
            )
            verdict = await self._judge(candidate, validator)
            rounds += 1
            text = await self._feedback_text(rounds, candidate, verdict)
            if text is None:
                return
            trail.add_user(text)
            conversation.add_feedback(text)

    async def _judge(self, candidate: Candidate, validator: Validator) -> Verdict | None:
        """Ask the validator; set the outcome; return None when it could not decide."""
        clock = self._services.clock
        started = clock.monotonic_ns()
        try:
            verdict = await validator.validate(candidate)
        except BaseException as error:  # a validator that crashes has not decided
            if was_cancelled(error):
                raise
            self._set_undecided(error, candidate, validator)
            return None
        self._trail.requests.extend(verdict.requests)
        self._kind = Kind.PASSED if verdict.passed else Kind.FAILED
        self._got, self._want, self._error = verdict.got, verdict.want, None
        duration = verdict.record.duration_ns or clock.monotonic_ns() - started
        self._validation = replace(
            verdict.record, duration_ns=duration, validator=verdict.record.validator or validator.name
        )
        return verdict

    def _set_undecided(self, error: BaseException, candidate: Candidate, validator: Validator) -> None:
        self._trail.requests.extend(requests_behind(error))
        self._error, self._validation = undecided(error, validator.method, validator.name)
        self._kind, self._got = Kind.ERROR, candidate.answer

    async def _feedback_text(self, round_number: int, candidate: Candidate, verdict: Verdict | None) -> str | None:
        feedback, limit = self._services.feedback, self._plan.task.max_turns
        if feedback is None or verdict is None or verdict.passed or (limit and self._trail.turns >= limit):
            return None
        return await feedback(self._plan, round_number, candidate, verdict)

    # Records ---------------------------------------------------------------------------------------------------------

    def _answer_record(self, answer: ReadAnswer) -> AnswerRecord:
        return AnswerRecord(
            title=answer.title,
            explanation=answer.explanation,
            content=answer.content,
            expected=self._plan.task.expected,
            usage=self._trail.usage,
            tool_usage=dict(self._tools.usage) if self._tools else {},
            tool_calls=tuple(self._tools.calls) if self._tools else (),
            repaired=answer.repaired,
            coerced=answer.coerced,
            truncated=answer.truncated,
            raw_text=answer.raw_text if answer.raw_text != answer.content else None,
            problems=answer.problems,
        )

    def _set_error(self, kind: Kind, record: ErrorRecord) -> None:
        self._kind, self._error, self._got = kind, record, record.message
        self._answer = self._validation = None

    def _judge_cost(self) -> float | None:
        """Price what the judge has spent; None when it cannot be said in the candidate's currency."""
        spent = self._validation.usage if self._validation else None
        if self._error is not None and self._error.from_validation:
            spent = self._error.usage
        if spent is None or spent.is_empty:
            return None
        prices, currency = self._services.judge_prices(self._plan)
        own = self._plan.run.pricing
        if own is not None and currency != own.currency:
            return None
        return known_cost(cost_of(spent, prices))


async def _closed(executor: ToolExecutor) -> None:
    await executor.close()


def _attachment(file: FileRef, content: LoadedFile) -> Attachment:
    """Return a file as the prompt carries it: a file that is not native is announced only."""
    data = content.data if file.is_native else None
    return Attachment(file.name, content.mime, data, content.filename, file.image_detail, file.is_native)


def _place(plan: AttemptPlan) -> str:
    position = plan.task.position
    return f"{position.file}:{position.line}:{position.column}" if position else ""
