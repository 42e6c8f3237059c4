"""Write a report file so that a reader sees the old content or the new content, never a part of it.

Does not choose names and does not render. An earlier file stays untouched until the new one is complete on disk.
Source: design D7; spec mindtrial 10, W6; spec pytest 6.
"""

from __future__ import annotations

import os
import stat
import tempfile
from collections.abc import Iterable
from contextlib import suppress
from pathlib import Path
from typing import BinaryIO

from pytest_mindtrial.core.errors import UserError

__all__ = ["write_atomically"]


def write_atomically(path: Path, text: str | Iterable[str]) -> None:
    """Replace a file's content as a whole; parent directories are created.

    Args:
        path: Target. A symbolic link is followed, so that the link stays; a device or a pipe, such as /dev/stdout, is
            written into.
        text: Content, whole or in pieces, written as UTF-8 without newline translation; lone surrogates become ``?``.

    Raises:
        UserError: The directory or file cannot be written; the earlier content is still there.
    """
    target = Path(os.path.realpath(path))
    pieces = [text] if isinstance(text, str) else text
    try:
        if _is_special(path):
            with path.open("wb") as stream:
                _write(stream, pieces)
            return
        target.parent.mkdir(parents=True, exist_ok=True)
        _replace(target, pieces)
    except OSError as error:
        reason = error.strerror or str(error)
        raise UserError(f"cannot write {path}: {reason}; the file's earlier content, if any, is unchanged") from error


def _is_special(path: Path) -> bool:
    """True for what must not be replaced by a file: devices, pipes, sockets; root could do that."""
    try:
        mode = path.stat().st_mode
    except OSError:
        return False
    return not (stat.S_ISREG(mode) or stat.S_ISDIR(mode))


def _write(stream: BinaryIO, pieces: Iterable[str]) -> None:
    for piece in pieces:
        stream.write(piece.encode("utf-8", "replace"))
    stream.flush()


def _replace(target: Path, pieces: Iterable[str]) -> None:
    handle, name = tempfile.mkstemp(prefix=f".{target.name}.", suffix=".tmp", dir=target.parent)
    try:
        with os.fdopen(handle, "wb") as stream:
            _write(stream, pieces)
            os.fchmod(stream.fileno(), _file_mode(target))
            os.fsync(stream.fileno())
        os.replace(name, target)
    except BaseException:
        with suppress(OSError):
            os.unlink(name)
        raise
    _sync_directory(target.parent)


def _file_mode(target: Path) -> int:
    # mkstemp makes 0600; a report keeps the mode it had, or gets what a plain open() would have given it.
    with suppress(OSError):
        return target.stat().st_mode & 0o777
    mask = os.umask(0)
    os.umask(mask)
    return 0o666 & ~mask


def _sync_directory(directory: Path) -> None:
    # Makes the rename itself durable; file systems that cannot do this lose nothing but that guarantee.
    with suppress(OSError):
        handle = os.open(directory, os.O_RDONLY)
        try:
            os.fsync(handle)
        finally:
            os.close(handle)
