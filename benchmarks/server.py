"""A loopback service with a fixed latency that is never the bottleneck, in a process of its own.

``python -m benchmarks.server [--latency S] [--refuse-every N] [--retry-after S]`` prints its port and serves until its
standard input closes. It speaks just enough HTTP/1.1 for kept-alive POSTs of chat completions: one epoll loop, one
prepared reply, one heap of due replies. ``GET /stats`` answers what it saw; asking resets it.

The same clock (``CLOCK_MONOTONIC``) runs in every process of the machine, so its instants can be compared with those
of whoever started a client. Does not check what it is asked.
"""

from __future__ import annotations

import argparse
import heapq
import json
import os
import re
import select
import socket
import sys
import time
from array import array
from typing import Any

ANSWER = "42"
_LENGTH = re.compile(rb"\r\ncontent-length: *(\d+)", re.IGNORECASE)
_ITEM = re.compile(rb"Item (\d+)")
_MODEL = re.compile(rb'"model": *"([^"]+)"')
WINDOW_S = 60.0


def completion(answer: str) -> bytes:
    """Return a chat completion whose text holds title, explanation and answer, as the plain-text tasks want it."""
    content = json.dumps({"title": "t", "explanation": "e", "final_answer": answer})
    message = {"role": "assistant", "content": content}
    reply = {
        "id": "c1",
        "object": "chat.completion",
        "created": 1,
        "model": "m",
        "choices": [{"index": 0, "finish_reason": "stop", "message": message}],
        "usage": {"prompt_tokens": 100, "completion_tokens": 20, "total_tokens": 120},
    }
    return json.dumps(reply).encode()


def response(body: bytes, status: str = "200 OK", extra: str = "") -> bytes:
    head = f"HTTP/1.1 {status}\r\ncontent-type: application/json\r\ncontent-length: {len(body)}\r\n{extra}\r\n"
    return head.encode() + body


