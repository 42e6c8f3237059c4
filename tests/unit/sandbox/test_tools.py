"""Spec docker 4 without an engine: counting, records, refusals, what ends an attempt."""

from __future__ import annotations

import asyncio
import json
import logging
from pathlib import Path
from typing import Any

import pytest

from pytest_mindtrial.core.errors import SandboxRuntimeError, TaskError
from pytest_mindtrial.core.record import ToolUsageRecord
from pytest_mindtrial.core.values import ToolCall
from pytest_mindtrial.sandbox.services import ServiceSet
from pytest_mindtrial.sandbox.tools import LocalFile, ToolRunner, auxiliary_target
from pytest_mindtrial.suite.model import ContainerLimits, Dependency, FileRef, Service, Tool, ToolSelection

TOOL = Tool("T", "image", "d", {"type": "object", "required": ["code"]}, parameter_files={"code": "/in/code"})
GOOD = '{"code": "x"}'


def runner_of(resources: Any, tool: Tool = TOOL, **fields: Any) -> ToolRunner:
    services = fields.pop("services", None) or ServiceSet(
        resources.engine, resources.lease, "attempt-1", resources.allocator, 512
    )
    files = fields.pop("files", ())
    is_strict = fields.pop("is_strict", True)
    return ToolRunner(
        [(tool, ToolSelection(tool.name, **fields))],
        resources,
        attempt="attempt-1",
        services=services,
        files=files,
        is_strict=is_strict,
    )


def call(runner: ToolRunner, arguments: str = GOOD, name: str = "T", call_id: str = "id-1") -> Any:
    return asyncio.run(runner.call(ToolCall(call_id, name, arguments), 2))


def test_a_call_is_recorded_and_counted(resources: Any, fake: Any) -> None:
    runner = runner_of(resources)
    result = call(runner)
    assert (result.content, result.is_error, result.call.id) == ("ok", False, "id-1")
    (record,) = runner.calls
    assert (record.tool, record.call_id, record.turn, record.status) == ("T", "id-1", 2, "success")
    assert (record.exit_code, record.error_message, record.arguments) == (0, None, GOOD)
    assert record.started_at <= record.completed_at
    assert runner.usage == {"T": ToolUsageRecord(1, record.duration_ns or -1)}
    assert fake.made[0].arguments["labels"]["pytest-mindtrial.attempt"] == "attempt-1"


def test_a_call_without_an_id_gets_one(resources: Any) -> None:
    runner = runner_of(resources)
    call(runner, call_id="")
    assert runner.calls[0].call_id.startswith("call-")


def test_calls_beyond_the_limit_and_unknown_tools_leave_no_record(resources: Any, fake: Any) -> None:
    runner = runner_of(resources, max_calls=1)
    assert call(runner, "{").is_error
    assert runner.exhausted == set()
    assert call(runner).content == "ok"
    assert "at most 1 times" in call(runner, "{").content
    assert "no tool named X" in call(runner, name="X").content
    assert runner.exhausted == {"T"}
    assert [record.status for record in runner.calls] == ["invalid_arguments", "success"]


def test_lenient_arguments_pass_unless_they_are_no_object(resources: Any) -> None:
    assert call(runner_of(resources), "{}").is_error
    assert call(runner_of(resources, is_strict=False), "{}").content == "ok"
    assert call(runner_of(resources, is_strict=False), "[]").is_error


@pytest.mark.parametrize(
    "failing, counts, status",
    [("create_container", 0, "create"), ("start", 1, "start"), ("wait", 1, "wait"), ("create_volume", 0, "files")],
)
def test_engine_failures_are_no_fault_of_the_model(
    resources: Any, fake: Any, error: Any, failing: str, counts: int, status: str
) -> None:
    tool = Tool("T", "image", "d", {}, shared_dir="/shared")
    runner = runner_of(resources, tool)
    fake.failures[failing] = [error(500, "/secret/path is broken")]
    result = call(runner)
    assert result.is_error
    assert "/secret/path" not in result.content
    (record,) = runner.calls
    assert record.status == "infrastructure_error"
    assert record.error_message is not None
    assert "/secret/path" in record.error_message
    assert runner.usage.get("T", ToolUsageRecord()).call_count == counts
    assert (record.stdout, record.exit_code, record.timed_out) == (None, None, False)
    assert asyncio.run(runner.close()) == []
    assert fake.left == 0


def test_the_shared_directory_is_opened_again_until_a_container_started(resources: Any, fake: Any, error: Any) -> None:
    runner = runner_of(resources, Tool("T", "image", "d", {}, shared_dir="/shared"))
    fake.failures["put_archive"] = [error(500)]
    for _ in range(3):
        call(runner)
    assert [len(made.archives) for made in fake.made] == [0, 1, 0]
    asyncio.run(runner.close())


def test_local_files_are_loaded_when_a_tool_can_see_them(resources: Any, fake: Any, tmp_path: Path) -> None:
    loaded = []

    def load() -> bytes:
        loaded.append(1)
        return b"x"

    files = [LocalFile(FileRef("a b.txt", "u", tmp_path), load)]
    call(runner_of(resources, files=files))
    assert loaded == []
    tool = Tool("T", "image", "d", {}, auxiliary_dir="/app/data/")
    call(runner_of(resources, tool, files=files))
    assert loaded == [1]
    assert fake.made[1].arguments["host_config"]["mounts"][0]["Target"] == "/app/data/a b.txt"


