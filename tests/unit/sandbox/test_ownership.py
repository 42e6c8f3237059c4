"""Spec docker 8: who is alive."""

from __future__ import annotations

import os
import socket
import stat
import subprocess
import sys
import tempfile
from datetime import UTC, datetime, timedelta
from pathlib import Path

import pytest

from pytest_mindtrial.sandbox.ownership import (
    CREATED_LABEL,
    OWNER_LABEL,
    OWNER_START_LABEL,
    ROLE_LABEL,
    SESSION_LABEL,
    Lease,
    default_state_dir,
    is_orphan,
    process_start,
    remove_session_folder,
)

NOW = datetime(2026, 1, 2, tzinfo=UTC)


def orphan(labels: dict[str, str], state_dir: Path) -> bool:
    return is_orphan(labels, state_dir, now=NOW, foreign_age_s=3600)


def ended_pid() -> int:
    process = subprocess.Popen([sys.executable, "-c", ""])
    process.wait()
    return process.pid


def test_labels_name_session_owner_and_role(tmp_path: Path) -> None:
    lease = Lease(tmp_path)
    labels = lease.labels("tool", "attempt-1")
    assert labels[SESSION_LABEL] == lease.session
    assert labels[OWNER_LABEL] == f"{socket.gethostname()}:{os.getpid()}"
    assert labels[ROLE_LABEL] == "tool"
    assert labels["pytest-mindtrial.attempt"] == "attempt-1"
    assert datetime.fromisoformat(labels[CREATED_LABEL]).tzinfo is not None
    assert stat.S_IMODE(lease.folder.stat().st_mode) == 0o700
    lease.release()
    lease.release()
    assert list(tmp_path.iterdir()) == []


def test_a_held_lease_is_alive_whatever_the_pid_says(tmp_path: Path) -> None:
    lease = Lease(tmp_path)
    labels = lease.labels("tool") | {OWNER_LABEL: f"{socket.gethostname()}:{ended_pid()}"}
    assert not orphan(labels, tmp_path)
    lease.release()
    assert orphan(labels, tmp_path)


def test_a_lease_without_lock_is_dead_whatever_the_pid_says(tmp_path: Path) -> None:
    (tmp_path / "abc").mkdir()
    (tmp_path / "abc/lease").touch()
    labels = {SESSION_LABEL: "abc", OWNER_LABEL: f"{socket.gethostname()}:{os.getpid()}"}
    assert orphan(labels, tmp_path)


@pytest.mark.parametrize("is_alive", [True, False])
@pytest.mark.parametrize("has_mark", [True, False])
def test_without_a_lease_the_process_decides(tmp_path: Path, is_alive: bool, has_mark: bool) -> None:
    pid = os.getpid() if is_alive else ended_pid()
    mark = process_start(os.getpid()) if has_mark else ""
    labels = {SESSION_LABEL: "abc", OWNER_LABEL: f"{socket.gethostname()}:{pid}", OWNER_START_LABEL: mark}
    assert orphan(labels, tmp_path) is not is_alive


def test_a_reused_pid_is_told_by_its_start(tmp_path: Path) -> None:
    labels = {SESSION_LABEL: "abc", OWNER_LABEL: f"{socket.gethostname()}:{os.getpid()}", OWNER_START_LABEL: "1"}
    assert orphan(labels, tmp_path)


def test_a_process_of_somebody_else_is_alive(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    def refuse(pid: int, number: int) -> None:
        raise PermissionError

    monkeypatch.setattr(os, "kill", refuse)
    assert not orphan({SESSION_LABEL: "abc", OWNER_LABEL: f"{socket.gethostname()}:1"}, tmp_path)


@pytest.mark.parametrize(
    "created, is_dead",
    [
        ((NOW - timedelta(hours=2)).isoformat(), True),
        ((NOW - timedelta(minutes=2)).isoformat(), False),
        ("yesterday", False),
        ("2026-01-01T00:00:00", False),
        ("", False),
    ],
)
@pytest.mark.parametrize("owner", ["elsewhere:12", "nonsense", ""])
def test_objects_of_other_hosts_only_age(tmp_path: Path, owner: str, created: str, is_dead: bool) -> None:
    assert orphan({OWNER_LABEL: owner, CREATED_LABEL: created}, tmp_path) is is_dead


def test_the_state_folder_is_private(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(tempfile, "tempdir", str(tmp_path))
    first = default_state_dir()
    assert first == default_state_dir() == tmp_path / f"pytest-mindtrial-{os.getuid()}"
    assert stat.S_IMODE(first.stat().st_mode) == 0o700
    first.chmod(0o777)
    other = default_state_dir()
    assert other != first
    assert stat.S_IMODE(other.stat().st_mode) == 0o700


def test_a_link_in_place_of_the_state_folder_is_not_followed(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(tempfile, "tempdir", str(tmp_path))
    (tmp_path / "target").mkdir(mode=0o700)
    (tmp_path / f"pytest-mindtrial-{os.getuid()}").symlink_to(tmp_path / "target")
    assert default_state_dir().name != f"pytest-mindtrial-{os.getuid()}"


def test_a_process_that_is_gone_has_no_mark() -> None:
    assert process_start(ended_pid()) == ""
    assert process_start(os.getpid()).isdigit()


@pytest.mark.parametrize("session", ["", "..", "a/b", "/etc"])
def test_only_plain_session_names_lead_to_a_folder(tmp_path: Path, session: str) -> None:
    state = tmp_path / "state"
    (state / "a/b").mkdir(parents=True)
    remove_session_folder(state, session)
    assert (state / "a/b").is_dir()
    remove_session_folder(state, "a")
    assert list(state.iterdir()) == []
