"""The HTTP layer on real loopback sockets: keep-alive, faults, deadlines, ceilings, codings, TLS, proxies."""

from __future__ import annotations

import asyncio
import contextlib
import socket
import ssl
import threading
import zlib
from collections.abc import Awaitable, Callable, Iterator
from pathlib import Path
from typing import Any

import pytest

from pytest_mindtrial.core.errors import ConfigError, TransportError
from pytest_mindtrial.providers.http import Deadlines, Http, HttpReply, HttpRequest
from tests.support.loopback import Loopback, Received, Reply, json_reply, sse_reply


def run(work: Callable[[Http], Awaitable[Any]], **settings: Any) -> Any:
    async def main() -> Any:
        http = Http(**settings)
        try:
            return await work(http)
        finally:
            await http.close()

    return asyncio.run(main())


def post(server: Loopback, body: bytes = b"{}", path: str = "/v1/x?a=b") -> HttpRequest:
    return HttpRequest(server.url + path, [("x-name", "v")], body)


def failure(server: Loopback, **settings: Any) -> TransportError:
    with pytest.raises(TransportError) as caught:
        run(lambda http: http.send(post(server)), **settings)
    return caught.value


def test_sends_what_was_asked_and_returns_what_came(server: Loopback) -> None:
    server.script(Reply(b"hello", 418, {"X-One": "1", "x-one": "2"}))

    reply: HttpReply = run(lambda http: http.send(post(server, b"body")))

    assert (reply.status, reply.body, reply.headers["x-one"]) == (418, b"hello", "1, 2")
    assert 0 < reply.first_byte_ns <= reply.duration_ns
    (seen,) = server.requests
    assert (seen.method, seen.path, seen.body) == ("POST", "/v1/x?a=b", b"body")
    assert seen.headers["host"] == f"127.0.0.1:{server.port}"
    assert seen.headers["x-name"] == "v"


def test_requests_one_after_another_share_a_connection(server: Loopback) -> None:
    server.script(json_reply({}), sse_reply([{}]), Reply(b"", 204))

    async def work(http: Http) -> list[int]:
        return [(await http.send(post(server))).status for _ in range(3)]

    assert run(work) == [200, 200, 204]
    assert server.connections == 1


def test_requests_at_the_same_time_use_a_connection_each(server: Loopback) -> None:
    gate = threading.Event()
    server.respond(lambda _: Reply(b"x", gate=gate))

    async def work(http: Http) -> None:
        tasks = [asyncio.create_task(http.send(post(server))) for _ in range(5)]
        await asyncio.to_thread(server.wait_for, 5)
        gate.set()
        await asyncio.gather(*tasks)

    run(work)
    assert server.connections == 5


def test_large_bodies_go_through_both_ways(server: Loopback) -> None:
    body = bytes(range(256)) * 20_000
    server.respond(lambda seen: Reply(seen.body))
    assert run(lambda http: http.send(post(server, body))).body == body
    assert server.requests[0].body == body


def test_redirects_are_not_followed(server: Loopback) -> None:
    server.script(Reply(b"", 307, {"location": server.url + "/other"}))
    assert run(lambda http: http.send(post(server))).status == 307
    assert len(server.requests) == 1


async def twice(http: Http, server: Loopback) -> list[bytes | TransportError]:
    """Send two requests one after another; return each body or error."""
    outcomes: list[bytes | TransportError] = []
    for _ in range(2):
        try:
            outcomes.append((await http.send(post(server))).body)
        except TransportError as error:
            outcomes.append(error)
    return outcomes


def test_a_post_on_a_kept_connection_that_was_closed_may_be_sent_again_but_is_not_here(server: Loopback) -> None:
    """Whoever counts requests decides: the pool cannot know whether the service has read it."""
    server.script(Reply(b"1"), Reply(reset=True), Reply(b"2"))
    first, second = run(lambda http: twice(http, server))
    assert first == b"1"
    assert isinstance(second, TransportError)
    assert (second.cause, second.transient, second.may_resend) == ("reset", True, True)
    assert [seen.connection for seen in server.requests] == [1, 1]


