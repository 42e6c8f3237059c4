"""What became of a tool call: its status, the text for the model, the text for the report.

Texts for the model hold no host paths and no logs of services. Does not run anything. Source: spec docker 4.8.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import Literal

from pytest_mindtrial.sandbox.process import Outcome
from pytest_mindtrial.suite.model import ContainerLimits

__all__ = [
    "CallReport",
    "Status",
    "cut_text",
    "infrastructure_report",
    "invalid_report",
    "outcome_report",
    "refused_text",
    "seconds_text",
    "unknown_text",
]

Status = Literal["success", "nonzero_exit", "empty_output", "timeout", "invalid_arguments", "infrastructure_error"]

OOM_EXIT = 137

_PHASES = {
    "create": "its container could not be created",
    "start": "its container could not be started",
    "wait": "its container was lost while it ran",
}


@dataclass(frozen=True, slots=True)
class CallReport:
    """The end of one call.

    Attributes:
        status: One of the six statuses.
        text: For the model.
        error: For the report; None for a success.
    """

    status: Status
    text: str
    error: str | None = None

    @property
    def is_error(self) -> bool:
        """True when the text tells of a failure."""
        return self.status != "success"


def outcome_report(tool: str, outcome: Outcome, limits: ContainerLimits, ceiling_bytes: int) -> CallReport:
    """Judge a finished run.

    Args:
        tool: Tool name.
        outcome: How its container ended.
        limits: The limits it ran under, for the texts.
        ceiling_bytes: Output ceiling, for the text.
    """
    if outcome.failed_phase:
        reason = _PHASES[outcome.failed_phase]
        return infrastructure_report(tool, reason, f"{reason}: {outcome.failure}")
    if outcome.timed_out:
        text = f"Tool error: {tool} was stopped after its time limit of {seconds_text(limits.timeout_s or 0)}."
        return CallReport("timeout", text, f"stopped after the time limit of {seconds_text(limits.timeout_s or 0)}")
    if outcome.is_flooded:
        reason = f"printed more than {_size_text(ceiling_bytes)} and was stopped"
        return CallReport("nonzero_exit", f"Tool error: {tool} {reason}.", reason)
    stdout = outcome.capture.stdout.text.strip() if outcome.capture else ""
    if outcome.exit_code != 0:
        return _nonzero_report(tool, outcome, limits, stdout)
    note = "a process inside was killed at the memory limit" if outcome.oom_killed else None
    if not stdout:
        error = "printed nothing on standard output"
        return CallReport("empty_output", f"Tool error: {tool} {error}.", error + (f"; {note}" if note else ""))
    return CallReport("success", stdout, note)


def invalid_report(tool: str, reason: str) -> CallReport:
    """Return the report of arguments that cannot be used."""
    return CallReport("invalid_arguments", f"Tool error: the arguments of {tool} are not valid: {reason}", reason)


def infrastructure_report(tool: str, reason: str, error: str) -> CallReport:
    """Return the report of a call that our side could not carry out.

    Args:
        tool: Tool name.
        reason: For the model.
        error: For the report; may hold paths.
    """
    return CallReport("infrastructure_error", f"Tool error: {tool} could not be run: {reason}.", error)


def refused_text(tool: str, max_calls: int) -> str:
    """Return the text for a call beyond ``max-calls``."""
    return f"Tool error: {tool} may be called at most {max_calls} times in this task; do not call it again."


def unknown_text(tool: str) -> str:
    """Return the text for a tool that the task does not have."""
    return f"Tool error: there is no tool named {tool}."


def cut_text(text: str, limit_chars: int) -> str:
    """Return a text for a model, cut and marked when it is longer than the limit."""
    if len(text) <= limit_chars:
        return text
    return f"{text[:limit_chars]}\n[cut: {len(text) - limit_chars} more characters]"


def seconds_text(seconds: float) -> str:
    """Return a limit as ``60s``."""
    return f"{seconds:g}s"


def _nonzero_report(tool: str, outcome: Outcome, limits: ContainerLimits, stdout: str) -> CallReport:
    reason = f"ended with exit code {outcome.exit_code}"
    if outcome.oom_killed and outcome.exit_code == OOM_EXIT and limits.max_memory_mb:
        reason += f" (memory limit of {limits.max_memory_mb} MB reached)"
    stderr = outcome.capture.stderr.text.strip() if outcome.capture else ""
    parts = [f"Tool error: {tool} {reason}.", *(text for text in (stdout, stderr) if text)]
    return CallReport("nonzero_exit", "\n".join(parts), reason)


def _size_text(size_bytes: int) -> str:
    return f"{size_bytes / (1024 * 1024):g} MiB" if size_bytes >= 1024 * 1024 else f"{size_bytes} bytes"
