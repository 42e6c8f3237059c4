"""Content digests that decide whether a finished attempt may be used again (``--mt-resume``).

Position, labels and display settings do not count: moving or tagging a task does not invalidate its results. Source:
design D7.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import asdict
from functools import lru_cache
from pathlib import Path

from pytest_mindtrial.core.ids import content_digest
from pytest_mindtrial.suite.files import check_local, local_path
from pytest_mindtrial.suite.model import FileRef, Run, Task

__all__ = ["attempt_digest", "file_digest", "run_digest", "task_digest"]

FileDigest = Callable[[FileRef], str]


def file_digest(file: FileRef) -> str:
    """Return what stands for a file's content without a download: local bytes, or the URL.

    A local file that cannot be read counts as absent; the attempt itself reports it.
    """
    path = local_path(file)
    if path is None:
        return f"url:{file.uri}"
    if check_local(file) is not None:
        return "absent"
    try:
        info = path.stat()
        return _bytes_digest(str(path), info.st_mtime_ns, info.st_size)
    except OSError:
        return "absent"


@lru_cache(maxsize=4096)
def _bytes_digest(path: str, modified_ns: int, size_bytes: int) -> str:
    """Return the digest of a file; read again only when its time or size changed."""
    return content_digest(Path(path).read_bytes())


def task_digest(task: Task, files: FileDigest = file_digest) -> str:
    """Return the digest of everything in a task that decides an attempt and its verdict.

    Args:
        task: The task.
        files: Gives the digest of an attached file's content.
    """
    return content_digest(
        "task-1",
        task.name,
        task.prompt,
        task.response_format,
        task.expected,
        asdict(task.rules),
        task.system_prompt,
        [[file.name, file.type, file.image_detail, file.access, files(file)] for file in task.files],
        [asdict(tool) for tool in task.tools],
        task.service_inputs,
        task.max_turns,
    )


def run_digest(run: Run) -> str:
    """Return the digest of what a run sends: model and parameters, not limits, retries or prices."""
    return content_digest(
        "run-1",
        run.provider,
        run.name,
        run.model,
        run.parameters,
        run.text_only,
        run.disable_structured_output,
    )


def attempt_digest(
    task: Task, run: Run, repeat: int | None = None, files: FileDigest = file_digest, endpoint: str | None = None
) -> str:
    """Return the digest of one attempt: task with file contents, run, repeat index, and the provider's own endpoint."""
    return content_digest("attempt-1", task_digest(task, files), run_digest(run), repeat, endpoint)
