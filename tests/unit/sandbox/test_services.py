"""Spec docker 5 without an engine: retries, readiness, failure, teardown."""

from __future__ import annotations

import asyncio
from typing import Any

import pytest

from pytest_mindtrial.core.errors import SandboxRuntimeError
from pytest_mindtrial.sandbox.connection import EngineFailure
from pytest_mindtrial.sandbox.endpoints import service_host
from pytest_mindtrial.sandbox.readiness import exit_state
from pytest_mindtrial.sandbox.services import ServiceSet
from pytest_mindtrial.suite.model import Dependency, Service

SERVICE = Service("cart-service", "image", 8080, healthcheck=("check",), startup_timeout_s=5)
NEEDS = (Dependency("cart-service", {"URL": "{{ .Endpoint }}", "PORT": "{{ .Port }}"}),)


def services_of(resources: Any) -> ServiceSet:
    return ServiceSet(resources.engine, resources.lease, "attempt-1", resources.allocator, 512)


def start(resources: Any, *services: Service, env: Any = None) -> ServiceSet:
    found = services_of(resources)

    async def work() -> None:
        try:
            await found.start([(service, env or {}) for service in services])
        except BaseException:
            assert await found.close() == []
            raise

    asyncio.run(work())
    return found


@pytest.mark.parametrize("name, host", [("cart-service", "svc-ea181424220d"), ("world", "svc-486ea46224d1")])
def test_host_names_depend_on_the_name_only(name: str, host: str) -> None:
    assert service_host(name) == host


def test_a_service_gets_its_own_network_alias_and_environment(resources: Any, fake: Any) -> None:
    services = start(resources, SERVICE, env={"A": "1"})
    (made,) = fake.made
    (network,) = fake.all_networks
    assert made.arguments["networking_config"] == {network: {"aliases": ["svc-ea181424220d"]}}
    assert made.arguments["environment"] == ["A=1"]
    assert made.arguments["labels"]["pytest-mindtrial.role"] == "service"
    assert services.endpoints["cart-service"].url == "http://svc-ea181424220d:8080"
    binding = asyncio.run(services.bind("tool 't'", NEEDS, {"PORT": "8080"}))
    assert binding.env == {"PORT": "8080", "URL": "http://svc-ea181424220d:8080"}
    assert binding.networks == (network,)
    assert asyncio.run(services.close()) == []
    assert fake.left == 0


def test_https_shows_in_the_endpoint(resources: Any) -> None:
    services = start(resources, Service("world", "image", 8443, scheme="https"))
    assert services.endpoints["world"].url == "https://svc-486ea46224d1:8443"
    asyncio.run(services.close())


def test_the_check_is_repeated_until_it_succeeds(resources: Any, fake: Any) -> None:
    fake.behaviours["image"].probes = [1, 127, 0]
    asyncio.run(start(resources, SERVICE).close())
    assert fake.done.count("exec_start") == 3


def test_a_check_that_cannot_be_run_is_tried_again_while_the_service_runs(
    resources: Any, fake: Any, error: Any
) -> None:
    fake.failures["exec_create"] = [error(500, "no exec")]
    asyncio.run(start(resources, SERVICE).close())
    fake.failures["exec_create"] = [error(500, "no exec")] * 100
    with pytest.raises(SandboxRuntimeError, match=r"not ready within 0\.3s: the check could not be run \(no exec\)"):
        start(resources, Service("s", "image", 1, healthcheck=("c",), startup_timeout_s=0.3))


@pytest.mark.parametrize(
    "probes, message",
    [
        ([1], "service 's' was not ready within 0.25s: the check ended with exit code 1"),
        ([127], "the check ended with exit code 127, as if its command were missing or not executable"),
        ([None], "service 's' was not ready within 0.25s: the check did not end"),
    ],
)
def test_unhealthy_services_say_how_the_check_ended(resources: Any, fake: Any, probes: Any, message: str) -> None:
    fake.behaviours["image"].__dict__.update(probes=probes, stdout=b"log\n", stderr=b"")
    with pytest.raises(SandboxRuntimeError) as caught:
        start(resources, Service("s", "image", 1, healthcheck=("c",), startup_timeout_s=0.25))
    assert message in str(caught.value)
    assert caught.value.details == {"Service s (stdout)": "log\n"}
    assert fake.left == 0


