"""The selector does what Python's own does, a few files at a time; Python's own is the oracle."""

from __future__ import annotations

import asyncio
import contextlib
import os
import select
import selectors
import socket
import struct
import sys
import threading
import time
from collections import Counter
from collections.abc import Callable, Iterator
from typing import Any

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from pytest_mindtrial.engine.selector import AT_ONCE, new_loop

READ, WRITE = selectors.EVENT_READ, selectors.EVENT_WRITE

pytestmark = pytest.mark.skipif(not hasattr(select, "epoll"), reason="there is an ordinary loop where epoll is not")


def new_selector() -> selectors.BaseSelector:
    loop = new_loop()
    ours = type(loop._selector)  # type: ignore[attr-defined]
    loop.close()
    selector: selectors.BaseSelector = ours()
    return selector


@pytest.fixture
def selector() -> Iterator[selectors.BaseSelector]:
    with new_selector() as selector:
        yield selector


@pytest.fixture
def pair() -> Iterator[tuple[socket.socket, socket.socket]]:
    near, far = socket.socketpair()
    with near, far:
        yield near, far


@contextlib.contextmanager
def tcp_pair() -> Iterator[tuple[socket.socket, socket.socket]]:
    with socket.create_server(("127.0.0.1", 0)) as server:
        near = socket.create_connection(server.getsockname())
        far, _ = server.accept()
    with near, far:
        yield near, far


def outcome(call: Callable[[], Any]) -> Any:
    try:
        return call()
    except Exception as error:
        return type(error)


def ready(selector: selectors.BaseSelector) -> dict[int, int]:
    return {key.fd: events for key, events in selector.select(0)}


# As the oracle


OPERATIONS = st.lists(
    st.tuples(
        st.sampled_from(["register", "modify", "unregister", "get_key", "in map", "send", "drain", "shut", "close"]),
        st.integers(0, 3),
        st.integers(0, 4),
        st.booleans(),
    ),
    max_size=30,
)


@settings(max_examples=150, deadline=None)
@given(OPERATIONS)
def test_any_sequence_of_calls_ends_as_with_pythons_own(operations: list[tuple[str, int, int, bool]]) -> None:
    with contextlib.ExitStack() as stack:
        both = [stack.enter_context(new_selector()), stack.enter_context(selectors.DefaultSelector())]
        pairs = [socket.socketpair() for _ in range(4)]
        for near, far in pairs:
            near.setblocking(False)
            stack.enter_context(near)
            stack.enter_context(far)
        for step, (name, index, events, by_number) in enumerate(operations):
            near, far = pairs[index]
            file: Any = near.fileno() if by_number else near
            if name == "send":
                outcome(lambda far=far: far.send(b"x"))
            elif name == "drain":
                outcome(lambda near=near: near.recv(100))
            elif name == "shut":
                outcome(lambda far=far: far.shutdown(socket.SHUT_WR))
            elif name == "close":
                far.close()
            elif name in ("register", "modify"):
                ours, theirs = (
                    outcome(
                        lambda each=each, name=name, file=file, events=events, step=step: getattr(each, name)(
                            file, events, step
                        )
                    )
                    for each in both
                )
                assert ours == theirs
            elif name == "in map":
                ours, theirs = (each.get_map().get(file) for each in both)
                assert ours == theirs
            else:
                ours, theirs = (
                    outcome(lambda each=each, name=name, file=file: getattr(each, name)(file)) for each in both
                )
                assert ours == theirs
            assert ready(both[0]) == ready(both[1])
        assert dict(both[0].get_map()) == dict(both[1].get_map())


@pytest.mark.parametrize("events", [READ, WRITE, READ | WRITE])
@pytest.mark.parametrize("end", ["closes", "shuts down", "resets"])
def test_whoever_waits_hears_of_the_end_of_a_connection(events: int, end: str) -> None:
    with tcp_pair() as (near, far), new_selector() as ours, selectors.DefaultSelector() as theirs:
        for each in (ours, theirs):
            each.register(near, events)
        if end == "resets":
            far.setsockopt(socket.SOL_SOCKET, socket.SO_LINGER, struct.pack("ii", 1, 0))
        if end == "shuts down":
            far.shutdown(socket.SHUT_WR)
        else:
            far.close()
        ours.select(5)
        assert ready(ours) == ready(theirs)
        assert ready(ours)[near.fileno()] & (events if end == "resets" else events & READ or WRITE)


