"""A word for somebody who typed ``pytest`` beside a task file and wonders why nothing ran.

Only when pytest collected nothing at all; a session with tests never looks. Does not collect (design D9).
"""

from __future__ import annotations

import pytest

__all__ = ["missed_file_hint"]

_USUAL_NAMES = ("tasks.yaml", "tasks.yml")
_PEEK_BYTES = 65_536


def missed_file_hint(config: pytest.Config) -> str:
    """Return how to run a task file of the directory that was walked; blank when there is none."""
    for argument in config.args:
        folder = config.invocation_params.dir / argument
        for name in _USUAL_NAMES:
            path = folder / name
            if path.is_file() and b"task-config" in path.read_bytes()[:_PEEK_BYTES]:
                shown = (
                    path.relative_to(config.invocation_params.dir)
                    if path.is_relative_to(config.invocation_params.dir)
                    else path
                )
                return (
                    f"mindtrial: {shown} was not run, because a directory walk spends nothing by itself; "
                    f"type: pytest {shown}"
                )
    return ""
