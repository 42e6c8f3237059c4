"""Seed 000, section Task Services; spec docker 5: start, inputs, isolation, one set per attempt, failure."""

from __future__ import annotations

import asyncio
import ipaddress
import socket
import time
from typing import Any

import pytest

from pytest_mindtrial.core.errors import SandboxRuntimeError
from pytest_mindtrial.sandbox.endpoints import service_host
from pytest_mindtrial.sandbox.hub import SandboxHub
from pytest_mindtrial.sandbox.ownership import ATTEMPT_LABEL, SESSION_LABEL
from pytest_mindtrial.sandbox.removal import list_owned
from pytest_mindtrial.suite.model import Dependency, Run, Tool

PYTHON = "mindtrial-test/python:latest"
BASE = "mindtrial-test/base:latest"


def test_tools_share_the_state_of_their_service_and_find_it_by_its_endpoint(lab: Any) -> None:
    show = lab.shell(
        "echo $NAME $HOST $PORT $URL",
        dependencies=(
            Dependency(
                "counter",
                {"NAME": "{{ .Name }}", "HOST": "{{.Host}}", "PORT": "{{.Port}}", "URL": "{{.Endpoint}}"},
            ),
        ),
    )
    config = lab.config(lab.counter(), lab.client("add"), lab.client("get"), show)
    texts, _ = lab.run(
        config, [("add", {"path": "/add"}), ("add", {"path": "/add"}), ("get", {"path": "/"}), ("sh", {})]
    )
    host = service_host("counter")
    assert texts == ["1", "2", "2", f"counter {host} 8080 http://{host}:8080"]


def test_inputs_are_rendered_and_reach_their_variables(lab: Any) -> None:
    names = {"seed": "SEED", "number": "NUMBER", "share": "SHARE", "flag": "FLAG", "unset": "UNSET", "same": "CURRENCY"}
    service = lab.counter(env={"CURRENCY": "CAD"}, input_env=names)
    inputs = {
        "seed": "{{ hash .Evaluation.Seed .Task.Name }} {{ .Provider.Name }} {{ .Run.Name }}",
        "number": 42, "share": 0.5, "flag": True, "same": "CAD",
    }  # fmt: skip
    config = lab.config(service, lab.client())
    calls = [("get", {"path": "/env/SEED,NUMBER,SHARE,FLAG,UNSET,CURRENCY"})]
    (text,), _ = lab.run(config, calls, service_inputs={"counter": inputs, "unused": {"x": "1"}})
    assert text.split(",") == ["9526074796148898333 provider-1 run-1", "42", "0.5", "true", "unset", "CAD"]


def test_a_service_without_a_healthcheck_is_ready_when_it_runs(lab: Any) -> None:
    config = lab.config(lab.counter(image=BASE, command=("sleep", "60"), healthcheck=()), lab.client())

    async def work() -> tuple[float, dict[str, str]]:
        begin = time.monotonic()
        sandbox = await lab.open(config)
        took = time.monotonic() - begin
        urls = {name: endpoint.url for name, endpoint in sandbox.services.items()}
        await sandbox.close()
        return took, urls

    took, urls = asyncio.run(work())
    assert took < 5
    assert list(urls) == ["counter"]


def test_a_service_that_needs_a_moment_is_waited_for(lab: Any) -> None:
    config = lab.config(lab.counter(env={"DELAY": "0.4"}), lab.client())
    assert lab.run(config, [("get", {"path": "/"})])[0] == ["0"]


@pytest.mark.parametrize(
    "fields, message, has_output",
    [
        (
            {"healthcheck": ("false",), "startup_timeout_s": 0.7},
            "service 'counter' was not ready within 0.7s: the check ended with exit code 1",
            True,
        ),
        (
            {"healthcheck": ("no-such-check",), "startup_timeout_s": 0.5},
            "the check ended with exit code 126, as if its command were missing or not executable",
            True,
        ),
        (
            {"healthcheck": ("sleep", "60"), "startup_timeout_s": 0.5},
            "service 'counter' was not ready within 0.5s: the check did not end",
            True,
        ),
        (
            {"command": ("sh", "-c", "echo dying words; exit 3")},
            "service 'counter' stopped with exit code 3 before it was ready",
            True,
        ),
        ({"command": ("no-such-command",)}, "service 'counter' could not be started", False),
        ({"image": "mindtrial-test/none:1"}, "service 'counter' could not be started", False),
    ],
)
def test_a_service_that_does_not_become_ready_ends_the_attempt_and_leaves_nothing(
    lab: Any, client: Any, fields: Any, message: str, has_output: bool
) -> None:
    config = lab.config(lab.counter(**fields), lab.client())
    with pytest.raises(SandboxRuntimeError) as caught:
        asyncio.run(lab.open(config))
    assert message in str(caught.value)
    assert bool(caught.value.details) == has_output
    assert list_owned(client, f"{SESSION_LABEL}={lab.hubs[0].session}") == []


