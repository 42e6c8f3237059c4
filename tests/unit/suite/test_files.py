import hashlib
import os
import threading
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path

import pytest

from pytest_mindtrial.core.errors import ApiError, Position, TaskError, TransportError
from pytest_mindtrial.suite import files
from pytest_mindtrial.suite.files import FileStore, check_local, local_path
from pytest_mindtrial.suite.model import FileRef

PNG = b"\x89PNG\r\n\x1a\nrest"


@pytest.fixture
def ref(tmp_path):
    def make(uri, name="pic", type=""):
        return FileRef(name, uri, tmp_path, type, position=Position("t.yaml", 3, 5))

    return make


def test_local_file(ref, tmp_path):
    (tmp_path / "a b?.png").write_bytes(PNG)
    content = FileStore().load(ref("./a b?.png"))
    assert content.data == PNG
    assert content.mime == "image/png"
    assert content.filename == "pic.png"
    assert content.sha256 == hashlib.sha256(PNG).hexdigest()
    assert "rest" not in repr(content)


def test_absolute_and_file_uris(ref, tmp_path):
    path = tmp_path / "a b.txt"
    path.write_text("x")
    store = FileStore()
    assert store.load(ref(str(path))).data == b"x"
    assert store.load(ref(path.as_uri())).mime == "text/plain"
    assert local_path(ref("https://h/x")) is None


@pytest.mark.parametrize(
    "uri, type, mime",
    [
        ("a.bin", "Image/JPG; q=1", "image/jpeg"),
        ("a.csv", "", "text/csv"),
        ("a.unknown", "", "image/png"),
        ("a", "", "image/png"),
    ],
)
def test_type_is_written_else_by_extension_else_sniffed(ref, tmp_path, uri, type, mime):
    (tmp_path / uri).write_bytes(PNG)
    assert FileStore().load(ref(uri, type=type)).mime == mime


def test_type_without_loading(ref):
    store = FileStore()
    assert store.infer_mime(ref("none.png")) == "image/png"
    assert store.infer_mime(ref("https://h/a.pdf?x=.png")) == "application/pdf"
    assert store.infer_mime(ref("none", type="text/plain; charset=utf-8")) == "text/plain"
    assert store.infer_mime(ref("none")) == ""


@pytest.mark.parametrize(
    "name, uri, filename",
    [
        ("data.csv", "x.txt", "data.csv"),
        ("data", "x.txt", "data.txt"),
        ("data", "x", "data.png"),
        ("a.b/data", "x.txt", "a.b/data.txt"),
    ],
)
def test_document_names(ref, tmp_path, name, uri, filename):
    (tmp_path / uri).write_bytes(PNG)
    assert FileStore().load(ref(uri, name)).filename == filename


def test_document_name_of_unknown_type(ref, tmp_path):
    (tmp_path / "x").write_bytes(b"\x00\x01")
    assert FileStore().load(ref("x", "data")).filename == "data"


def test_local_problems(ref, tmp_path):
    assert check_local(ref("https://h/x.png")) is None
    assert check_local(ref("none.png")) == f"file is not accessible: file does not exist: {tmp_path}/none.png"
    (tmp_path / "dir").mkdir()
    assert check_local(ref("dir")) == f"file is not accessible: path is a directory, not a file: {tmp_path}/dir"
    os.mkfifo(tmp_path / "pipe")
    assert "not a regular file" in check_local(ref("pipe"))
    (tmp_path / "ok.txt").write_text("x")
    assert check_local(ref("ok.txt")) is None
    assert "does not exist" in check_local(ref("x" * 5000))


def test_permission_denied(ref, tmp_path, monkeypatch):
    (tmp_path / "a.txt").write_text("x")
    monkeypatch.setattr(os, "access", lambda path, mode: False)
    assert check_local(ref("a.txt")) == f"file is not accessible: permission denied: {tmp_path}/a.txt"

    def refuse(self, **kwargs):
        raise PermissionError(13, "Permission denied")

    monkeypatch.setattr(Path, "stat", refuse)
    assert check_local(ref("a.txt")) == f"file is not accessible: permission denied: {tmp_path}/a.txt"


def test_too_large(ref, tmp_path):
    with (tmp_path / "big").open("wb") as stream:
        stream.truncate(files.MAX_FILE_BYTES + 1)
    assert "file is larger than 64 MiB" in check_local(ref("big"))


def test_loading_a_missing_file_names_the_place(ref):
    with pytest.raises(TaskError, match=r"t.yaml:3:5: file 'pic': file is not accessible: file does not exist"):
        FileStore().load(ref("none.png"))


def test_a_missing_file_may_appear_later(ref, tmp_path):
    store = FileStore()
    with pytest.raises(TaskError):
        store.load(ref("later.txt"))
    (tmp_path / "later.txt").write_text("x")
    assert store.load(ref("later.txt")).data == b"x"


def test_read_errors_are_translated(ref, tmp_path, monkeypatch):
    (tmp_path / "a.txt").write_text("x")

    def fail(self):
        raise OSError(5, "Input/output error")

    monkeypatch.setattr(Path, "read_bytes", fail)
    with pytest.raises(TaskError, match="Input/output error"):
        FileStore().load(ref("a.txt"))


def test_remote_files_are_fetched_once_in_many_threads(ref):
    calls = []
    gate = threading.Barrier(8)

    def fetch(url):
        calls.append(url)
        return PNG

    store = FileStore(fetch)

    def load(number):
        gate.wait(5)
        return store.load(ref("https://h/a", f"n{number}"))

    with ThreadPoolExecutor(8) as pool:
        contents = list(pool.map(load, range(8)))
    assert calls == ["https://h/a"]
    assert {content.filename for content in contents} == {f"n{number}.png" for number in range(8)}
    assert contents[0].data is contents[1].data


def test_permanent_failures_are_remembered(ref):
    calls = []

    def fetch(url):
        calls.append(url)
        raise ApiError("status 404", transient=False, cause="http-404", status=404)

    store = FileStore(fetch)
    for _ in range(2):
        with pytest.raises(TransportError) as info:
            store.load(ref("https://h/a.png?sig=secret"))
    assert len(calls) == 1
    assert str(info.value) == "file 'pic' could not be fetched from https://h/a.png: status 404"
    assert (info.value.transient, info.value.status, info.value.cause) == (False, 404, "http-404")


@pytest.mark.parametrize("transient", [True, None])
def test_other_failures_are_tried_again(ref, transient):
    replies = [TransportError("cut", transient=transient), PNG]

    def fetch(url):
        reply = replies.pop(0)
        if isinstance(reply, Exception):
            raise reply
        return reply

    store = FileStore(fetch)
    with pytest.raises(TransportError):
        store.load(ref("https://h/a.png"))
    assert store.load(ref("https://h/a.png")).data == PNG


def test_remote_size_is_bounded(ref, monkeypatch):
    monkeypatch.setattr(files, "MAX_FILE_BYTES", 4)
    store = FileStore(lambda url: b"12345")
    for _ in range(2):
        with pytest.raises(TransportError, match="is larger than"):
            store.load(ref("https://h/a.png"))


def test_no_fetch_no_remote_files(ref):
    with pytest.raises(TransportError, match=r"remote files cannot be fetched here: https://h/a\.png$"):
        FileStore().load(ref("https://h/a.png?key=1"))
