"""The scenario matrix of spec providers 14.2: every scenario for every vendor, plain and streamed, over a real socket.

Each cell asks for the same thing plain and as a stream; both must give the same turns. The last test prints the matrix
and fails when a cell is missing.
"""

from __future__ import annotations

import json
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field, replace
from typing import Any

import pytest

from pytest_mindtrial.core.errors import ApiError, EmptyReplyError, ProviderError, ReplyError
from pytest_mindtrial.core.values import StopClass, ToolResult, Usage
from pytest_mindtrial.providers.base import ModelClient, Prompt, Turn
from pytest_mindtrial.providers.profiles import Profile, profile_of
from pytest_mindtrial.providers.reading import read_answer
from pytest_mindtrial.providers.structure import UNSTRUCTURED_INSTRUCTION
from pytest_mindtrial.suite.keys import KEY_VARIABLES
from pytest_mindtrial.suite.model import RetryPolicy
from tests.support.loopback import Loopback, Received, Reply, json_reply
from tests.support.said import Call, Said, wrapped
from tests.support.vendor_forms import FORMS, Form, cut, speak
from tests.support.wire_bodies import MODELS, vendor_of
from tests.support.wire_cases import ADD, ANSWER_SCHEMA, LOCAL_ONLY, MULTIPLY, PDF, PICTURE, PLAIN, ends
from tests.wire.conftest import Talk

RETRY = RetryPolicy(max_retry_attempts=2, initial_delay_seconds=3)
WITH_TOOLS = replace(PLAIN, tools=(ADD, MULTIPLY))
DONE = Said(wrapped())


@dataclass
class Cell:
    """One vendor's side of a scenario: what it is asked and what it answers, plain or streamed."""

    column: str
    server: Loopback
    talk: Talk
    stream: bool
    model: str = field(init=False)

    def __post_init__(self) -> None:
        self.model = MODELS[self.column]

    @property
    def vendor(self) -> str:
        return vendor_of(self.column)

    @property
    def form(self) -> Form:
        return FORMS[self.column]

    @property
    def profile(self) -> Profile:
        return profile_of(self.vendor)

    def converse(
        self, prompt: Prompt, said: Sequence[Said | Reply], parameters: Mapping[str, Any] | None = None, **settings: Any
    ) -> list[Turn]:
        """Let the server say these things and return the turns; every tool call is answered with ``4``."""
        self.server.script(*(item if isinstance(item, Reply) else self.reply(item) for item in said))

        async def work(client: ModelClient) -> list[Turn]:
            conversation = client.start(prompt)
            turns = [await conversation.next_turn()]
            while turns[-1].stop in (StopClass.TOOLS, StopClass.CONTINUE):
                if turns[-1].tool_calls:
                    conversation.add_tool_results([_result(call) for call in turns[-1].tool_calls])
                turns.append(await conversation.next_turn())
            return turns

        given = {**(parameters or {}), "stream": self.stream}
        if self.column.endswith("-responses"):
            settings["api"] = "responses"
        turns: list[Turn] = self.talk(self.vendor, work, model=self.model, parameters=given, **settings)
        return turns

    def reply(self, said: Said, **rest: Any) -> Reply:
        return speak(self.form, said, stream=self.stream, **rest)

    def error(self, status: int, word: str, **rest: Any) -> Reply:
        return json_reply(self.form.error(status, word, "said the service"), status=status, **rest)

    def fails(self, said: Said | Reply, **settings: Any) -> ProviderError:
        """Return the error that a first reply ends in."""
        with pytest.raises(ProviderError) as caught:
            self.converse(PLAIN, [said], **settings)
        return caught.value


def _result(call: Any) -> ToolResult:
    if call.name in ("add", "multiply"):
        return ToolResult(call, "4")
    return ToolResult(call, f"Tool error: there is no tool named {call.name}.", is_error=True)


