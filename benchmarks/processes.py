"""Child processes with their wall time, CPU time and peak memory, and the loopback service as one of them.

CPU is user plus system time of the child and its own children. It is the figure to judge by on a busy machine. Does
not interpret anything.
"""

from __future__ import annotations

import http.client
import json
import os
import resource
import subprocess
import sys
import time
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from types import TracebackType
from typing import Any

ROOT = Path(__file__).parents[1]

_NOT_OF_USERS = ("PYTHONDONTWRITEBYTECODE", "PYTHONUNBUFFERED", "PYTHONDEVMODE", "PYTHONTRACEMALLOC", "PYTEST_ADDOPTS")
"""Variables of developers' machines that would be measured too: without bytecode every start compiles every module."""


@dataclass(frozen=True, slots=True)
class Measured:
    """One finished process.

    Attributes:
        started: Monotonic instant of the start.
        ended: Monotonic instant of the end.
        rss_mb: Peak resident memory of the process itself.
    """

    started: float
    ended: float
    cpu_s: float
    rss_mb: float
    status: int
    output: str

    @property
    def wall_s(self) -> float:
        """Seconds from start to end."""
        return self.ended - self.started


def measure(command: Sequence[str], cwd: Path = ROOT, env: Mapping[str, str] | None = None) -> Measured:
    """Run a command to its end; its output goes to a file, so that no pipe slows it down."""
    own = {name: value for name, value in os.environ.items() if name not in _NOT_OF_USERS}
    out = cwd / ".benchmark-output"
    with out.open("wb") as stream:
        started = time.monotonic()
        process = subprocess.Popen(
            command, cwd=cwd, env={**own, **(env or {})}, stdout=stream, stderr=subprocess.STDOUT
        )
        _, status, usage = os.wait4(process.pid, 0)
        ended = time.monotonic()
    process.returncode = os.waitstatus_to_exitcode(status)
    text = out.read_text("utf-8", "replace")
    out.unlink()
    return Measured(started, ended, usage.ru_utime + usage.ru_stime, usage.ru_maxrss / 1024, process.returncode, text)


class Service:
    """The loopback service in its own process.

    Args:
        latency_s: Of every good reply.
        refuse_every: See `benchmarks.server.Server`.
        retry_after_s: See `benchmarks.server.Server`.
    """

    def __init__(self, latency_s: float = 0.0, refuse_every: int = 0, retry_after_s: float = 0.0) -> None:
        self._command = [sys.executable, "-m", "benchmarks.server", f"--latency={latency_s}"]
        self._command += [f"--refuse-every={refuse_every}", f"--retry-after={retry_after_s}"]

    def __enter__(self) -> Service:
        self._process = subprocess.Popen(
            self._command, cwd=ROOT, stdin=subprocess.PIPE, stdout=subprocess.PIPE, text=True
        )
        assert self._process.stdout is not None
        self.port = int(self._process.stdout.readline())
        return self

    def __exit__(self, kind: type[BaseException] | None, error: BaseException | None, tb: TracebackType | None) -> None:
        assert self._process.stdin is not None
        self._process.stdin.close()
        self._process.wait(10)

    @property
    def url(self) -> str:
        """Base URL for clients."""
        return f"http://127.0.0.1:{self.port}/v1"

    def stats(self) -> dict[str, Any]:
        """Return what the service saw since the last call."""
        connection = http.client.HTTPConnection("127.0.0.1", self.port, timeout=30)
        connection.request("GET", "/stats")
        found: dict[str, Any] = json.loads(connection.getresponse().read())
        connection.close()
        return found


def raise_file_limit() -> None:
    """Allow a thousand connections and more; children inherit it."""
    _, most = resource.getrlimit(resource.RLIMIT_NOFILE)
    resource.setrlimit(resource.RLIMIT_NOFILE, (min(most, 65_536) if most > 0 else 65_536, most))