@pytest.mark.parametrize("healthcheck", [(), ("check",)])
def test_a_service_that_stops_at_once_is_told(resources: Any, fake: Any, error: Any, healthcheck: Any) -> None:
    fake.behaviours["image"].__dict__.update(stops=True, exit_code=3, oom=True)
    fake.failures["exec_create"] = [error(409, "not running")]
    with pytest.raises(SandboxRuntimeError) as caught:
        start(resources, Service("s", "image", 1, healthcheck=healthcheck))
    assert str(caught.value) == "service 's' stopped with exit code 3, memory limit reached before it was ready"


def test_an_engine_error_at_the_start_is_tried_once_more(resources: Any, fake: Any, error: Any) -> None:
    fake.failures["start"] = [error(500, "busy")]
    services = start(resources, SERVICE)
    assert fake.done.count("start") == 2
    assert len(fake.all_containers) == len(fake.all_networks) == 1
    asyncio.run(services.close())


@pytest.mark.parametrize(
    "call, failures, tries",
    [("start", [500, 500], 2), ("start", [400], 1), ("create_container", [404], 1), ("create_network", [500, 500], 2)],
)
def test_what_fails_twice_or_is_our_mistake_ends_the_attempt(
    resources: Any, fake: Any, error: Any, call: str, failures: list[int], tries: int
) -> None:
    fake.failures[call] = [error(status, "broken") for status in failures]
    with pytest.raises(SandboxRuntimeError, match=r"service 'cart-service' could not be started: .*broken"):
        start(resources, SERVICE)
    assert fake.done.count(call) == tries
    assert fake.left == 0


def test_one_service_that_fails_stops_the_others(resources: Any, fake: Any) -> None:
    fake.behaviours["slow"].probes = [None]
    fake.behaviours["broken"].stops = True
    slow = Service("slow", "slow", 1, healthcheck=("c",), startup_timeout_s=60)
    with pytest.raises(SandboxRuntimeError, match="service 'broken' stopped"):
        start(resources, slow, Service("broken", "broken", 1))
    assert fake.left == 0


def test_a_service_that_stops_later_is_noticed_when_it_is_needed(resources: Any, fake: Any, error: Any) -> None:
    services = start(resources, SERVICE)
    fake.made[0].is_running = False
    fake.failures["logs"] = [error(500), None]
    with pytest.raises(SandboxRuntimeError, match="never restarted") as caught:
        asyncio.run(services.bind("tool 't'", NEEDS, {}))
    assert caught.value.details == {}
    with pytest.raises(SandboxRuntimeError, match="during the attempt"):
        asyncio.run(services.require_running(NEEDS))
    asyncio.run(services.require_running((Dependency("never started"),)))
    asyncio.run(services.close())


def test_a_container_that_is_gone_counts_as_stopped(resources: Any, fake: Any, error: Any) -> None:
    assert asyncio.run(exit_state(resources.engine, "none")) == "its container is gone"
    fake.failures["inspect_container"] = [error(500)]
    with pytest.raises(EngineFailure):
        asyncio.run(exit_state(resources.engine, "none"))


def test_a_consumer_of_a_service_that_was_not_started_is_an_error(resources: Any) -> None:
    with pytest.raises(SandboxRuntimeError, match="tool 't': service 'cart-service' was not started"):
        asyncio.run(services_of(resources).bind("tool 't'", NEEDS, {}))