def answer_of(turn: Turn, prompt: Prompt = PLAIN) -> Any:
    return read_answer(turn, response_format=prompt.response_format).content


def flat(request: Received) -> str:
    return json.dumps(request.json, ensure_ascii=False)


def plain_answer(cell: Cell) -> list[Turn]:
    turns = cell.converse(PLAIN, [DONE])
    assert answer_of(turns[-1]) == "4"
    text = flat(cell.server.requests[-1])
    assert text.index("Answer with one number.") >= 0
    assert "What is 2+2?" in text
    return turns


def schema_answer(cell: Cell) -> list[Turn]:
    prompt = replace(PLAIN, response_format=ANSWER_SCHEMA, system_prompt=None)
    turns = cell.converse(prompt, [Said(wrapped({"content": [1, 2]}))])
    assert answer_of(turns[-1], prompt) == [1, 2]
    return turns


def every_mode(cell: Cell) -> list[Turn]:
    """Ask in each mode that a switch of the vendor selects; every reply is read."""
    out = []
    for switch in sorted(cell.profile.mode_switches):
        for value in cell.profile.parameters.by_name[switch].choices or (True,):
            parameters = {switch: value}
            said = DONE
            if switch == "legacy-structured-output":
                said = Said(calls=(Call("t1", "submit_response", json.loads(wrapped())),), end="tools")
            turns = cell.converse(replace(PLAIN, tools=(ADD,)), [said], parameters)
            assert answer_of(turns[-1]) == "4"
            out += turns
    return out or plain_answer(cell)


def unstructured(cell: Cell) -> list[Turn]:
    turns = cell.converse(PLAIN, [Said("just 4")], unstructured=True)
    assert answer_of(turns[-1]) == "just 4"
    text = flat(cell.server.requests[-1])
    assert UNSTRUCTURED_INSTRUCTION in text
    assert "json_schema" not in text
    assert "responseJsonSchema" not in text
    return turns


def files(cell: Cell) -> list[Turn]:
    taken = [item for item in (PICTURE, PDF) if cell.profile.accepts(cell.model, item.mime)]
    assert PICTURE in taken
    turns = cell.converse(replace(PLAIN, attachments=(*taken, LOCAL_ONLY)), [DONE])
    text = flat(cell.server.requests[-1])
    places = [text.index(f"[file: {item.name}]") for item in (*taken, LOCAL_ONLY)]
    assert places == sorted(places)
    assert max(places) < text.index("What is 2+2?")
    assert "iVBORw0KGgo=" in text
    assert ("JVBERi0=" in text) is (PDF in taken)
    return turns


def parameters_at_both_ends(cell: Cell) -> list[Turn]:
    out = []
    for high in (False, True):
        parameters = ends(cell.profile.parameters, high=high)
        prompt = PLAIN
        said = Said("plain 4") if parameters.get("response-format") == "text" else DONE
        if parameters.get("legacy-structured-output"):
            said = Said(calls=(Call("t1", "submit_response", json.loads(wrapped())),), end="tools")
        parameters.pop("stream", None)
        out += cell.converse(prompt, [said], parameters)
    return out


def one_tool_call(cell: Cell) -> list[Turn]:
    turns = cell.converse(WITH_TOOLS, [Said(calls=(Call("callid001"),), end="tools"), DONE])
    assert [turn.stop for turn in turns] == [StopClass.TOOLS, StopClass.FINAL]
    (call,) = turns[0].tool_calls
    assert (call.id, call.name, json.loads(call.arguments)) == ("callid001", "add", {"a": 2, "b": 2})
    assert flat(cell.server.requests[-1]).count("callid001") >= 1
    return turns


def two_parallel_calls(cell: Cell) -> list[Turn]:
    calls = (Call("callid001"), Call("callid002", "multiply", {}))
    turns = cell.converse(WITH_TOOLS, [Said("Calling.", calls, end="tools"), DONE])
    assert [(call.id, call.name, call.arguments) for call in turns[0].tool_calls][1] == ("callid002", "multiply", "{}")
    assert (turns[0].text, turns[0].commentary) == (None, "Calling.")
    text = flat(cell.server.requests[-1])
    assert text.rindex("callid001") < text.rindex("callid002")
    return turns