def test_after_a_closed_kept_connection_the_next_request_takes_a_fresh_one(server: Loopback) -> None:
    server.script(*(Reply(b"x"),) * 3, Reply(reset=True), Reply(b"2"))

    async def work(http: Http) -> bytes:
        await asyncio.gather(*(http.send(post(server)) for _ in range(3)))
        with pytest.raises(TransportError):
            await http.send(post(server))
        return (await http.send(post(server))).body

    assert run(work) == b"2"
    assert server.requests[-1].connection == server.connections


def test_a_reset_on_a_fresh_connection_may_not_be_sent_again(server: Loopback) -> None:
    server.script(Reply(reset=True))
    (error, _) = run(lambda http: twice(http, server))
    assert isinstance(error, TransportError)
    assert (error.cause, error.may_resend) == ("reset", False)


def test_a_cut_reply_on_a_kept_connection_is_not_sent_again(server: Loopback) -> None:
    server.script(Reply(b"1"), Reply(b"12345", cut_after=0), Reply(b"never"))

    async def work(http: Http) -> None:
        await http.send(post(server))
        await http.send(post(server))

    with pytest.raises(TransportError) as caught:
        run(work)
    assert caught.value.cause == "stream-cut"
    assert len(server.requests) == 2


@pytest.mark.parametrize(
    "reply, cause",
    [
        (Reply(reset=True), "reset"),
        (Reply(raw=b""), "reset"),
        (Reply(raw=b"HTTP/1.1 200 OK\r\nconte"), "reset"),
        (Reply(b"12345", cut_after=2), "stream-cut"),
        (Reply(b"12345", cut_after=2, reset=True), "stream-cut"),
        (Reply(chunks=[b"12345"], cut_after=4), "stream-cut"),
        (Reply(raw=b"good morning, this is no HTTP\r\n\r\n"), "bad-http"),
        (Reply(b"notgzip", headers={"content-encoding": "gzip"}), "stream-cut"),
        (Reply(zlib.compress(b"12345" * 99)[:-9], headers={"content-encoding": "deflate"}), "stream-cut"),
    ],
)
def test_faults_are_transient_and_named(server: Loopback, reply: Reply, cause: str) -> None:
    server.script(reply)
    error = failure(server)
    assert (error.cause, error.transient) == (cause, True)
    assert len(server.requests) == 1


def test_bytes_after_a_reply_are_never_taken_for_the_next_reply(server: Loopback) -> None:
    first = b"HTTP/1.1 200 OK\r\ncontent-length: 1\r\n\r\n1HTTP/1.1 200 OK\r\ncontent-length: 1\r\n\r\nX"
    server.script(Reply(raw=first), Reply(b"2"))

    async def work(http: Http) -> list[bytes]:
        return [(await http.send(post(server))).body, (await http.send(post(server))).body]

    assert run(work) == [b"1", b"2"]


def test_informational_replies_are_skipped(server: Loopback) -> None:
    server.script(Reply(raw=b"HTTP/1.1 103 Early Hints\r\n\r\nHTTP/1.1 200 OK\r\n\r\nuntil the end"))
    assert run(lambda http: http.send(post(server))).body == b"until the end"


@pytest.mark.parametrize("coding", ["gzip", "deflate", "bare deflate", "x-unknown"])
def test_packed_bodies_are_unpacked(server: Loopback, coding: str) -> None:
    packer = zlib.compressobj(wbits=-15)
    bare = packer.compress(b"text") + packer.flush()
    replies = {
        "gzip": Reply(b"text", compress=True),
        "deflate": Reply(zlib.compress(b"text"), headers={"content-encoding": "deflate"}),
        "bare deflate": Reply(bare, headers={"content-encoding": "Deflate"}),
        "x-unknown": Reply(b"text", headers={"content-encoding": "x-unknown"}),
    }
    server.script(replies[coding])
    assert run(lambda http: http.send(post(server))).body == b"text"


