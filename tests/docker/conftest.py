"""Fixtures of the tests that need a Docker engine: images, definitions, hubs, and a check that nothing is left."""

from __future__ import annotations

import asyncio
import contextlib
import gc
import importlib.util
import json
import os
import threading
import time
from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field, replace
from pathlib import Path
from types import ModuleType
from typing import Any

import pytest

from pytest_mindtrial.core.values import ToolCall, ToolResult
from pytest_mindtrial.sandbox import resources
from pytest_mindtrial.sandbox.connection import connect
from pytest_mindtrial.sandbox.hub import SandboxHub
from pytest_mindtrial.sandbox.ownership import SESSION_LABEL
from pytest_mindtrial.sandbox.removal import list_owned
from pytest_mindtrial.sandbox.session import AttemptSandbox
from pytest_mindtrial.sandbox.settings import SandboxSettings
from pytest_mindtrial.suite.model import (
    Config,
    ContainerLimits,
    Dependency,
    Rules,
    Run,
    Service,
    Task,
    Tool,
    ToolSelection,
    ValidatorDefinition,
)

ROOT = Path(__file__).parents[2]
BASE = "mindtrial-test/base:latest"
PYTHON = "mindtrial-test/python:latest"
COUNTER = "mindtrial-test/counter:latest"
AWKWARD = "mindtrial-test/awkward:latest"
RUN = Run("run-1", "mock", "scripted")


def pytest_collection_modifyitems(items: list[pytest.Item]) -> None:
    for item in items:
        if item.path.is_relative_to(Path(__file__).parent):
            item.add_marker(pytest.mark.docker)


def _builder() -> ModuleType:
    spec = importlib.util.spec_from_file_location("build_images", ROOT / "scripts/build_images.py")
    assert spec is not None
    assert spec.loader is not None
    module = importlib.util.module_from_spec(spec)
    spec.loader.exec_module(module)
    return module


@pytest.fixture(scope="session")
def build() -> Iterator[Callable[[Path], str]]:
    """Return what builds the image of a folder."""
    import docker

    connect().close()  # one clear message when there is no engine
    client = docker.from_env()
    builder = _builder()
    yield lambda folder: str(builder.build_folder(client, folder))
    client.close()


@pytest.fixture(scope="session")
def images(build: Callable[[Path], str]) -> None:
    """Have the images of ``tests/docker/images`` and their bases."""
    for folder in sorted((ROOT / "tests/docker/images").iterdir()):
        build(folder)


@pytest.fixture(scope="session")
def client(images: None) -> Iterator[Any]:
    """Return a low-level client of its own."""
    found = connect()
    yield found
    found.close()


