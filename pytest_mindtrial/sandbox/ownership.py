"""Who made a container, network or volume, and whether that session still lives.

Every object carries labels that name its session. A session holds an OS lock on a lease file; a lease that can be
locked belongs to a dead session. Where the lease is not visible (another user, another temporary directory) the
process id and its start mark decide, and objects of another host name only age. Does not talk to Docker.
Source: spec docker 8.
"""

from __future__ import annotations

import contextlib
import fcntl
import os
import secrets
import shutil
import socket
import tempfile
from collections.abc import Mapping
from datetime import UTC, datetime
from pathlib import Path

__all__ = [
    "ATTEMPT_LABEL",
    "CREATED_LABEL",
    "OWNER_LABEL",
    "OWNER_START_LABEL",
    "ROLE_LABEL",
    "SESSION_LABEL",
    "Lease",
    "default_state_dir",
    "is_orphan",
    "process_start",
    "remove_session_folder",
]

SESSION_LABEL = "pytest-mindtrial.session"
OWNER_LABEL = "pytest-mindtrial.owner"
OWNER_START_LABEL = "pytest-mindtrial.owner-start"
ATTEMPT_LABEL = "pytest-mindtrial.attempt"
ROLE_LABEL = "pytest-mindtrial.role"
CREATED_LABEL = "pytest-mindtrial.created"

_LEASE = "lease"


class Lease:
    """A session's proof of life and its private folder.

    Args:
        state_dir: Folder that holds one subfolder per session.

    Attributes:
        session: Random id of the session.
        folder: Private folder (mode 0700) for staged files.
    """

    def __init__(self, state_dir: Path) -> None:
        self.session = secrets.token_hex(8)
        self.folder = state_dir / self.session
        self.folder.mkdir(mode=0o700)
        self._owner = f"{socket.gethostname()}:{os.getpid()}"
        self._start = process_start(os.getpid())
        self._descriptor = os.open(self.folder / _LEASE, os.O_RDWR | os.O_CREAT | os.O_CLOEXEC, 0o600)
        fcntl.flock(self._descriptor, fcntl.LOCK_EX)

    def labels(self, role: str, attempt: str = "") -> dict[str, str]:
        """Return the labels of a new object; ``role`` is tool, service, validator, network or shared."""
        return {
            SESSION_LABEL: self.session,
            OWNER_LABEL: self._owner,
            OWNER_START_LABEL: self._start,
            ATTEMPT_LABEL: attempt,
            ROLE_LABEL: role,
            CREATED_LABEL: datetime.now(UTC).isoformat(timespec="seconds"),
        }

    def release(self) -> None:
        """Give up the lock and remove the folder; may be called twice."""
        if self._descriptor >= 0:
            shutil.rmtree(self.folder, ignore_errors=True)
            os.close(self._descriptor)
            self._descriptor = -1


def default_state_dir() -> Path:
    """Return the private folder of this user in the temporary directory; made when it is missing.

    A folder of that name that belongs to somebody else is not trusted: a fresh private one is used instead.
    """
    path = Path(tempfile.gettempdir()) / f"pytest-mindtrial-{os.getuid()}"
    with contextlib.suppress(FileExistsError):
        path.mkdir(mode=0o700)
    found = path.lstat()
    if path.is_symlink() or found.st_uid != os.getuid() or found.st_mode & 0o077:
        return Path(tempfile.mkdtemp(prefix="pytest-mindtrial-"))
    return path


def process_start(pid: int) -> str:
    """Return a mark that differs for two processes with one id; blank where the system does not tell."""
    try:
        fields = Path(f"/proc/{pid}/stat").read_text("utf-8", "replace").rpartition(")")[2].split()
    except OSError:
        return ""
    return fields[19]


def is_orphan(labels: Mapping[str, str], state_dir: Path, *, now: datetime, foreign_age_s: float) -> bool:
    """Tell whether an object's session is dead.

    Args:
        labels: The object's labels.
        state_dir: Where leases of this user lie.
        now: Present time with zone.
        foreign_age_s: Age from which an object of another host counts as dead.
    """
    host, _, pid = labels.get(OWNER_LABEL, "").rpartition(":")
    if host != socket.gethostname() or not pid.isdigit():
        return _age_s(labels.get(CREATED_LABEL, ""), now) > foreign_age_s
    locked = _is_locked(state_dir / labels.get(SESSION_LABEL, "?") / _LEASE)
    if locked is not None:
        return not locked
    return not _is_running(int(pid), labels.get(OWNER_START_LABEL, ""))


def remove_session_folder(state_dir: Path, session: str) -> None:
    """Remove what a dead session staged."""
    if session and session != ".." and Path(session).name == session:
        shutil.rmtree(state_dir / session, ignore_errors=True)


def _is_locked(lease: Path) -> bool | None:
    """Return whether somebody holds the lease; None when there is none to look at."""
    try:
        descriptor = os.open(lease, os.O_RDWR | os.O_CLOEXEC)
    except OSError:
        return None
    try:
        fcntl.flock(descriptor, fcntl.LOCK_EX | fcntl.LOCK_NB)
    except OSError:
        return True
    finally:
        os.close(descriptor)
    return False


def _is_running(pid: int, start: str) -> bool:
    if start:
        return process_start(pid) == start
    try:
        os.kill(pid, 0)
    except ProcessLookupError:
        return False
    except PermissionError:
        return True
    return True


def _age_s(created: str, now: datetime) -> float:
    """Return the age in seconds; 0 for an unreadable stamp, so that such an object is left alone."""
    try:
        return (now - datetime.fromisoformat(created)).total_seconds()
    except (ValueError, TypeError):
        return 0.0
