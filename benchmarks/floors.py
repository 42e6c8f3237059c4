"""The least that any program pays for the same requests: threads with ``http.client``, and a bare asyncio protocol.

``python -m benchmarks.floors threads|asyncio PORT REQUESTS CONCURRENCY``. Sends, waits, reads; no limits, no retries,
no validation, no reports.
"""

from __future__ import annotations

import asyncio
import http.client
import itertools
import json
import sys
import threading
from typing import Any


def body(number: int) -> bytes:
    """Return a request like ours in size."""
    text = f"Item {number}: what is 40 + 2? Provide the final answer in exactly this format: a number. " + "x" * 400
    return json.dumps({"model": "m", "messages": [{"role": "user", "content": text}]}).encode()


def threads(port: int, requests: int, concurrency: int) -> None:
    """One connection and one thread per slot."""
    numbers = itertools.count()
    threading.stack_size(256 * 1024)

    def work() -> None:
        connection = http.client.HTTPConnection("127.0.0.1", port)
        while (number := next(numbers)) < requests:
            connection.request("POST", "/v1/chat/completions", body(number), {"content-type": "application/json"})
            json.loads(connection.getresponse().read())
        connection.close()

    workers = [threading.Thread(target=work) for _ in range(min(concurrency, requests))]
    for worker in workers:
        worker.start()
    for worker in workers:
        worker.join()


class _Exchange(asyncio.Protocol):
    def __init__(self, numbers: Any, requests: int, ended: asyncio.Future[None]) -> None:
        self._numbers, self._requests, self._ended = numbers, requests, ended
        self._data = b""

    def connection_made(self, transport: Any) -> None:
        self._transport = transport
        self._next()

    def data_received(self, data: bytes) -> None:
        self._data += data
        end = self._data.find(b"\r\n\r\n")
        start = self._data.find(b"content-length: ") + 16
        if end < 0 or len(self._data) < end + 4 + int(self._data[start : self._data.find(b"\r", start)]):
            return
        json.loads(self._data[end + 4 :])
        self._data = b""
        self._next()

    def _next(self) -> None:
        number = next(self._numbers)
        if number >= self._requests:
            self._transport.close()
            self._ended.set_result(None)
            return
        text = body(number)
        head = f"POST /v1/chat/completions HTTP/1.1\r\nhost: x\r\ncontent-length: {len(text)}\r\n\r\n"
        self._transport.write(head.encode() + text)


async def protocol(port: int, requests: int, concurrency: int) -> None:
    """One connection per slot in one asyncio loop."""
    loop, numbers = asyncio.get_running_loop(), itertools.count()
    ends: list[asyncio.Future[None]] = [loop.create_future() for _ in range(min(concurrency, requests))]
    for end in ends:
        await loop.create_connection(lambda end=end: _Exchange(numbers, requests, end), "127.0.0.1", port)
    await asyncio.gather(*ends)


if __name__ == "__main__":
    kind, *counts = sys.argv[1:]
    port, requests, concurrency = map(int, counts)
    if kind == "threads":
        threads(port, requests, concurrency)
    else:
        asyncio.run(protocol(port, requests, concurrency))
