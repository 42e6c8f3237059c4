"""Spec docker 4.8, row by row: status and text for the model."""

from __future__ import annotations

import pytest

from pytest_mindtrial.sandbox.output import Capture
from pytest_mindtrial.sandbox.process import Outcome
from pytest_mindtrial.sandbox.reports import (
    cut_text,
    infrastructure_report,
    invalid_report,
    outcome_report,
    refused_text,
    unknown_text,
)
from pytest_mindtrial.suite.model import ContainerLimits

LIMITS = ContainerLimits(timeout_s=60, max_memory_mb=64)


def printed(stdout: bytes = b"", stderr: bytes = b"") -> Capture:
    capture = Capture(1000)
    capture.read([(1, stdout), (2, stderr)])
    return capture


@pytest.mark.parametrize(
    "outcome, status, text, error",
    [
        (Outcome(exit_code=0, capture=printed(b" out\n", b"err")), "success", "out", None),
        (
            Outcome(exit_code=0, capture=printed(b"out"), oom_killed=True),
            "success",
            "out",
            "a process inside was killed at the memory limit",
        ),
        (
            Outcome(exit_code=3, capture=printed(b" out\n", b"err\n")),
            "nonzero_exit",
            "Tool error: T ended with exit code 3.\nout\nerr",
            "ended with exit code 3",
        ),
        (
            Outcome(exit_code=137, oom_killed=True, capture=printed()),
            "nonzero_exit",
            "Tool error: T ended with exit code 137 (memory limit of 64 MB reached).",
            "ended with exit code 137 (memory limit of 64 MB reached)",
        ),
        (Outcome(exit_code=3), "nonzero_exit", "Tool error: T ended with exit code 3.", "ended with exit code 3"),
        (
            Outcome(exit_code=0, capture=printed(b" \n", b"err")),
            "empty_output",
            "Tool error: T printed nothing on standard output.",
            "printed nothing on standard output",
        ),
        (
            Outcome(exit_code=0, capture=printed(), oom_killed=True),
            "empty_output",
            "Tool error: T printed nothing on standard output.",
            "printed nothing on standard output; a process inside was killed at the memory limit",
        ),
        (
            Outcome(timed_out=True, capture=printed(b"early")),
            "timeout",
            "Tool error: T was stopped after its time limit of 60s.",
            "stopped after the time limit of 60s",
        ),
        (
            Outcome(exit_code=137, is_flooded=True, capture=printed()),
            "nonzero_exit",
            "Tool error: T printed more than 1000 bytes and was stopped.",
            "printed more than 1000 bytes and was stopped",
        ),
        (
            Outcome("create", "bind /host/path"),
            "infrastructure_error",
            "Tool error: T could not be run: its container could not be created.",
            "its container could not be created: bind /host/path",
        ),
        (
            Outcome("start", "no such command"),
            "infrastructure_error",
            "Tool error: T could not be run: its container could not be started.",
            "its container could not be started: no such command",
        ),
        (
            Outcome("wait", "connection lost"),
            "infrastructure_error",
            "Tool error: T could not be run: its container was lost while it ran.",
            "its container was lost while it ran: connection lost",
        ),
    ],
)
def test_outcomes(outcome: Outcome, status: str, text: str, error: str | None) -> None:
    report = outcome_report("T", outcome, LIMITS, 1000)
    assert (report.status, report.text, report.error) == (status, text, error)
    assert report.is_error == (status != "success")


def test_sizes_are_told_in_mebibytes_from_one_on() -> None:
    text = outcome_report("T", Outcome(is_flooded=True, exit_code=137), LIMITS, 16 << 20).text
    assert text == "Tool error: T printed more than 16 MiB and was stopped."


def test_other_texts() -> None:
    assert invalid_report("T", "why").text == "Tool error: the arguments of T are not valid: why"
    assert infrastructure_report("T", "why", "secret").text == "Tool error: T could not be run: why."
    assert refused_text("T", 3) == "Tool error: T may be called at most 3 times in this task; do not call it again."
    assert unknown_text("T") == "Tool error: there is no tool named T."


def test_long_texts_are_cut_and_marked() -> None:
    assert cut_text("abc", 3) == "abc"
    assert cut_text("abcde", 3) == "abc\n[cut: 2 more characters]"