@pytest.mark.parametrize("problem", [TaskError("file x: status 404"), OSError("no such file")])
def test_a_file_that_cannot_be_loaded_starts_nothing(
    resources: Any, fake: Any, tmp_path: Path, problem: Exception
) -> None:
    def load() -> bytes:
        raise problem

    tool = Tool("T", "image", "d", {}, auxiliary_dir="/app/data")
    runner = runner_of(resources, tool, files=[LocalFile(FileRef("a", "u", tmp_path), load)])
    assert call(runner).content == "Tool error: T could not be run: its files could not be prepared."
    assert str(problem) in str(runner.calls[0].error_message)
    assert (fake.made, runner.usage) == ([], {})


@pytest.mark.parametrize("name", ["../x", "/etc/passwd", ".", "a/../.."])
def test_names_that_leave_the_directory_are_refused(tmp_path: Path, name: str) -> None:
    with pytest.raises(SandboxRuntimeError, match="outside the auxiliary directory"):
        auxiliary_target("/app/data", FileRef(name, "u", tmp_path))


@pytest.mark.parametrize("folder, target", [("/", "/a/b"), ("/app//data/", "/app/data/a/b")])
def test_names_keep_their_folders(tmp_path: Path, folder: str, target: str) -> None:
    assert auxiliary_target(folder, FileRef("a/./b", "u", tmp_path)) == target


def test_previews_of_a_failure_and_of_a_timeout_are_kept(resources: Any, fake: Any) -> None:
    fake.behaviours["image"].__dict__.update(stdout=b"out", exit_code=1)
    runner = runner_of(resources, limits=ContainerLimits(timeout_s=0.05))
    call(runner)
    fake.behaviours["image"].__dict__.update(stdout=b"early", hangs=True)
    call(runner)
    failed, stopped = runner.calls
    assert failed.stdout is not None
    assert stopped.stdout is not None
    assert (failed.stdout.preview, failed.exit_code) == ("out", 1)
    assert (stopped.status, stopped.stdout.preview, stopped.timed_out) == ("timeout", "early", True)


def test_long_texts_are_cut_for_the_model(make_resources: Any, fake: Any) -> None:
    fake.behaviours["image"].stdout = b"x" * 50
    assert call(runner_of(make_resources(text_limit_chars=10))).content == "x" * 10 + "\n[cut: 40 more characters]"


def test_a_cancelled_call_counts_and_is_recorded(resources: Any, fake: Any) -> None:
    fake.behaviours["image"].__dict__.update(stdout=b"part", hangs=True)
    runner = runner_of(resources)

    async def work() -> None:
        task = asyncio.ensure_future(runner.call(ToolCall("1", "T", GOOD), 1))
        while "start" not in fake.done:
            await asyncio.sleep(0.005)
        task.cancel()
        with pytest.raises(asyncio.CancelledError):
            await task

    asyncio.run(work())
    (record,) = runner.calls
    assert (record.status, record.error_message, record.exit_code) == ("infrastructure_error", "cancelled", None)
    assert record.stdout is not None
    assert runner.usage["T"].call_count == 1
    assert fake.left == 0


def with_service(resources: Any) -> tuple[ServiceSet, Tool]:
    services = ServiceSet(resources.engine, resources.lease, "attempt-1", resources.allocator, 512)
    asyncio.run(services.start([(Service("s", "service", 1), {})]))
    return services, Tool("T", "image", "d", {}, dependencies=(Dependency("s", {"U": "{{ .Endpoint }}"}),))


def test_a_service_that_is_gone_ends_the_attempt_uncounted(resources: Any, fake: Any) -> None:
    services, tool = with_service(resources)
    runner = runner_of(resources, tool, services=services)
    fake.made[0].is_running = False
    with pytest.raises(SandboxRuntimeError, match="service 's' stopped"):
        call(runner)
    (record,) = runner.calls
    assert (record.status, record.duration_ns, runner.usage) == ("infrastructure_error", None, {})
    asyncio.run(services.close())


def test_a_service_that_dies_under_a_tool_ends_the_attempt_counted(resources: Any, fake: Any) -> None:
    services, tool = with_service(resources)
    runner = runner_of(resources, tool, services=services)
    fake.behaviours["image"].__dict__.update(exit_code=1)
    assert call(runner).is_error  # the service lives: the tool's own failure
    service = fake.made[0]

    def dying(container: str, timeout: Any) -> dict[str, int]:
        service.is_running = False
        return {"StatusCode": 1}

    fake.wait = dying
    with pytest.raises(SandboxRuntimeError, match="service 's' stopped"):
        call(runner)
    assert (runner.calls[1].status, runner.usage["T"].call_count) == ("infrastructure_error", 2)
    asyncio.run(services.close())


def test_a_container_that_resists_is_told_at_the_end(resources: Any, fake: Any, error: Any) -> None:
    runner = runner_of(resources)
    fake.failures["remove_container"] = [error(500, "busy")]
    assert call(runner).content == "ok"
    assert asyncio.run(runner.close()) == ["container c1 could not be removed: busy"]


@pytest.mark.parametrize(
    "behaviour, arguments, level",
    [
        ({}, GOOD, logging.INFO),
        ({"exit_code": 2}, GOOD, logging.WARNING),
        ({}, "{", logging.WARNING),
        ({"hangs": True}, GOOD, logging.ERROR),
    ],
)
def test_one_line_is_logged_at_the_level_of_the_outcome(
    resources: Any, fake: Any, caplog: pytest.LogCaptureFixture, behaviour: Any, arguments: str, level: int
) -> None:
    fake.behaviours["image"].__dict__.update(behaviour)
    with caplog.at_level(logging.INFO, "pytest_mindtrial.sandbox"):
        call(runner_of(resources, limits=ContainerLimits(timeout_s=0.05)), arguments)
    assert [record.levelno for record in caplog.records] == [level]
    assert json.dumps(GOOD) not in caplog.text
