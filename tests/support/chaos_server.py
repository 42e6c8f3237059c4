"""A chat completion service that misbehaves by plan, in its own process.

Run as ``python chaos_server.py SEED``: prints its port, serves until its standard input ends. What happens to a task is
a function of seed, path and task name (`fate`), so that a test knows how each attempt must end. ``GET /stats`` returns
the arrival times of all requests in seconds. Streamed where the request asks for it. Not a measuring instrument.
"""

from __future__ import annotations

import asyncio
import json
import random
import re
import struct
import sys
import time
from collections import Counter
from socket import SO_LINGER, SOL_SOCKET
from typing import Any

# name: (weight, bad tries before a good one; None = never, how the attempt ends)
FATES: dict[str, tuple[int, int | None, str]] = {
    "good": (60, 0, "Passed"),
    "wrong": (10, 0, "Failed"),
    "storm": (10, 2, "Passed"),
    "storm-for-ever": (1, None, "Error"),
    "boom": (6, 1, "Passed"),
    "boom-for-ever": (1, None, "Error"),
    "reset": (4, 1, "Passed"),
    "cut": (4, 1, "Passed"),
    "loris": (3, 0, "Passed"),
    "stall": (1, None, "Error"),
    "gibberish": (2, None, "Error"),
    "half-json": (2, None, "Error"),
    "refused": (2, None, "Error"),
}


def fate(seed: str, path: str, task: str) -> str:
    """Return what happens to a task."""
    choice = random.Random(f"{seed} {path} {task}")
    return choice.choices(list(FATES), [weight for weight, _, _ in FATES.values()])[0]


class Service:
    """Answers one connection after the other."""

    def __init__(self, seed: str) -> None:
        self._seed = seed
        self._tries: Counter[tuple[str, str]] = Counter()
        self.arrivals: list[float] = []

    async def serve(self, reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
        try:
            while await self._one(reader, writer):
                pass
        except (OSError, asyncio.IncompleteReadError, asyncio.LimitOverrunError):
            pass
        finally:
            writer.close()

    async def _one(self, reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> bool:
        head = (await reader.readuntil(b"\r\n\r\n")).decode("latin-1")
        path = head.split(" ", 2)[1]
        if path == "/stats":
            writer.write(_response(json.dumps(self.arrivals).encode()))
            await writer.drain()
            return False
        self.arrivals.append(time.monotonic())
        length = re.search(r"(?im)^content-length: *(\d+)", head)
        body = json.loads(await reader.readexactly(int(length[1]) if length else 0))
        task = re.search(r"task-\d+", json.dumps(body["messages"]))
        name = task[0] if task else "?"
        kind = fate(self._seed, path, name)
        self._tries[path, name] += 1
        bad = FATES[kind][1]
        is_good = bad is not None and self._tries[path, name] > bad
        return await self._answer(writer, kind, is_good=is_good, is_stream=bool(body.get("stream")))

    async def _answer(self, writer: asyncio.StreamWriter, kind: str, *, is_good: bool, is_stream: bool) -> bool:
        payload = _completion("no" if kind == "wrong" else "yes", is_stream=is_stream)
        mime = "text/event-stream" if is_stream else "application/json"
        good = _response(payload, mime=mime)
        if kind == "loris":
            for start in range(0, len(good), len(good) // 12):
                writer.write(good[start : start + len(good) // 12])
                await writer.drain()
                await asyncio.sleep(0.03)
            return True
        if is_good:
            writer.write(good)
            await writer.drain()
            return True
        return await self._fail(writer, kind, good)

    async def _fail(self, writer: asyncio.StreamWriter, kind: str, good: bytes) -> bool:
        if kind == "stall":
            await asyncio.sleep(60)
            return False
        if kind == "reset":
            writer.get_extra_info("socket").setsockopt(SOL_SOCKET, SO_LINGER, struct.pack("ii", 1, 0))
            return False
        if kind == "cut":
            writer.write(good[: len(good) - 40])
            await writer.drain()
            return False
        writer.write(_BAD[kind])
        await writer.drain()
        return True


def _response(body: bytes, status: str = "200 OK", mime: str = "application/json", extra: str = "") -> bytes:
    head = f"HTTP/1.1 {status}\r\ncontent-type: {mime}\r\ncontent-length: {len(body)}\r\n{extra}\r\n"
    return head.encode() + body


_ERROR = b'{"error": {"message": "chaos"}}'
_BAD = {
    "storm": _response(_ERROR, "429 Too Many Requests", extra="retry-after: 0.05\r\n"),
    "storm-for-ever": _response(_ERROR, "429 Too Many Requests", extra="retry-after: 0.03\r\n"),
    "boom": _response(_ERROR, "500 Internal Server Error"),
    "boom-for-ever": _response(_ERROR, "503 Service Unavailable"),
    "gibberish": _response(b"<html>gateway</html>", mime="text/html"),
    "half-json": _response(b'{"choices": [{"mess'),
    "refused": _response(_ERROR, "400 Bad Request"),
}


def _completion(answer: str, *, is_stream: bool) -> bytes:
    content = json.dumps({"title": "t", "explanation": "e", "final_answer": answer})
    usage = {"prompt_tokens": 10, "completion_tokens": 5, "total_tokens": 15}
    if not is_stream:
        choice = {"index": 0, "finish_reason": "stop", "message": {"role": "assistant", "content": content}}
        return json.dumps({"id": "c", "object": "chat.completion", "choices": [choice], "usage": usage}).encode()
    deltas: list[tuple[dict[str, Any], str | None]] = [
        ({"content": content[:20]}, None),
        ({"content": content[20:]}, None),
        ({}, "stop"),
    ]
    events = [
        {"id": "c", "object": "chat.completion.chunk", "choices": [{"index": 0, "delta": delta, "finish_reason": end}]}
        for delta, end in deltas
    ]
    return b"".join(b"data: " + json.dumps(event).encode() + b"\n\n" for event in events) + b"data: [DONE]\n\n"


async def _main(seed: str) -> None:
    service = Service(seed)
    server = await asyncio.start_server(service.serve, "127.0.0.1", 0, backlog=1024)
    print(server.sockets[0].getsockname()[1], flush=True)
    await asyncio.get_running_loop().run_in_executor(None, sys.stdin.read)


if __name__ == "__main__":
    asyncio.run(_main(sys.argv[1]))
