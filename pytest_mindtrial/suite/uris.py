"""What the ``uri`` of an attached file points to.

Does not open anything (``suite/files.py``). Source: spec mindtrial 2.7 (Go's ``net/url`` rules).
"""

from __future__ import annotations

import re
from typing import NamedTuple
from urllib.parse import unquote

__all__ = ["FileUri", "parse_uri"]

_SCHEME = re.compile(r"([A-Za-z][A-Za-z0-9+.-]*):")
_BAD_ESCAPE = re.compile(r"%(?![0-9A-Fa-f]{2})")
_CONTROL = re.compile(r"[\x00-\x1f\x7f]")


class FileUri(NamedTuple):
    """A checked URI.

    Attributes:
        is_remote: True for http and https.
        target: The URL, or the local path as written (relative or absolute).
        path: The part whose extension tells the type.
    """

    is_remote: bool
    target: str
    path: str


def parse_uri(uri: str) -> FileUri:
    """Read a URI or path.

    Raises:
        ValueError: Empty, malformed, or of a scheme other than none, file, http and https.
    """
    if not uri:
        raise ValueError("invalid URI: empty URI value")
    if _CONTROL.search(uri):
        raise ValueError(f"invalid URI: control character in {uri!r}")
    match = _SCHEME.match(uri)
    if not match:
        return _plain_path(uri)
    scheme, rest = match[1].lower(), uri[match.end() :]
    if scheme == "file":
        return _file_uri(uri, rest)
    if scheme not in ("http", "https"):
        raise ValueError(f"invalid URI: unsupported scheme: {scheme} (allowed: a local path, file, http, https)")
    host, path = _authority(rest)
    if not host.strip() or " " in host:
        raise ValueError(f"invalid URI: no host in {uri!r}")
    _check_escapes(uri, path)
    return FileUri(True, uri, unquote(_before_query(path)))


def _plain_path(uri: str) -> FileUri:
    if uri.startswith(":"):
        raise ValueError(f"invalid URI: missing scheme before ':' in {uri!r}")
    if ":" in uri.partition("/")[0]:
        raise ValueError(f"invalid URI: the first part of the path contains a colon in {uri!r}; write ./ before it")
    _check_escapes(uri, uri)
    return FileUri(False, uri, uri)


def _file_uri(uri: str, rest: str) -> FileUri:
    _, path = _authority(rest)
    _check_escapes(uri, path)
    decoded = unquote(_before_query(path))
    if not decoded.startswith("/"):
        raise ValueError(
            f"invalid URI: a file URI needs an absolute path, found {uri!r}; write file:///path or the path"
        )
    return FileUri(False, decoded, decoded)


def _authority(rest: str) -> tuple[str, str]:
    if not rest.startswith("//"):
        return "", rest
    host, slash, path = rest[2:].partition("/")
    return host, slash + path


def _before_query(path: str) -> str:
    return path.partition("#")[0].partition("?")[0]


def _check_escapes(uri: str, path: str) -> None:
    before, _, fragment = path.partition("#")
    for part in (before.partition("?")[0], fragment):
        match = _BAD_ESCAPE.search(part)
        if match:
            raise ValueError(f"invalid URI: invalid URL escape {part[match.start() : match.start() + 3]!r} in {uri!r}")
