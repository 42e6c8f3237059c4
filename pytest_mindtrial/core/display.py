"""Text from models, services and files made safe for a terminal, a log or a CI annotation.

Does not shorten and does not wrap. Everything a terminal would obey instead of show becomes a visible escape: C0 and
C1 controls, bidirectional overrides and isolates (they reorder what people read), and lone surrogates (they cannot be
encoded). Source: design D17.
"""

from __future__ import annotations

import re

__all__ = ["one_line", "safe_text"]

_BIDI = "\u061c\u200e\u200f\u202a-\u202e\u2066-\u2069"
_UNSAFE = re.compile(f"[\x00-\x08\x0b-\x1f\x7f-\x9f\u2028\u2029\ufeff\ufff9-\ufffb\ud800-\udfff{_BIDI}]")


def safe_text(text: str) -> str:
    """Return the text with every control character as a visible hexadecimal escape.

    Newlines and tabs stay; CRLF becomes LF.
    """
    return _UNSAFE.sub(_show, text.replace("\r\n", "\n"))


def one_line(text: str) -> str:
    """Return safe text without line breaks: each becomes a visible escape, tabs become spaces."""
    return safe_text(text).replace("\n", "\\n").replace("\t", " ")


def _show(match: re.Match[str]) -> str:
    code = ord(match[0])
    return f"\\x{code:02x}" if code < 0x100 else f"\\u{code:04x}"
