"""The two streams of the command: documents on stdout, everything else on stderr.

Does not format. Documents leave as UTF-8 bytes without newline translation, so that a pipe gets exactly what a file
would get; on a terminal their control characters are made visible. A closed pipe ends the command quietly.
Source: issue "From results to decisions" (pipe-safe); design D17.
"""

from __future__ import annotations

import os
import sys

from pytest_mindtrial.core.display import safe_text
from pytest_mindtrial.core.errors import UserError

__all__ = ["PIPE_CLOSED", "OutputError", "leave_closed_pipe", "print_document", "say"]

PIPE_CLOSED = 141
"""Exit status of a program whose reader went away (128 + SIGPIPE), as of MindTrial itself."""


class OutputError(UserError):
    """Results could not be written; exit status 3."""


def print_document(text: str) -> None:
    """Write a document to stdout.

    Raises:
        BrokenPipeError: Its reader went away.
        OutputError: It cannot be written for another reason, such as a full disk.
    """
    if sys.stdout.isatty():
        text = safe_text(text)
    try:
        sys.stdout.flush()
        sys.stdout.buffer.write(text.encode("utf-8", "replace"))
        sys.stdout.buffer.flush()
    except BrokenPipeError:
        raise
    except OSError as error:
        leave_closed_pipe()  # what is left in the buffer cannot be written either
        raise OutputError(f"cannot write to standard output: {error.strerror or error}") from error


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
