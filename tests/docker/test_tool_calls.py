"""Seed 000, sections Tools and Tool Selection; spec docker 4: every status, limit and channel of a tool call."""

from __future__ import annotations

import asyncio
from pathlib import Path
from typing import Any

import pytest

from pytest_mindtrial.core.record import OutputRecord, ToolUsageRecord
from pytest_mindtrial.suite.model import ContainerLimits, FileRef

AWKWARD = "mindtrial-test/awkward:latest"
PYTHON = "mindtrial-test/python:latest"
SCRIPT = {"command": ("/bin/sh", "/in/code"), "parameter_files": {"code": "/in/code"}}


def run_script(lab: Any, code: str, **fields: Any) -> tuple[str, Any]:
    text, sandbox = lab.call_once(lab.tool(**SCRIPT), {"code": code}, **fields)
    (record,) = sandbox.calls
    return text, record


def test_standard_output_is_passed_back_stripped_and_not_parsed(lab: Any) -> None:
    text, record = run_script(lab, "printf '\\n  {\"a\": 1}\\t\\n'; echo noise >&2")
    assert text == '{"a": 1}'
    assert (record.status, record.exit_code, record.timed_out, record.error_message) == ("success", 0, False, None)
    assert record.stdout == OutputRecord(13, None, False)
    assert record.stderr == OutputRecord(6, "noise\n", False)
    assert 0 < record.duration_ns < record.wall_time_ns


def test_exit_code_and_both_streams_are_told_after_a_failure(lab: Any) -> None:
    text, record = run_script(lab, "echo out; echo err >&2; exit 3")
    assert text == "Tool error: sh ended with exit code 3.\nout\nerr"
    assert (record.status, record.exit_code) == ("nonzero_exit", 3)
    assert record.stdout == OutputRecord(4, "out\n", False)


def test_blank_output_is_an_error_that_does_not_show_stderr(lab: Any) -> None:
    text, record = run_script(lab, "echo '  '; echo secret >&2")
    assert text == "Tool error: sh printed nothing on standard output."
    assert (record.status, record.exit_code) == ("empty_output", 0)
    assert record.stderr.preview == "secret\n"


def test_a_tool_is_stopped_at_its_time_limit(lab: Any) -> None:
    text, record = run_script(lab, "trap '' TERM; echo early; sleep 60", limits=ContainerLimits(timeout_s=0.5))
    assert text == "Tool error: sh was stopped after its time limit of 0.5s."
    assert (record.status, record.exit_code, record.timed_out) == ("timeout", None, True)
    assert record.stdout.preview == "early\n"
    assert 0.5e9 <= record.duration_ns < 2e9


def test_the_memory_limit_is_named_when_it_kills_the_tool(lab: Any) -> None:
    tool = lab.tool(image=PYTHON, command=("python", "-c", "bytearray(200 << 20)"))
    text, sandbox = lab.call_once(tool, limits=ContainerLimits(max_memory_mb=32))
    assert text == "Tool error: sh ended with exit code 137 (memory limit of 32 MB reached)."
    assert (sandbox.calls[0].status, sandbox.calls[0].exit_code) == ("nonzero_exit", 137)


def test_a_child_killed_for_memory_does_not_make_the_call_fail(lab: Any) -> None:
    code = "import subprocess, sys; subprocess.run([sys.executable, '-c', 'bytearray(200 << 20)']); print('alive')"
    tool = lab.tool(image=PYTHON, command=("python", "-c", code))
    text, sandbox = lab.call_once(tool, limits=ContainerLimits(max_memory_mb=32))
    assert text == "alive"
    assert sandbox.calls[0].error_message == "a process inside was killed at the memory limit"