def tool_error(cell: Cell) -> list[Turn]:
    turns = cell.converse(WITH_TOOLS, [Said(calls=(Call("callid001", "nothing"),), end="tools"), DONE])
    text = flat(cell.server.requests[-1])
    assert "there is no tool named nothing" in text
    if cell.vendor == "anthropic":
        assert '"is_error": true' in text
    if cell.vendor == "google":
        assert '"response": {"error": ' in text
    return turns


HIDDEN = {
    "openai": "reasoning_content",
    "deepseek": "reasoning_content",
    "mistralai": "thinking",
    "xai": "reasoning_content",
    "alibaba": "reasoning_content",
    "moonshotai": "reasoning_content",
    "openrouter": "b3BhcXVl",
    "anthropic": "c2ln",
    "google": "c2ln",
}


def reasoning_over_three_turns(cell: Cell) -> list[Turn]:
    parameters = {"preserve-thinking": True} if cell.vendor == "alibaba" else {}
    said = [Said(calls=(Call(f"callid00{n}"),), reasoning=f"think {n}", end="tools") for n in (1, 2)]
    turns = cell.converse(WITH_TOOLS, [*said, replace(DONE, reasoning="think 3")], parameters)
    assert answer_of(turns[-1]) == "4"
    assert "think" not in (turns[-1].text or "")
    last = cell.server.requests[-1]
    if cell.column == "openai-responses":
        assert last.json["previous_response_id"] == "r1"
        assert [item["type"] for item in last.json["input"]] == ["function_call_output"]
    else:
        assert flat(last).count(HIDDEN[cell.vendor]) >= 2
    return turns


def truncated(cell: Cell) -> list[Turn]:
    turns = cell.converse(WITH_TOOLS, [Said(wrapped(), (Call("callid001"),), end="truncated")])
    assert (turns[0].stop, turns[0].tool_calls) == (StopClass.TRUNCATED, ())
    assert read_answer(turns[0], response_format="text").truncated
    half = cell.converse(PLAIN, [Said(wrapped()[:30], end="truncated")])
    with pytest.raises(ReplyError) as caught:
        answer_of(half[0])
    assert caught.value.details["Stop Reason"] == half[0].stop_reason != ""
    return [*turns, *half]


def filtered_and_refused(cell: Cell) -> list[Turn]:
    out = []
    # Anthropic knows refusals only, Google knows filters only.
    known = {"anthropic": (StopClass.REFUSED,) * 2, "google": (StopClass.FILTERED,) * 2}
    stops = known.get(cell.vendor, (StopClass.FILTERED, StopClass.REFUSED))
    for end, stop in zip(("filtered", "refused"), stops, strict=True):
        (turn,) = cell.converse(PLAIN, [Said(end=end)])
        assert turn.stop is stop
        with pytest.raises(ReplyError) as caught:
            answer_of(turn)
        assert caught.value.cause in ("filtered", "refused")
        out.append(turn)
    return out


def empty_answer(cell: Cell) -> list[Turn]:
    turns = cell.converse(PLAIN, [Said("")])
    with pytest.raises(EmptyReplyError):
        answer_of(turns[0])
    return turns


def paused(cell: Cell) -> list[Turn]:
    turns = cell.converse(PLAIN, [Said("Wait.", end="continue"), DONE]) if _can_pause(cell) else plain_answer(cell)
    assert answer_of(turns[-1]) == "4"
    return turns


def _can_pause(cell: Cell) -> bool:
    """For Google and the Responses API a stream without a reason to stop is a stream that was cut."""
    return not cell.stream or cell.column not in ("google", "openai-responses")


