"""Python functions as tools: described, checked, limited, timed and recorded like containers."""

from __future__ import annotations

import asyncio
import json
import threading
from dataclasses import dataclass, field
from typing import Any, Literal

import pytest

from pytest_mindtrial.core.errors import SandboxRuntimeError
from pytest_mindtrial.core.record import OutputRecord, ToolCallRecord, ToolUsageRecord
from pytest_mindtrial.core.values import ToolCall, ToolResult
from pytest_mindtrial.engine.functions import FunctionTool, FunctionTools, definition_of
from pytest_mindtrial.providers.base import ToolDefinition


def add(a: int, b: int = 1) -> int:
    """Add two numbers."""
    return a + b


def tools_of(function: Any, *, is_strict: bool = True, schema: Any = None, **limits: Any) -> FunctionTools:
    definition = ToolDefinition("T", "d", schema or {})
    return FunctionTools([FunctionTool(definition, function, **limits)], is_strict=is_strict)


def call(tools: FunctionTools, arguments: Any = None, name: str = "T") -> ToolResult:
    text = arguments if isinstance(arguments, str) else json.dumps(arguments)
    return asyncio.run(tools.call(ToolCall("id-1", name, text), 3))


def test_a_function_is_described_by_its_docstring_and_signature() -> None:
    def search(words: str, limit: int = 5, *, order: Literal["new", "old"] = "new") -> str:
        """Search the archive.

        Returns titles.
        """
        return words

    definition = definition_of("search", search)
    assert (definition.name, definition.description) == ("search", "Search the archive.\n\nReturns titles.")
    assert definition.parameters == {
        "type": "object",
        "properties": {
            "words": {"type": "string"},
            "limit": {"type": "integer", "default": 5},
            "order": {"enum": ["new", "old"], "type": "string", "default": "new"},
        },
        "required": ["words"],
        "additionalProperties": False,
    }


def test_what_cannot_be_described_says_why() -> None:
    def by_place(a: int, /) -> int:
        """Take a number."""
        return a

    def strange(a: ToolResult.call) -> str:  # type: ignore[valid-type] # what nobody can write as JSON
        """Take something."""
        return str(a)

    with pytest.raises(TypeError, match="tool 'x' needs a docstring"):
        definition_of("x", lambda a: a)
    with pytest.raises(TypeError, match="tool 'x' must take its arguments by name"):
        definition_of("x", by_place)
    with pytest.raises(TypeError, match="tool 'x': its parameters cannot be described as JSON"):
        definition_of("x", strange)


def test_a_call_is_recorded_and_counted() -> None:
    tools = tools_of(lambda text: f"  <{text}>\n")
    result = call(tools, {"text": "ä"})
    assert (result.content, result.is_error) == ("<ä>", False)
    (record,) = tools.calls
    assert (record.tool, record.call_id, record.turn, record.status) == ("T", "id-1", 3, "success")
    assert (record.exit_code, record.timed_out, record.error_message) == (0, False, None)
    assert record.arguments == '{"text": "\\u00e4"}'
    assert (record.stdout, record.stderr) == (OutputRecord(7), OutputRecord(0, ""))
    assert record.duration_ns is not None
    assert record.started_at <= record.completed_at
    assert 0 <= record.duration_ns <= record.wall_time_ns
    assert tools.usage == {"T": ToolUsageRecord(1, record.duration_ns)}


def test_coroutine_functions_and_awaitables_are_awaited() -> None:
    async def slow(a: int) -> int:
        await asyncio.sleep(0)
        return a * 2

    assert call(tools_of(slow), {"a": 4}).content == "8"
    assert call(tools_of(lambda a: slow(a + 0)), {"a": 4}).content == "8"


def test_values_become_json() -> None:
    assert call(tools_of(lambda: {"n": [1, None], "t": "<é>"})).content == '{"n":[1,null],"t":"<é>"}'


def test_an_exception_is_told_to_the_model_and_its_traceback_to_the_report() -> None:
    def fail() -> str:
        raise KeyError("no such item")

    tools = tools_of(fail)
    result = call(tools)
    assert (result.content, result.is_error) == ("Tool error: T raised KeyError: 'no such item'", True)
    (record,) = tools.calls
    assert (record.status, record.exit_code) == ("nonzero_exit", 1)
    assert record.error_message == "raised KeyError: 'no such item'"
    assert record.stderr is not None
    assert 'raise KeyError("no such item")' in (record.stderr.preview or "")


@pytest.mark.parametrize("value", [None, "", " \n"])
def test_no_text_is_an_error(value: Any) -> None:
    tools = tools_of(lambda: value)
    assert call(tools).content == "Tool error: T returned nothing."
    assert (tools.calls[0].status, tools.usage["T"].call_count) == ("empty_output", 1)


@pytest.mark.parametrize("value", [object(), float("nan")])
def test_a_value_that_is_no_json_is_our_failure(value: Any) -> None:
    tools = tools_of(lambda: value)
    assert call(tools).content == "Tool error: T could not be run: its function returned neither text nor JSON."
    assert tools.calls[0].status == "infrastructure_error"


