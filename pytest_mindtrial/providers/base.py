"""What the engine knows of a model: prompts in, turns out.

Does not know HTTP (``providers/dialects``, ``providers/transport.py``) and does not loop, retry or limit (engine).
Anything that implements `ModelClient` can be evaluated: the HTTP vendors, ``mock``, ``local`` and objects that a
conftest gives through the ``mt_provider`` fixture. Source: spec providers 1.
"""

from __future__ import annotations

from collections.abc import Awaitable, Callable, Mapping, Sequence
from dataclasses import dataclass, field
from typing import Any, Literal, Protocol

from pytest_mindtrial.core.record import RequestRecord
from pytest_mindtrial.core.values import StopClass, ToolCall, ToolResult, Usage

__all__ = [
    "Attachment",
    "Conversation",
    "ModelClient",
    "OutputMode",
    "Prompt",
    "ReplyFacts",
    "RequestPolicy",
    "ToolDefinition",
    "Turn",
]

OutputMode = Literal["schema", "legacy-schema", "object", "text", "tool", "off"]
"""How structured output is asked for (spec providers 4.2); ``off`` = disable-structured-output."""


@dataclass(frozen=True, slots=True)
class Attachment:
    """An attached file as a prompt needs it.

    Attributes:
        name: Announced as ``[file: NAME]``.
        mime: Normalised type (no parameters, lower case), ``image/jpg`` already ``image/jpeg``.
        data: Content; None for a file that is announced only (access ``[local]``).
        filename: Name with an extension, for document parts.
        image_detail: As written; blank = unset.
        is_native: Whether the content goes to the model; None = it does when ``data`` is there. Set it for
            `ModelClient.check` before the content is loaded.
    """

    name: str
    mime: str
    data: bytes | None
    filename: str = ""
    image_detail: str = ""
    is_native: bool | None = None


@dataclass(frozen=True, slots=True)
class ToolDefinition:
    """A tool offered to the model; ``parameters`` is a JSON Schema, sent verbatim."""

    name: str
    description: str
    parameters: Mapping[str, Any]


@dataclass(frozen=True, slots=True)
class Prompt:
    """One conversation's opening, free of vendor forms.

    Attributes:
        task: Task name; for mocks and logs only, never sent.
        text: The task prompt, verbatim.
        response_format: Text instruction or JSON Schema of the answer.
        system_prompt: Answer-format instruction to send, or None.
        attachments: In task order, announced ones included.
        tools: Offered tools in a stable order.
        expected: Accepted answers; only the mock provider may look at them. Never sent.
        repeat: Repeat index; part of the identity of the attempt, never sent.
        seed: Evaluation seed; for deterministic mocks only, never sent.
    """

    task: str
    text: str
    response_format: str | Mapping[str, Any]
    system_prompt: str | None = None
    attachments: tuple[Attachment, ...] = ()
    tools: tuple[ToolDefinition, ...] = ()
    expected: tuple[Any, ...] = ()
    repeat: int | None = None
    seed: str = ""

    @property
    def wants_schema(self) -> bool:
        """True when the answer is structured."""
        return not isinstance(self.response_format, str)


@dataclass(frozen=True, slots=True)
class Turn:
    """One model reply.

    Attributes:
        text: Answer text of a terminal reply; never reasoning, never commentary. None = none came.
        stop: Class that decides what the loop does next.
        stop_reason: The vendor's own word; blank when absent.
        stop_details: Further facts of the stop, as text by heading.
        commentary: Text beside tool calls or of non-final phases; logged only.
        tool_calls: In the model's order.
        usage: Counters of this turn.
        duration_ns: Model time of the successful try (sending to complete reply).
        requests: Every try this turn took, the successful one last.
        mode: How the text is to be read.
        parsed: The wrapper object when the vendor returned it already parsed (Anthropic ``submit_response``).
    """

    text: str | None
    stop: StopClass
    stop_reason: str = ""
    stop_details: Mapping[str, str] = field(default_factory=dict)
    commentary: str = ""
    tool_calls: tuple[ToolCall, ...] = ()
    usage: Usage = field(default_factory=Usage)
    duration_ns: int = 0
    requests: tuple[RequestRecord, ...] = ()
    mode: OutputMode = "schema"
    parsed: Mapping[str, Any] | None = None
    response_id: str | None = None
    request_id: str | None = None


class Conversation(Protocol):
    """One running conversation; owned by one attempt, not shared between tasks or threads."""

    async def next_turn(self) -> Turn:
        """Send what has been gathered and return the model's reply.

        Raises:
            ProviderError: No usable reply; retries allowed by the policy are already used up. Its ``requests``
                attribute (tuple of `RequestRecord`) tells every try.
        """

    def add_tool_results(self, results: Sequence[ToolResult]) -> None:
        """Answer every tool call of the last turn, in the model's order."""

    def add_feedback(self, text: str) -> None:
        """Add a user message (feedback turn)."""

    def withdraw_tool(self, name: str) -> None:
        """Stop offering a tool in the following requests."""


class ModelClient(Protocol):
    """A run's connection to its model; shared by all attempts of the run, used from the engine's loop only."""

    is_mock: bool
    """True when nothing real answers; reports say so."""

    def check(self, prompt: Prompt) -> None:
        """Look at a prompt before anything is sent.

        ``attachments`` may have ``data`` None even for native files (types are known, content not yet loaded).

        Raises:
            UnsupportedError: The run cannot take it; the task is skipped.
        """

    def start(self, prompt: Prompt) -> Conversation:
        """Begin a conversation; sends nothing."""

    async def close(self) -> None:
        """Release connections."""


@dataclass(frozen=True, slots=True)
class ReplyFacts:
    """What a client found in a reply.

    Attributes:
        usage: Tokens of this reply; None = unknown.
        misfits: Returns why a structured answer does not fit its schema, which is an error for a judge and a wrong
            answer otherwise; raises `ProviderError` for a reply that holds no answer at all, such as a refusal.
            Called only where somebody wants to know.
    """

    usage: Usage | None = None
    misfits: Callable[[], Sequence[str]] = tuple


class RequestPolicy(Protocol):
    """What the engine puts around every HTTP request: rate limits, retries, budget, cache, records.

    Implemented in ``engine/requests.py``; given to HTTP clients when they are built.
    """

    async def execute(
        self,
        send: Callable[[], Awaitable[Any]],
        *,
        turn: int,
        purpose: str,
        cache_key: Mapping[str, Any] | None = None,
        read: Callable[[Any], ReplyFacts] | None = None,
        weigh: Callable[[], int] | None = None,
    ) -> tuple[Any, tuple[RequestRecord, ...]]:
        """Run ``send`` under the limits, again after transient errors, and return its value and the records.

        ``send`` returns an object with the attributes ``status``, ``request_id``, ``duration_ns`` and
        ``first_byte_ns`` (`providers.transport.Reply`) and raises `ProviderError`.

        Args:
            send: Makes one try.
            turn: 1-based turn of the conversation.
            purpose: ``candidate`` or ``judge``.
            cache_key: Everything that is sent, without credentials, as JSON values; None = never cached.
            read: Takes the good reply in, wherever it came from, and says what it is worth; called once.
            weigh: Returns the size of the request in characters; called only where somebody wants to know.

        Raises:
            ProviderError: The last error, with ``requests`` set to the records of all tries.
        """
