"""One attempt: skip rules, titles, records; every outcome is a result."""

from __future__ import annotations

import asyncio
import json
from dataclasses import dataclass, field, replace

import pytest

from pytest_mindtrial.core.clock import FakeClock
from pytest_mindtrial.core.errors import (
    ApiError,
    ConfigError,
    InternalError,
    Position,
    ReplyParseError,
    SandboxRuntimeError,
    TaskError,
    UnfinishedError,
    UnsupportedError,
    ValidationError,
)
from pytest_mindtrial.core.record import (
    RequestRecord,
    Semantic,
    ToolCallRecord,
    ToolUsageRecord,
    ValidationRecord,
)
from pytest_mindtrial.core.values import Kind, StopClass, ToolCall, ToolResult, Usage
from pytest_mindtrial.engine.attempt import AttemptServices, run_attempt
from pytest_mindtrial.providers.base import ToolDefinition
from pytest_mindtrial.suite.model import FileRef, Pricing, Rules, ToolSelection
from pytest_mindtrial.validators.base import Verdict
from pytest_mindtrial.validators.select import accepted_form, choose_validator


@dataclass
class Services:
    """Builds `AttemptServices`; notes the order in which things happen."""

    client: object
    validator: object = None
    order: list = field(default_factory=list)
    session: object = None
    more: dict = field(default_factory=dict)

    def build(self):
        def client(plan):
            self.order.append("client")
            if isinstance(self.client, Exception):
                raise self.client
            return self.client

        def validator(plan, session):
            self.order.append("validator")
            if isinstance(self.validator, Exception):
                raise self.validator
            if callable(self.validator):
                return self.validator(session)
            return self.validator or choose_validator(plan.task, ask=None, custom=None)

        values = {
            "clock": FakeClock(),
            "client": client,
            "validator": validator,
            "run_config": lambda plan: {"Model": plan.run.model},
            "expected_form": lambda plan: accepted_form(plan.task),
            **self.more,
        }
        return AttemptServices(**values)


def run(plan, client=None, validator=None, **more):
    services = Services(client, validator, more=more)
    return asyncio.run(run_attempt(plan, services.build()))


@dataclass
class Judge:
    """A validator that plays verdicts; an exception in the list is raised."""

    verdicts: list
    name: str = "fake judge"
    method: str = "semantic"
    seen: list = field(default_factory=list)

    async def validate(self, candidate):
        self.seen.append(candidate.answer)
        verdict = self.verdicts.pop(0)
        if isinstance(verdict, BaseException):
            raise verdict
        if isinstance(verdict, Verdict):
            return verdict
        return Verdict(verdict, candidate.answer, candidate.expected, ValidationRecord("semantic", "T", "E"))


@dataclass
class Session:
    """A sandbox and its session in one."""

    result: object = "4"
    trouble: object = None
    exhausted: tuple = ()
    opened: list = field(default_factory=list)
    tasks: list = field(default_factory=list)
    running: list = field(default_factory=list)
    attached: list = field(default_factory=list)
    closed: int = 0
    turns: list = field(default_factory=list)
    usage: dict = field(default_factory=lambda: {"add": ToolUsageRecord(1, 5)})
    calls: tuple = (ToolCallRecord("add", "c1", 1, "a", "b", 6, "success"),)

    async def open(self, task, run, provider_name, evaluation_seed, files, *, running=None):
        self.tasks.append(task)
        self.running.append(running)
        self.opened.append((task.name, run.name, provider_name, evaluation_seed, dict(files)))
        if isinstance(self.trouble, Exception):
            raise self.trouble
        return self

    def attach(self, session):
        self.attached.append(session)

    async def call(self, call, turn):
        self.turns.append(turn)
        if isinstance(self.result, Exception):
            raise self.result
        return ToolResult(call, self.result)

    def validator(self, definition):
        async def process(data):
            return json.dumps({"correct": True, "title": definition, "explanation": data})

        return process

    async def close(self):
        self.closed += 1
        if isinstance(self.trouble, BaseException):
            raise self.trouble


