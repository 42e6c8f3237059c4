"""Options that need or exclude each other; every mistake is one sentence before anything is read or sent.

Does not know how options are written (``plugin/options.py``).
"""

from __future__ import annotations

from collections.abc import Mapping
from pathlib import Path
from typing import Any

import pytest

__all__ = ["check_combinations", "check_one_process"]

_CACHE_MODES = ("read-only", "read-write", "refresh")


def check_combinations(values: Mapping[str, Any]) -> None:
    """Look at the effective values of all options, by ini key.

    Raises:
        pytest.UsageError: Two of them do not go together, or a journal is not there.
    """
    resume, regrade, plan = values["mt_resume"], values["mt_regrade"], values["mt_plan"]
    if resume and regrade:
        raise pytest.UsageError("--mt-resume and --mt-regrade cannot be used together: the second sends nothing")
    if values["mt_explain"] and not resume:
        raise pytest.UsageError("--mt-explain needs --mt-resume=JOURNAL")
    if values["mt_rerun"] != "error" and not resume:
        raise pytest.UsageError("--mt-rerun needs --mt-resume=JOURNAL")
    if values["mt_regrade_judges"] and not regrade:
        raise pytest.UsageError("--mt-regrade-judges needs --mt-regrade=JOURNAL")
    for name, path in (("resume", resume), ("regrade", regrade), ("plan", plan)):
        if isinstance(path, Path):
            _check_journal(f"--mt-{name}", path)
    _check_cache(values["mt_cache"], values["mt_cache_mode"])


def check_one_process(config: pytest.Config, values: Mapping[str, Any]) -> None:
    """Refuse what needs the whole session in one process when xdist is to spread it.

    Raises:
        pytest.UsageError: An option cannot work there.
    """
    if not (config.getoption("numprocesses", None) or config.getoption("tx", None)) or hasattr(config, "workerinput"):
        return
    if values["mt_plan"] is not None:
        raise pytest.UsageError("--mt-plan plans in one process; leave out -n")


def _check_journal(option: str, path: Path) -> None:
    if path.suffix in (".yaml", ".yml"):
        raise pytest.UsageError(f"{option}: {path.name} is a task file, not a journal; write {option}=JOURNAL")
    if not path.is_file():
        raise pytest.UsageError(f"{option}: {path}: there is no such file")


def _check_cache(directory: Path | None, mode: str) -> None:
    if directory is None:
        if mode != "read-write":
            raise pytest.UsageError(f"--mt-cache-mode={mode} needs --mt-cache=DIR")
        return
    if directory.name in _CACHE_MODES and not directory.exists():
        name = directory.name
        raise pytest.UsageError(
            f"--mt-cache takes a directory, found {name!r}; write --mt-cache=DIR --mt-cache-mode={name}"
        )
    if mode == "read-only" and not directory.is_dir():
        raise pytest.UsageError(f"--mt-cache: {directory}: there is no such directory, and read-only makes none")