@pytest.mark.parametrize("reply", [Reply(b"x" * 101), Reply(b"x" * 101, compress=True), Reply(chunks=[b"x" * 60] * 2)])
def test_a_reply_over_the_ceiling_is_a_permanent_error(server: Loopback, reply: Reply) -> None:
    server.script(reply)
    error = failure(server, body_limit=100)
    assert (error.cause, error.transient) == ("too-large", False)


def test_a_head_over_the_ceiling_is_an_error(server: Loopback) -> None:
    server.script(Reply(raw=b"HTTP/1.1 200 OK\r\nx: " + b"y" * 400_000))
    assert failure(server).cause == "bad-http"


def test_silence_before_the_first_byte_ends_the_request(server: Loopback) -> None:
    gate = threading.Event()
    server.script(Reply(b"late", gate=gate))
    error = failure(server, deadlines=Deadlines(silence_s=0.05))
    gate.set()
    assert (error.cause, error.transient) == ("timeout-first-byte", True)


@contextlib.contextmanager
def one_answer(answer: bytes) -> Iterator[int]:
    """Serve one connection: read once, send ``answer``, then stay silent; yield the port."""
    done = threading.Event()
    with socket.create_server(("127.0.0.1", 0)) as listener:

        def serve() -> None:
            connection, _ = listener.accept()
            with connection:
                connection.recv(65536)
                connection.sendall(answer)
                done.wait(10)

        thread = threading.Thread(target=serve)
        thread.start()
        yield listener.getsockname()[1]
        done.set()
        thread.join()


def test_silence_in_the_middle_ends_the_request() -> None:
    with one_answer(b"HTTP/1.1 200 OK\r\ncontent-length: 9\r\n\r\n123") as port:
        request = HttpRequest(f"http://127.0.0.1:{port}/", [], b"{}")
        with pytest.raises(TransportError, match="in the middle") as caught:
            run(lambda http: http.send(request), deadlines=Deadlines(silence_s=0.05))
    assert caught.value.cause == "stream-cut"


def test_the_total_deadline_ends_the_request_and_the_next_one_works(server: Loopback) -> None:
    gate = threading.Event()
    server.script(Reply(b"late", gate=gate), Reply(b"good"))

    async def work(http: Http) -> bytes:
        with pytest.raises(TransportError) as caught:
            await http.send(post(server), timeout_s=0.05)
        assert (caught.value.cause, caught.value.transient) == ("timeout-total", True)
        gate.set()
        return (await http.send(post(server), timeout_s=30)).body

    assert run(work) == b"good"


def test_a_server_that_does_not_read_ends_the_request() -> None:
    with socket.create_server(("127.0.0.1", 0)) as listener:
        request = HttpRequest(f"http://127.0.0.1:{listener.getsockname()[1]}/", [], b"x" * 50_000_000)
        with pytest.raises(TransportError) as caught:
            run(lambda http: http.send(request), deadlines=Deadlines(write_s=0.05))
    assert caught.value.cause == "timeout-write"


def test_slow_progress_of_sending_is_progress() -> None:
    with socket.create_server(("127.0.0.1", 0)) as listener:
        request = HttpRequest(f"http://127.0.0.1:{listener.getsockname()[1]}/", [], b"x" * 50_000_000)

        async def work(http: Http) -> None:
            task = asyncio.create_task(http.send(request))
            peer, _ = await asyncio.to_thread(listener.accept)
            with peer:
                while not http._pool._open or not (connection := next(iter(http._pool._open)))._unsent:
                    await asyncio.sleep(0)
                started, waiting = connection._active_at, connection._unsent
                while connection._transport.get_write_buffer_size() >= waiting:
                    await asyncio.to_thread(peer.recv, 1_000_000)
                connection._check()
                assert connection._active_at > started
                assert 0 < connection._unsent < waiting
                task.cancel()
                with pytest.raises(asyncio.CancelledError):
                    await task

        run(work)