@pytest.mark.parametrize("is_async", [True, False])
def test_the_time_limit_ends_the_call(is_async: bool) -> None:
    end = threading.Event()

    async def wait() -> str:
        await asyncio.Event().wait()
        return "late"

    tools = tools_of(wait if is_async else lambda: str(end.wait(30)), timeout_s=0.05)
    assert call(tools).content == "Tool error: T was stopped after its time limit of 0.05s."
    end.set()
    (record,) = tools.calls
    assert (record.status, record.timed_out, record.exit_code) == ("timeout", True, None)
    assert tools.usage["T"].call_count == 1


def test_a_time_out_of_the_function_itself_is_an_exception() -> None:
    def fail() -> str:
        raise TimeoutError("shop")

    assert call(tools_of(fail, timeout_s=10)).content == "Tool error: T raised TimeoutError: shop"


def test_bad_arguments_call_nothing_and_do_not_count() -> None:
    tools = tools_of(add, schema=definition_of("T", add).parameters)
    cases = {"": "they are empty", "[1]": "must be a JSON object", '{"a": "1"}': "$.a: '1' is not of type 'integer'"}
    for text, problem in cases.items():
        content = call(tools, text).content
        assert content.startswith("Tool error: the arguments of T are not valid: ")
        assert problem in content
    assert {record.status for record in tools.calls} == {"invalid_arguments"}
    assert {(record.duration_ns, record.exit_code, record.stdout) for record in tools.calls} == {(None, None, None)}
    assert tools.usage == {}


def test_arguments_that_the_function_does_not_take_are_our_failure() -> None:
    tools = tools_of(add)
    text = "Tool error: T could not be run: its function does not take these arguments."
    assert call(tools, {"a": 1, "c": 1}).content == text
    assert "unexpected keyword argument 'c'" in (tools.calls[0].error_message or "")
    assert tools.usage == {}


def test_lenient_mode_passes_on_what_the_schema_forbids() -> None:
    tools = tools_of(lambda a: f"{a}", is_strict=False, schema={"properties": {"a": {"type": "string"}}})
    assert call(tools, {"a": 5}).content == "5"


def test_functions_without_a_signature_are_called_all_the_same() -> None:
    assert call(tools_of(dict), {"a": 1}).content == '{"a":1}'


def test_calls_beyond_the_limit_and_unknown_tools_leave_no_record() -> None:
    tools = tools_of(lambda: "ok", max_calls=1)
    assert call(tools).content == "ok"
    assert call(tools).content == "Tool error: T may be called at most 1 times in this task; do not call it again."
    assert call(tools, name="X").content == "Tool error: there is no tool named X."
    assert tools.exhausted == {"T"}
    assert len(tools.calls) == 1


def test_long_texts_are_cut() -> None:
    content = call(tools_of(lambda: "x" * 100_001)).content
    assert content.endswith("x\n[cut: 1 more characters]")


def test_a_sandbox_error_ends_the_attempt_and_is_recorded() -> None:
    def fail() -> str:
        raise SandboxRuntimeError("the shop is closed")

    tools = tools_of(fail)
    with pytest.raises(SandboxRuntimeError, match="the shop is closed"):
        call(tools)
    (record,) = tools.calls
    assert (record.status, record.error_message) == ("infrastructure_error", "the shop is closed")


def test_a_cancelled_call_is_recorded() -> None:
    async def wait() -> str:
        await asyncio.Event().wait()
        return ""

    tools = tools_of(wait)

    async def work() -> None:
        running = asyncio.ensure_future(tools.call(ToolCall("1", "T", "{}"), 1))
        await asyncio.sleep(0)
        await asyncio.sleep(0)
        running.cancel()
        await asyncio.gather(running, return_exceptions=True)

    asyncio.run(work())
    assert (tools.calls[0].status, tools.calls[0].error_message) == ("infrastructure_error", "cancelled")


@dataclass
class Session:
    """A sandbox with one container tool."""

    calls: list[ToolCallRecord] = field(default_factory=list)
    usage: dict[str, ToolUsageRecord] = field(default_factory=dict)
    exhausted: set[str] = field(default_factory=lambda: {"box"})

    async def call(self, call: ToolCall, turn: int) -> ToolResult:
        self.calls.append(ToolCallRecord(call.name, call.id, turn, "", "", 1, "success"))
        self.usage["box"] = ToolUsageRecord(len(self.calls), 1)
        return ToolResult(call, "boxed")

    async def close(self) -> None:
        raise AssertionError("the attempt closes it")


def test_containers_stay_beside_functions() -> None:
    boxed = ToolDefinition("box", "b", {})
    own = FunctionTool(ToolDefinition("T", "d", {}), lambda: "own")
    tools = FunctionTools([own], [boxed], order=["box", "T"])
    assert [definition.name for definition in tools.definitions] == ["box", "T"]
    assert tools.contained == {"box"}
    assert call(tools, name="box").content == "Tool error: there is no tool named box."  # no sandbox yet
    tools.attach(Session())
    assert [call(tools, name=name).content for name in ("T", "box", "T")] == ["own", "boxed", "own"]
    assert [record.tool for record in tools.calls] == ["T", "box", "T"]
    assert {name: usage.call_count for name, usage in tools.usage.items()} == {"T": 2, "box": 1}
    assert tools.exhausted == {"box"}
    asyncio.run(tools.close())
