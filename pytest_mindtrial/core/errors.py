"""The one exception tree of the project.

Does not format tracebacks and never catches anything.

::

    MindTrialError
    ├── UserError                 a mistake in the user's files or options; printed without traceback
    │   ├── ConfigError           config.yaml, command line options, environment
    │   ├── TaskError             tasks.yaml
    │   └── ResultsError          results JSON, journals, baselines, history files; gate expressions
    ├── ProviderError             a model service did not give a usable reply
    │   ├── TransportError        no complete HTTP reply (connection, timeout, stream cut)
    │   ├── ApiError              the service answered with an error
    │   └── ReplyError            a reply came but holds no usable answer
    │       ├── ReplyParseError   the text cannot be read as the agreed structure
    │       └── EmptyReplyError   nothing actionable in the reply
    ├── UnsupportedError          the run cannot take this task (the task is skipped)
    ├── UnfinishedError           a feature that this version reads but cannot execute yet
    ├── TurnLimitError            the conversation needed more turns than allowed
    ├── SandboxError              Docker: tools, services, custom validators
    │   ├── SandboxSetupError     engine missing or too old, image missing; found before anything is spent
    │   └── SandboxRuntimeError   a container or network failed during an attempt
    ├── ValidationError           a validator could not decide (never a wrong answer)
    └── InternalError             our own defect; printed with traceback

Source: style.md habit 18.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from pytest_mindtrial.core.record import RequestRecord

__all__ = [
    "ApiError",
    "ConfigError",
    "EmptyReplyError",
    "InternalError",
    "MindTrialError",
    "Position",
    "ProviderError",
    "ReplyError",
    "ReplyParseError",
    "ResultsError",
    "SandboxError",
    "SandboxRuntimeError",
    "SandboxSetupError",
    "TaskError",
    "TransportError",
    "TurnLimitError",
    "UnfinishedError",
    "UnsupportedError",
    "UserError",
    "ValidationError",
]


@dataclass(frozen=True, slots=True)
class Position:
    """A place in a user's file.

    Attributes:
        file: Path as the user would type it.
        line: 1-based line.
        column: 1-based column.
        path: YAML path such as ``task-config.tasks[3].name``; blank when unknown.
    """

    file: str
    line: int
    column: int
    path: str = ""

    def __str__(self) -> str:
        """Return ``file:line:column path``."""
        place = f"{self.file}:{self.line}:{self.column}"
        return f"{place} {self.path}" if self.path else place


class MindTrialError(Exception):
    """Base of everything this project raises on purpose."""


class UserError(MindTrialError):
    """A mistake the user can correct; its text is complete and needs no traceback.

    Args:
        message: What happened, what was found, what is allowed.
        position: Where, when it happened in a file; put in front of the message.
    """

    def __init__(self, message: str, position: Position | None = None) -> None:
        super().__init__(f"{position}: {message}" if position else message)
        self.message = message
        self.position = position


class ConfigError(UserError):
    """Something in config.yaml, in the options or in the environment is wrong."""


class TaskError(UserError):
    """Something in a task file is wrong."""


class ResultsError(UserError):
    """A results file, a journal, a history file or a gate expression cannot be used."""


class ProviderError(MindTrialError):
    """A model service did not give a usable reply.

    Args:
        message: Text for people; never contains a key.
        transient: True when a later identical request may succeed, False when not, None when unknown.
        cause: Short stable word for reports and retry records, such as ``http-429``, ``connect``, ``timeout``.
        status: HTTP status, if a reply came.
        retry_after_s: Seconds the service asked us to wait, if it did.
        details: Further lines for the report by heading, such as ``HTTP Response`` or ``Stop Reason``.
        request_id: The service's own id of the request.

    Attributes:
        requests: Every try that led here; set by the request policy.
        may_resend: True when a kept connection was closed by the service before a byte of the reply: the request was
            most likely never read, and may be sent again at once, as a request of its own.
        usage: Tokens of the conversation so far (``core.values.Usage``); set by the engine for a judge's failed answer.
    """

    def __init__(
        self,
        message: str,
        *,
        transient: bool | None = None,
        cause: str = "",
        status: int | None = None,
        retry_after_s: float | None = None,
        details: Mapping[str, str] | None = None,
        request_id: str | None = None,
    ) -> None:
        super().__init__(message)
        self.message = message
        self.transient = transient
        self.cause = cause
        self.status = status
        self.retry_after_s = retry_after_s
        self.details = dict(details or {})
        self.request_id = request_id
        self.requests: tuple[RequestRecord, ...] = ()
        self.may_resend = False
        self.usage: object | None = None


class TransportError(ProviderError):
    """No complete HTTP reply arrived."""


class ApiError(ProviderError):
    """The service answered with an error (status, error body, stream error event, failed response)."""


class ReplyError(ProviderError):
    """A complete reply came, but it holds no usable answer (filtered, refused, failed stop)."""


class ReplyParseError(ReplyError):
    """The reply text cannot be read as the agreed structure."""


class EmptyReplyError(ReplyError):
    """The reply has neither text nor tool calls."""


class UnsupportedError(MindTrialError):
    """The run cannot take this task; the task is skipped, nothing was sent.

    Args:
        title: Heading of the report, such as ``Feature Not Supported``.
        message: The reason.
    """

    def __init__(self, title: str, message: str) -> None:
        super().__init__(message)
        self.title = title
        self.message = message


class UnfinishedError(MindTrialError):
    """The file asks for a part that this version cannot execute; always an Error result, never a silent pass."""


class TurnLimitError(MindTrialError):
    """The conversation needed more turns than ``max-turns`` allows."""


class SandboxError(MindTrialError):
    """Docker could not do what the task needs.

    Args:
        message: Text for people.
        details: Further lines for the report by heading, such as the output of a service; never shown to a model.
    """

    def __init__(self, message: str, *, details: Mapping[str, str] | None = None) -> None:
        super().__init__(message)
        self.message = message
        self.details = dict(details or {})


class SandboxSetupError(SandboxError):
    """The engine or an image is missing or unfit; found before anything is spent."""


class SandboxRuntimeError(SandboxError):
    """A container, volume or network failed during an attempt."""


class ValidationError(MindTrialError):
    """A validator could not decide; the result is an Error, neither passed nor failed.

    Args:
        message: What went wrong.
        title: Heading of the report.
        transient: As in `ProviderError`.
        usage: Tokens the validator had already spent (``core.values.Usage``), if any.
        semantic: What is known of the judge (``core.record.Semantic``), if any.
        details: Further lines for the report by heading.
    """

    def __init__(
        self,
        message: str,
        *,
        title: str = "Validation Error",
        transient: bool | None = None,
        usage: object | None = None,
        semantic: object | None = None,
        details: Mapping[str, str] | None = None,
        response_parsing: bool = False,
    ) -> None:
        super().__init__(message)
        self.message = message
        self.title = title
        self.transient = transient
        self.usage = usage
        self.semantic = semantic
        self.details = dict(details or {})
        self.response_parsing = response_parsing


class InternalError(MindTrialError):
    """A defect of this project."""
