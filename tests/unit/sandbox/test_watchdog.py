"""Spec docker 8: the child that cleans up after a dead owner."""

from __future__ import annotations

import io
import subprocess
from pathlib import Path
from types import SimpleNamespace
from typing import Any

import pytest

from pytest_mindtrial.core.errors import SandboxSetupError
from pytest_mindtrial.sandbox import connection, watchdog
from pytest_mindtrial.sandbox.ownership import SESSION_LABEL
from pytest_mindtrial.sandbox.watchdog import Watchdog, clean_up, main


@pytest.fixture
def no_engine(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("DOCKER_HOST", "unix:///no/such.sock")


@pytest.mark.usefixtures("no_engine")
def test_a_dismissed_child_ends_and_touches_nothing(tmp_path: Path) -> None:
    (tmp_path / "s1").mkdir()
    child = Watchdog("s1", tmp_path)
    assert child.pid > 0
    child.dismiss()
    child.dismiss()
    assert (tmp_path / "s1").is_dir()
    assert not Path(f"/proc/{child.pid}").exists()


@pytest.mark.usefixtures("no_engine")
def test_an_abandoned_child_does_its_work_without_us(tmp_path: Path) -> None:
    child = Watchdog("s1", tmp_path)
    process = child._process
    child.abandon()
    process.returncode = None
    assert process.wait(20) == 0


def test_a_child_that_does_not_listen_is_killed(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    child = Watchdog("s1", tmp_path)
    process = child._process

    def hang(data: bytes, timeout: float) -> None:
        raise subprocess.TimeoutExpired("child", timeout)

    monkeypatch.setattr(process, "communicate", hang)
    child.dismiss()
    assert process.returncode == -9
    assert process.stdin is not None
    process.stdin.close()


@pytest.mark.parametrize("text, cleaned", [(b"done\n", []), (b"", [("s1", Path("/state"))])])
def test_end_of_file_without_a_word_means_that_the_owner_is_gone(
    monkeypatch: pytest.MonkeyPatch, text: bytes, cleaned: list[Any]
) -> None:
    done: list[Any] = []
    monkeypatch.setattr(watchdog, "clean_up", lambda session, state: done.append((session, state)))
    monkeypatch.setattr("sys.stdin", SimpleNamespace(buffer=io.BytesIO(text)))
    assert main(["s1", "/state"]) == 0
    assert done == cleaned


def test_cleaning_up_looks_twice_for_late_requests(fake: Any, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    (tmp_path / "s1").mkdir()
    fake.create_volume("first", labels={SESSION_LABEL: "s1"})
    fake.create_volume("other", labels={SESSION_LABEL: "s2"})
    pauses = []

    def sleep(seconds: float) -> None:
        pauses.append(seconds)
        if seconds:
            assert list(fake.all_volumes) == ["other"]
            fake.create_volume("late", labels={SESSION_LABEL: "s1"})

    monkeypatch.setattr(connection, "connect", lambda: fake)
    monkeypatch.setattr(watchdog.time, "sleep", sleep)
    clean_up("s1", tmp_path)
    assert pauses == [0.0, 2.0]
    assert list(fake.all_volumes) == ["other"]
    assert not (tmp_path / "s1").exists()
    assert fake.is_closed


def test_without_an_engine_the_folder_still_goes(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    def refuse() -> Any:
        raise SandboxSetupError("none")

    monkeypatch.setattr(connection, "connect", refuse)
    (tmp_path / "s1").mkdir()
    clean_up("s1", tmp_path)
    assert not (tmp_path / "s1").exists()