def slow_down_then_success(cell: Cell) -> list[Turn]:
    begin = cell.talk.clock.monotonic_ns()
    turns = cell.converse(
        PLAIN, [cell.error(429, "rate_limit_exceeded", headers={"retry-after": "7"}), DONE], retry=RETRY
    )
    assert [record.cause for record in turns[0].requests] == ["http-429", ""]
    assert cell.talk.clock.monotonic_ns() - begin >= 7_000_000_000
    return turns


def server_fault_then_success(cell: Cell) -> list[Turn]:
    turns = cell.converse(PLAIN, [cell.error(500, "server_error"), DONE], retry=RETRY)
    assert [(record.attempt, record.cause) for record in turns[0].requests] == [(1, "http-500"), (2, "")]
    return turns


def permanent_400(cell: Cell) -> list[Turn]:
    error = cell.fails(cell.error(400, "invalid_argument"), retry=RETRY)
    assert isinstance(error, ApiError)
    assert (error.transient, error.status, len(error.requests)) == (False, 400, 1)
    assert "said the service" in error.message
    return []


def quota_429(cell: Cell) -> list[Turn]:
    body = cell.form.error(429, "insufficient_quota", "no money")
    if cell.vendor == "google":
        violation = {"quotaId": "GenerateRequestsPerDayPerProjectPerModel"}
        body["error"]["details"] = [{"@type": "x/QuotaFailure", "violations": [violation]}]
    if cell.vendor == "anthropic":
        body = cell.form.error(402, "billing_error", "no money")
    status = 402 if cell.vendor == "anthropic" else 429
    error = cell.fails(json_reply(body, status=status), retry=RETRY)
    assert (error.transient, error.status, len(error.requests)) == (False, status, 1)
    return []


def connection_reset(cell: Cell) -> list[Turn]:
    turns = cell.converse(PLAIN, [Reply(reset=True), DONE], retry=RETRY)
    assert [record.cause for record in turns[0].requests] == ["reset", ""]
    return turns


