"""MIME types of attached files: from the name's extension, else from the first bytes.

The tables are our own, because those of hosts differ. Source: spec mindtrial 2.7, providers 3.1; the WHATWG MIME
Sniffing standard (a subset: what models take, and what must not be taken for text).
"""

from __future__ import annotations

import posixpath

__all__ = ["extension_for", "mime_for_name", "normalise_mime", "sniff_mime"]

_BY_EXTENSION = {
    ".png": "image/png",
    ".jpg": "image/jpeg",
    ".jpeg": "image/jpeg",
    ".gif": "image/gif",
    ".webp": "image/webp",
    ".bmp": "image/bmp",
    ".ico": "image/x-icon",
    ".tif": "image/tiff",
    ".tiff": "image/tiff",
    ".avif": "image/avif",
    ".heic": "image/heic",
    ".svg": "image/svg+xml",
    ".pdf": "application/pdf",
    ".json": "application/json",
    ".jsonl": "application/x-ndjson",
    ".ndjson": "application/x-ndjson",
    ".json5": "application/json5",
    ".txt": "text/plain",
    ".text": "text/plain",
    ".log": "text/plain",
    ".md": "text/markdown",
    ".markdown": "text/markdown",
    ".csv": "text/csv",
    ".tsv": "text/tsv",
    ".html": "text/html",
    ".htm": "text/html",
    ".css": "text/css",
    ".xml": "text/xml",
    ".js": "text/javascript",
    ".mjs": "text/javascript",
    ".jsx": "text/jsx",
    ".ts": "text/x-typescript",
    ".tsx": "text/tsx",
    ".rtf": "text/rtf",
    ".ics": "text/calendar",
    ".vcf": "text/x-vcard",
    ".srt": "text/srt",
    ".vtt": "text/vtt",
    ".eml": "message/rfc822",
    ".yaml": "application/yaml",
    ".yml": "application/yaml",
    ".toml": "application/toml",
    ".ini": "text/x-ini",
    ".properties": "text/x-properties",
    ".sql": "application/x-sql",
    ".graphql": "application/graphql",
    ".proto": "application/x-protobuf",
    ".patch": "application/x-patch",
    ".diff": "text/x-diff",
    ".py": "text/x-python",
    ".rb": "text/x-ruby",
    ".rs": "application/x-rust",
    ".go": "text/x-go",
    ".java": "text/x-java",
    ".kt": "text/x-kotlin",
    ".swift": "text/x-swift",
    ".scala": "application/x-scala",
    ".dart": "text/x-dart",
    ".c": "text/x-c",
    ".h": "text/x-c",
    ".cpp": "text/x-c++",
    ".hpp": "text/x-c++",
    ".cs": "text/x-csharp",
    ".php": "application/x-php",
    ".pl": "text/x-perl",
    ".lua": "text/x-lua",
    ".r": "text/x-r",
    ".jl": "text/x-julia",
    ".hs": "text/x-haskell",
    ".ex": "text/x-elixir",
    ".erl": "text/x-erlang",
    ".clj": "text/x-clojure",
    ".sh": "text/x-sh",
    ".bash": "application/x-bash",
    ".ps1": "application/x-powershell",
    ".tf": "application/x-terraform",
    ".tex": "text/x-tex",
    ".rst": "text/x-rst",
    ".scss": "text/x-scss",
    ".less": "text/x-less",
    ".doc": "application/msword",
    ".docx": "application/vnd.openxmlformats-officedocument.wordprocessingml.document",
    ".xls": "application/vnd.ms-excel",
    ".xlsx": "application/vnd.openxmlformats-officedocument.spreadsheetml.sheet",
    ".ppt": "application/vnd.ms-powerpoint",
    ".pptx": "application/vnd.openxmlformats-officedocument.presentationml.presentation",
    ".odt": "application/vnd.oasis.opendocument.text",
    ".pages": "application/vnd.apple.pages",
    ".key": "application/vnd.apple.keynote",
    ".zip": "application/zip",
    ".gz": "application/gzip",
    ".mp3": "audio/mpeg",
    ".wav": "audio/wave",
    ".mp4": "video/mp4",
    ".webm": "video/webm",
}

