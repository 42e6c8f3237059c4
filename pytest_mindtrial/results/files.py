"""Write a report file so that a reader sees the old content or the new content, never a part of it.

Does not choose names and does not render. An earlier file stays untouched until the new one is complete on disk.
Source: design D7; spec mindtrial 10, W6; spec pytest 6.
"""

from __future__ import annotations

import os
import tempfile
from collections.abc import Iterable
from contextlib import suppress
from pathlib import Path

from pytest_mindtrial.core.errors import UserError

__all__ = ["write_atomically"]


def write_atomically(path: Path, text: str | Iterable[str]) -> None:
    """Replace a file's content as a whole; parent directories are created.

    Args:
        path: Target. A symbolic link is followed, so that the link stays.
        text: Content, whole or in pieces, written as UTF-8 without newline translation; lone surrogates become ``?``.

    Raises:
        UserError: The directory or file cannot be written; the earlier content is still there.
    """
    target = Path(os.path.realpath(path))
    try:
        target.parent.mkdir(parents=True, exist_ok=True)
        _replace(target, [text] if isinstance(text, str) else text)
    except OSError as error:
        reason = error.strerror or str(error)
        raise UserError(f"cannot write {path}: {reason}; the file's earlier content, if any, is unchanged") from error


def _replace(target: Path, pieces: Iterable[str]) -> None:
    handle, name = tempfile.mkstemp(prefix=f".{target.name}.", suffix=".tmp", dir=target.parent)
    try:
        with os.fdopen(handle, "wb") as stream:
            for piece in pieces:
                stream.write(piece.encode("utf-8", "replace"))
            stream.flush()
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
