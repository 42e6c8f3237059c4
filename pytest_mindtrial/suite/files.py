"""Attached files: content, type, digest and the name sent with documents.

Each file is read or fetched at most once per process. Knows no HTTP: the download is given as a callable. Source: spec
mindtrial 2.7; providers 3.1.
"""

from __future__ import annotations

import hashlib
import os
import stat
import threading
from collections.abc import Callable
from dataclasses import dataclass, field
from pathlib import Path
from typing import TypeAlias

from pytest_mindtrial.core.errors import ProviderError, TaskError, TransportError
from pytest_mindtrial.suite.mime import extension_for, mime_for_name, normalise_mime, sniff_mime
from pytest_mindtrial.suite.model import FileRef
from pytest_mindtrial.suite.uris import parse_uri

__all__ = ["FETCH_TIMEOUT_S", "MAX_FILE_BYTES", "Fetch", "FileContent", "FileStore", "check_local", "local_path"]

FETCH_TIMEOUT_S = 60.0
"""Deadline of a download; the callable that downloads keeps to it."""

MAX_FILE_BYTES = 64 * 1024 * 1024
"""Largest file that is taken, local or remote."""

Fetch: TypeAlias = Callable[[str], bytes]
"""Downloads a URL: status 200 only, within `FETCH_TIMEOUT_S`, at most `MAX_FILE_BYTES`; raises `ProviderError`."""


@dataclass(frozen=True, slots=True)
class FileContent:
    """A file as it was loaded.

    Attributes:
        data: The bytes.
        mime: Type in normal form: no parameters, lower case, ``image/jpeg`` for ``image/jpg``.
        filename: Name with an extension where one is known, for document parts.
        sha256: Digest of the bytes, hexadecimal.
    """

    data: bytes = field(repr=False)
    mime: str
    filename: str
    sha256: str


@dataclass(slots=True)
class _Entry:
    """What is known of one place; ``lock`` is held while it is being loaded."""

    lock: threading.Lock = field(default_factory=threading.Lock)
    data: bytes | None = None
    sha256: str = ""
    failure: TransportError | None = None


class FileStore:
    """Loads files; safe to use from several threads. ``load`` blocks, so call it off an event loop.

    Args:
        fetch: Downloads remote files; None = remote files are refused.
    """

    def __init__(self, fetch: Fetch | None = None) -> None:
        self._fetch = fetch
        self._entries: dict[str, _Entry] = {}
        self._lock = threading.Lock()

    def load(self, file: FileRef) -> FileContent:
        """Return a file's content.

        Raises:
            TaskError: A local file is missing, unreadable, a directory or too large.
            TransportError: A remote file did not come. A permanent failure is remembered, others are tried again.
        """
        uri = parse_uri(file.uri)
        place = uri.target if uri.is_remote else str(local_path(file))
        with self._lock:
            entry = self._entries.setdefault(place, _Entry())
        with entry.lock:
            if entry.failure is not None:
                raise entry.failure
            if entry.data is None:
                data = self._download(file, place, entry) if uri.is_remote else _read(file)
                entry.sha256 = hashlib.sha256(data).hexdigest()
                entry.data = data
            mime = self.infer_mime(file) or sniff_mime(entry.data)
            return FileContent(entry.data, mime, _filename(file, uri.path, mime), entry.sha256)

    def infer_mime(self, file: FileRef) -> str:
        """Return the type without loading: as written, else by extension; blank when only the content can tell."""
        return normalise_mime(file.type) or mime_for_name(parse_uri(file.uri).path)

    def _download(self, file: FileRef, url: str, entry: _Entry) -> bytes:
        shown = url.partition("?")[0]
        if self._fetch is None:
            raise TransportError(f"file {file.name!r}: remote files cannot be fetched here: {shown}", transient=False)
        try:
            data = self._fetch(url)
        except ProviderError as cause:
            message = f"file {file.name!r} could not be fetched from {shown}: {cause}"
            error = TransportError(message, transient=cause.transient, cause=cause.cause, status=cause.status)
            if cause.transient is False:
                entry.failure = error
            raise error from cause
        if len(data) > MAX_FILE_BYTES:
            entry.failure = TransportError(
                f"file {file.name!r} from {shown} is larger than {MAX_FILE_BYTES // 1024**2} MiB", transient=False
            )
            raise entry.failure
        return data


def local_path(file: FileRef) -> Path | None:
    """Return where a local file is, or None for a remote one."""
    uri = parse_uri(file.uri)
    return None if uri.is_remote else file.base_dir / uri.target


def check_local(file: FileRef) -> str | None:
    """Return why a local file cannot be read, or None; remote files are not looked at."""
    path = local_path(file)
    if path is None:
        return None
    try:
        info = path.stat()
    except PermissionError:
        return f"file is not accessible: permission denied: {path}"
    except (OSError, ValueError):
        return f"file is not accessible: file does not exist: {path}"
    if stat.S_ISDIR(info.st_mode):
        return f"file is not accessible: path is a directory, not a file: {path}"
    if not stat.S_ISREG(info.st_mode):
        return f"file is not accessible: path is not a regular file: {path}"
    if not os.access(path, os.R_OK):
        return f"file is not accessible: permission denied: {path}"
    if info.st_size > MAX_FILE_BYTES:
        return f"file is larger than {MAX_FILE_BYTES // 1024**2} MiB: {path}"
    return None


def _read(file: FileRef) -> bytes:
    problem = check_local(file)
    path = local_path(file)
    if problem is None and path is not None:
        try:
            return path.read_bytes()
        except OSError as cause:
            problem = f"file is not accessible: {cause.strerror}: {path}"
    raise TaskError(f"file {file.name!r}: {problem}", file.position)


def _filename(file: FileRef, uri_path: str, mime: str) -> str:
    """Return the name, with the URI's or the type's extension where it has none itself."""
    if os.path.splitext(file.name)[1]:
        return file.name
    return file.name + (os.path.splitext(uri_path)[1] or extension_for(mime))
