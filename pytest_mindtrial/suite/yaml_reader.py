"""Reads YAML text into nodes with positions.

Builds from parser events (libyaml, or PyYAML's Python parser where that is missing) instead of PyYAML's own node graph,
which needs twice the time and memory. Does not resolve scalars (``suite/yaml_scalars.py``) and knows no keys
(``suite/decode.py``). Source: spec mindtrial 0.2, 0.3; performance 5.
"""

from __future__ import annotations

import contextlib
import gc
import sys
from collections.abc import Callable, Iterator
from pathlib import Path as FilePath
from typing import Any

import yaml
from yaml.events import (
    AliasEvent,
    DocumentEndEvent,
    MappingEndEvent,
    MappingStartEvent,
    ScalarEvent,
    SequenceEndEvent,
    SequenceStartEvent,
    StreamEndEvent,
)

from pytest_mindtrial.core.errors import InternalError, Position, UserError
from pytest_mindtrial.suite.nodes import COLUMN_BITS, Document, MappingNode, Node, ScalarNode, SequenceNode

try:
    from yaml.cyaml import CParser
except ImportError:  # pragma: no cover - libyaml is part of every wheel
    CParser = None

__all__ = ["MAX_DEPTH", "MAX_FILE_BYTES", "paused_gc", "read_yaml", "read_yaml_file"]

MAX_FILE_BYTES = 32 * 1024 * 1024
"""Largest file that is read."""

MAX_DEPTH = 200
"""Deepest nesting of lists and maps."""

MAX_EXPANSION = 1_000_000
"""Values a file may grow to through aliases, or ten times its own when that is more."""

_COLUMN_MAX = (1 << COLUMN_BITS) - 1


@contextlib.contextmanager
def paused_gc() -> Iterator[None]:
    """Stop the cyclic collector while many small objects are made: it costs more than the reading itself."""
    was_enabled = gc.isenabled()
    gc.disable()
    try:
        yield
    finally:
        if was_enabled:
            gc.enable()


def read_yaml_file(path: FilePath, error: type[UserError], what: str) -> Document:
    """Read the first document of a file.

    Args:
        path: The file; shown in messages as given.
        error: Class of what is raised.
        what: Word for the file, such as ``tasks file``.

    Raises:
        UserError: The file cannot be read, is too large, is no text, or is not YAML.
    """
    try:
        with path.open("rb") as stream:
            data = stream.read(MAX_FILE_BYTES + 1)
    except FileNotFoundError:
        raise error(f"{what} not found: {path}") from None
    except IsADirectoryError:
        raise error(f"{path} is a directory, not a {what}") from None
    except OSError as cause:
        raise error(f"cannot read {what} {path}: {cause.strerror}") from None
    if len(data) > MAX_FILE_BYTES:
        raise error(f"{path}: {what} is larger than {MAX_FILE_BYTES // 1024**2} MB, the limit; split it into several")
    return read_yaml(data, str(path), error, what)


def read_yaml(data: bytes, file: str, error: type[UserError], what: str = "file") -> Document:
    """Read the first document of a text; see `read_yaml_file`."""
    if b"\0" in data:
        raise error(f"{file}: {what} is a binary file, not YAML text")
    try:
        text = data.decode("utf-8-sig")
    except UnicodeDecodeError as cause:
        line = data.count(b"\n", 0, cause.start) + 1
        raise error(f"{file}:{line}: {what} is not UTF-8 text (byte 0x{data[cause.start]:02x})") from None
    builder = _Builder(file, error)
    with paused_gc():
        try:
            root = builder.build(_events(text))
        except yaml.YAMLError as cause:
            raise _syntax_error(cause, text, file, error) from None
    if root is None:
        raise error(f"{file}: {what} is empty")
    return Document(file, root)


def _events(text: str) -> Callable[[], Any]:
    if CParser is not None:
        get: Callable[[], Any] = CParser(text).get_event
        return get
    stream = yaml.parse(text, Loader=yaml.SafeLoader)
    return lambda: next(stream)