def test_limits_hardening_and_labels_reach_the_engine(lab: Any, client: Any) -> None:
    async def inspect() -> Any:
        limits = ContainerLimits(max_memory_mb=64, cpu_percent=50)
        sandbox = await lab.open(lab.config(lab.shell("sleep 30")), limits=limits)
        running = asyncio.ensure_future(lab.call(sandbox, "sh"))
        label = f"pytest-mindtrial.attempt={sandbox.attempt}"
        while not (found := client.containers(filters={"label": label})):
            await asyncio.sleep(0.02)
        seen = client.inspect_container(found[0]["Id"])
        running.cancel()
        await asyncio.gather(running, return_exceptions=True)
        await sandbox.close()
        return seen

    seen = asyncio.run(inspect())
    host = seen["HostConfig"]
    assert host["Memory"] == host["MemorySwap"] == 64 * 1024 * 1024
    assert host["NanoCpus"] == client.info()["NCPU"] * 50 * 10_000_000
    assert (host["PidsLimit"], host["SecurityOpt"], host["NetworkMode"]) == (512, ["no-new-privileges"], "none")
    assert not host["Privileged"]
    assert not host["PortBindings"]
    assert host["RestartPolicy"]["Name"] in ("", "no")
    assert seen["Config"]["Tty"] is False
    assert seen["Config"]["Labels"]["pytest-mindtrial.role"] == "tool"
    assert seen["Name"].startswith("/mindtrial-tool-")


def test_a_tool_without_dependencies_has_no_network(lab: Any) -> None:
    assert lab.call_once(lab.shell("ls /sys/class/net"))[0] == "lo"


def test_no_command_means_the_default_of_the_image(lab: Any) -> None:
    assert lab.call_once(lab.tool(image=AWKWARD))[0] == "the default command"


def test_env_is_set_beside_that_of_the_image(lab: Any) -> None:
    tool = lab.shell('echo "$A $FROM_IMAGE"', image=AWKWARD, env={"A": "x y=z"})
    assert lab.call_once(tool)[0] == "x y=z yes"


def test_anonymous_volumes_of_an_image_go_with_the_container(lab: Any, client: Any) -> None:
    def dangling() -> set[str]:
        return {volume["Name"] for volume in client.volumes(filters={"dangling": True})["Volumes"] or ()}

    before = dangling()
    assert lab.call_once(lab.shell("ls -d /data", image=AWKWARD))[0] == "/data"
    assert dangling() <= before


def test_arguments_become_files_and_others_are_dropped(lab: Any) -> None:
    targets = {name: f"/in/the {name}" for name in ("text", "number", "large", "flag", "none", "object", "absent")}
    tool = lab.shell('for each in /in/*; do echo "$each=$(cat "$each")"; done', parameter_files=targets)
    arguments = {
        "text": "plain ä", "number": 2.5, "large": 9007199254740993, "flag": True, "none": None,
        "object": {"b": [1, "<é>"], "a": ""}, "dropped": 1,
    }  # fmt: skip
    assert lab.call_once(tool, arguments)[0].splitlines() == [
        "/in/the flag=true",
        "/in/the large=9007199254740993",
        "/in/the none=null",
        "/in/the number=2.5",
        '/in/the object={"a":"","b":[1,"<é>"]}',
        "/in/the text=plain ä",
    ]


def test_bad_arguments_start_nothing_and_do_not_count(lab: Any) -> None:
    schema = {"type": "object", "properties": {"code": {"type": "string"}}}
    config = lab.config(lab.tool(parameters=schema, **SCRIPT))
    cases = {
        "": "they are empty",
        "{": "they are not JSON",
        "[1]": "they must be a JSON object, not an array",
        '{"code": 5}': "$.code: 5 is not of type 'string'",
        '{"code": "\\ud800"}': "code cannot be written as text",
    }
    texts, sandbox = lab.run(config, [("sh", arguments) for arguments in cases])
    for text, problem in zip(texts, cases.values(), strict=True):
        assert text.startswith("Tool error: the arguments of sh are not valid: ")
        assert problem in text
    assert {record.status for record in sandbox.calls} == {"invalid_arguments"}
    assert {(record.duration_ns, record.exit_code, record.stdout) for record in sandbox.calls} == {(None, None, None)}
    assert sandbox.usage == {}