_EXTENSION_OF: dict[str, str] = {}
for _extension, _mime in _BY_EXTENSION.items():
    _EXTENSION_OF.setdefault(_mime, _extension)

_SIGNATURES = (
    (b"\x89PNG\r\n\x1a\n", "image/png"),
    (b"\xff\xd8\xff", "image/jpeg"),
    (b"GIF87a", "image/gif"),
    (b"GIF89a", "image/gif"),
    (b"BM", "image/bmp"),
    (b"\x00\x00\x01\x00", "image/x-icon"),
    (b"\x00\x00\x02\x00", "image/x-icon"),
    (b"II*\x00", "image/tiff"),
    (b"MM\x00*", "image/tiff"),
    (b"%PDF-", "application/pdf"),
    (b"%!PS-Adobe-", "application/postscript"),
    (b"PK\x03\x04", "application/zip"),
    (b"\x1f\x8b\x08", "application/gzip"),
    (b"Rar!\x1a\x07", "application/x-rar-compressed"),
    (b"\x00asm", "application/wasm"),
    (b"ID3", "audio/mpeg"),
    (b"OggS\x00", "application/ogg"),
    (b"MThd\x00\x00\x00\x06", "audio/midi"),
    (b"\x1aE\xdf\xa3", "video/webm"),
    (b"\xfe\xff", "text/plain"),
    (b"\xff\xfe", "text/plain"),
    (b"\xef\xbb\xbf", "text/plain"),
)
_RIFF = {b"WEBPVP": "image/webp", b"WAVE": "audio/wave", b"AVI ": "video/avi"}
_HTML_STARTS = (
    b"<!doctype html",
    b"<html",
    b"<head",
    b"<script",
    b"<iframe",
    b"<h1",
    b"<div",
    b"<font",
    b"<table",
    b"<a",
    b"<style",
    b"<title",
    b"<b",
    b"<body",
    b"<br",
    b"<p",
    b"<!--",
)
_BINARY = frozenset((*range(0x09), 0x0B, *range(0x0E, 0x1B), *range(0x1C, 0x20)))
_SNIFFED_BYTES = 512


def normalise_mime(text: str) -> str:
    """Return a type without parameters in lower case; ``image/jpg`` becomes ``image/jpeg``."""
    plain = text.partition(";")[0].strip().lower()
    return "image/jpeg" if plain == "image/jpg" else plain


def mime_for_name(path: str) -> str:
    """Return the type a path's extension stands for, or a blank text."""
    return _BY_EXTENSION.get(posixpath.splitext(path)[1].lower(), "")


def extension_for(mime: str) -> str:
    """Return the usual extension of a type, dot included, or a blank text."""
    return _EXTENSION_OF.get(mime, "")


def sniff_mime(data: bytes) -> str:
    """Return the type the first 512 bytes look like; text when nothing speaks against it."""
    head = data[:_SNIFFED_BYTES]
    start = head.lstrip(b"\t\n\x0c\r ")
    lower = start.lower()
    for prefix in _HTML_STARTS:
        if lower.startswith(prefix) and (prefix == b"<!--" or lower[len(prefix) : len(prefix) + 1] in (b" ", b">")):
            return "text/html"
    if start.startswith(b"<?xml"):
        return "text/xml"
    if head.startswith(b"RIFF"):
        for mark, mime in _RIFF.items():
            if head[8:].startswith(mark):
                return mime
    if head[4:8] == b"ftyp":
        return "video/mp4"
    for signature, mime in _SIGNATURES:
        if head.startswith(signature):
            return mime
    return "application/octet-stream" if not _BINARY.isdisjoint(head) else "text/plain"
