"""Spec docker 3, 9, 10: which engine, and one clear message when it does not do."""

from __future__ import annotations

import sys
from pathlib import Path
from types import SimpleNamespace
from typing import Any

import pytest

import docker
from pytest_mindtrial.core.errors import SandboxSetupError
from pytest_mindtrial.sandbox.connection import EngineFailure, api_number, connect, translated


class Client(SimpleNamespace):
    def close(self) -> None:
        self.is_closed = True


@pytest.fixture
def answering(monkeypatch: pytest.MonkeyPatch) -> Client:
    """Have an engine of a chosen version at an address without a socket of this machine."""
    client = Client(api_version="1.41", is_closed=False)
    seen: dict[str, Any] = {}

    def from_env(**arguments: Any) -> Any:
        seen.update(arguments)
        return SimpleNamespace(api=client)

    client.seen = seen
    monkeypatch.setenv("DOCKER_HOST", "tcp://192.0.2.1:1")
    monkeypatch.delenv("DOCKER_API_VERSION", raising=False)
    monkeypatch.setattr(docker, "from_env", from_env)
    return client


@pytest.mark.parametrize("version", ["1.41", "1.44", "1.100", "2.0"])
def test_new_enough_engines_are_taken(answering: Client, version: str) -> None:
    answering.api_version = version
    assert connect() is answering
    assert answering.seen["version"] == "auto"


@pytest.mark.parametrize("version", ["1.40", "1.5", "0.99"])
def test_old_engines_are_refused_and_closed(answering: Client, version: str) -> None:
    answering.api_version = version
    with pytest.raises(SandboxSetupError) as caught:
        connect()
    assert str(caught.value) == (
        f"Docker Engine API {version} is too old; tools, services and custom validators need API 1.41 (Docker Engine"
        " 20.10) or newer"
    )
    assert answering.is_closed


def test_a_pinned_version_is_used(answering: Client, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("DOCKER_API_VERSION", "1.42")
    connect()
    assert answering.seen["version"] == "1.42"


def test_no_engine_is_one_message(answering: Client, monkeypatch: pytest.MonkeyPatch) -> None:
    def fail(**arguments: Any) -> Any:
        raise docker.errors.DockerException("refused")

    monkeypatch.setattr(docker, "from_env", fail)
    with pytest.raises(SandboxSetupError, match=r"no Docker engine answers at tcp://192\.0\.2\.1:1; .*\(refused\)"):
        connect()


@pytest.mark.parametrize("host", ["unix:///no/such.sock", ""])
def test_a_socket_without_listener_never_reaches_docker_py(
    answering: Client, monkeypatch: pytest.MonkeyPatch, tmp_path: Path, host: str
) -> None:
    monkeypatch.setenv("DOCKER_HOST", host)
    monkeypatch.setenv("HOME", str(tmp_path))
    monkeypatch.setattr("pytest_mindtrial.sandbox.connection._DEFAULT_HOST", "unix:///no/such.sock")
    with pytest.raises(SandboxSetupError, match=r"no Docker engine answers at (unix|the default address)"):
        connect()
    assert answering.seen == {}


def test_a_context_of_the_docker_command_is_left_to_docker_py(
    answering: Client, monkeypatch: pytest.MonkeyPatch, tmp_path: Path
) -> None:
    monkeypatch.delenv("DOCKER_HOST")
    monkeypatch.setenv("HOME", str(tmp_path))
    (tmp_path / ".docker").mkdir()
    assert connect() is answering


def test_without_docker_py_the_package_is_named(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setitem(sys.modules, "docker", None)
    with pytest.raises(SandboxSetupError, match="need the Python package 'docker'"):
        connect()


def test_failures_are_translated(error: Any) -> None:
    with pytest.raises(EngineFailure) as caught, translated("do it"):
        raise error(500, " broken ")
    assert str(caught.value) == "the Docker engine could not do it: broken"
    assert (caught.value.status, caught.value.is_engine_fault) == (500, True)
    with pytest.raises(EngineFailure) as caught, translated("do it"):
        raise error(404, "")
    assert caught.value.is_engine_fault is False
    with pytest.raises(EngineFailure) as caught, translated("do it"):
        raise OSError("gone")
    assert (caught.value.status, caught.value.is_engine_fault) == (None, True)
    with pytest.raises(KeyError), translated("do it"):
        raise KeyError("ours")


def test_versions_compare_as_numbers() -> None:
    assert api_number("1.9") < api_number("1.41") < api_number("1.100")
