"""A Docker client in memory: enough of docker-py's low-level client to run the sandbox without an engine."""

from __future__ import annotations

import io
import itertools
import struct
import threading
from collections import defaultdict
from collections.abc import Callable
from dataclasses import dataclass, field
from pathlib import Path
from types import SimpleNamespace
from typing import Any

import pytest

from pytest_mindtrial.core.clock import SystemClock
from pytest_mindtrial.sandbox.engine import Engine
from pytest_mindtrial.sandbox.networks import SubnetAllocator
from pytest_mindtrial.sandbox.ownership import Lease
from pytest_mindtrial.sandbox.resources import Resources
from pytest_mindtrial.sandbox.runner import Runner
from pytest_mindtrial.sandbox.settings import SandboxSettings


def api_error(status: int, text: str = "no") -> Exception:
    """Return what docker-py raises for a refused request."""
    from docker.errors import APIError

    return APIError(text, SimpleNamespace(status_code=status, reason=text, url=""), text)


def frame(stream: int, data: bytes) -> bytes:
    """Return a frame of the engine's stream format."""
    return struct.pack(">BxxxL", stream, len(data)) + data


@dataclass
class Behaviour:
    """What the processes of an image do.

    Attributes:
        hangs: The process ends only when its container is removed or killed.
        probes: Exit codes of healthchecks in order; the last one stays. None = the check hangs.
        stops: The container is found stopped from the start on.
    """

    stdout: bytes = b"ok\n"
    stderr: bytes = b""
    exit_code: int = 0
    hangs: bool = False
    oom: bool = False
    probes: list[int | None] = field(default_factory=lambda: [0])
    stops: bool = False


@dataclass
class Container:
    id: str
    arguments: dict[str, Any]
    behaviour: Behaviour
    ended: threading.Event = field(default_factory=threading.Event)
    is_running: bool = False
    networks: list[str] = field(default_factory=list)
    aliases: list[str] = field(default_factory=list)
    archives: list[bytes] = field(default_factory=list)


class Blocking:
    """A raw stream that ends when a container does."""

    def __init__(self, data: bytes, ended: threading.Event | None) -> None:
        self._data = io.BytesIO(data)
        self._ended = ended

    def read(self, size: int) -> bytes:
        chunk = self._data.read(size)
        if not chunk and self._ended is not None:
            self._ended.wait(10)
        return chunk


