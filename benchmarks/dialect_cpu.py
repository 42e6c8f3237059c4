"""Processor time of one request in each dialect: building the body to send, and reading the reply to an answer.

No sockets: what is measured is the dialect, JSON and the reading of the answer. ``start`` opens a conversation and
encodes its first request; ``read`` decodes a plain reply and reads the answer; ``stream`` parses and assembles the same
reply as an event stream and reads it; ``tools`` is a whole second turn: a reply with a call, its result, the next
request. The target is a median of less than one millisecond for start + read.
"""

from __future__ import annotations

import argparse
import json
import statistics
import sys
import time
from collections.abc import Callable
from pathlib import Path
from typing import Any

sys.path.insert(0, str(Path(__file__).parents[1]))

from pytest_mindtrial.core.values import ToolResult
from pytest_mindtrial.providers.base import Attachment, Prompt, ToolDefinition, Turn
from pytest_mindtrial.providers.dialects.base import Dialect, WireConversation
from pytest_mindtrial.providers.modes import output_mode
from pytest_mindtrial.providers.profiles import choose_dialect, profile_of
from pytest_mindtrial.providers.reading import read_answer
from pytest_mindtrial.providers.registry import load_dialect
from pytest_mindtrial.providers.sse import SseParser
from pytest_mindtrial.suite.model import ClientConfig, Run
from tests.support.said import Call, Said, wrapped
from tests.support.vendor_forms import FORMS
from tests.support.wire_bodies import MODELS, vendor_of

TARGET_MS = 1.0
ADD = ToolDefinition("add", "Adds two numbers", {"type": "object", "properties": {"a": {"type": "integer"}}})
PROMPT = Prompt(
    "reasoning",
    "Find the sections. " * 120,
    "one line per section",
    system_prompt="Answer with one line per section. " * 10,
    attachments=(Attachment("table", "text/csv", None, "table.csv"),),
    tools=(ADD,),
)
SAID = Said(wrapped("E, Yellow, 5\n" * 20), reasoning="think " * 300)
CALLING = Said("I will add.", (Call("callid001"),), reasoning="think " * 300, end="tools")
_encode = json.JSONEncoder(ensure_ascii=False, separators=(",", ":")).encode


class Bench:
    """One vendor's dialect with its replies at hand."""

    def __init__(self, column: str) -> None:
        self._profile = profile_of(vendor_of(column))
        self._run = Run("r", self._profile.name, MODELS[column])
        self._mode = output_mode(self._profile, self._run, has_tools=True)
        dialect: Dialect = load_dialect(choose_dialect(self._profile, ClientConfig(), self._run.model))
        self._dialect = dialect
        form = FORMS[column]
        self._reply = json.dumps(form.plain(SAID)).encode()
        self._events = "".join(form.events(SAID)).encode()
        self._calling = json.dumps(form.plain(CALLING)).encode()

    def open(self) -> WireConversation:
        return self._dialect.open(self._profile, self._run, PROMPT, mode=self._mode, is_vendor_host=True)

    def start(self) -> bytes:
        return _encode(self.open().request().body).encode()

    def read(self) -> Any:
        return self._answer(json.loads(self._reply))

    def stream(self) -> Any:
        parser = SseParser()
        return self._answer(self._dialect.assemble([*parser.feed(self._events), *parser.close()]))

    def tools(self) -> bytes:
        wire = self._fresh
        turn = wire.accept(json.loads(self._calling))
        wire.add_tool_results([ToolResult(call, "4") for call in turn.tool_calls])
        return _encode(wire.request().body).encode()

    def prepare(self) -> None:
        """Open the conversation that the next measurement uses; its opening is measured by ``start`` alone."""
        self._fresh = self.open()

    def _answer(self, reply: Any) -> Any:
        turn: Turn = self._fresh.accept(reply)
        return read_answer(turn, response_format=PROMPT.response_format).content


def median_ms(bench: Bench, work: Callable[[], Any], rounds: int) -> float:
    """Return the median processor time in milliseconds."""
    taken = []
    for number in range(rounds + 5):
        bench.prepare()
        begin = time.process_time_ns()
        assert work()
        if number >= 5:  # the first ones fill caches
            taken.append(time.process_time_ns() - begin)
    return statistics.median(taken) / 1e6


def main() -> int:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--rounds", type=int, default=300)
    parser.add_argument("--json", type=Path, help="write the numbers here")
    options = parser.parse_args()
    print(f"{'ms of processor time, median':30}{'start':>9}{'read':>9}{'stream':>9}{'tools':>9}{'start+read':>12}")
    numbers = {}
    for column in MODELS:
        bench = Bench(column)
        parts = {
            name: median_ms(bench, getattr(bench, name), options.rounds)
            for name in ("start", "read", "stream", "tools")
        }
        total = parts["start"] + parts["read"]
        numbers[column] = {**{name: round(value, 4) for name, value in parts.items()}, "start_read": round(total, 4)}
        print(f"{column:30}" + "".join(f"{value:9.3f}" for value in parts.values()) + f"{total:12.3f}")
    slow = [column for column, values in numbers.items() if values["start_read"] >= TARGET_MS]
    print(f"target: start+read under {TARGET_MS} ms → {'missed by ' + ', '.join(slow) if slow else 'met by all'}")
    if options.json:
        options.json.write_text(json.dumps(numbers, indent=2) + "\n", "utf-8")
    return 1 if slow else 0


if __name__ == "__main__":
    sys.exit(main())
