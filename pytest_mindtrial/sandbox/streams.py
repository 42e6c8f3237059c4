"""Raw output streams of the engine: attach and exec, frame by frame.

docker-py's own streams cannot be closed without reaching into private attributes, and an unclosed socket shows up as a
warning in somebody's test run; a plain streamed request can. Does not decode text. Source: Docker Engine API,
"Attach to a container", stream format; spec docker 10.
"""

from __future__ import annotations

import contextlib
import struct
from collections.abc import Iterator, Mapping
from typing import Any

__all__ = ["STDERR", "STDOUT", "attach", "frames", "run_exec"]

STDOUT = 1
STDERR = 2

_HEADER = struct.Struct(">BxxxL")
_CHUNK = 64 * 1024
_CONNECT_S = 120.0


def attach(client: Any, container: str) -> Any:
    """Open the output of a container that has not been started yet; the caller closes the response.

    Raises:
        APIError: The engine refused.
    """
    return _post(client, f"/containers/{container}/attach", {"stream": 1, "stdout": 1, "stderr": 1}, None)


def run_exec(client: Any, execution: str) -> None:
    """Start a prepared exec and read its output to the end, keeping nothing.

    Raises:
        APIError: The engine refused.
    """
    with contextlib.closing(_post(client, f"/exec/{execution}/start", {}, {"Detach": False, "Tty": False})) as response:
        for _ in frames(response):
            pass


def frames(response: Any) -> Iterator[tuple[int, bytes]]:
    """Yield stream number and bytes until the stream ends; a frame cut off by the end yields what came."""
    raw = response.raw
    while len(header := raw.read(_HEADER.size)) == _HEADER.size:
        stream, left = _HEADER.unpack(header)
        while left and (chunk := raw.read(min(left, _CHUNK))):
            left -= len(chunk)
            yield stream, chunk


def _post(client: Any, path: str, params: Mapping[str, int], body: Any) -> Any:
    from docker.errors import create_api_error_from_http_exception
    from requests.exceptions import HTTPError

    address = f"{client.base_url}/v{client.api_version}{path}"
    # A process may be silent for as long as it likes: only connecting has a time limit.
    response = client.post(address, params=params, json=body, stream=True, timeout=(_CONNECT_S, None))
    try:
        response.raise_for_status()
    except HTTPError as error:
        with contextlib.closing(response):
            create_api_error_from_http_exception(error)
    return response
