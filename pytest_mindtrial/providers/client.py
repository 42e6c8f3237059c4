"""The model client of every HTTP vendor: profile, run, transport and request policy joined.

Does not build bodies (``dialects/``), send (``transport.py``), loop, retry or limit (engine). Source: spec providers 1,
2.1 and 3.1.
"""

from __future__ import annotations

import json
from collections.abc import Callable, Mapping, Sequence
from dataclasses import replace
from functools import cached_property, partial
from typing import Any

from pytest_mindtrial.core.errors import TaskError, UnsupportedError
from pytest_mindtrial.core.values import StopClass, ToolResult
from pytest_mindtrial.core.weight import text_weight
from pytest_mindtrial.providers.base import Attachment, Prompt, ReplyFacts, RequestPolicy, Turn
from pytest_mindtrial.providers.dialects.base import Dialect, WireConversation
from pytest_mindtrial.providers.modes import output_mode
from pytest_mindtrial.providers.profiles import Profile
from pytest_mindtrial.providers.reading import read_answer
from pytest_mindtrial.providers.strict_schema import strict_problem
from pytest_mindtrial.providers.transport import Transport
from pytest_mindtrial.suite.model import Run

__all__ = ["HttpConversation", "HttpModelClient"]

REPLY_VERSION = 1
"""Raised when dialects begin to put the replies of unchanged requests together differently (event streams)."""


class HttpModelClient:
    """A run's connection to a service; implements `providers.base.ModelClient`.

    Args:
        profile: The vendor.
        run: Model and parameters.
        dialect: Already chosen.
        transport: The way to the service.
        policy: Limits, retries and records around every request.
        is_vendor_host: False for custom endpoints.
    """

    is_mock = False

    def __init__(
        self,
        profile: Profile,
        run: Run,
        dialect: Dialect,
        transport: Transport,
        policy: RequestPolicy,
        *,
        is_vendor_host: bool = True,
    ) -> None:
        self._profile = profile
        self._run = run
        self._dialect = dialect
        self._transport = transport
        self._policy = policy
        self._is_vendor_host = is_vendor_host

    def check(self, prompt: Prompt) -> None:
        """Refuse native files that the model does not take; see `providers.base.ModelClient`.

        Raises:
            TaskError: The answer schema is one that the vendor's strict mode would refuse.
        """
        for item in prompt.attachments:
            if _is_native(item) and not self._profile.accepts(self._run.model, item.mime):
                raise UnsupportedError(
                    "Feature Not Supported",
                    f"{self._profile.name} cannot take file {item.name!r} of type {item.mime or 'unknown'} "
                    f"with model {self._run.model}",
                )
        self._check_schema(prompt)

    def start(self, prompt: Prompt) -> HttpConversation:
        """Begin a conversation; sends nothing."""
        self.check(prompt)
        mode = output_mode(self._profile, self._run, has_tools=bool(prompt.tools))
        wire = self._dialect.open(self._profile, self._run, prompt, mode=mode, is_vendor_host=self._is_vendor_host)
        return HttpConversation(wire, self._transport, self._policy, prompt.response_format, self._identity)

    @cached_property
    def _identity(self) -> Mapping[str, Any]:
        return {
            "host": self._transport.address,
            "dialect": f"{self._dialect.name} {REPLY_VERSION}",
            "headers": self._transport.public_headers,
        }

    def _check_schema(self, prompt: Prompt) -> None:
        schema = prompt.response_format
        if isinstance(schema, str) or not self._profile.checks_strict_schema or not self._is_vendor_host:
            return
        if output_mode(self._profile, self._run, has_tools=bool(prompt.tools)) != "schema":
            return
        if (problem := strict_problem(schema)) is not None:
            raise TaskError(
                f"task {prompt.task!r}: {self._profile.name} enforces schemas in strict mode, which does not take this "
                f"response-result-format: {problem}. Change the schema, or set text-response-format for run "
                f"{self._run.name!r}"
            )

    async def close(self) -> None:
        """Do nothing: the connections belong to the `Http` that all clients share."""


def _is_native(item: Attachment) -> bool:
    return item.data is not None if item.is_native is None else item.is_native


def _without_keys(turn: Turn, redact: Callable[[str], str]) -> Turn:
    """Return a turn as it may be shown, should a service repeat a key in its reply.

    Answers reach terminals, logs, judges and other plugins' reports; this is the one place they all come from.
    """
    calls, parsed = turn.tool_calls, turn.parsed
    if not (parsed or calls or turn.commentary or turn.stop_details) and turn.text and redact(turn.text) == turn.text:
        return turn  # nearly every reply: a text without a key
    calls = tuple(replace(call, arguments=redact(call.arguments)) for call in calls)
    if parsed is not None and redact(text := json.dumps(parsed, ensure_ascii=False)) != text:
        parsed = json.loads(redact(text))
    return replace(
        turn,
        text=turn.text and redact(turn.text),
        commentary=redact(turn.commentary),
        stop_details={name: redact(detail) for name, detail in turn.stop_details.items()},
        tool_calls=calls,
        parsed=parsed,
    )


class HttpConversation:
    """One running conversation; implements `providers.base.Conversation`.

    Args:
        wire: The messages.
        transport: The way to the service.
        policy: Limits, retries, cache, budget and records.
        response_format: How the last answer will be read.
        identity: What tells requests with the same path and body apart.
    """

    def __init__(
        self,
        wire: WireConversation,
        transport: Transport,
        policy: RequestPolicy,
        response_format: str | Mapping[str, Any],
        identity: Mapping[str, Any],
    ) -> None:
        self._wire = wire
        self._transport = transport
        self._policy = policy
        self._response_format = response_format
        self._identity = identity
        self._turn = 0
        self._said: Turn | None = None

    async def next_turn(self) -> Turn:
        """Send what has been gathered; see `providers.base.Conversation`."""
        self._turn += 1
        call = self._wire.request()
        reply, requests = await self._policy.execute(
            partial(self._transport.send, call),
            turn=self._turn,
            purpose="candidate",
            cache_key={**self._identity, "path": call.path, "call_headers": dict(call.headers), "body": call.body},
            read=self._read,
            weigh=lambda: text_weight(call.body),
        )
        assert self._said is not None
        return replace(self._said, duration_ns=reply.duration_ns, requests=requests, request_id=reply.request_id)

    def _read(self, reply: Any) -> ReplyFacts:
        """Take a reply in and say what it is worth."""
        turn = self._said = _without_keys(self._wire.accept(reply.json), self._transport.redact)
        if turn.stop in (StopClass.TOOLS, StopClass.CONTINUE):
            return ReplyFacts(turn.usage)
        return ReplyFacts(turn.usage, lambda: read_answer(turn, response_format=self._response_format).problems)

    def add_tool_results(self, results: Sequence[ToolResult]) -> None:
        """Answer every tool call of the last turn."""
        self._wire.add_tool_results(results)

    def add_feedback(self, text: str) -> None:
        """Add a user message."""
        self._wire.add_feedback(text)

    def withdraw_tool(self, name: str) -> None:
        """Stop offering a tool."""
        self._wire.withdraw_tool(name)