def test_lenient_mode_passes_on_what_the_schema_forbids(lab: Any) -> None:
    tool = lab.tool(parameters={"type": "object", "required": ["absent"]}, **SCRIPT)
    config = lab.config(tool, tool_argument_validation="lenient")
    assert lab.run(config, [("sh", {"code": "echo ran"})])[0] == ["ran"]


def test_files_with_local_access_are_mounted_under_their_names_and_reset(lab: Any, tmp_path: Path) -> None:
    files = (
        FileRef("data one.csv", "a", tmp_path, access=frozenset({"local"})),
        FileRef("sub/two.txt", "b", tmp_path),
        FileRef("picture.png", "c", tmp_path, access=frozenset({"native"})),
    )
    contents = {"data one.csv": b"1,2\n", "sub/two.txt": b"\x00\xff"}
    code = (
        "cd /app/data && find . -type f | sort && cat 'data one.csv' && wc -c < sub/two.txt"
        " && echo 9 > 'data one.csv' && touch new"
    )
    config = lab.config(lab.tool(auxiliary_dir="/app/data", **SCRIPT))
    texts, _ = lab.run(config, [("sh", {"code": code})] * 2, files=files, contents=contents)
    assert texts == ["./data one.csv\n./sub/two.txt\n1,2\n2"] * 2


def test_the_shared_directory_lives_as_long_as_the_attempt_for_all_tools_and_users(lab: Any) -> None:
    root = lab.tool("root", shared_dir="/shared", **SCRIPT)
    user = lab.tool("user", image=AWKWARD, shared_dir="/elsewhere/deep", **SCRIPT)
    config = lab.config(root, user)
    calls = [
        ("root", {"code": "ls -A /shared; mkdir -m 700 /shared/mine; echo 1 > /shared/a; echo kept > /tmp/b; echo ok"}),
        ("user", {"code": "id -u; cat /elsewhere/deep/a; echo 2 > /elsewhere/deep/c"}),
        ("root", {"code": "cat /shared/c; cat /tmp/b 2>/dev/null; ls /shared"}),
    ]
    assert lab.run(config, calls)[0] == ["ok", "1000\n1", "2\na\nc\nmine"]
    assert lab.run(config, [("root", {"code": "ls -A /shared | wc -l"})])[0] == ["0"]


def test_a_tool_may_be_called_so_many_times(lab: Any) -> None:
    config = lab.config(lab.tool(**SCRIPT), lab.tool("other", **SCRIPT))
    calls = [
        ("sh", {"code": "exit 1"}),
        ("sh", "{"),
        ("sh", {"code": "echo 2"}),
        ("sh", "{"),
        ("other", {"code": "id"}),
    ]
    texts, sandbox = lab.run(config, calls, max_calls=2)
    assert texts[2] == "2"
    assert texts[3] == "Tool error: sh may be called at most 2 times in this task; do not call it again."
    assert sandbox.exhausted == {"sh"}
    assert [record.status for record in sandbox.calls] == ["nonzero_exit", "invalid_arguments", "success", "success"]
    assert sandbox.usage["sh"] == ToolUsageRecord(2, sum(record.duration_ns or 0 for record in sandbox.calls[:3]))


def test_a_tool_that_does_not_exist_is_told_to_the_model_only(lab: Any) -> None:
    texts, sandbox = lab.run(lab.config(lab.tool(**SCRIPT)), [("python", {})])
    assert texts == ["Tool error: there is no tool named python."]
    assert sandbox.calls == ()


def test_a_command_that_is_not_in_the_image_is_our_failure_and_counts(lab: Any) -> None:
    text, sandbox = lab.call_once(lab.tool(command=("no-such-command",)))
    assert text == "Tool error: sh could not be run: its container could not be started."
    (record,) = sandbox.calls
    assert (record.status, record.exit_code, record.duration_ns) == ("infrastructure_error", None, None)
    assert "no-such-command" in record.error_message
    assert sandbox.usage["sh"] == ToolUsageRecord(1, 0)


