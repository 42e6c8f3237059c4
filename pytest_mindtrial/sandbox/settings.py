"""What can be set about the sandbox as a whole, with defaults.

Does not hold limits of single tools (`suite.model.ContainerLimits`). Source: spec docker 4.5, 4.6, 5.4, 8; design D19.
"""

from __future__ import annotations

from dataclasses import dataclass
from pathlib import Path
from typing import Literal

__all__ = ["DEFAULT_SETTINGS", "SandboxSettings"]


@dataclass(frozen=True, slots=True)
class SandboxSettings:
    """Settings of one process's hub.

    Attributes:
        output_ceiling_bytes: A process that prints more than this on one stream is stopped.
        text_limit_chars: Longest text of one tool call given to a model; the rest is cut and marked.
        pids_limit: Processes and threads of one container.
        subnet_range: Private range out of which service networks take /28 blocks.
        transport: How files get into a container: ``bind`` mounts, ``archive`` upload (remote engines), or ``auto``:
            bind on a local socket until the engine says that it does not see our files, else archive.
        pull: Fetch missing images in the preflight; otherwise they are errors.
        foreign_age_s: Objects of another host name are swept only when older than this.
        removal_budget_s: Longest wait for the removal of one object.
        state_dir: Folder of leases and staged files; None = a private folder in the system's temporary directory.
        sweep: Remove the objects of dead sessions when the engine is first used.
    """

    output_ceiling_bytes: int = 16 * 1024 * 1024
    text_limit_chars: int = 100_000
    pids_limit: int = 512
    subnet_range: str = "10.213.0.0/16"
    transport: Literal["auto", "bind", "archive"] = "auto"
    pull: bool = False
    foreign_age_s: float = 24 * 3600.0
    removal_budget_s: float = 15.0
    state_dir: Path | None = None
    sweep: bool = True


DEFAULT_SETTINGS = SandboxSettings()