def test_a_cancelled_request_leaves_no_connection_behind(server: Loopback) -> None:
    gate = threading.Event()
    server.script(Reply(b"late", gate=gate), Reply(b"good"))

    async def work(http: Http) -> bytes:
        task = asyncio.create_task(http.send(post(server)))
        await asyncio.to_thread(server.wait_for, 1)
        task.cancel()
        with pytest.raises(asyncio.CancelledError):
            await task
        gate.set()
        return (await http.send(post(server))).body

    assert run(work) == b"good"
    assert server.connections == 2


def test_nobody_listening_is_a_connect_error(server: Loopback) -> None:
    server.close()
    error = failure(server)
    assert (error.cause, error.transient) == ("connect", True)


def test_an_unknown_host_is_a_dns_error(monkeypatch: pytest.MonkeyPatch) -> None:
    def fail(*_: Any, **__: Any) -> Any:
        raise socket.gaierror(-2, "Name or service not known")

    monkeypatch.setattr(socket, "getaddrinfo", fail)
    with pytest.raises(TransportError, match=r"cannot resolve nowhere\.invalid") as caught:
        run(lambda http: http.send(HttpRequest("http://nowhere.invalid/", [], b"")))
    assert (caught.value.cause, caught.value.transient) == ("dns", True)


@pytest.mark.parametrize("host", ["127.0.0.1", "[::1]"])
def test_an_address_is_not_looked_up(server: Loopback, monkeypatch: pytest.MonkeyPatch, host: str) -> None:
    monkeypatch.setattr(socket, "getaddrinfo", lambda *_, **__: pytest.fail("looked up"))
    before = set(threading.enumerate())
    request = HttpRequest(f"http://{host}:{server.port}/", [], b"")
    if host == "127.0.0.1":
        server.script(Reply(b"here"))
        assert run(lambda http: http.send(request)).body == b"here"
    else:
        with pytest.raises(TransportError, match="cannot connect to ::1"):
            run(lambda http: http.send(request))
    new = set(threading.enumerate()) - before
    assert not [thread for thread in new if thread.name.startswith("asyncio_")]


def test_every_address_is_tried_and_the_good_one_remembered(server: Loopback, monkeypatch: pytest.MonkeyPatch) -> None:
    server.respond(lambda _: Reply(b"ok", close=True))
    asked = []

    def resolve(host: str, port: int, *_: Any, **__: Any) -> Any:
        asked.append(host)
        kind = (socket.AF_INET, socket.SOCK_STREAM, 6, "")
        return [(*kind, ("127.255.255.254", port)), (*kind, ("127.0.0.1", port))]

    monkeypatch.setattr(socket, "getaddrinfo", resolve)
    request = HttpRequest(f"http://two.example:{server.port}/", [], b"")

    async def work(http: Http) -> list[bytes]:
        first = await asyncio.gather(*(http.send(request) for _ in range(5)))
        return [*(reply.body for reply in first), (await http.send(request)).body]

    assert run(work) == [b"ok"] * 6
    assert asked == ["two.example"]


def test_no_connection_in_time(server: Loopback, monkeypatch: pytest.MonkeyPatch) -> None:
    async def hang(*_: Any) -> list[str]:
        await asyncio.Event().wait()
        return []

    monkeypatch.setattr("pytest_mindtrial.providers._http_pool._addresses", hang)
    assert failure(server, deadlines=Deadlines(connect_s=0.02)).cause == "timeout-connect"
    assert failure(server, deadlines=Deadlines(total_s=0.02)).cause == "timeout-total"


def test_a_reply_may_take_longer_than_the_longest_silence(server: Loopback) -> None:
    gate = threading.Event()
    server.script(Reply(b"late", gate=gate))

    async def work(http: Http) -> bytes:
        task = asyncio.create_task(http.send(post(server, b"x" * 3_000_000)))
        await asyncio.to_thread(server.wait_for, 1)
        (connection,) = http._pool._open
        connection._check()
        gate.set()
        return (await task).body

    assert run(work, deadlines=Deadlines(write_s=20, silence_s=20)) == b"late"