def test_the_last_words_of_a_service_are_kept_for_the_report(lab: Any) -> None:
    config = lab.config(
        lab.counter(command=("sh", "-c", "echo dying words; exit 3"), healthcheck=("true",)), lab.client()
    )
    with pytest.raises(SandboxRuntimeError) as caught:
        asyncio.run(lab.open(config))
    assert caught.value.details == {"Service counter (stdout)": "dying words\n"}
    assert "dying words" not in str(caught.value)


@pytest.mark.parametrize(
    "inputs, input_env, message",
    [
        ({"a": "x"}, {"a": "CURRENCY"}, "variable CURRENCY gets different values from env and input 'a'"),
        ({"a": "x", "b": "y"}, {"a": "V", "b": "V"}, "variable V gets different values from input 'a' and input 'b'"),
        ({"a": "x"}, {}, "service 'counter' has no input 'a'"),
    ],
)
def test_inputs_that_clash_end_the_attempt_before_anything_starts(
    lab: Any, inputs: Any, input_env: Any, message: str
) -> None:
    config = lab.config(lab.counter(env={"CURRENCY": "CAD"}, input_env=input_env), lab.client())
    with pytest.raises(SandboxRuntimeError, match=message):
        asyncio.run(lab.open(config, service_inputs={"counter": inputs}))


def test_a_consumer_whose_variables_clash_ends_the_attempt(lab: Any) -> None:
    tool = lab.shell(
        "id", dependencies=(Dependency("counter", {"U": "{{.Port}}"}), Dependency("second", {"U": "{{.Name}}"}))
    )
    config = lab.config(lab.counter(), lab.counter("second"), tool)
    with pytest.raises(SandboxRuntimeError, match="tool 'sh': variable U gets different values from service 'counter'"):
        lab.run(config, [("sh", {})])


def test_a_service_that_stops_ends_the_attempt_at_the_next_call_that_needs_it(lab: Any) -> None:
    config = lab.config(lab.counter(), lab.client(), lab.shell("echo alone"))

    async def work() -> Any:
        sandbox = await lab.open(config)
        try:
            # The service dies while the tool talks to it: the tool's own failure shows it.
            with pytest.raises(SandboxRuntimeError) as first:
                await lab.call(sandbox, "get", {"path": "/stop"})
            assert (await lab.call(sandbox, "sh")).content == "alone"
            with pytest.raises(SandboxRuntimeError) as second:
                await lab.call(sandbox, "get", {"path": "/"})
            return sandbox, first.value, second.value
        finally:
            await sandbox.close()

    sandbox, first, second = asyncio.run(work())
    for error in (first, second):
        assert "service 'counter' stopped with exit code 7 during the attempt" in str(error)
        assert "asked to stop" in error.details["Service counter (stdout)"]
        assert "with a word on stderr" in error.details["Service counter (stderr)"]
    assert [record.status for record in sandbox.calls] == ["infrastructure_error", "success", "infrastructure_error"]
    assert {name: usage.call_count for name, usage in sandbox.usage.items()} == {"get": 1, "sh": 1}


def test_two_attempts_at_once_and_one_after_another_never_share_state(lab: Any) -> None:
    config = lab.config(lab.counter(), lab.client())
    hub = lab.hub(config)

    async def attempt(times: int) -> str:
        sandbox = await lab.open(config, hub)
        try:
            for _ in range(times):
                result = await lab.call(sandbox, "get", {"path": "/add"})
            return str(result.content)
        finally:
            await sandbox.close()

    async def both() -> list[str]:
        return list(await asyncio.gather(attempt(1), attempt(3)))

    assert asyncio.run(both()) == ["1", "3"]
    assert asyncio.run(attempt(1)) == "1"


def test_forty_attempts_at_once_find_networks_for_their_services(lab: Any) -> None:
    service = lab.counter(image=BASE, command=("sleep", "100"), healthcheck=())
    config = lab.config(service, lab.shell("id", dependencies=(Dependency("counter"),)))
    hub = lab.hub(config)

    async def work() -> int:
        sandboxes = await asyncio.gather(*(lab.open(config, hub) for _ in range(40)))
        count = sum(len(sandbox.services) for sandbox in sandboxes)
        await asyncio.gather(*(sandbox.close() for sandbox in sandboxes))
        assert [problem for sandbox in sandboxes for problem in sandbox.problems] == []
        return count

    assert asyncio.run(work()) == 40