class _Builder:
    """Turns events into nodes; iterative, so that depth is bounded by us and not by the stack."""

    def __init__(self, file: str, error: type[UserError]) -> None:
        self._file = file
        self._error = error
        self._anchors: dict[str, Node] = {}
        self._open: list[Any] = []
        self._has_aliases = False
        self._count = 0

    def build(self, get_event: Callable[[], Any]) -> Node | None:
        """Return the root of the first document, or None when there is no document."""
        stack = self._open
        items: list[Any] = []
        top = items
        node: Node
        while True:
            event = get_event()
            kind = type(event)
            if kind is ScalarEvent:
                # `_mark` and what the tag means are written out here: most of a file's time is spent in these lines.
                tag = event.tag
                if tag is None or tag == "!":
                    tag = "str" if event.style else None
                elif tag == "tag:yaml.org,2002:str":
                    tag = "str"
                mark = event.start_mark
                column = mark.column
                node = ScalarNode(
                    event.value, tag, mark.line << COLUMN_BITS | (column if column < _COLUMN_MAX else _COLUMN_MAX)
                )
                if event.anchor:
                    self._anchors[event.anchor] = node
                items.append(node)
                self._count += 1
            elif kind is MappingStartEvent or kind is SequenceStartEvent:
                node = (MappingNode if kind is MappingStartEvent else SequenceNode)(_mark(event))
                if event.anchor:
                    self._anchors[event.anchor] = node
                items.append(node)
                stack.append(node)
                if len(stack) > MAX_DEPTH:
                    raise self._fail(node, f"nested deeper than {MAX_DEPTH} levels")
                items = node.items
                self._count += 1
            elif kind is MappingEndEvent or kind is SequenceEndEvent:
                done = stack.pop()
                if kind is MappingEndEvent:
                    self._finish_mapping(done)
                items = stack[-1].items if stack else top
            elif kind is AliasEvent:
                items.append(self._alias(event))
            elif kind is DocumentEndEvent or kind is StreamEndEvent:
                break
            elif event is None:
                raise InternalError("the YAML parser's events are of another copy of the yaml package than ours")
        if not top:
            return None
        root: Node = top[0]
        if self._has_aliases:
            self._check_expansion(root)
        return root

    def _alias(self, event: Any) -> Node:
        node = self._anchors.get(event.anchor)
        here = ScalarNode("", None, _mark(event))
        if node is None:
            raise self._fail(here, f"unknown anchor {event.anchor!r} referenced")
        if any(container is node for container in self._open):
            raise self._fail(here, f"anchor {event.anchor!r} contains itself")
        self._has_aliases = True
        return node

    def _finish_mapping(self, node: MappingNode) -> None:
        keys = node.items[::2]
        names = [key.value for key in keys]
        if None in names:
            raise self._fail(keys[names.index(None)], "a list or map cannot be a key")
        if len(set(names)) != len(names):
            self._fail_duplicate(keys)
        for key in keys:
            key.value = sys.intern(key.value)
        if "<<" in names:
            key = keys[names.index("<<")]
            if key.tag is None or key.tag == "tag:yaml.org,2002:merge":
                self._merge(node, names.index("<<") * 2)

    def _fail_duplicate(self, keys: list[ScalarNode]) -> None:
        seen: dict[str, ScalarNode] = {}
        for key in keys:
            if key.value in seen:
                first = _position(self._file, seen[key.value])
                raise self._fail(key, f"duplicate key {key.value!r}, already written at {first}")
            seen[key.value] = key

    def _merge(self, node: MappingNode, index: int) -> None:
        value = node.items[index + 1]
        del node.items[index : index + 2]
        sources = value.items if isinstance(value, SequenceNode) else [value]
        present = {key.value for key in node.items[::2]}
        for source in sources:
            if not isinstance(source, MappingNode):
                raise self._fail(value, "a merge key (<<) needs a map or a list of maps")
            for key, item in source.pairs():
                if key.value not in present:
                    present.add(key.value)
                    node.items += (key, item)

    def _check_expansion(self, root: Node) -> None:
        """Refuse files whose aliases multiply into more, or deeper, values than we would ever read (alias bombs)."""
        known: dict[int, tuple[int, int]] = {}
        limit = max(MAX_EXPANSION, 10 * self._count)

        def measure(node: Node) -> tuple[int, int]:
            if isinstance(node, ScalarNode):
                return 1, 0
            found = known.get(id(node))
            if found is None:
                parts = [measure(item) for item in node.items]
                size, depth = 1 + sum(part[0] for part in parts), 1 + max((part[1] for part in parts), default=0)
                found = known[id(node)] = size, depth
            return found

        try:
            size, depth = measure(root)
        except RecursionError:
            size, depth = 0, MAX_DEPTH + 1
        if size > limit:
            raise self._fail(root, f"aliases expand to more than {limit} values")
        if depth > MAX_DEPTH:
            raise self._fail(root, f"aliases nest deeper than {MAX_DEPTH} levels")

    def _fail(self, node: Node, message: str) -> UserError:
        return self._error(message, _position(self._file, node))


def _mark(event: Any) -> int:
    mark = event.start_mark
    column: int = mark.column
    line: int = mark.line
    return line << COLUMN_BITS | (column if column < _COLUMN_MAX else _COLUMN_MAX)


def _position(file: str, node: Node) -> Position:
    return Document(file, node).position(node)


def _syntax_error(cause: yaml.YAMLError, text: str, file: str, error: type[UserError]) -> UserError:
    if isinstance(cause, yaml.MarkedYAMLError):
        mark = cause.problem_mark or cause.context_mark
        problem = " ".join(part for part in (cause.context, cause.problem) if part)
        place = Position(file, mark.line + 1, mark.column + 1) if mark else None
        return error(f"not valid YAML: {problem}", place)
    offset = getattr(cause, "position", None)
    reason = getattr(cause, "reason", None) or str(cause)
    if not isinstance(offset, int):
        return error(f"{file}: not valid YAML: {reason}")
    # libyaml counts bytes, the Python parser characters
    before = text.encode()[:offset].decode(errors="ignore") if CParser is not None else text[:offset]
    line = before.count("\n")
    return error(f"not valid YAML: {reason}", Position(file, line + 1, len(before) - before.rfind("\n")))