@dataclass
class Lab:
    """Definitions by keyword, and hubs that are checked and closed at the end of the test."""

    state_dir: Path
    hubs: list[SandboxHub] = field(default_factory=list)

    def hub(self, config: Config, **settings: Any) -> SandboxHub:
        hub = SandboxHub(config, SandboxSettings(state_dir=self.state_dir, **settings))
        self.hubs.append(hub)
        return hub

    def shell(self, code: str, **fields: Any) -> Tool:
        """Return a tool named ``sh`` that runs shell code."""
        return self.tool(command=("/bin/sh", "-c", code), **fields)

    def tool(self, name: str = "sh", **fields: Any) -> Tool:
        return Tool(**{"name": name, "image": BASE, "description": "d", "parameters": {}, **fields})

    def counter(self, name: str = "counter", **fields: Any) -> Service:
        """Return a service that is ready when it answers."""
        check = ("python", "-c", "import urllib.request as u; u.urlopen('http://127.0.0.1:8080/').close()")
        return Service(
            **{"name": name, "image": COUNTER, "port": 8080, "command": ("counter",), "healthcheck": check, **fields}
        )

    def client(self, name: str = "get", *services: str, **fields: Any) -> Tool:
        """Return a tool that fetches the path in its argument from the first of its services."""
        code = (
            "import os, urllib.request as u\n"
            "print(u.urlopen(os.environ['URL_0'] + open('/in/path').read(), timeout=5).read().decode())"
        )
        dependencies = tuple(
            Dependency(service, {f"URL_{index}": "{{ .Endpoint }}"})
            for index, service in enumerate(services or ("counter",))
        )
        return self.tool(
            name,
            image=PYTHON,
            command=("python", "-c", code),
            parameter_files={"path": "/in/path"},
            dependencies=dependencies,
            **fields,
        )

    def validator(self, code: str, **fields: Any) -> ValidatorDefinition:
        """Return a validator named ``check`` that runs shell code."""
        return ValidatorDefinition(**{"name": "check", "image": BASE, "command": ("/bin/sh", "-c", code), **fields})

    def config(self, *definitions: Any, **fields: Any) -> Config:
        return Config(
            Path("config.yaml"),
            (),
            tools=tuple(each for each in definitions if isinstance(each, Tool)),
            services=tuple(each for each in definitions if isinstance(each, Service)),
            validators=tuple(each for each in definitions if isinstance(each, ValidatorDefinition)),
            **fields,
        )

    def task(self, config: Config, **fields: Any) -> Task:
        """Return a task with all tools of the configuration, and its validator if there is one."""
        limits = {"max_calls": fields.pop("max_calls", None), "limits": fields.pop("limits", ContainerLimits())}
        rules = Rules(custom_validator=config.validators[0].name) if config.validators else Rules()
        task = Task(
            "task-a", "prompt", "format", tools=tuple(ToolSelection(tool.name, **limits) for tool in config.tools),
            rules=rules,
        )  # fmt: skip
        return replace(task, **fields)

    async def open(
        self, config: Config, hub: SandboxHub | None = None, contents: Mapping[str, bytes] | None = None, **fields: Any
    ) -> AttemptSandbox:
        """Open an attempt; ``fields`` are those of the task, ``max_calls`` and ``limits`` those of its tools."""
        hub = hub or self.hub(config)
        return await hub.open(self.task(config, **fields), RUN, "provider-1", "eval-seed", contents or {})

    async def call(self, sandbox: AttemptSandbox, name: str, arguments: Any = None, turn: int = 1) -> ToolResult:
        """Call a tool; ``arguments`` is a text as the model wrote it, or a value."""
        text = arguments if isinstance(arguments, str) else json.dumps(arguments)
        return await sandbox.call(ToolCall("call-1", name, text), turn)

    def run(self, config: Config, calls: Sequence[tuple[str, Any]], **fields: Any) -> tuple[list[str], AttemptSandbox]:
        """Make calls in one attempt and return the texts for the model."""

        async def work() -> tuple[list[str], AttemptSandbox]:
            sandbox = await self.open(config, **fields)
            try:
                return [(await self.call(sandbox, name, arguments)).content for name, arguments in calls], sandbox
            finally:
                await sandbox.close()

        return asyncio.run(work())

    def call_once(self, tool: Tool, arguments: Any = None, **fields: Any) -> tuple[str, AttemptSandbox]:
        """Call one tool once in an attempt of its own."""
        (text,), sandbox = self.run(self.config(tool), [(tool.name, arguments)], **fields)
        return text, sandbox


class NoWatchdog:
    """Stands in for the child process, of which one for each test would cost more than the test."""

    def __init__(self, session: str, state_dir: Path) -> None:
        self.pid = 0

    def dismiss(self) -> None:
        return

    def abandon(self) -> None:
        return


@pytest.fixture
def watchdog() -> Any:
    """Return the kind of watchdog that hubs of this process start; tests of what it does override this."""
    return NoWatchdog


@pytest.fixture
def lab(client: Any, tmp_path: Path, watchdog: Any, monkeypatch: pytest.MonkeyPatch) -> Iterator[Lab]:
    """Return a lab; afterwards nothing of its hubs may be left, before their end and after it."""
    monkeypatch.setattr(resources, "Watchdog", watchdog)
    state_dir = tmp_path / "state"
    state_dir.mkdir()
    client.close()  # drops idle connections only; it connects again when it is used
    threads, descriptors = _threads(), _descriptors()
    lab = Lab(state_dir)
    yield lab
    sessions = [hub.session for hub in lab.hubs if hub.session]
    left = [str(each) for session in sessions for each in list_owned(client, f"{SESSION_LABEL}={session}")]
    staged = [str(path) for session in sessions for path in (state_dir / session).iterdir() if path.name != "lease"]
    problems = [problem for hub in lab.hubs for problem in hub.close()]
    assert (left, staged, problems) == ([], [], [])
    assert list(state_dir.iterdir()) == []
    assert wait_until(lambda: _threads() <= threads), _threads() - threads
    client.close()
    if _descriptors().items() - descriptors.items():
        gc.collect()  # a tenth of a second, and rarely needed
    assert _descriptors().items() - descriptors.items() == set()


def wait_until(is_true: Callable[[], bool], seconds: float = 10.0) -> bool:
    """Poll a condition that another process or thread brings about."""
    deadline = time.monotonic() + seconds
    while not is_true():
        if time.monotonic() > deadline:
            return False
        time.sleep(0.02)
    return True


def _threads() -> set[str]:
    return {thread.name for thread in threading.enumerate() if thread.name.startswith("mt-docker")}


def _descriptors() -> dict[str, str]:
    found = {}
    for name in os.listdir("/proc/self/fd"):
        with contextlib.suppress(OSError):  # the descriptor of the listing itself
            found[name] = os.readlink(f"/proc/self/fd/{name}")
    return found