def test_a_refused_connection_is_reported(selector: selectors.BaseSelector) -> None:
    with socket.create_server(("127.0.0.1", 0)) as server:
        address = server.getsockname()
    with socket.socket() as near:
        near.setblocking(False)
        near.connect_ex(address)
        selector.register(near, WRITE)
        ((_, events),) = selector.select(5)
        assert events == WRITE
        assert near.getsockopt(socket.SOL_SOCKET, socket.SO_ERROR) != 0


def test_a_file_that_was_closed_can_be_unregistered(
    selector: selectors.BaseSelector, pair: tuple[socket.socket, socket.socket]
) -> None:
    near, _ = pair
    selector.register(near, READ)
    near.close()
    assert selector.select(0) == []
    assert selector.unregister(near).fileobj is near
    assert not selector.get_map()


def test_the_next_file_with_a_closed_ones_number_has_events_of_its_own(
    selector: selectors.BaseSelector, pair: tuple[socket.socket, socket.socket]
) -> None:
    near, far = pair
    number = near.fileno()
    selector.register(number, READ, "first")
    far.send(b"x")
    near.close()
    selector.unregister(number)
    successor, other = socket.socketpair()
    if successor.fileno() != number:
        descriptor = successor.detach()
        successor = socket.socket(fileno=os.dup2(descriptor, number))
        os.close(descriptor)
    with successor, other:
        selector.register(successor, READ, "second")
        assert selector.select(0) == []
        other.send(b"x")
        assert [key.data for key, _ in selector.select(5)] == ["second"]


def test_nothing_is_reported_of_a_file_that_is_not_registered_any_more(
    selector: selectors.BaseSelector, pair: tuple[socket.socket, socket.socket]
) -> None:
    near, far = pair
    far.send(b"x")
    selector.register(near, READ)
    selector.unregister(near)
    assert selector.select(0.01) == []


# Waiting


@pytest.mark.parametrize("timeout", [0, -1, 0.0])
def test_no_time_is_no_wait(selector: selectors.BaseSelector, timeout: float) -> None:
    began = time.monotonic()
    assert selector.select(timeout) == []
    assert time.monotonic() - began < 0.5


@pytest.mark.parametrize("timeout", [0.0001, 0.02])
def test_a_wait_is_not_shorter_than_asked_for(selector: selectors.BaseSelector, timeout: float) -> None:
    began = time.monotonic()
    assert selector.select(timeout) == []
    assert time.monotonic() - began >= timeout


def test_a_wait_without_limit_ends_with_the_first_event(
    selector: selectors.BaseSelector, pair: tuple[socket.socket, socket.socket]
) -> None:
    near, far = pair
    selector.register(near, READ)
    timer = threading.Timer(0.05, far.send, [b"x"])
    timer.start()
    ((key, events),) = selector.select(None)
    timer.join()
    assert (key.fileobj, events) == (near, READ)


# Few at once


@contextlib.contextmanager
def many_ready(selector: selectors.BaseSelector, count: int) -> Iterator[list[socket.socket]]:
    pairs = [socket.socketpair() for _ in range(count)]
    try:
        for near, far in pairs:
            selector.register(near, READ)
            far.send(b"x")
        yield [near for near, _ in pairs]
    finally:
        for pair in pairs:
            for each in pair:
                each.close()