class Files:
    """Files by name; notes what was read."""

    def __init__(self, types, loaded_types=None):
        self.types = types
        self.loaded_types = loaded_types or types
        self.loaded = []

    def infer_mime(self, file):
        return self.types[file.name]

    def load(self, file):
        self.loaded.append(file.name)
        content = type("Content", (), {})()
        content.data, content.mime = file.name.encode(), self.loaded_types[file.name]
        content.filename = f"{file.name}.ext"
        return content


def file_ref(name, tmp_path, *access):
    return FileRef(name, f"{name}.png", tmp_path, access=frozenset(access or ("native", "local")))


# Outcomes


def test_a_right_answer_passes_with_everything_recorded(make_plan, fake_client, say):
    usage = Usage(1000, 500, 200, None, 400, "cache_tokens_included", "reasoning_tokens_included")
    plan = make_plan(
        "greet", repeat=2, system_prompt="Be brief.", position=Position("tasks.yaml", 3, 5),
        run_fields={"pricing": Pricing("EUR", 1, 10, 0.1)},
    )  # fmt: skip
    client = fake_client([say(" Yes\n", usage=usage, duration_ns=9)], is_mock=True)
    result = run(plan, client)
    assert result.kind is Kind.PASSED
    assert result.error is None
    assert (result.got, result.want) == ("yes", ("yes",))
    assert (result.trace_id, result.nodeid, result.task, result.provider, result.run) == (
        "trace-greet",
        plan.nodeid,
        "greet",
        "mock",
        "run",
    )
    assert (result.repeat, result.evaluation_seed, result.source) == (2, "seed", "tasks.yaml:3:5")
    assert result.run_config == {"Model": "m"}
    assert result.is_mock
    assert result.duration_ns == 9
    assert len(result.requests) == 1
    assert result.answer.content == " Yes\n"
    assert result.answer.usage == usage
    assert result.answer.expected == ("yes",)
    assert result.answer.raw_text is None
    assert result.validation.method == "exact"
    assert result.validation.validator == "value match"
    assert result.cost == pytest.approx(0.00564)
    assert result.currency == "EUR"
    assert result.judge_cost is None
    assert result.started_at == result.finished_at == "2026-01-02T03:04:05+00:00"
    assert [message["role"] for message in result.transcript] == ["system", "user", "assistant"]
    (prompt,) = client.prompts
    assert (prompt.text, prompt.system_prompt, prompt.repeat, prompt.seed) == ("What?", "Be brief.", 2, "seed")


def test_a_wrong_answer_fails(make_plan, fake_client, say):
    result = run(make_plan(), fake_client([say("no")]))
    assert result.kind is Kind.FAILED
    assert result.error is None
    assert result.got == "no"
    assert result.validation.title == "Response Assessment"


def test_falsy_answers_are_answers(make_plan, fake_client, say):
    turn = say('{"title": "", "explanation": "", "final_answer": {"content": 0}}', mode="schema")
    plan = make_plan(response_format={"type": "integer"}, expected=(0,))
    result = run(plan, fake_client([turn]))
    assert result.kind is Kind.PASSED
    assert result.answer.content == 0
    assert result.answer.raw_text == turn.text


@pytest.mark.parametrize("transient, recorded", [(True, True), (False, None), (None, None)])
def test_a_service_that_fails_is_an_error(make_plan, fake_client, say, transient, recorded):
    error = ApiError(
        "status 500: oops", transient=transient, cause="http-500", details={"HTTP Response": "{}"}, request_id="req-1"
    )
    error.requests = (RequestRecord(1, 1, cause="http-500"),)
    result = run(make_plan(), fake_client([error]))
    assert result.kind is Kind.ERROR
    assert result.answer is None
    assert result.validation is None
    assert result.got == result.error.message == "status 500: oops"
    assert result.want == ("yes",)
    assert (result.error.title, result.error.cause, result.error.transient) == ("Execution Error", "http-500", recorded)
    assert result.error.details == {"HTTP Response": "{}", "Request ID": "req-1"}
    assert not result.error.response_parsing
    assert not result.error.from_validation
    assert [request.cause for request in result.requests] == ["http-500"]


