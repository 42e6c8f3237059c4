"""The scripted server itself: what it records, and the faults it promises."""

from __future__ import annotations

import http.client
import json

import pytest

from tests.support.loopback import Loopback, Reply, json_reply, sse_reply


def _post(connection: http.client.HTTPConnection, body: bytes = b"{}") -> http.client.HTTPResponse:
    connection.request("POST", "/x", body, {"X-Name": "v"})
    return connection.getresponse()


def test_records_requests_and_keeps_the_connection() -> None:
    with Loopback() as server:
        server.script(json_reply({"n": 1}), sse_reply([{"n": 2}]))
        connection = http.client.HTTPConnection("127.0.0.1", server.port, timeout=10)
        assert json.loads(_post(connection, b'{"a": 1}').read()) == {"n": 1}
        assert _post(connection).read() == b'data: {"n": 2}\n\ndata: [DONE]\n\n'
        connection.close()
    first, second = server.requests
    assert (first.method, first.path, first.headers["x-name"], first.json) == ("POST", "/x", "v", {"a": 1})
    assert first.connection == second.connection == server.connections == 1


def test_cut_reset_raw_and_exhausted_script() -> None:
    with Loopback() as server:
        server.script(Reply(b"12345", cut_after=2), Reply(reset=True), Reply(raw=b"nonsense\r\n"))
        connection = http.client.HTTPConnection("127.0.0.1", server.port, timeout=10)
        with pytest.raises(http.client.IncompleteRead):
            _post(connection).read()
        connection.close()
        with pytest.raises(ConnectionError):
            _post(connection)
        connection.close()
        with pytest.raises(http.client.BadStatusLine):
            _post(connection)
        connection.close()
        assert _post(connection).status == 599
        connection.close()


def test_wait_for_tells_how_many_came() -> None:
    with Loopback() as server, pytest.raises(AssertionError, match="0 requests"):
        server.wait_for(1, 0.01)