def test_variables_that_clash_are_an_error(resources: Any) -> None:
    services = start(resources, SERVICE)
    with pytest.raises(SandboxRuntimeError, match="tool 't': variable PORT gets different values from env and service"):
        asyncio.run(services.bind("tool 't'", NEEDS, {"PORT": "1"}))
    asyncio.run(services.close())


def test_teardown_goes_on_after_a_problem_and_keeps_blocks_of_networks_that_stay(
    resources: Any, fake: Any, error: Any
) -> None:
    services = start(resources, SERVICE, Service("world", "image", 1))
    fake.failures["remove_container"] = [error(500, "busy")]
    fake.failures["remove_network"] = [error(500, "stuck")]
    problems = asyncio.run(services.close())
    assert sorted(problem.rpartition(": ")[2] for problem in problems) == ["busy", "stuck"]
    assert fake.left == 2
    assert len(resources.allocator._used) == 1
    assert asyncio.run(services.close()) == []


def test_the_identity_of_an_image_is_logged_once(
    resources: Any, fake: Any, error: Any, caplog: pytest.LogCaptureFixture
) -> None:
    labels = {"org.opencontainers.image.revision": "abc", "secret": "hidden"}
    fake.images["image"] = {"Id": "sha256:1", "RepoTags": ["image:1"], "Config": {"Labels": labels}}
    with caplog.at_level("INFO"):
        for _ in range(2):
            asyncio.run(start(resources, SERVICE, env={"TOKEN": "secret-value"}).close())
    lines = [record.message for record in caplog.records if record.message.startswith("image ")]
    assert lines == [
        "image image: id sha256:1, tags ['image:1'], digests None, labels {'org.opencontainers.image.revision': 'abc'}"
    ]
    assert "TOKEN" in caplog.text
    assert "secret-value" not in caplog.text


def test_an_image_that_cannot_be_looked_at_does_not_stop_the_start(resources: Any, fake: Any, error: Any) -> None:
    fake.failures["inspect_image"] = [error(500)]
    asyncio.run(start(resources, SERVICE).close())


def with_guest(resources: Any, fake: Any, guest: str) -> ServiceSet:
    """Start the service as a container of the user's own."""
    fake.create_container(image="image", name="mine", labels={})
    fake.all_containers["c1"].is_running = True
    found = services_of(resources)

    async def work() -> None:
        try:
            await found.start([(SERVICE, {})], {"cart-service": guest})
        except BaseException:
            assert await found.close() == []
            raise

    asyncio.run(work())
    return found


def test_a_running_container_stands_in_for_a_service_and_stays(resources: Any, fake: Any) -> None:
    services = with_guest(resources, fake, "c1")
    (network,) = fake.all_networks
    assert fake.all_networks[network]["arguments"]["internal"] is True
    assert (fake.made[0].networks, fake.made[0].aliases) == ([network], ["svc-ea181424220d"])
    assert "exec_create" in fake.done  # its healthcheck is asked, too
    binding = asyncio.run(services.bind("tool 't'", NEEDS, {}))
    assert (binding.env["URL"], binding.networks) == ("http://svc-ea181424220d:8080", (network,))
    assert asyncio.run(services.close()) == []
    assert list(fake.all_containers) == ["c1"]
    assert fake.all_networks == {}


def test_a_container_that_is_not_there_cannot_stand_in(resources: Any, fake: Any) -> None:
    with pytest.raises(SandboxRuntimeError, match=r"service 'cart-service' could not be started: .*No such container"):
        with_guest(resources, fake, "gone")
    assert fake.all_networks == {}


def test_a_stopped_container_cannot_stand_in(resources: Any, fake: Any) -> None:
    async def work() -> None:
        fake.create_container(image="image", name="mine", labels={})
        services = services_of(resources)
        with pytest.raises(SandboxRuntimeError, match="stopped with exit code 0 before it was ready"):
            await services.start([(Service("cart-service", "image", 80), {})], {"cart-service": "c1"})
        await services.close()

    asyncio.run(work())
    assert (list(fake.all_containers), fake.all_networks) == (["c1"], {})