def test_an_unreadable_reply_is_a_parsing_error_that_keeps_its_usage(make_plan, fake_client, say):
    turn = say("I think so", mode="schema", usage=Usage(7, 3), duration_ns=4)
    result = run(make_plan(), fake_client([turn]))
    assert result.kind is Kind.ERROR
    assert result.error.title == "Response Parsing Error"
    assert result.error.response_parsing
    assert result.error.transient is None
    assert result.error.usage == Usage(7, 3)
    assert result.duration_ns == 4
    assert result.error.details == {"Stop Reason": "stop", "Raw Response": "I think so"}


@pytest.mark.parametrize("text", [None, "", " \n"])
def test_no_answer_is_an_error_and_no_rule_is_asked(make_plan, fake_client, say, text):
    judge = Judge([True])
    result = run(make_plan(), fake_client([say(text)]), judge)
    assert result.kind is Kind.ERROR
    assert result.error.title == "Execution Error"
    assert judge.seen == []
    assert result.error.message == "model response contained no actionable content"


def test_too_many_turns_are_an_execution_error(make_plan, fake_client, say):
    turn = say(None, StopClass.TOOLS, tool_calls=(ToolCall("c", "add", "{}"),), usage=Usage(1, 1))
    result = run(make_plan(max_turns=2), fake_client([turn, turn, turn]))
    assert result.error.title == "Execution Error"
    assert result.error.transient is None
    assert result.error.message == "maximum conversation turns exceeded: exceeded limit of 2"
    assert result.error.usage == Usage(2, 2)


@pytest.mark.parametrize("raised", [ZeroDivisionError("by zero"), SystemExit(), InternalError("ours")])
def test_the_unexpected_is_an_execution_error_with_its_traceback(make_plan, fake_client, raised):
    result = run(make_plan(), fake_client([raised]))
    assert result.kind is Kind.ERROR
    assert result.error.title == "Execution Error"
    if not isinstance(raised, InternalError):
        assert result.error.message.startswith(f"internal error: {type(raised).__name__}")
        assert type(raised).__name__ in result.error.details["Traceback"]


# Before the first request


def test_skip_rules_hold_in_order_before_anything_is_made(make_plan, fake_client, tmp_path):
    plan = make_plan(
        response_format={"type": "integer"}, expected=(1,), files=(file_ref("a", tmp_path),),
        run_fields={"disable_structured_output": True, "text_only": True},
    )  # fmt: skip
    services = Services(ConfigError("no key"), ConfigError("no judge"))
    result = asyncio.run(run_attempt(plan, services.build()))
    assert services.order == []
    assert result.kind is Kind.SKIPPED
    assert result.want is None
    assert result.duration_ns == 0
    assert result.error.title == "Incompatible Response Format"
    assert result.error.transient is False
    assert result.got == result.error.message
    assert result.validation is None


def test_a_text_only_run_skips_native_files_but_not_local_ones(make_plan, fake_client, say, tmp_path):
    fields = {"run_fields": {"text_only": True}}
    skipped = run(make_plan(files=(file_ref("a", tmp_path, "native"),), **fields))
    assert skipped.kind is Kind.SKIPPED
    assert skipped.error.title == "Feature Disabled"
    assert skipped.want is None
    local = make_plan(files=(file_ref("a", tmp_path, "local"),), **fields)
    assert run(local, fake_client([say("yes")]), files=Files({"a": "image/png"})).kind is Kind.PASSED


def test_a_run_that_cannot_take_the_task_skips_it_before_the_validator_is_made(make_plan, fake_client, tmp_path):
    client = fake_client(refuses=UnsupportedError("Feature Not Supported", "no gifs"))
    services = Services(client, ConfigError("no judge"), more={"files": Files({"a": "image/gif"})})
    plan = make_plan(files=(file_ref("a", tmp_path),))
    result = asyncio.run(run_attempt(plan, services.build()))
    assert services.order == ["client"]
    assert result.kind is Kind.SKIPPED
    assert result.error.title == "Feature Not Supported"
    assert result.error.transient is False
    assert result.got == "no gifs"
    assert result.want == ("yes",)
    (attachment,) = client.checked[0].attachments
    assert (attachment.mime, attachment.data, attachment.is_native) == ("image/gif", None, True)


