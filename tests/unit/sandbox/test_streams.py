"""The engine's frame format, and refusals of stream requests."""

from __future__ import annotations

import io
from types import SimpleNamespace
from typing import Any

import pytest

from pytest_mindtrial.sandbox.streams import attach, frames, run_exec


def response(data: bytes) -> Any:
    return SimpleNamespace(raw=io.BytesIO(data))


def test_frames_are_told_apart() -> None:
    data = b"\x01\0\0\0\0\0\0\x03abc" + b"\x02\0\0\0\0\0\0\x01e" + b"\x01\0\0\0\0\0\0\x00"
    assert list(frames(response(data))) == [(1, b"abc"), (2, b"e")]


def test_a_large_frame_comes_in_pieces() -> None:
    data = b"\x01\0\0\0" + (100_000).to_bytes(4, "big") + b"x" * 100_000
    pieces = list(frames(response(data)))
    assert len(pieces) == 2
    assert b"".join(chunk for _, chunk in pieces) == b"x" * 100_000


@pytest.mark.parametrize("data, kept", [(b"\x01\0\0", []), (b"\x01\0\0\0\0\0\0\x05ab", [(1, b"ab")])])
def test_a_cut_stream_yields_what_came(data: bytes, kept: list[Any]) -> None:
    assert list(frames(response(data))) == kept


class Refusing:
    base_url, api_version = "http+docker://localhost", "1.41"

    def __init__(self) -> None:
        self.is_closed = False

    def post(self, address: str, **arguments: Any) -> Any:
        import requests

        assert arguments["timeout"] == (120.0, None)
        reply = requests.Response()
        reply.status_code, reply.reason, reply.url = 409, "Conflict", address
        reply._content = b'{"message": "it is not running"}'
        reply.raw = SimpleNamespace(close=self._close, release_conn=lambda: None)
        return reply

    def _close(self) -> None:
        self.is_closed = True


@pytest.mark.parametrize("request_stream", [attach, run_exec])
def test_a_refusal_is_an_api_error_and_closes_the_response(request_stream: Any) -> None:
    from docker.errors import APIError

    client = Refusing()
    with pytest.raises(APIError) as caught:
        request_stream(client, "x")
    assert (caught.value.status_code, caught.value.explanation) == (409, "it is not running")
