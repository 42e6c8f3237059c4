"""Removing what dead sessions left behind.

Runs when a hub first uses the engine and as a command. Never touches objects of a live session, nor objects without
our labels. Source: spec docker 8.
"""

from __future__ import annotations

from dataclasses import dataclass
from datetime import UTC, datetime
from pathlib import Path
from typing import Any

from pytest_mindtrial.sandbox.ownership import SESSION_LABEL, default_state_dir, is_orphan, remove_session_folder
from pytest_mindtrial.sandbox.removal import OwnedObject, list_owned, remove_all
from pytest_mindtrial.sandbox.settings import DEFAULT_SETTINGS, SandboxSettings

__all__ = ["SweepReport", "sweep_orphans"]


@dataclass(frozen=True, slots=True)
class SweepReport:
    """What a sweep did.

    Attributes:
        removed: Objects of dead sessions (those that resisted included; see problems).
        kept: Number of objects that belong to live sessions.
        problems: One text for each object that could not be removed.
    """

    removed: tuple[OwnedObject, ...]
    kept: int
    problems: tuple[str, ...]


def sweep_orphans(client: Any = None, settings: SandboxSettings = DEFAULT_SETTINGS) -> SweepReport:
    """Remove containers, networks, volumes and staged files of sessions whose process is gone.

    Args:
        client: A low-level docker-py client; None = connect by the environment.
        settings: Where leases lie, how old objects of other hosts must be, and the removal budget.

    Raises:
        SandboxSetupError: No engine answers.
    """
    if client is None:
        from pytest_mindtrial.sandbox.connection import connect

        client = connect()
        try:
            return sweep_orphans(client, settings)
        finally:
            client.close()
    state_dir = settings.state_dir or default_state_dir()
    now = datetime.now(UTC)
    found = list_owned(client, SESSION_LABEL)
    orphans = [
        each for each in found if is_orphan(each.labels, state_dir, now=now, foreign_age_s=settings.foreign_age_s)
    ]
    problems = remove_all(client, orphans, settings.removal_budget_s)
    _remove_folders(state_dir, {each.labels.get(SESSION_LABEL, "") for each in orphans})
    return SweepReport(tuple(orphans), len(found) - len(orphans), tuple(problems))


def _remove_folders(state_dir: Path, sessions: set[str]) -> None:
    for session in sessions:
        remove_session_folder(state_dir, session)