def test_a_task_that_was_already_asked_is_not_skipped(make_plan, fake_client, say):
    """Something was spent, so a late refusal is an error."""
    turn = say(None, StopClass.CONTINUE, usage=Usage(5, 5))
    result = run(make_plan(), fake_client([turn, UnsupportedError("Feature Not Supported", "no more")]))
    assert result.kind is Kind.ERROR
    assert result.error.title == "Execution Error"
    assert result.error.usage == Usage(5, 5)


@pytest.mark.parametrize("error", [ConfigError("no key"), UnfinishedError("not yet")])
@pytest.mark.parametrize("which", ["client", "validator"])
def test_what_cannot_be_made_is_a_configuration_error(make_plan, fake_client, error, which):
    client, validator = (error, None) if which == "client" else (fake_client(), error)
    result = run(make_plan(), client, validator)
    assert result.kind is Kind.ERROR
    assert result.error.title == "Configuration Error"
    assert result.error.transient is False
    assert result.want is None
    assert result.requests == ()


def test_a_defect_while_making_the_client_is_not_the_users_mistake(make_plan):
    result = run(make_plan(), InternalError("ours"))
    assert result.error.title == "Execution Error"


def test_files_are_loaded_after_the_check_and_checked_again(make_plan, fake_client, say, tmp_path):
    files = Files({"a": "", "b": "text/csv"}, {"a": "image/png", "b": "text/csv"})
    client = fake_client([say("yes")])
    plan = make_plan(files=(file_ref("a", tmp_path), file_ref("b", tmp_path, "local")))
    result = run(plan, client, files=files)
    assert result.kind is Kind.PASSED
    assert files.loaded == ["a", "b"]
    first, second = client.prompts[0].attachments
    assert (first.name, first.mime, first.data, first.filename, first.is_native) == (
        "a",
        "image/png",
        b"a",
        "a.ext",
        True,
    )
    assert (second.data, second.is_native) == (None, False)
    assert len(client.checked) == 2
    assert client.checked[1].attachments[0].mime == "image/png"
    assert result.transcript[0]["text"] == "[file: a]\n[file: b]\nWhat?"


def test_a_file_that_cannot_be_loaded_is_an_execution_error(make_plan, fake_client, tmp_path):
    files = Files({"a": "image/png"})
    files.load = lambda file: (_ for _ in ()).throw(TaskError("file does not exist"))
    result = run(make_plan(files=(file_ref("a", tmp_path),)), fake_client(), files=files)
    assert result.error.title == "Execution Error"
    assert result.error.message == "file does not exist"


def test_files_without_a_source_are_our_defect(make_plan, fake_client, tmp_path):
    result = run(make_plan(files=(file_ref("a", tmp_path),)), fake_client())
    assert "no file source" in result.error.message


# Tools and services


TOOL = (ToolSelection("add"),)
DEFINITION = ToolDefinition("add", "Adds.", {})


@pytest.fixture
def tool_plan(make_plan):
    def make(**fields):
        plan = make_plan(**fields)
        return replace(plan, task=replace(plan.task, tools=TOOL))

    return make


def with_tools(session, **more):
    return {"sandbox": lambda plan: session, "tools": lambda plan: (DEFINITION,), **more}


def calling(say):
    return [say(None, StopClass.TOOLS, tool_calls=(ToolCall("c1", "add", "{}"),)), say("yes")]


def test_tools_run_in_the_sandbox_and_are_recorded(tool_plan, fake_client, say, tmp_path):
    session = Session()
    client = fake_client(calling(say))
    plan = tool_plan(files=(file_ref("a", tmp_path, "local"), file_ref("b", tmp_path, "native")))
    result = run(plan, client, **with_tools(session, files=Files({"a": "text/csv", "b": "image/png"})))
    assert result.kind is Kind.PASSED
    assert session.opened == [("task", "run", "mock", "seed", {"a": b"a"})]
    assert session.closed == 1
    assert client.prompts[0].tools == (DEFINITION,)
    assert result.answer.tool_usage == session.usage
    assert result.answer.tool_calls == session.calls