def test_files_that_stay_ready_take_turns(selector: selectors.BaseSelector) -> None:
    with many_ready(selector, 100) as nears:
        seen: Counter[Any] = Counter()
        rounds = 4
        for _ in range(rounds * 100 // AT_ONCE):
            batch = selector.select(0)
            assert len(batch) == AT_ONCE
            seen.update(key.fileobj for key, _ in batch)
        assert [seen[near] for near in nears] == [rounds] * 100


def test_those_that_come_late_are_not_kept_waiting_by_those_that_stay_ready(selector: selectors.BaseSelector) -> None:
    late, far = socket.socketpair()
    with late, far, many_ready(selector, 64):
        selector.register(late, READ)
        selector.select(0)
        far.send(b"x")
        turns = 64 // AT_ONCE + 1
        assert late in [key.fileobj for _ in range(turns) for key, _ in selector.select(0)]


# In a loop


@pytest.fixture
def run() -> Iterator[Callable[[Any], Any]]:
    loop = new_loop()
    yield lambda coroutine: loop.run_until_complete(asyncio.wait_for(coroutine, 20))
    loop.close()


def test_a_loop_knows_files_by_object_and_by_number(
    run: Callable[[Any], Any], pair: tuple[socket.socket, socket.socket]
) -> None:
    near, far = pair
    far.send(b"x")

    async def work() -> list[str]:
        loop, seen = asyncio.get_running_loop(), []
        loop.add_reader(near, seen.append, "by object")
        loop.add_writer(near, seen.append, "writable")
        loop.add_reader(near.fileno(), seen.append, "by number")
        while len(seen) < 2:
            await asyncio.sleep(0)
        removed = [loop.remove_reader(near), loop.remove_writer(near), loop.remove_reader(near)]
        before = sorted(set(seen))
        seen.clear()
        await asyncio.sleep(0.01)
        return [*before, *seen, str(removed)]

    assert run(work()) == ["by number", "writable", "[True, True, False]"]


def test_a_subprocess_is_talked_to(run: Callable[[Any], Any]) -> None:
    code = "import sys; data = sys.stdin.buffer.read(); sys.stdout.buffer.write(data[::-1]); sys.exit(3)"

    async def work() -> tuple[bytes, int | None]:
        pipe = asyncio.subprocess.PIPE
        process = await asyncio.create_subprocess_exec(sys.executable, "-c", code, stdin=pipe, stdout=pipe)
        output, _ = await process.communicate(b"ab" * 500_000)
        return output, process.returncode

    assert run(work()) == (b"ba" * 500_000, 3)


def test_hundreds_of_connections_are_all_served(run: Callable[[Any], Any]) -> None:
    echoes = []

    async def echo(reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
        echoes.append(asyncio.current_task())
        while line := await reader.readline():
            writer.write(line)
        writer.close()
        await writer.wait_closed()

    async def talk(port: int, number: int) -> list[bytes]:
        reader, writer = await asyncio.open_connection("127.0.0.1", port)
        lines = []
        for turn in range(5):
            writer.write(b"%d %d\n" % (number, turn))
            lines.append(await reader.readline())
        writer.close()
        await writer.wait_closed()
        return lines

    async def work() -> list[list[bytes]]:
        async with await asyncio.start_server(echo, "127.0.0.1", 0, backlog=500) as server:
            port = server.sockets[0].getsockname()[1]
            lines = await asyncio.gather(*(talk(port, number) for number in range(300)))
            await asyncio.gather(*filter(None, echoes))
        return lines

    assert run(work()) == [[b"%d %d\n" % (number, turn) for turn in range(5)] for number in range(300)]


def test_another_thread_wakes_the_loop(run: Callable[[Any], Any]) -> None:
    async def work() -> str:
        loop = asyncio.get_running_loop()
        future: asyncio.Future[str] = loop.create_future()
        threading.Timer(0.05, loop.call_soon_threadsafe, [future.set_result, "woken"]).start()
        return await future

    assert run(work()) == "woken"


def test_a_closed_loop_leaves_no_descriptor_open() -> None:
    new_loop().close()
    before = sorted(os.listdir("/proc/self/fd")) if os.path.exists("/proc/self/fd") else []
    for _ in range(3):
        new_loop().close()
    assert before == (sorted(os.listdir("/proc/self/fd")) if before else [])


def test_an_ordinary_loop_where_epoll_is_not(monkeypatch: pytest.MonkeyPatch) -> None:
    ours = new_loop()
    monkeypatch.delattr(select, "epoll")
    ordinary = new_loop()
    try:
        assert type(ordinary._selector) is not type(ours._selector)  # type: ignore[attr-defined]
    finally:
        ours.close()
        ordinary.close()
