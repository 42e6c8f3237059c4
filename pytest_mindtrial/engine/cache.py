"""The response cache: replies on disk, found by everything that was sent.

The name of a file is the digest of endpoint, path, headers without credentials, body, the version of how replies are
put together, and the attempt's repeat index, so that repeats never share a reply. What may be kept is decided by the
callers: errors never get here. Safe between processes: a file appears whole or not at all, and two writers of one
request write equal things. A damaged file counts as absent and is noted. No key is ever written: a reply that repeats
one is not kept. Does not expire anything. Source: issue "The engine at scale and under faults"; field pain 19.
"""

from __future__ import annotations

import hashlib
import json
import os
import tempfile
import threading
from collections.abc import Callable, Iterator, Mapping
from contextlib import suppress
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any, Literal, Protocol

from pytest_mindtrial.core.errors import TransportError, UserError
from pytest_mindtrial.engine.threads import in_thread

__all__ = ["CacheMode", "CachedReply", "ResponseCache"]

CacheMode = Literal["read-write", "read-only", "refresh"]
"""Read and add; only read, a missing reply being an error; send everything and replace what is stored."""

_VERSION = 1


class _Reply(Protocol):
    status: int
    json: Mapping[str, Any]
    request_id: str | None
    duration_ns: int
    first_byte_ns: int


@dataclass(frozen=True, slots=True)
class CachedReply:
    """A stored reply, in the shape of `providers.transport.Reply`; times are those of the request that was sent."""

    status: int
    json: Mapping[str, Any]
    request_id: str | None = None
    duration_ns: int = 0
    first_byte_ns: int = 0
    headers: Mapping[str, str] = field(default_factory=dict)


class ResponseCache:
    """Implements `engine.requests.ReplyCache` in a directory.

    Args:
        directory: Made when missing, unless the mode is read-only.
        mode: How it is used.
        redact: Masks every known key; a reply that it changes is not kept.

    Attributes:
        notes: What went wrong with single entries, for people; a cache that cannot be written stops nothing.

    Raises:
        UserError: The directory cannot be made or read.
    """

    def __init__(
        self, directory: Path, mode: CacheMode = "read-write", redact: Callable[[str], str] = lambda text: text
    ) -> None:
        self._directory = directory
        self._mode = mode
        self._redact = redact
        self._lock = threading.Lock()
        self._damaged: list[Path] = []
        self._write_problem = ""
        try:
            if not self.is_read_only:
                directory.mkdir(parents=True, exist_ok=True)
            os.scandir(directory).close()
        except OSError as error:
            raise UserError(f"--mt-cache: {directory} cannot be used: {error.strerror or error}") from error

    @property
    def is_read_only(self) -> bool:
        """True when nothing may be sent, so that no key is needed."""
        return self._mode == "read-only"

    @property
    def notes(self) -> list[str]:
        """Return one sentence on damaged entries and one on trouble with writing, where there were any."""
        lines = []
        if self._damaged:
            count = len(self._damaged)
            what = "1 damaged entry was" if count == 1 else f"{count} damaged entries were"
            lines.append(f"response cache: {what} ignored: {self._damaged[0]}")
        if self._write_problem:
            lines.append(f"response cache: replies could not be kept: {self._write_problem}")
        return lines

    async def get(self, key: Mapping[str, Any]) -> CachedReply | None:
        """Return the stored reply of an equal request, or None.

        Raises:
            TransportError: There is none and nothing may be sent.
        """
        if self._mode == "refresh":
            return None
        found = await in_thread(lambda: self._read(self._path(key)))
        if found is None and self.is_read_only:
            raise TransportError(
                f"the reply is not in the response cache {self._directory}, and in read-only mode nothing is sent",
                transient=False,
                cause="cache-miss",
            )
        return found

    async def put(self, key: Mapping[str, Any], reply: _Reply) -> None:
        """Keep a good reply."""
        if not self.is_read_only:
            await in_thread(lambda: self._write(key, reply))

    def _path(self, key: Mapping[str, Any]) -> Path:
        # The order of keys in a body is part of it: a model sees a schema's properties in the order they were sent.
        digest = hashlib.sha256(json.dumps(key, separators=(",", ":")).encode()).hexdigest()
        return self._directory / digest[:2] / f"{digest}.json"

    def _read(self, path: Path) -> CachedReply | None:
        try:
            entry = json.loads(path.read_bytes())
            reply = entry["reply"]
            if entry["v"] != _VERSION or entry["sha256"] != _checksum(json.dumps(reply)):
                raise ValueError("checksum")
            return CachedReply(**reply)
        except FileNotFoundError:
            return None
        except (OSError, ValueError, LookupError, TypeError, RecursionError):
            with self._lock:
                self._damaged.append(path)
            return None

    def _write(self, key: Mapping[str, Any], reply: _Reply) -> None:
        stored = {
            "status": reply.status,
            "json": reply.json,
            "request_id": reply.request_id,
            "duration_ns": reply.duration_ns,
            "first_byte_ns": reply.first_byte_ns,
        }
        text = json.dumps(stored)
        request = {name: key.get(name) for name in ("host", "path", "repeat")}
        request["model"] = key.get("body", {}).get("model")
        head = {"v": _VERSION, "request": request, "sha256": _checksum(text)}
        entry = f'{json.dumps(head)[:-1]}, "reply": {text}}}\n'
        # Text by text: a secret with a quotation mark looks different once it is JSON.
        if any(self._redact(written) != written for written in _texts([request, stored])):
            return
        try:
            _replace(self._path(key), entry.encode())
        except OSError as error:
            with self._lock:
                self._write_problem = self._write_problem or f"{self._directory}: {error.strerror or error}"


def _texts(value: Any) -> Iterator[str]:
    if isinstance(value, str):
        yield value
    elif isinstance(value, Mapping):
        for key, item in value.items():
            yield str(key)
            yield from _texts(item)
    elif isinstance(value, list):
        for item in value:
            yield from _texts(item)


def _checksum(text: str) -> str:
    return hashlib.sha256(text.encode()).hexdigest()


def _replace(path: Path, data: bytes) -> None:
    """Write a file so that readers see all of it or nothing; after a power cut the checksum tells."""
    path.parent.mkdir(exist_ok=True)
    handle, name = tempfile.mkstemp(prefix=".", suffix=".tmp", dir=path.parent)
    try:
        with os.fdopen(handle, "wb") as stream:
            stream.write(data)
        os.replace(name, path)
    except BaseException:
        with suppress(OSError):
            os.unlink(name)
        raise
