"""A child process that cleans up when its owner dies without a chance to do so.

It waits on its standard input: a line means that the owner has cleaned up itself, end-of-file without a line means
that the owner is gone. Does nothing else and prints nothing. Source: spec docker 8 and 11.5.
"""

from __future__ import annotations

import os
import subprocess
import sys
import time
from pathlib import Path

from pytest_mindtrial.core.errors import SandboxError
from pytest_mindtrial.sandbox.ownership import SESSION_LABEL, remove_session_folder

__all__ = ["Watchdog", "main"]

_LATE_REQUEST_S = 2.0
_BUDGET_S = 15.0


class Watchdog:
    """The owner's side: starts the child and later tells it to go.

    Args:
        session: Session id whose objects the child removes.
        state_dir: Folder that holds the session's staged files.
    """

    def __init__(self, session: str, state_dir: Path) -> None:
        package_root = str(Path(__file__).resolve().parents[2])
        path = os.pathsep.join([package_root, *filter(None, sys.path)])
        self._process = subprocess.Popen(
            [sys.executable, "-m", "pytest_mindtrial.sandbox.watchdog", session, str(state_dir)],
            stdin=subprocess.PIPE,
            stdout=subprocess.DEVNULL,
            stderr=subprocess.DEVNULL,
            start_new_session=True,
            cwd="/",
            env={**os.environ, "PYTHONPATH": path},
        )

    @property
    def pid(self) -> int:
        """Process id of the child."""
        return self._process.pid

    def dismiss(self) -> None:
        """Tell the child that nothing is left to do, and wait for its end."""
        try:
            self._process.communicate(b"done\n", timeout=_BUDGET_S)
        except ValueError:
            return  # dismissed before
        except (BrokenPipeError, subprocess.TimeoutExpired):
            self._process.kill()
            self._process.wait()

    def abandon(self) -> None:
        """End without a word, so that the child removes what the owner could not."""
        if self._process.stdin is not None:
            self._process.stdin.close()
        # The child outlives us on purpose; without this, Python would warn about a running child at exit.
        self._process.returncode = 0


def main(arguments: list[str]) -> int:
    """Wait for the owner's end; arguments are the session id and the state folder."""
    session, state_dir = arguments
    if not sys.stdin.buffer.readline():
        clean_up(session, Path(state_dir))
    return 0


def clean_up(session: str, state_dir: Path, late_s: float = _LATE_REQUEST_S) -> None:
    """Remove everything of a session, once more after ``late_s`` for requests that were under way at its death."""
    from pytest_mindtrial.sandbox.connection import connect
    from pytest_mindtrial.sandbox.removal import remove_owned

    try:
        client = connect()
        for pause_s in (0.0, late_s):
            time.sleep(pause_s)
            remove_owned(client, f"{SESSION_LABEL}={session}", _BUDGET_S)
        client.close()
    except SandboxError:
        return  # no engine any more; the next session sweeps
    finally:
        remove_session_folder(state_dir, session)


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
