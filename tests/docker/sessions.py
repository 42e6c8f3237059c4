"""Whole pytest sessions in a folder and process of their own, and what they own in Docker."""

from __future__ import annotations

import os
import signal
import subprocess
import sys
from collections.abc import Mapping
from pathlib import Path
from typing import Any

from pytest_mindtrial.sandbox.ownership import OWNER_LABEL, ROLE_LABEL, SESSION_LABEL
from pytest_mindtrial.sandbox.removal import list_owned

_ONLY_OURS = {"PYTEST_DISABLE_PLUGIN_AUTOLOAD": "1", "PYTEST_ADDOPTS": "-p xdist -p mindtrial"}
"""Other plugins make a session half a second slower."""


class PytestSession:
    """Starts pytest on files that it writes first; the process can be interrupted and killed."""

    def __init__(self, folder: Path) -> None:
        self.folder = folder
        self.process: Any = None

    def __enter__(self) -> PytestSession:
        return self

    def __exit__(self, *exc: object) -> None:
        if self.process is not None and self.process.poll() is None:
            self.process.kill()
            self.process.communicate()

    def start(self, files: Mapping[str, str], *arguments: str, **environment: str) -> Any:
        for name, text in {"pytest.ini": "[pytest]\n", **files}.items():
            (self.folder / name).write_text(text, "utf-8")
        self.process = subprocess.Popen(
            [sys.executable, "-m", "pytest", "-p", "no:cacheprovider", *arguments],
            cwd=self.folder,
            env={**os.environ, **_ONLY_OURS, **environment},
            stdout=subprocess.PIPE,
            stderr=subprocess.STDOUT,
            text=True,
            # Children of a shell's background job ignore Ctrl-C.
            preexec_fn=lambda: signal.signal(signal.SIGINT, signal.SIG_DFL),  # noqa: PLW1509 # no threads are involved
        )
        return self.process

    def run(self, files: Mapping[str, str], *arguments: str, **environment: str) -> tuple[int, str]:
        output, _ = self.start(files, *arguments, **environment).communicate(timeout=120)
        return self.process.returncode, output

    def owned(self, client: Any) -> list[Any]:
        """Return what the process has in Docker."""
        ending = f":{self.process.pid}"
        return [each for each in list_owned(client, SESSION_LABEL) if each.labels[OWNER_LABEL].endswith(ending)]

    def has(self, client: Any, role: str) -> bool:
        """Tell whether the process has an object of a role."""
        return role in {each.labels[ROLE_LABEL] for each in self.owned(client)}