def test_a_broken_connection_after_a_complete_reply_does_not_matter(server: Loopback) -> None:
    server.respond(lambda _: Reply(b"x"))

    async def work(http: Http) -> bytes:
        await http.send(post(server))
        server.drop_idle()
        (connection,) = http._pool._open
        await connection.lost
        connection.connection_lost(None)
        return (await http.send(post(server))).body

    assert run(work) == b"x"


# --- TLS ---------------------------------------------------------------------------------------------------------


@pytest.fixture(scope="module")
def certificate(tmp_path_factory: pytest.TempPathFactory) -> Path:
    return _self_signed(tmp_path_factory.mktemp("tls"))


def _self_signed(folder: Path) -> Path:
    import shutil
    import subprocess

    openssl = shutil.which("openssl")
    if openssl is None:
        pytest.skip("needs the openssl command to make a certificate")
    path = folder / "both.pem"
    key = folder / "key.pem"
    command = [openssl, "req", "-x509", "-newkey", "ec", "-pkeyopt", "ec_paramgen_curve:prime256v1", "-nodes"]
    command += ["-keyout", str(key), "-out", str(path), "-days", "2", "-subj", "/CN=localhost"]
    command += ["-addext", "subjectAltName=DNS:localhost,IP:127.0.0.1"]
    subprocess.run(command, check=True, capture_output=True)
    path.write_text(path.read_text() + key.read_text())
    return path


@pytest.fixture
def tls_server(certificate: Path) -> Iterator[Loopback]:
    context = ssl.SSLContext(ssl.PROTOCOL_TLS_SERVER)
    context.load_cert_chain(certificate)
    with Loopback(context) as loopback:
        yield loopback


def test_https_with_a_trusted_certificate_keeps_the_connection(tls_server: Loopback, certificate: Path) -> None:
    tls_server.respond(lambda seen: Reply(seen.body))
    context = ssl.create_default_context(cafile=str(certificate))

    async def work(http: Http) -> list[bytes]:
        return [(await http.send(post(tls_server, b"%d" % number))).body for number in range(3)]

    assert run(work, tls=context) == [b"0", b"1", b"2"]
    assert tls_server.connections == 1


def test_large_bodies_go_through_tls_both_ways(tls_server: Loopback, certificate: Path) -> None:
    """More than one read into the shared buffer, on several connections at once."""
    tls_server.respond(lambda seen: Reply(seen.body))
    context = ssl.create_default_context(cafile=str(certificate))
    bodies = [bytes([number]) * 1_500_000 for number in range(4)]

    async def work(http: Http) -> list[bytes]:
        replies = await asyncio.gather(*(http.send(post(tls_server, body)) for body in bodies))
        return [reply.body for reply in replies]

    assert run(work, tls=context) == bodies


def test_an_untrusted_certificate_is_a_permanent_error(tls_server: Loopback) -> None:
    error = failure(tls_server)
    assert (error.cause, error.transient) == ("tls", False)


def test_https_to_a_plain_server_is_a_transient_tls_error() -> None:
    with one_answer(b"HTTP/1.1 400 Bad Request\r\n\r\n") as port, pytest.raises(TransportError) as caught:
        run(lambda http: http.send(HttpRequest(f"https://127.0.0.1:{port}/", [], b"")))
    assert (caught.value.cause, caught.value.transient) == ("tls", True)


def test_without_a_system_store_the_certificates_of_httpx_are_used(monkeypatch: pytest.MonkeyPatch) -> None:
    class Paths:
        cafile = capath = None

    monkeypatch.setattr(ssl, "get_default_verify_paths", lambda: Paths)
    assert len(Http()._tls.get_ca_certs()) > 50


# --- Proxies -----------------------------------------------------------------------------------------------------