class FakeClient:
    """The client.

    Attributes:
        behaviours: Image → behaviour.
        failures: Method name → exceptions to raise, one a call; None lets that call pass.
        done: Names of the calls that were made.
        missing: Images that are not there.
    """

    base_url = "http+docker://localhost"
    api_version = "1.41"

    def __init__(self) -> None:
        self.behaviours: dict[str, Behaviour] = defaultdict(Behaviour)
        self.failures: dict[str, list[Exception | None]] = defaultdict(list)
        self.done: list[str] = []
        self.missing: set[str] = set()
        self.images: dict[str, dict[str, Any]] = {}
        self.all_containers: dict[str, Container] = {}
        self.all_networks: dict[str, dict[str, Any]] = {}
        self.all_volumes: dict[str, dict[str, str]] = {}
        self.made: list[Container] = []
        self.is_closed = False
        self._numbers = itertools.count(1)
        self._executions: dict[str, tuple[Container, int | None]] = {}

    def _call(self, name: str) -> None:
        self.done.append(name)
        if self.failures[name] and (failure := self.failures[name].pop(0)) is not None:
            raise failure

    def info(self) -> dict[str, Any]:
        self._call("info")
        return {"NCPU": 4}

    def create_host_config(self, **arguments: Any) -> dict[str, Any]:
        return arguments

    def create_endpoint_config(self, **arguments: Any) -> dict[str, Any]:
        return arguments

    def create_networking_config(self, endpoints: Any) -> dict[str, Any]:
        return dict(endpoints)

    def create_container(self, **arguments: Any) -> dict[str, Any]:
        self._call("create_container")
        container = Container(f"c{next(self._numbers)}", arguments, self.behaviours[arguments["image"]])
        self.all_containers[container.id] = container
        self.made.append(container)
        return {"Id": container.id}

    def connect_container_to_network(self, container: str, network: str, aliases: Any = None) -> None:
        self._call("connect_container_to_network")
        found = self.all_containers[container]
        found.networks.append(network)
        found.aliases += aliases or []

    def put_archive(self, container: str, path: str, data: bytes) -> None:
        self._call("put_archive")
        self.all_containers[container].archives.append(data)

    def post(self, address: str, **arguments: Any) -> Any:
        kind, name, _ = address.rsplit("/", 3)[1:]
        self._call("attach" if kind == "containers" else "exec_start")
        if kind == "containers":
            container = self.all_containers[name]
            seen = container.behaviour
            data = frame(1, seen.stdout) + frame(2, seen.stderr)
            raw = Blocking(data, container.ended if seen.hangs else None)
        else:
            container, code = self._executions[name]
            raw = Blocking(b"", container.ended if code is None else None)
        return SimpleNamespace(raw=raw, close=lambda: None, raise_for_status=lambda: None)

    def start(self, container: str) -> None:
        self._call("start")
        found = self.all_containers[container]
        found.is_running = not found.behaviour.stops

    def wait(self, container: str, timeout: Any) -> dict[str, int]:
        self._call("wait")
        found = self.all_containers[container]
        if found.behaviour.hangs:
            found.ended.wait(10)
            return {"StatusCode": 137}
        return {"StatusCode": found.behaviour.exit_code}

    def kill(self, container: str) -> None:
        self._call("kill")
        self.all_containers[container].ended.set()

    def inspect_container(self, container: str) -> dict[str, Any]:
        self._call("inspect_container")
        if container not in self.all_containers:
            raise api_error(404, f"No such container: {container}")
        found = self.all_containers[container]
        seen = found.behaviour
        return {
            "Id": container,
            "State": {"Running": found.is_running, "ExitCode": seen.exit_code, "OOMKilled": seen.oom},
        }

    def exec_create(self, container: str, command: list[str]) -> dict[str, str]:
        self._call("exec_create")
        found = self.all_containers[container]
        probes = found.behaviour.probes
        name = f"e{next(self._numbers)}"
        self._executions[name] = (found, probes.pop(0) if len(probes) > 1 else probes[0])
        return {"Id": name}

    def exec_inspect(self, execution: str) -> dict[str, Any]:
        return {"ExitCode": self._executions[execution][1] or 0}

    def logs(self, container: str, **arguments: Any) -> bytes:
        self._call("logs")
        seen = self.all_containers[container].behaviour
        return seen.stdout if arguments["stdout"] else seen.stderr

    def remove_container(self, container: str, force: bool, v: bool) -> None:
        self._call("remove_container")
        assert force
        assert v
        found = {each.id: each for each in self.all_containers.values()} | {
            each.arguments.get("name", ""): each for each in self.all_containers.values()
        }
        if container not in found:
            raise api_error(404)
        found[container].ended.set()
        del self.all_containers[found[container].id]

    def create_network(self, name: str, **arguments: Any) -> dict[str, str]:
        self._call("create_network")
        made = f"n{next(self._numbers)}"
        self.all_networks[made] = {"Id": made, "Name": name, "Labels": arguments["labels"], "arguments": arguments}
        return {"Id": made}

    def remove_network(self, name: str) -> None:
        self._call("remove_network")
        if self.all_networks.pop(name, None) is None:
            raise api_error(404)

    def inspect_network(self, name: str) -> dict[str, Any]:
        if name not in self.all_networks:
            raise api_error(404)
        return self.all_networks[name]

    def disconnect_container_from_network(self, container: str, network: str, force: bool) -> None:
        self._call("disconnect")
        assert force

    def create_volume(self, name: str, **arguments: Any) -> None:
        self._call("create_volume")
        self.all_volumes[name] = arguments["labels"]

    def remove_volume(self, name: str) -> None:
        self._call("remove_volume")
        if self.all_volumes.pop(name, None) is None:
            raise api_error(404)

    def containers(self, all: bool, filters: Any) -> list[dict[str, Any]]:
        return [
            {"Id": each.id, "Names": [f"/{each.arguments['name']}"], "Labels": each.arguments["labels"]}
            for each in self.all_containers.values()
            if _matches(each.arguments["labels"], filters)
        ]

    def networks(self, filters: Any) -> list[dict[str, Any]]:
        return [each for each in self.all_networks.values() if _matches(each["Labels"], filters)]

    def volumes(self, filters: Any) -> dict[str, Any]:
        found = [{"Name": n, "Labels": labels} for n, labels in self.all_volumes.items() if _matches(labels, filters)]
        return {"Volumes": found or None}

    def inspect_image(self, image: str) -> dict[str, Any]:
        self._call("inspect_image")
        if image in self.missing:
            raise api_error(404, f"No such image: {image}")
        return self.images.get(image, {})

    def pull(self, repository: str, tag: str | None) -> None:
        self._call("pull")
        self.missing.discard(f"{repository}:{tag}" if tag else repository)

    def close(self) -> None:
        self.is_closed = True

    @property
    def left(self) -> int:
        """Number of objects that exist."""
        return len(self.all_containers) + len(self.all_networks) + len(self.all_volumes)


def _matches(labels: Any, filters: Any) -> bool:
    key, _, value = filters["label"].partition("=")
    return key in labels and value in ("", labels[key])


@pytest.fixture
def fake() -> FakeClient:
    return FakeClient()


@pytest.fixture
def error() -> Callable[..., Exception]:
    return api_error


class IdleWatchdog:
    """Stands for the child process."""

    def __init__(self) -> None:
        self.end = ""

    def dismiss(self) -> None:
        self.end = "dismissed"

    def abandon(self) -> None:
        self.end = "abandoned"


@pytest.fixture
def make_resources(fake: FakeClient, tmp_path: Path) -> Any:
    """Return what makes resources around the fake client; all are released at the end."""
    made: list[Resources] = []

    def make(**settings: Any) -> Resources:
        chosen = SandboxSettings(state_dir=tmp_path, removal_budget_s=0.2, **settings)
        engine = Engine(fake, chosen)
        lease = Lease(tmp_path)
        resources = Resources(
            engine, lease, IdleWatchdog(), SubnetAllocator(chosen.subnet_range),  # type: ignore[arg-type] # a stand-in
            Runner(engine, chosen, lease.folder), chosen, SystemClock(),
        )  # fmt: skip
        made.append(resources)
        return resources

    yield make
    for resources in made:
        resources.engine.close()
        resources.lease.release()


@pytest.fixture
def resources(make_resources: Any) -> Resources:
    return make_resources()  # type: ignore[no-any-return] # the factory is untyped for pytest