def test_a_service_that_does_not_start_is_an_execution_error(tool_plan, fake_client, say):
    client = fake_client(calling(say))
    result = run(tool_plan(), client, **with_tools(Session(trouble=SandboxRuntimeError("not ready"))))
    assert result.error.title == "Execution Error"
    assert result.error.message == "not ready"
    assert client.prompts == []


def test_a_service_that_dies_ends_the_attempt_and_keeps_what_was_spent(tool_plan, fake_client, say):
    session = Session(result=SandboxRuntimeError("service gone"))
    result = run(tool_plan(), fake_client(calling(say)), **with_tools(session))
    assert result.error.message == "service gone"
    assert session.closed == 1
    assert result.error.tool_calls == session.calls
    assert result.error.tool_usage == session.usage


def test_tools_without_docker_are_an_error(tool_plan, fake_client):
    assert "no Docker" in run(tool_plan(), fake_client()).error.message


def test_given_tools_replace_the_sandbox_and_are_closed(tool_plan, fake_client, say):
    own = Session()
    own.definitions = [ToolDefinition("own", "Own.", {})]
    client = fake_client(calling(say))
    result = run(tool_plan(tools=own), client, **with_tools(Session(trouble=AssertionError())))
    assert result.kind is Kind.PASSED
    assert own.closed == 1
    assert own.turns == [1]
    assert client.prompts[0].tools == tuple(own.definitions)


def test_given_tools_may_leave_some_to_the_sandbox(tool_plan, fake_client, say):
    own, session = Session(), Session()
    own.contained = {"add"}
    plan = replace(tool_plan(tools=own), services={"shop": "my-container"})
    plan = replace(plan, task=replace(plan.task, tools=(*TOOL, ToolSelection("gone"))))
    result = run(plan, fake_client(calling(say)), **with_tools(session))
    assert result.kind is Kind.PASSED
    assert own.attached == [session]
    assert [tool.name for tool in session.tasks[0].tools] == ["add"]
    assert session.running == [{"shop": "my-container"}]
    assert (own.closed, session.closed) == (1, 1)


def test_a_custom_validator_gets_its_sandbox_beside_given_tools(tool_plan, fake_client, say):
    own, session = Session(), Session()
    plan = tool_plan(tools=own, rules=Rules(custom_validator="c"))
    assert run(plan, fake_client(calling(say)), custom, **with_tools(session)).kind is Kind.PASSED
    assert (session.tasks[0].tools, session.tasks[0].rules.custom_validator) == ((), "c")
    assert (own.turns, session.turns, own.closed, session.closed) == ([1], [], 1, 1)


def test_a_given_validator_needs_no_container(tool_plan, fake_client, say):
    session = Session()
    plan = tool_plan(rules=Rules(custom_validator="c"), validator=Judge([True]))
    assert run(plan, fake_client(calling(say)), **with_tools(session)).kind is Kind.PASSED
    assert session.tasks[0].rules.custom_validator == ""


def test_trouble_while_cleaning_up_changes_no_result(tool_plan, fake_client, say):
    session = Session()
    own_close = session.close

    async def close():
        await own_close()
        raise SandboxRuntimeError("cannot remove")

    session.close = close
    assert run(tool_plan(), fake_client(calling(say)), **with_tools(session)).kind is Kind.PASSED


def test_a_cancel_waits_until_the_sandbox_is_gone(tool_plan, fake_client, say):
    cleaned = []

    class Slow(Session):
        async def call(self, call, turn):
            await asyncio.Event().wait()

        async def close(self):
            await asyncio.sleep(0.02)
            cleaned.append(True)

    async def scenario():
        services = Services(fake_client(calling(say)), more=with_tools(Slow())).build()
        task = asyncio.create_task(run_attempt(tool_plan(), services))
        await asyncio.sleep(0.01)
        task.cancel()
        await asyncio.sleep(0.005)
        task.cancel()  # an impatient second one
        with pytest.raises(asyncio.CancelledError):
            await task

    asyncio.run(scenario())
    assert cleaned == [True]


