"""Getting files into a container: bind mounts of private copies, or an archive sent to a remote engine.

Every call gets fresh copies, so a tool may overwrite its files and the next call sees the originals. Does not know
tasks or tools. Source: spec docker 4.4.
"""

from __future__ import annotations

import io
import posixpath
import shutil
import tarfile
from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path

from pytest_mindtrial.sandbox.container import Mount

__all__ = ["StagedFile", "archive", "open_folder_archive", "remove_folder", "stage"]


@dataclass(frozen=True, slots=True)
class StagedFile:
    """A file as a container shall see it.

    Attributes:
        target: Absolute path in the container.
        data: Content.
        read_only: True = writes fail (bind mounts), or the mode alone says so (archives).
    """

    target: str
    data: bytes
    read_only: bool = False


def stage(folder: Path, files: Sequence[StagedFile]) -> list[Mount]:
    """Write files into a new private folder and return their mounts.

    The folder is closed to other users of the host (0700); the files are readable for every user of the container.
    """
    folder.mkdir(mode=0o700)
    mounts = []
    for index, file in enumerate(files):
        source = folder / str(index)
        source.write_bytes(file.data)
        source.chmod(0o644)
        mounts.append(Mount(file.target, str(source), read_only=file.read_only))
    return mounts


def remove_folder(folder: Path) -> None:
    """Remove a staged folder if it is there."""
    shutil.rmtree(folder, ignore_errors=True)


def archive(files: Sequence[StagedFile]) -> bytes:
    """Return a tar archive that puts the files in place when it is laid over ``/``."""
    buffer = io.BytesIO()
    with tarfile.open(fileobj=buffer, mode="w") as tar:
        for file in files:
            info = tarfile.TarInfo(file.target.lstrip("/"))
            info.size = len(file.data)
            info.mode = 0o444 if file.read_only else 0o644
            tar.addfile(info, io.BytesIO(file.data))
    return buffer.getvalue()


def open_folder_archive(target: str) -> bytes:
    """Return a tar archive that opens the folder ``target`` to every user (mode 1777)."""
    buffer = io.BytesIO()
    with tarfile.open(fileobj=buffer, mode="w") as tar:
        info = tarfile.TarInfo(posixpath.normpath(target).lstrip("/"))
        info.type = tarfile.DIRTYPE
        info.mode = 0o1777
        tar.addfile(info)
    return buffer.getvalue()
