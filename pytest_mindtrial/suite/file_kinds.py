"""Tells the two kinds of files apart: a configuration given as a task file is one mistake, not a list of unknown keys.

Does not look below the root key. Source: style.md habit 19.
"""

from __future__ import annotations

from pytest_mindtrial.core.errors import UserError
from pytest_mindtrial.suite.nodes import ROOT, Document, child

__all__ = ["refuse_other_kind"]

_KINDS = {"config": "configuration", "task-config": "task file"}


def refuse_other_kind(document: Document, root: str, error: type[UserError]) -> None:
    """Do nothing when the file has its root key, or neither of the two.

    Args:
        document: The file.
        root: The root key it should have: ``config`` or ``task-config``.
        error: Class of what is raised.

    Raises:
        UserError: The file is of the other kind.
    """
    for other, kind in _KINDS.items():
        node = child(document.root, other)
        if other != root and node is not None and child(document.root, root) is None:
            message = f"this is a {kind} (root key {other!r}), where a {_KINDS[root]} (root key {root!r}) is needed"
            raise error(message, document.position(node, (ROOT, other)))