def custom(session):
    class Custom:
        name, method = "custom validator c", "custom"

        async def validate(self, candidate):
            text = await session().validator("title")("why")
            found = json.loads(text)
            record = ValidationRecord("custom", found["title"], found["explanation"])
            return Verdict(found["correct"], candidate.answer, (), record)

    return Custom()


def test_a_custom_validator_runs_in_the_attempts_sandbox(make_plan, fake_client, say):
    session = Session()
    result = run(make_plan(rules=Rules(custom_validator="c")), fake_client([say("yes")]), custom, **with_tools(session))
    assert result.kind is Kind.PASSED
    assert result.validation.explanation == "why"
    assert session.closed == 1
    assert result.validation.validator == "custom validator c"


def test_a_custom_validator_without_a_sandbox_has_not_decided(make_plan, fake_client, say):
    result = run(make_plan(), fake_client([say("yes")]), custom)
    assert result.error.title == "Validation Error"
    assert "no sandbox" in result.error.message


# Verdicts


def test_a_given_client_and_validator_replace_the_configured_ones(make_plan, fake_client, say):
    judge = Judge([True], name="own")
    plan = make_plan(client=fake_client([say("no")]), validator=judge)
    services = Services(ConfigError("unused"), ConfigError("unused"))
    result = asyncio.run(run_attempt(plan, services.build()))
    assert services.order == []
    assert result.kind is Kind.PASSED
    assert result.validation.validator == "own"


def test_a_validator_that_cannot_decide_is_an_error_with_the_answer_kept(make_plan, fake_client, say):
    semantic = Semantic("j", "openai", "v")
    cause = ApiError("busy", transient=True, cause="http-429")
    cause.requests = (RequestRecord(1, 1, "judge", cause="http-429"),)
    error = ValidationError(
        "judge is busy", transient=True, usage=Usage(9, 1), semantic=semantic, details={"HTTP Response": "x"}
    )
    error.__cause__ = cause
    result = run(make_plan(), fake_client([say("Yes", usage=Usage(1, 2))]), Judge([error]))
    assert result.kind is Kind.ERROR
    assert result.got == "Yes"
    assert result.want == ("yes",)
    record = result.error
    assert (record.title, record.message, record.from_validation, record.transient, record.cause) == (
        "Validation Error",
        "judge is busy",
        True,
        True,
        "http-429",
    )
    assert record.usage == Usage(9, 1)
    assert record.details == {"HTTP Response": "x"}
    assert result.answer.content == "Yes"
    assert result.answer.usage == Usage(1, 2)
    assert result.validation == ValidationRecord("semantic", semantic=semantic, validator="fake judge")
    assert [request.purpose for request in result.requests] == ["candidate", "judge"]


def unreadable(**fields):
    error = ReplyParseError("not json", cause="unreadable", **fields)
    error.usage = Usage(4, 4)
    return error


@pytest.mark.parametrize(
    "error, title, parsing, usage",
    [
        (ValidationError("x", response_parsing=True), "Validation Response Parsing Error", True, Usage()),
        (ValidationError("x", title="Own", response_parsing=True), "Own", True, Usage()),
        (unreadable(), "Validation Response Parsing Error", True, Usage(4, 4)),
        (ApiError("x"), "Validation Error", False, Usage()),
        (SandboxRuntimeError("gone"), "Validation Error", False, Usage()),
        (UnsupportedError("Feature Not Supported", "x"), "Validation Error", False, Usage()),
    ],
)
def test_titles_of_undecided_validations(make_plan, fake_client, say, error, title, parsing, usage):
    result = run(make_plan(), fake_client([say("yes")]), Judge([error]))
    assert result.kind is Kind.ERROR
    assert result.error.from_validation
    assert (result.error.title, result.error.response_parsing, result.error.usage) == (title, parsing, usage)


