"""Atomic report files."""

from __future__ import annotations

import os
from collections.abc import Iterator
from pathlib import Path

import pytest

from pytest_mindtrial.core.errors import UserError
from pytest_mindtrial.results import files
from pytest_mindtrial.results.files import write_atomically


def names(folder: Path) -> list[str]:
    return sorted(path.name for path in folder.iterdir())


def test_writes_utf8_without_newline_translation_and_makes_directories(tmp_path: Path) -> None:
    path = tmp_path / "a" / "b" / "report.json"
    write_atomically(path, "ü\r\n\n\ud800")
    assert path.read_bytes() == "ü\r\n\n?".encode()
    assert names(path.parent) == ["report.json"]


def test_mode_follows_the_umask_and_an_existing_file_keeps_its_own(tmp_path: Path) -> None:
    path = tmp_path / "report.json"
    before = os.umask(0o027)
    try:
        write_atomically(path, "one")
        assert path.stat().st_mode & 0o777 == 0o640
        path.chmod(0o600)
        write_atomically(path, "two")
    finally:
        os.umask(before)
    assert path.stat().st_mode & 0o777 == 0o600
    assert path.read_text() == "two"


def test_a_symbolic_link_stays_a_link(tmp_path: Path) -> None:
    (tmp_path / "real").write_text("old")
    (tmp_path / "link").symlink_to("real")
    write_atomically(tmp_path / "link", "new")
    assert (tmp_path / "link").is_symlink()
    assert (tmp_path / "real").read_text() == "new"


def test_a_pipe_is_written_into_and_stays_a_pipe(tmp_path: Path) -> None:
    path = tmp_path / "pipe"
    os.mkfifo(path)
    reader = os.open(path, os.O_RDONLY | os.O_NONBLOCK)
    try:
        write_atomically(path, "text")
        assert os.read(reader, 10) == b"text"
    finally:
        os.close(reader)
    assert path.is_fifo()
    assert names(tmp_path) == ["pipe"]


def test_failure_keeps_the_old_file_and_leaves_no_rubbish(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    path = tmp_path / "report.json"
    write_atomically(path, "old")

    def full(_handle: int) -> None:
        raise OSError(28, "No space left on device")

    monkeypatch.setattr(files.os, "fsync", full)
    with pytest.raises(UserError, match=r"report\.json: No space left on device; .* unchanged"):
        write_atomically(path, "new")
    assert path.read_text() == "old"
    assert names(tmp_path) == ["report.json"]


def test_an_interrupt_leaves_no_rubbish(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    def interrupt(_source: str, _target: Path) -> None:
        raise KeyboardInterrupt

    monkeypatch.setattr(files.os, "replace", interrupt)
    with pytest.raises(KeyboardInterrupt):
        write_atomically(tmp_path / "report.json", "text")
    assert names(tmp_path) == []


def test_a_directory_in_the_way_is_a_user_error(tmp_path: Path) -> None:
    (tmp_path / "file").write_text("")
    with pytest.raises(UserError, match="cannot write"):
        write_atomically(tmp_path / "file" / "report.json", "text")
    (tmp_path / "folder").mkdir()
    with pytest.raises(UserError, match="cannot write"):
        write_atomically(tmp_path / "folder", "text")
    assert names(tmp_path) == ["file", "folder"]


def test_content_may_come_in_pieces(tmp_path: Path) -> None:
    write_atomically(tmp_path / "x.html", iter(["<é", "\ud800", ">\r\n"]))
    assert (tmp_path / "x.html").read_bytes() == "<é?>\r\n".encode()


def test_pieces_that_fail_leave_the_earlier_content(tmp_path: Path) -> None:
    path = tmp_path / "x.html"
    path.write_text("earlier", encoding="utf-8")

    def pieces() -> Iterator[str]:
        yield "half"
        raise KeyError("no more")

    with pytest.raises(KeyError):
        write_atomically(path, pieces())
    assert [file.name for file in tmp_path.iterdir()] == ["x.html"]
    assert path.read_text(encoding="utf-8") == "earlier"
