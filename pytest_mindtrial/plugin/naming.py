"""Names of items and markers.

A node id is ``tasks.yaml::<task>[<provider>-<run>]`` (design D1). ``::`` before the bracket would make an id that
nobody can select (spec pytest 2.3), so it becomes ``:``; control characters are written as escapes.
"""

from __future__ import annotations

import re

__all__ = ["RESERVED_MARKERS", "item_name", "marker_name"]

RESERVED_MARKERS = frozenset(
    {
        "anyio",
        "asyncio",
        "dependency",
        "filterwarnings",
        "flaky",
        "mindtrial",
        "must_pass",
        "order",
        "parametrize",
        "repeat",
        "skip",
        "skipif",
        "timeout",
        "tryfirst",
        "trylast",
        "usefixtures",
        "xdist_group",
        "xfail",
    }
)
"""Markers that change what pytest or a common plugin does; a tag of that name becomes ``mt_<name>``."""

_NOT_MARKER = re.compile(r"[^\w.+/-]+")


def item_name(task: str, provider: str, run: str, repeat: int | None = None) -> str:
    """Return the name of an item, unique in its file when (task, provider, run, repeat) is."""
    suffix = "" if repeat is None else f"-r{repeat}"
    return _printable(f"{task.replace('::', ':')}[{provider}-{run}{suffix}]")


def _printable(text: str) -> str:
    if text.isprintable():
        return text
    return "".join(char if char.isprintable() else char.encode("unicode_escape").decode() for char in text)


def marker_name(label: str) -> str:
    """Return a label as a marker that ``-m`` can name: spaces and other signs become one hyphen.

    Blank when nothing usable is left.
    """
    name = _NOT_MARKER.sub("-", label.strip()).strip("-")
    if name.startswith("_") or name in RESERVED_MARKERS:
        name = "mt_" + name.lstrip("_")
    return name
