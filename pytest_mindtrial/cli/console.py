"""The two streams of the command: documents on stdout, everything else on stderr.

Does not format. Documents leave as UTF-8 bytes without newline translation, so that a pipe gets exactly what a file
would get; on a terminal their control characters are made visible. A closed pipe ends the command quietly.
Source: issue "From results to decisions" (pipe-safe); design D17.
"""

from __future__ import annotations

import os
import sys

from pytest_mindtrial.core.display import safe_text

__all__ = ["PIPE_CLOSED", "leave_closed_pipe", "print_document", "say"]

PIPE_CLOSED = 141
"""Exit status of a program whose reader went away (128 + SIGPIPE), as of MindTrial itself."""


def print_document(text: str) -> None:
    """Write a document to stdout."""
    if sys.stdout.isatty():
        text = safe_text(text)
    sys.stdout.flush()
    sys.stdout.buffer.write(text.encode("utf-8", "replace"))
    sys.stdout.buffer.flush()


def say(message: str) -> None:
    """Write one message for people to stderr."""
    encoding = sys.stderr.encoding or "utf-8"
    print(safe_text(message).encode(encoding, "replace").decode(encoding), file=sys.stderr, flush=True)


def leave_closed_pipe() -> int:
    """Forget what could not be written, so that the interpreter's exit does not complain; return the exit status."""
    null = os.open(os.devnull, os.O_WRONLY)
    os.dup2(null, sys.stdout.fileno())
    os.close(null)
    return PIPE_CLOSED
