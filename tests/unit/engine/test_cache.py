"""The response cache: what finds a reply again, what is ignored, what is never written."""

from __future__ import annotations

import asyncio
import json
import os
import threading

import pytest

from pytest_mindtrial.core.errors import TransportError, UserError
from pytest_mindtrial.core.secret import Redactor, Secret
from pytest_mindtrial.engine.cache import CachedReply, ResponseCache

KEY = {"host": "h", "path": "/p", "body": {"model": "m", "text": "q"}, "repeat": None}
REPLY = CachedReply(200, {"answer": "ü \ud83d", "n": 1.5}, "req-1", 7, 5)


def get(cache, key=KEY):
    return asyncio.run(cache.get(key))


def put(cache, reply=REPLY, key=KEY):
    asyncio.run(cache.put(key, reply))


def files(path):
    return [file for file in path.rglob("*") if file.is_file()]


def test_a_reply_comes_back_as_it_was(tmp_path):
    put(ResponseCache(tmp_path / "new" / "cache"))
    cache = ResponseCache(tmp_path / "new" / "cache")
    assert get(cache) == REPLY
    assert cache.notes == []


@pytest.mark.parametrize(
    "change",
    [
        {"host": "i"},
        {"path": "/q"},
        {"body": {"model": "m", "text": "r"}},
        {"body": {"text": "q", "model": "m"}},  # another order is another request
        {"repeat": 1},
        {"dialect": "x 2"},
        {"headers": {"a": "b"}},
    ],
)
def test_another_request_is_not_found(tmp_path, change):
    cache = ResponseCache(tmp_path)
    put(cache)
    assert get(cache, {**KEY, **change}) is None


def test_read_only_sends_nothing_and_writes_nothing(tmp_path):
    put(ResponseCache(tmp_path))
    cache = ResponseCache(tmp_path, "read-only")
    assert get(cache) == REPLY
    with pytest.raises(TransportError, match=r"not in the response cache .* nothing is sent") as caught:
        get(cache, {**KEY, "repeat": 2})
    assert (caught.value.transient, caught.value.cause) == (False, "cache-miss")
    put(cache, key={**KEY, "repeat": 2})
    assert len(files(tmp_path)) == 1


def test_refresh_replaces(tmp_path):
    put(ResponseCache(tmp_path))
    cache = ResponseCache(tmp_path, "refresh")
    assert get(cache) is None
    put(cache, CachedReply(200, {"answer": "new"}))
    assert get(ResponseCache(tmp_path)).json == {"answer": "new"}


@pytest.mark.parametrize(
    "damage",
    [
        lambda text: "",
        lambda text: text[:-40],
        lambda text: text.replace("1.5", "2.5"),
        lambda text: text.replace('"v": 1', '"v": 99'),
        lambda text: "[]",
        lambda text: "{}",
        lambda text: "[" * 100_000,
    ],
)
def test_a_damaged_entry_is_ignored_noted_and_replaced(tmp_path, damage):
    cache = ResponseCache(tmp_path)
    put(cache)
    (file,) = files(tmp_path)
    file.write_text(damage(file.read_text()))
    assert get(cache) is None
    assert cache.notes == [f"response cache: 1 damaged entry was ignored: {file}"]
    assert get(cache) is None
    assert cache.notes[0].startswith("response cache: 2 damaged entries were")
    put(cache)
    assert get(cache) == REPLY


def test_a_reply_that_repeats_a_key_is_not_kept(tmp_path):
    redact = Redactor()
    redact.add(Secret('sk-"quoted"-key'))
    cache = ResponseCache(tmp_path, redact=redact)
    put(cache, CachedReply(200, {"echo": ["your key sk-other is wrong"]}))
    assert len(files(tmp_path)) == 1
    put(cache, CachedReply(200, {"echo": ['your key sk-"quoted"-key is wrong']}), {**KEY, "repeat": 5})
    assert len(files(tmp_path)) == 1


def test_a_cache_that_cannot_be_written_stops_nothing(tmp_path, monkeypatch):
    cache = ResponseCache(tmp_path)

    def full(*_):
        raise OSError(28, "No space left on device")

    monkeypatch.setattr(os, "replace", full)
    put(cache)
    assert cache.notes == [f"response cache: replies could not be kept: {tmp_path}: No space left on device"]
    assert files(tmp_path) == []


def test_a_directory_that_cannot_be_used_is_the_users_mistake(tmp_path):
    (tmp_path / "file").write_text("")
    for mode in ("read-write", "read-only"):
        with pytest.raises(UserError, match=r"--mt-cache: .*file cannot be used"):
            ResponseCache(tmp_path / "file", mode)
    with pytest.raises(UserError, match="No such file"):
        ResponseCache(tmp_path / "none", "read-only")


def test_readers_never_see_half_a_reply(tmp_path):
    """Writers of different lengths and readers at the same time, as several processes would."""
    replies = [CachedReply(200, {"answer": "x" * length}) for length in (10, 100_000)]
    put(ResponseCache(tmp_path), replies[0])
    done = threading.Event()

    def write():
        cache = ResponseCache(tmp_path)
        for turn in range(40):
            put(cache, replies[turn % 2])
        done.set()

    writer = threading.Thread(target=write)
    writer.start()
    reader = ResponseCache(tmp_path)
    seen = set()
    while not done.is_set():
        seen.add(len(get(reader).json["answer"]))
    writer.join()
    assert seen <= {10, 100_000}
    assert reader.notes == []
    assert json.loads(files(tmp_path)[0].read_text())["request"]["model"] == "m"
