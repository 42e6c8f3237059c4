"""What a dialect is: how one vendor language writes requests and reads replies.

Dialects are pure: no sockets, no clocks, no retries. They own their message list as plain wire dictionaries, which
never leave this package. Does not choose the dialect (``providers/profiles.py``) and does not send
(``providers/transport.py``). Source: spec providers 1 and 14.1.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, field
from typing import TYPE_CHECKING, Any, Protocol

from pytest_mindtrial.core.errors import ProviderError
from pytest_mindtrial.core.values import ToolResult
from pytest_mindtrial.providers.base import OutputMode, Prompt, Turn
from pytest_mindtrial.providers.sse import SseEvent
from pytest_mindtrial.suite.model import Run

if TYPE_CHECKING:
    from pytest_mindtrial.providers.profiles import Profile

__all__ = ["Dialect", "HttpCall", "WireConversation"]


@dataclass(frozen=True, slots=True)
class HttpCall:
    """One POST, without host and credentials.

    Attributes:
        path: Appended to the base URL; begins with a slash, may hold a query.
        body: JSON object to send. Belongs to the conversation: read it, do not change it.
        stream: True when the reply is an event stream that `Dialect.assemble` must put together.
        headers: Extra headers of this call.
    """

    path: str
    body: Mapping[str, Any]
    stream: bool = False
    headers: Mapping[str, str] = field(default_factory=dict)


class WireConversation(Protocol):
    """The messages of one attempt in wire form.

    The order of calls is ``request`` → ``accept`` → (``add_tool_results`` or ``add_feedback``) → ``request`` …;
    ``request`` may be called again for a retry and then returns an equal call.
    """

    def request(self) -> HttpCall:
        """Return the next request; changes nothing."""

    def accept(self, reply: Mapping[str, Any]) -> Turn:
        """Take the complete reply object, remember what must be replayed, and return the turn.

        The turn's ``duration_ns``, ``requests`` and ``request_id`` are filled by the caller.

        Raises:
            ReplyError: The reply holds nothing that a turn could be made of (no choices, no candidates).
        """

    def add_tool_results(self, results: Sequence[ToolResult]) -> None:
        """Append the answers to all calls of the last turn, in the model's order."""

    def add_feedback(self, text: str) -> None:
        """Append a user message."""

    def withdraw_tool(self, name: str) -> None:
        """Leave a tool out of the following requests; unknown names are ignored."""


class Dialect(Protocol):
    """One vendor language; stateless and shared by all runs."""

    name: str
    """Module name, such as ``openai_chat``."""

    def open(
        self, profile: Profile, run: Run, prompt: Prompt, *, mode: OutputMode, is_vendor_host: bool
    ) -> WireConversation:
        """Begin a conversation.

        Args:
            profile: The vendor's data.
            run: Model and parameters.
            prompt: What to ask.
            mode: How structured output is asked for, already chosen (``providers.modes.output_mode``).
            is_vendor_host: False for custom endpoints, which get no vendor-only fields (spec providers 13.7).
        """

    def assemble(self, events: Iterable[SseEvent]) -> Mapping[str, Any]:
        """Put a finished event stream together to what the same request would have returned without streaming.

        Raises:
            TransportError: The terminator is missing or an event is not JSON (cause ``stream-cut``, transient).
            ApiError: The stream carries an error event (`providers.errors.error_in_reply`).
        """

    def fault(self, reply: Mapping[str, Any], *, status: int = 200) -> ProviderError | None:
        """Return the error that a reply with a good status really is, if any.

        This is asked inside the retried part of a request: error objects in a 200 body, failed responses and stop
        reasons that a later identical request may cure.
        """