class Server:
    """One loop over all connections.

    Args:
        latency_s: From the request's last byte to the reply.
        refuse_every: Every n-th item's first request is refused with 429; 0 = none.
        retry_after_s: What the refusal asks for.
    """

    def __init__(self, latency_s: float, refuse_every: int = 0, retry_after_s: float = 0.0) -> None:
        self._latency_s = latency_s
        self._refuse_every = refuse_every
        self._retry_after_s = retry_after_s
        self._good = response(completion(ANSWER))
        error = json.dumps({"error": {"message": "slow down", "type": "rate_limit", "code": "rate_limited"}}).encode()
        self._refusal = response(error, "429 Too Many Requests", f"retry-after: {retry_after_s:g}\r\n")
        self._listener = socket.create_server(("127.0.0.1", 0), backlog=4096)
        self._listener.setblocking(False)
        self.port = self._listener.getsockname()[1]
        self._clients: dict[int, socket.socket] = {}
        self._buffers: dict[int, bytes] = {}
        self._due: list[tuple[float, int, socket.socket, bytes]] = []
        self._reset()

    def _reset(self) -> None:
        self._arrivals = array("d")
        self._last_reply = 0.0
        self._connections = 0
        self._order = 0
        self._refused: dict[tuple[bytes, bytes], float] = {}
        self._early = 0
        self._open_now = self._open_most = 0
        self._cpu_start = time.process_time()

    def serve(self) -> None:
        """Serve until standard input closes."""
        poll = select.epoll()
        poll.register(self._listener, select.EPOLLIN)
        poll.register(0, select.EPOLLIN | select.EPOLLHUP)
        listener = self._listener.fileno()
        while True:
            wait = max(0.0, self._due[0][0] - time.monotonic()) if self._due else -1
            for number, _ in poll.poll(wait, 1024):
                if number == listener:
                    self._accept(poll)
                elif number == 0:
                    if not os.read(0, 4096):
                        return
                else:
                    self._read(poll, number)
            self._reply_due()

    def _accept(self, poll: Any) -> None:
        while True:
            try:
                client, _ = self._listener.accept()
            except BlockingIOError:
                return
            client.setsockopt(socket.IPPROTO_TCP, socket.TCP_NODELAY, 1)
            client.setblocking(False)
            self._clients[client.fileno()] = client
            self._buffers[client.fileno()] = b""
            self._connections += 1
            poll.register(client, select.EPOLLIN)

    def _read(self, poll: Any, number: int) -> None:
        client = self._clients[number]
        try:
            data = client.recv(262_144)
        except (BlockingIOError, ConnectionResetError) as error:
            data = None if isinstance(error, BlockingIOError) else b""
        if data is None:
            return
        if not data:
            poll.unregister(client)
            del self._clients[number], self._buffers[number]
            client.close()
            return
        data = self._buffers[number] + data
        while (end := data.find(b"\r\n\r\n")) >= 0:
            length = _LENGTH.search(data, 0, end)
            size = end + 4 + (int(length[1]) if length else 0)
            if len(data) < size:
                break
            self._answer(client, data[:size])
            data = data[size:]
        self._buffers[number] = data

    def _answer(self, client: socket.socket, request: bytes) -> None:
        now = time.monotonic()
        if request.startswith(b"GET"):
            client.sendall(response(json.dumps(self.stats()).encode()))
            self._reset()
            return
        self._arrivals.append(now)
        reply = self._good
        if self._refuse_every and self._is_refused(request, now):
            reply = self._refusal
        if self._latency_s and reply is self._good:
            self._order += 1
            self._open_now += 1
            self._open_most = max(self._open_most, self._open_now)
            heapq.heappush(self._due, (now + self._latency_s, self._order, client, reply))
        else:
            self._send(client, reply)

    def _is_refused(self, request: bytes, now: float) -> bool:
        item, model = _ITEM.search(request), _MODEL.search(request)
        if item is None or model is None or int(item[1]) % self._refuse_every:
            return False
        key = model[1], item[1]
        first = self._refused.setdefault(key, now)
        if first == now:
            return True
        self._early += now - first < self._retry_after_s
        return False

    def _reply_due(self) -> None:
        now = time.monotonic()
        while self._due and self._due[0][0] <= now:
            _, _, client, reply = heapq.heappop(self._due)
            self._open_now -= 1
            self._send(client, reply)

    def _send(self, client: socket.socket, reply: bytes) -> None:
        try:
            client.send(reply)
        except OSError:
            return
        self._last_reply = time.monotonic()

    def stats(self) -> dict[str, Any]:
        """Return what was seen since the last reset; instants are monotonic seconds."""
        return {
            "requests": len(self._arrivals),
            "connections": self._connections,
            "first": self._arrivals[0] if self._arrivals else 0.0,
            "last_reply": self._last_reply,
            "most_open": self._open_most,
            "refused": len(self._refused),
            "early_retries": self._early,
            "most_per_window": most_per_window(self._arrivals, WINDOW_S),
            "per_window": full_windows(self._arrivals, WINDOW_S),
            "cpu_s": time.process_time() - self._cpu_start,
        }


def most_per_window(times: Any, window_s: float) -> int:
    """Return the most arrivals in any half-open window of this length."""
    most = start = 0
    for end, at in enumerate(times):
        while times[start] <= at - window_s:
            start += 1
        most = max(most, end - start + 1)
    return most


def full_windows(times: Any, window_s: float) -> list[int]:
    """Return the arrivals in each whole window from the first arrival on."""
    if not times:
        return []
    first, counts = times[0], [0] * int((times[-1] - times[0]) / window_s)
    for at in times:
        number = int((at - first) / window_s)
        if number < len(counts):
            counts[number] += 1
    return counts


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--latency", type=float, default=0.0)
    parser.add_argument("--refuse-every", type=int, default=0)
    parser.add_argument("--retry-after", type=float, default=0.0)
    options = parser.parse_args()
    server = Server(options.latency, options.refuse_every, options.retry_after)
    print(server.port, flush=True)
    server.serve()


if __name__ == "__main__":
    sys.exit(main())