@pytest.mark.parametrize("fields", [{"image": "mindtrial-test/none:1"}, {"parameter_files": {"code": "relative"}}])
def test_a_container_that_cannot_be_created_does_not_count(lab: Any, fields: Any) -> None:
    text, sandbox = lab.call_once(lab.tool(**{**SCRIPT, **fields}), {"code": "id"})
    assert text == "Tool error: sh could not be run: its container could not be created."
    assert (sandbox.calls[0].status, sandbox.usage) == ("infrastructure_error", {})
    assert str(lab.state_dir) not in text


@pytest.mark.parametrize(
    "code, size, preview_size, is_cut",
    [
        ("head -c 2048 /dev/zero | tr '\\0' a", 2048, 2048, False),
        ("head -c 2049 /dev/zero | tr '\\0' a", 2049, 2048, True),
        ("head -c 2047 /dev/zero | tr '\\0' a; printf 'ä'", 2049, 2047, True),
        ("head -c 2045 /dev/zero | tr '\\0' a; printf '\\360\\237\\230\\200'", 2049, 2045, True),
    ],
)
def test_previews_end_after_2048_bytes_at_a_character(
    lab: Any, code: str, size: int, preview_size: int, is_cut: bool
) -> None:
    _, record = run_script(lab, f"{{ {code}; }} >&2; echo ok")
    assert (record.stderr.bytes, record.stderr.truncated) == (size, is_cut)
    assert record.stderr.preview == "a" * preview_size


def test_bytes_that_are_not_text_are_replaced(lab: Any) -> None:
    assert run_script(lab, "printf 'a\\377b'")[0] == "a\ufffdb"


def test_a_megabyte_in_one_line_comes_back_whole_up_to_the_text_limit(lab: Any) -> None:
    config = lab.config(lab.tool(**SCRIPT))
    hub = lab.hub(config, text_limit_chars=2_000_000)
    code = "head -c 1000000 /dev/zero | tr '\\0' a"
    assert lab.run(config, [("sh", {"code": code})], hub=hub)[0] == ["a" * 1_000_000]
    short = lab.run(config, [("sh", {"code": code})])[0][0]
    assert short == "a" * 100_000 + "\n[cut: 900000 more characters]"


@pytest.mark.parametrize("redirect", ["", ">&2"])
def test_a_flood_of_output_is_stopped(lab: Any, redirect: str) -> None:
    config = lab.config(lab.tool(**SCRIPT))
    hub = lab.hub(config, output_ceiling_bytes=1024 * 1024)
    (text,), sandbox = lab.run(config, [("sh", {"code": f"yes {redirect}"})], hub=hub)
    assert text == "Tool error: sh printed more than 1 MiB and was stopped."
    assert (sandbox.calls[0].status, sandbox.calls[0].exit_code) == ("nonzero_exit", 137)


def test_files_can_be_sent_instead_of_mounted(lab: Any, tmp_path: Path) -> None:
    tool = lab.tool(auxiliary_dir="/app/data", shared_dir="/shared", **SCRIPT)
    config = lab.config(tool)
    hub = lab.hub(config, transport="archive")
    code = "cat /app/data/a.txt; echo 2 > /app/data/a.txt; echo x >> /shared/x; cat /shared/x"
    files = (FileRef("a.txt", "a", tmp_path),)
    texts, _ = lab.run(config, [("sh", {"code": code})] * 2, hub=hub, files=files, contents={"a.txt": b"1\n"})
    assert texts == ["1\nx", "1\nx\nx"]


def test_calls_of_one_attempt_run_one_after_another(lab: Any) -> None:
    async def work() -> list[str]:
        sandbox = await lab.open(lab.config(lab.tool(shared_dir="/s", **SCRIPT)))
        code = "test -e /s/busy && echo overlap; touch /s/busy; sleep 0.2; rm /s/busy; echo done"
        results = await asyncio.gather(*(lab.call(sandbox, "sh", {"code": code}) for _ in range(3)))
        await sandbox.close()
        return [result.content for result in results]

    assert asyncio.run(work()) == ["done"] * 3