def reply_cut_in_the_middle(cell: Cell) -> list[Turn]:
    if cell.stream:
        first = cut(cell.form.events(DONE), 2)
    else:
        whole = json.dumps(cell.form.plain(DONE)).encode()
        first = Reply(whole, headers={"content-type": "application/json"}, cut_after=len(whole) // 2)
    turns = cell.converse(PLAIN, [first, DONE], retry=RETRY)
    assert [record.cause for record in turns[0].requests] == ["stream-cut", ""]
    return turns


def error_in_a_good_reply(cell: Cell) -> list[Turn]:
    """An error event in the stream; without streaming, an error object with status 200."""
    if cell.stream:
        events = [cell.form.events(DONE)[0], cell.form.stream_error("overloaded_error", "busy")]
        if cell.vendor == "google":
            events[1] = cell.form.stream_error("unavailable", "busy")
        first = cut(events, 2)
    else:
        word = "unavailable" if cell.vendor == "google" else "overloaded_error"
        first = json_reply(cell.form.error(503, word, "busy"))
    turns = cell.converse(PLAIN, [first, DONE], retry=RETRY)
    assert [record.cause for record in turns[0].requests] in (["overloaded_error", ""], ["unavailable", ""])
    return turns


SEPARATE_CACHE = {"anthropic"}
SEPARATE_REASONING = {"google", "xai"}


def counters(cell: Cell) -> list[Turn]:
    turns = [cell.converse(PLAIN, [replace(DONE, counts=counts)])[0] for counts in ("all", "basic", "none")]
    full, basic, none = (turn.usage for turn in turns)
    assert (full.input_tokens, full.output_tokens) == (basic.input_tokens, basic.output_tokens) == (40, 20)
    assert full.cache_read_tokens == 8
    writes = cell.vendor in ("openai", "anthropic", "alibaba")
    assert full.cache_write_tokens == (4 if writes else None)
    assert full.reasoning_tokens == (None if cell.vendor == "mistralai" else 15)
    assert (basic.reasoning_tokens, basic.cache_read_tokens, basic.cache_write_tokens) == (None, None, None)
    assert none == Usage()
    assert full.effective_input == (52 if cell.vendor in SEPARATE_CACHE else 40)
    assert full.effective_output == (35 if cell.vendor in SEPARATE_REASONING else 20)
    assert len(full.raw) == 1
    return turns


def endpoint_without_a_key(cell: Cell) -> list[Turn]:
    turns = cell.converse(PLAIN, [DONE], key=None, endpoint=cell.server.url + "/gateway/v1")
    seen = cell.server.requests[-1]
    assert seen.path.startswith("/gateway/v1/")
    assert not {"authorization", "x-api-key", "x-goog-api-key"} & set(seen.headers)
    return turns


SCENARIOS: dict[str, Callable[[Cell], list[Turn]]] = {
    "plain text answer": plain_answer,
    "schema answer": schema_answer,
    "each structured mode": every_mode,
    "unstructured": unstructured,
    "image, document, local file": files,
    "parameters at both ends": parameters_at_both_ends,
    "one tool call": one_tool_call,
    "two parallel calls": two_parallel_calls,
    "tool error": tool_error,
    "reasoning over three turns": reasoning_over_three_turns,
    "truncated": truncated,
    "filtered, refused": filtered_and_refused,
    "empty answer": empty_answer,
    "asks to be continued": paused,
    "429 with Retry-After, then success": slow_down_then_success,
    "500, then success": server_fault_then_success,
    "permanent 400": permanent_400,
    "quota": quota_429,
    "connection reset": connection_reset,
    "reply or stream cut": reply_cut_in_the_middle,
    "error in a good reply or stream": error_in_a_good_reply,
    "usage: all, basic, none": counters,
    "custom endpoint without key": endpoint_without_a_key,
}
_seen: dict[tuple[str, str], str] = {}


def bare(turn: Turn) -> Turn:
    """Return a turn without what differs between two requests: times, and raw counters that streams split."""
    return replace(turn, duration_ns=0, requests=(), usage=turn.usage.without_raw())


@pytest.mark.parametrize("column", MODELS)
@pytest.mark.parametrize("scenario", SCENARIOS)
def test_scenario(scenario: str, column: str, server: Loopback, talk: Talk) -> None:
    _seen[scenario, column] = "FAILED"
    turns = {}
    for stream in (False, True):
        server.requests.clear()
        turns[stream] = [bare(turn) for turn in SCENARIOS[scenario](Cell(column, server, talk, stream))]
        asked = [":streamGenerateContent" in seen.path or seen.json.get("stream", False) for seen in server.requests]
        assert set(asked) == {stream}
    if scenario != "asks to be continued" or len(turns[True]) > 1:
        assert turns[True] == turns[False]
    _seen[scenario, column] = "ok"


def test_the_matrix_has_no_gap(request: pytest.FixtureRequest, capsys: pytest.CaptureFixture[str]) -> None:
    selected = {
        (item.callspec.params["scenario"], item.callspec.params["column"])
        for item in request.session.items
        if isinstance(item, pytest.Function) and item.originalname == "test_scenario"
    }
    lines = ["", f"{'scenario (plain and streamed)':38}" + "".join(f"{column[:12]:>13}" for column in MODELS)]
    for scenario in SCENARIOS:
        cells = (_seen.get((scenario, column), "-") for column in MODELS)
        lines.append(f"{scenario:38}" + "".join(f"{cell:>13}" for cell in cells))
    with capsys.disabled():
        print("\n".join(lines))
    vendors = {vendor_of(column) for column in MODELS}
    assert vendors == set(KEY_VARIABLES)
    if hasattr(request.config, "workerinput"):  # other workers have run the other cells
        selected &= set(_seen)
    assert {cell: _seen.get(cell) for cell in selected} == dict.fromkeys(selected, "ok")