PROBE = """
import concurrent.futures, socket, sys
def state(target):
    host, port = target.rsplit(":", 1)
    try:
        socket.create_connection((host, int(port)), timeout=0.5).close()
        return target + " reached"
    except OSError as error:
        return target + " closed"
targets = sys.argv[1:] or open("/in/targets").read().split()
with concurrent.futures.ThreadPoolExecutor(len(targets)) as pool:
    print("\\n".join(pool.map(state, targets)))
"""
OUTSIDE = "192.0.2.1:80"


def test_networks_reach_exactly_the_services_in_the_dependencies(lab: Any, client: Any) -> None:
    """Neither the internet, nor the host, nor a service that was not named; but all services that were named."""

    def probe(name: str, *services: str) -> Tool:
        return lab.tool(
            name,
            image=PYTHON,
            command=("python", "-c", PROBE),
            parameter_files={"targets": "/in/targets"},
            dependencies=tuple(Dependency(service) for service in services),
        )

    config = lab.config(
        lab.counter("first"),
        lab.counter("second"),
        probe("none"),
        probe("one", "first"),
        probe("both", "first", "second"),
    )

    async def work(port: int) -> list[set[str]]:
        sandbox = await lab.open(config)
        try:
            networks = [client.inspect_network(each["Id"]) for each in _of_attempt(client.networks, sandbox)]
            assert [each["Internal"] for each in networks] == [True, True]
            blocks = [ipaddress.ip_network(each["IPAM"]["Config"][0]["Subnet"]) for each in networks]
            hosts = ["172.17.0.1", _own_address(), *(str(block[1]) for block in blocks)]
            addresses = [item["IPv4Address"].split("/")[0] for each in networks for item in each["Containers"].values()]
            services = [*(endpoint.host for endpoint in sandbox.services.values()), *addresses]
            targets = [OUTSIDE, *(f"{host}:{port}" for host in hosts), *(f"{name}:8080" for name in services)]
            texts = [await lab.call(sandbox, name, {"targets": "\n".join(targets)}) for name in ("none", "one", "both")]
            return [_reached(text.content) for text in texts]
        finally:
            await sandbox.close()

    with socket.create_server(("0.0.0.0", 0)) as listener:
        none, one, both = asyncio.run(work(listener.getsockname()[1]))
    assert none == set()
    assert len(one) == 2  # by name and by address
    assert f"{service_host('first')}:8080" in one
    assert one < both
    assert len(both) == 4
    assert f"{service_host('second')}:8080" in both


def test_services_cannot_reach_each_other_nor_the_outside(lab: Any, client: Any) -> None:
    """The probe runs inside a service, through the engine's exec."""
    tool = lab.shell("id", dependencies=(Dependency("first"), Dependency("second")))
    config = lab.config(lab.counter("first"), lab.counter("second"), tool)

    async def work() -> str:
        sandbox = await lab.open(config)
        try:
            inside, other = (client.inspect_container(each["Id"]) for each in _of_attempt(client.containers, sandbox))
            address = next(iter(other["NetworkSettings"]["Networks"].values()))["IPAddress"]
            targets = [OUTSIDE, f"{address}:8080", f"{service_host('first')}:8080", f"{service_host('second')}:8080"]
            probe = client.exec_create(inside["Id"], ["python", "-c", PROBE, *targets])["Id"]
            return str(client.exec_start(probe).decode())
        finally:
            await sandbox.close()

    text = asyncio.run(work())
    assert len(_reached(text)) == 1  # itself, by its own name
    assert text.count("closed") == 3


def _of_attempt(listing: Any, sandbox: Any) -> Any:
    return listing(filters={"label": f"{ATTEMPT_LABEL}={sandbox.attempt}"})


def _reached(text: str) -> set[str]:
    return {line.split()[0] for line in text.splitlines() if line.endswith("reached")}


def _own_address() -> str:
    """Return this machine's address on its way out; nothing is sent."""
    with socket.socket(socket.AF_INET, socket.SOCK_DGRAM) as probe:
        probe.connect(("192.0.2.1", 9))
        return str(probe.getsockname()[0])


def test_a_task_that_needs_nothing_never_asks_for_an_engine(lab: Any) -> None:
    def refuse() -> Any:
        raise AssertionError("connected")

    config = lab.config(lab.counter())
    hub = SandboxHub(config, connector=refuse)

    async def work() -> None:
        sandbox = await hub.open(lab.task(config), Run("r", "mock", "m"), "p", "s", {})
        assert (await lab.call(sandbox, "x")).content == "Tool error: there is no tool named x."
        await sandbox.close()

    asyncio.run(work())
    assert hub.close() == []