def test_a_validator_that_crashes_has_not_decided(make_plan, fake_client, say):
    result = run(make_plan(), fake_client([say("yes")]), Judge([KeyError("oops")]))
    assert result.kind is Kind.ERROR
    assert result.error.title == "Validation Error"
    assert result.error.from_validation
    assert "KeyError" in result.error.message
    assert "KeyError" in result.error.details["Traceback"]


def test_a_cancel_during_validation_escapes(make_plan, fake_client, say):
    class Patient(Judge):
        async def validate(self, candidate):
            asyncio.current_task().cancel()
            await asyncio.sleep(0)

    with pytest.raises(asyncio.CancelledError):
        run(make_plan(), fake_client([say("yes")]), Patient([]))


def test_a_cancelled_error_of_the_validator_itself_is_no_cancel(make_plan, fake_client, say):
    result = run(make_plan(), fake_client([say("yes")]), Judge([asyncio.CancelledError()]))
    assert result.kind is Kind.ERROR
    assert result.error.from_validation


def judged(usage):
    return Verdict(True, "yes", ("yes",), ValidationRecord("semantic", usage=usage, duration_ns=5))


@pytest.mark.parametrize(
    "usage, prices, own, cost",
    [
        (Usage(1_000_000, 0), (Pricing("USD", 2, 3), "USD"), Pricing("USD", 1, 1), 2.0),
        (Usage(1_000_000, 0), (Pricing("USD", 2, 3), "USD"), None, 2.0),
        (Usage(1_000_000, 0), (Pricing("EUR", 2, 3), "EUR"), Pricing("USD", 1, 1), None),
        (Usage(1_000_000, 0), (None, ""), None, None),
        (Usage(), (Pricing("USD", 2, 3), "USD"), None, None),
    ],
)
def test_judges_are_priced_apart_and_only_in_the_same_currency(make_plan, fake_client, say, usage, prices, own, cost):
    plan = make_plan(run_fields={"pricing": own})
    result = run(plan, fake_client([say("yes")]), Judge([judged(usage)]), judge_prices=lambda plan: prices)
    assert result.judge_cost == cost
    assert result.validation.duration_ns == 5
    assert result.cost is None


def test_a_failed_judge_is_priced_too(make_plan, fake_client, say):
    error = ValidationError("x", usage=Usage(1_000_000, 0))
    prices = (Pricing("USD", 2, 3), "USD")
    result = run(make_plan(), fake_client([say("yes")]), Judge([error]), judge_prices=lambda plan: prices)
    assert result.judge_cost == 2.0


# Feedback


class Feedback:
    def __init__(self, *texts):
        self._texts = list(texts)
        self.rounds = []

    async def __call__(self, plan, round_number, candidate, verdict):
        self.rounds.append((round_number, candidate.answer, verdict.passed))
        return self._texts.pop(0) if self._texts else None


def test_feedback_answers_failed_verdicts(make_plan, fake_client, say):
    feedback = Feedback("colder", "warmer")
    client = fake_client([say("no", usage=Usage(1)), say("maybe", usage=Usage(2)), say("yes", usage=Usage(4))])
    result = run(make_plan(), client, feedback=feedback)
    assert result.kind is Kind.PASSED
    assert client.feedback == ["colder", "warmer"]
    assert feedback.rounds == [(1, "no", False), (2, "maybe", False)]
    assert result.answer.usage.input_tokens == 7
    assert [message["text"] for message in result.transcript] == ["What?", "no", "colder", "maybe", "warmer", "yes"]


def test_feedback_may_accept_the_verdict_and_the_turn_limit_ends_it(make_plan, fake_client, say):
    assert run(make_plan(), fake_client([say("no")]), feedback=Feedback()).kind is Kind.FAILED
    feedback = Feedback("again", "again")
    result = run(make_plan(max_turns=2), fake_client([say("no"), say("no")]), feedback=feedback)
    assert result.kind is Kind.FAILED
    assert len(feedback.rounds) == 1


def test_no_feedback_on_an_undecided_verdict(make_plan, fake_client, say):
    feedback = Feedback("again")
    result = run(make_plan(), fake_client([say("no")]), Judge([ValidationError("x")]), feedback=feedback)
    assert result.kind is Kind.ERROR
    assert feedback.rounds == []