def test_a_proxy_from_the_environment_is_used_for_other_hosts_only(
    server: Loopback, monkeypatch: pytest.MonkeyPatch
) -> None:
    with Loopback() as proxy:
        monkeypatch.setenv("http_proxy", f"127.0.0.1:{proxy.port}")
        monkeypatch.setenv("no_proxy", "inside.example")
        proxy.respond(lambda seen: Reply(seen.path.encode(), compress=True))
        server.respond(lambda _: Reply(b"direct"))

        async def work(http: Http) -> list[bytes]:
            urls = ["http://api.example/v1", "http://api.example/v2", server.url]
            return [(await http.send(HttpRequest(url, [("a", "b")], b"{}"))).body for url in urls]

        assert run(work) == [b"http://api.example/v1", b"http://api.example/v2", b"direct"]
        assert proxy.connections == 1
        assert proxy.requests[0].headers["a"] == "b"


def test_hosts_of_no_proxy_go_direct(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("all_proxy", "http://127.0.0.1:9")
    monkeypatch.setenv("no_proxy", "inside.example")
    from urllib.parse import urlsplit

    assert Http()._proxy_for(urlsplit("https://inside.example/x")) is None
    assert Http()._proxy_for(urlsplit("https://outside.example/x")) == "http://127.0.0.1:9"


@pytest.mark.parametrize(
    "reply, settings, cause",
    [
        (Reply(reset=True), {}, "reset"),
        (Reply(b"12345", cut_after=2), {}, "stream-cut"),
        (Reply(b"x" * 101), {"body_limit": 100}, "too-large"),
        (None, {"deadlines": Deadlines(silence_s=0.05)}, "timeout-first-byte"),
        (None, {"deadlines": Deadlines(total_s=0.05)}, "timeout-total"),
    ],
)
def test_faults_behind_a_proxy_have_the_same_names(
    monkeypatch: pytest.MonkeyPatch, reply: Reply | None, settings: dict[str, Any], cause: str
) -> None:
    gate = threading.Event()
    with Loopback() as proxy:
        monkeypatch.setenv("http_proxy", proxy.url)
        proxy.script(reply or Reply(gate=gate))
        with pytest.raises(TransportError) as caught:
            run(lambda http: http.send(HttpRequest("http://api.example/", [], b"{}")), **settings)
        gate.set()
    assert caught.value.cause == cause


def test_a_proxy_that_is_down_is_a_connect_error(monkeypatch: pytest.MonkeyPatch) -> None:
    with Loopback() as proxy:
        monkeypatch.setenv("http_proxy", proxy.url)
    with pytest.raises(TransportError) as caught:
        run(lambda http: http.send(HttpRequest("http://api.example/", [], b"{}")))
    assert (caught.value.cause, caught.value.transient) == ("connect", True)


def test_a_proxy_of_an_unknown_kind_is_a_user_error(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("http_proxy", "gopher://127.0.0.1:9")
    with pytest.raises(ConfigError, match="proxy"):
        run(lambda http: http.send(HttpRequest("http://api.example/", [], b"{}")))


def test_idle_connections_of_a_minute_ago_are_not_used_again(server: Loopback) -> None:
    server.respond(lambda _: Reply(b"x"))

    async def work(http: Http) -> None:
        await http.send(post(server))
        (connections,) = http._pool._idle.values()
        connections[0].idle_since -= 60
        await http.send(post(server))

    run(work)
    assert server.connections == 2


def test_bytes_nobody_asked_for_close_an_idle_connection() -> None:
    seen: list[Received] = []
    with Loopback() as server:
        server.respond(lambda received: seen.append(received) or Reply(b"x"))

        async def work(http: Http) -> None:
            await http.send(post(server))
            (connections,) = http._pool._idle.values()
            connections[0]._take(b"HTTP/1.1 408 Request Timeout\r\n\r\n")
            assert not connections[0].is_open
            await http.send(post(server))

        run(work)
        assert server.connections == 2
