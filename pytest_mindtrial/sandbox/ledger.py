"""The books of one attempt's tool calls: what was called, how often, what is used up.

Does not run tools and knows neither containers nor functions. Source: spec docker 4.7 and 4.9.
"""

from __future__ import annotations

import logging
import secrets
from dataclasses import dataclass
from datetime import datetime
from typing import Any

from pytest_mindtrial.core.clock import Clock
from pytest_mindtrial.core.record import ToolCallRecord, ToolUsageRecord
from pytest_mindtrial.core.values import ToolCall, ToolResult
from pytest_mindtrial.sandbox.reports import CallReport, refused_text

__all__ = ["CallLedger", "OpenCall"]

_LOG = logging.getLogger("pytest_mindtrial.sandbox")


@dataclass(frozen=True, slots=True)
class OpenCall:
    """A call that was accepted and has not ended."""

    call: ToolCall
    turn: int
    started_at: datetime
    begin_ns: int


class CallLedger:
    """Records of the calls of one attempt.

    Args:
        clock: For stamps and durations.

    Attributes:
        calls: Records in the order of completion.
        usage: Totals by tool over calls whose process was asked to start.
        exhausted: Tools that were asked for after their ``max-calls`` were used up.
    """

    def __init__(self, clock: Clock) -> None:
        self._clock = clock
        self.calls: list[ToolCallRecord] = []
        self.usage: dict[str, ToolUsageRecord] = {}
        self.exhausted: set[str] = set()

    def refusal(self, call: ToolCall, max_calls: int | None) -> ToolResult | None:
        """Return what the model is told when the tool is used up, which leaves no record; None when it may run."""
        used = self.usage.get(call.name, ToolUsageRecord()).call_count
        if max_calls is None or used < max_calls:
            return None
        self.exhausted.add(call.name)
        return ToolResult(call, refused_text(call.name, max_calls), True)

    def open(self, call: ToolCall, turn: int) -> OpenCall:
        """Note the start of a call; each one must be given to `close` exactly once."""
        return OpenCall(call, turn, self._clock.now(), self._clock.monotonic_ns())

    def close(self, opened: OpenCall, report: CallReport, *, counts: bool, **process: Any) -> None:
        """Append the record of a call and log its end.

        Args:
            opened: The call.
            report: What became of it.
            counts: True when its process was asked to start.
            process: Fields of the record that come from the process.
        """
        call = opened.call
        if counts:
            total = self.usage.get(call.name, ToolUsageRecord())
            duration_ns = total.total_duration_ns + (process.get("duration_ns") or 0)
            self.usage[call.name] = ToolUsageRecord(total.call_count + 1, duration_ns)
        self.calls.append(
            ToolCallRecord(
                tool=call.name,
                call_id=call.id or f"call-{secrets.token_hex(8)}",
                turn=opened.turn,
                started_at=opened.started_at.isoformat(),
                completed_at=self._clock.now().isoformat(),
                wall_time_ns=self._clock.monotonic_ns() - opened.begin_ns,
                status=report.status,
                error_message=report.error,
                arguments=call.arguments,
                **process,
            )
        )
        _log(call.name, report)


def _log(tool: str, report: CallReport) -> None:
    level = logging.INFO
    if report.status in ("infrastructure_error", "timeout"):
        level = logging.ERROR
    elif report.is_error:
        level = logging.WARNING
    _LOG.log(level, "tool %r: %s%s", tool, report.status, f": {report.error}" if report.error else "")
