"""Pieces of GitHub-flavoured Markdown that hostile text cannot break out of.

Does not know results. User text stands inside ``<code>`` with every character that Markdown or HTML could read as an
order written as an entity: no markup, no table cell end, no link, and (GitHub leaves code alone) no mention of a person
or an issue. Source: design D17.
"""

from __future__ import annotations

import re
from collections.abc import Iterable, Sequence

from pytest_mindtrial.core.display import one_line

__all__ = ["code", "table"]

_SPECIAL = re.compile(r"""[&<>"'`*_\[\]|~\\:@#$]""")
_MAX_CHARS = 200


def code(text: str, max_chars: int = _MAX_CHARS) -> str:
    """Return text as inline code on one line, cut with ``…`` after so many characters."""
    shown = text if len(text) <= max_chars else text[:max_chars] + "…"
    return f"<code>{_SPECIAL.sub(lambda match: f'&#{ord(match[0])};', one_line(shown))}</code>"


def table(header: Sequence[str], rows: Iterable[Sequence[str]]) -> str:
    """Return a table; the cells must be safe already."""
    lines = [header, ["---"] * len(header), *rows]
    return "\n".join(f"| {' | '.join(line)} |" for line in lines)
