"""One pytest process as a child: streams, interruption, and a copy of the output in a log file.

Does not know flags and imports no pytest.
"""

from __future__ import annotations

import re
import signal
import subprocess
import sys
from collections.abc import Iterator, Sequence
from contextlib import ExitStack, contextmanager
from pathlib import Path
from typing import IO, Any

from pytest_mindtrial.cli.outputs import OutputError

__all__ = ["run_pytest"]

_ANSI = re.compile(rb"\x1b\[[0-?]*[ -/]*[@-~]")


def run_pytest(arguments: Sequence[str], *, log: str = "", is_to_stderr: bool = False) -> int:
    """Run pytest with the interpreter that runs us and wait for it.

    An interruption (Ctrl-C, SIGTERM) is the child's to handle: it cancels, writes its reports and ends, and so do we.

    Args:
        arguments: For pytest.
        log: File that gets a plain copy of the output, appended; blank = none.
        is_to_stderr: Keep stdout free for documents.

    Returns:
        pytest's exit status; 128 + N when signal N killed it.

    Raises:
        OutputError: The log file cannot be opened.
    """
    target = sys.stderr if is_to_stderr else sys.stdout
    command = [sys.executable, "-m", "pytest", *arguments]
    with ExitStack() as stack:
        copy = stack.enter_context(_opened(log)) if log else None
        if copy and target.isatty():
            command.append("--color=yes")
        sys.stdout.flush()
        output: Any = subprocess.PIPE if copy else target
        process = stack.enter_context(subprocess.Popen(command, stdout=output))
        with _signals_left_to(process):
            if copy and process.stdout:
                _copy(process.stdout, target.buffer, copy)
            status = process.wait()
    return status if status >= 0 else 128 - status


def _opened(log: str) -> IO[bytes]:
    try:
        Path(log).parent.mkdir(parents=True, exist_ok=True)
        return open(log, "ab")
    except OSError as error:
        raise OutputError(f"cannot write the log file {log}: {error.strerror or error}") from error


def _copy(source: IO[bytes], target: IO[bytes], log: IO[bytes]) -> None:
    for line in source:
        target.write(line)
        target.flush()
        log.write(_ANSI.sub(b"", line))


@contextmanager
def _signals_left_to(process: subprocess.Popen[bytes]) -> Iterator[None]:
    """Ignore Ctrl-C (the terminal sends it to the child as well) and pass SIGTERM on."""
    # Set after the child was started: ignored signals are inherited.
    interrupt = signal.signal(signal.SIGINT, signal.SIG_IGN)
    terminate = signal.signal(signal.SIGTERM, lambda number, _: process.send_signal(number))
    try:
        yield
    finally:
        signal.signal(signal.SIGINT, interrupt)
        signal.signal(signal.SIGTERM, terminate)
