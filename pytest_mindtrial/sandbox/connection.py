"""Connecting to the Docker engine, and telling its failures in our words.

docker-py is imported here on first use; it costs 0.2–0.4 s. Does not start an engine. Source: spec docker 3, 9, 10.
"""

from __future__ import annotations

import os
import socket
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Any

from pytest_mindtrial.core.errors import SandboxRuntimeError, SandboxSetupError

__all__ = ["MINIMUM_API", "EngineFailure", "api_number", "connect", "translated"]

MINIMUM_API = "1.41"
"""Docker Engine 20.10."""

_DEFAULT_HOST = "unix:///var/run/docker.sock"
_TIMEOUT_S = 120
_POOL_SIZE = 16  # docker-py makes one pool for each URL, so few requests ever share one


class EngineFailure(SandboxRuntimeError):
    """The engine refused a request or did not answer.

    Args:
        action: What was asked, as in "the Docker engine could not ACTION".
        status: HTTP status; None when no reply came.
        explanation: The engine's words; may hold host paths, so it is never shown to a model.
    """

    def __init__(self, action: str, status: int | None, explanation: str) -> None:
        super().__init__(f"the Docker engine could not {action}: {explanation}")
        self.status = status
        self.explanation = explanation

    @property
    def is_engine_fault(self) -> bool:
        """True when the same request may succeed a moment later."""
        return self.status is None or self.status >= 500


def connect() -> Any:
    """Return a low-level docker-py client for the engine that the environment names.

    ``DOCKER_HOST``, ``DOCKER_TLS_VERIFY``, ``DOCKER_CERT_PATH`` and ``DOCKER_API_VERSION`` count; without
    ``DOCKER_HOST`` the context of the docker command (with a docker-py that knows contexts).

    Raises:
        SandboxSetupError: docker-py is missing, no engine answers, or the engine is too old.
    """
    try:
        import docker
    except ImportError as error:
        raise SandboxSetupError("tools, services and custom validators need the Python package 'docker'") from error
    pinned = os.environ.get("DOCKER_API_VERSION") or None
    _require_socket()
    try:
        client = docker.from_env(version=pinned or "auto", timeout=_TIMEOUT_S, max_pool_size=_POOL_SIZE).api
    except docker.errors.DockerException as error:
        raise SandboxSetupError(_unreachable(error)) from error
    found = str(client.api_version)
    if api_number(found) < api_number(MINIMUM_API):
        client.close()
        source = " (set by DOCKER_API_VERSION)" if pinned else ""
        raise SandboxSetupError(
            f"Docker Engine API {found}{source} is too old; tools, services and custom validators need API"
            f" {MINIMUM_API} (Docker Engine 20.10) or newer"
        )
    return client


def api_number(version: str) -> tuple[int, ...]:
    """Return an API version as numbers that compare."""
    return tuple(int(part) for part in version.split(".") if part.isdigit())


def _require_socket() -> None:
    """Look whether somebody listens, where that is a socket of this machine.

    docker-py leaves its socket open when it cannot connect, which users who turn warnings into errors would see as a
    failure of some other test.

    Raises:
        SandboxSetupError: Nobody does.
    """
    host = os.environ.get("DOCKER_HOST") or (_DEFAULT_HOST if not Path("~/.docker").expanduser().exists() else "")
    if not host.startswith("unix://"):
        return
    with socket.socket(socket.AF_UNIX) as probe:
        try:
            probe.connect(host.removeprefix("unix://"))
        except OSError as error:
            raise SandboxSetupError(_unreachable(error)) from error


def _unreachable(error: Exception) -> str:
    where = os.environ.get("DOCKER_HOST") or "the default address"
    return (
        f"no Docker engine answers at {where}; tools, services and custom validators need one. Start Docker, or set"
        f" DOCKER_HOST. ({error})"
    )


@contextmanager
def translated(action: str) -> Iterator[None]:
    """Turn docker-py's and the transport's exceptions into `EngineFailure`."""
    from docker.errors import APIError, DockerException
    from requests.exceptions import RequestException

    try:
        yield
    except APIError as error:
        raise EngineFailure(action, error.status_code, str(error.explanation or error).strip()) from error
    except (DockerException, RequestException, OSError) as error:
        raise EngineFailure(action, None, str(error)) from error
