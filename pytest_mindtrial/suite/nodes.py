"""The tree a YAML file is read into: scalars, sequences and mappings that know their place.

Holds no rules about keys or types (``suite/decode.py``). Kept small: ten thousand tasks are some hundred thousand
nodes.
"""

from __future__ import annotations

from typing import Any, TypeAlias

from pytest_mindtrial.core.errors import Position
from pytest_mindtrial.suite.yaml_scalars import ScalarError, resolve_plain, resolve_tagged

__all__ = [
    "ROOT",
    "Document",
    "MappingNode",
    "Node",
    "Path",
    "ScalarNode",
    "SequenceNode",
    "child",
    "find",
    "keys_of",
    "path_text",
]

COLUMN_BITS = 20

Path: TypeAlias = "tuple[Path, str | int] | None"
"""Where a value is: parent path and key or index; None = the root. Turned into text for messages only."""

ROOT: Path = None


class ScalarNode:
    """One scalar.

    Attributes:
        value: Literal text, quotes and escapes resolved.
        tag: None = unquoted and untagged, ``str`` = quoted, else the explicit tag.
        mark: Line and column in one number.
    """

    __slots__ = ("mark", "tag", "value")

    def __init__(self, value: str, tag: str | None, mark: int) -> None:
        self.value = value
        self.tag = tag
        self.mark = mark

    def resolve(self) -> Any:
        """Return what the scalar means in an untyped place.

        Raises:
            ScalarError: It does not fit its explicit tag.
        """
        if self.tag is None:
            return resolve_plain(self.value)
        return self.value if self.tag == "str" else resolve_tagged(self.value, self.tag)

    @property
    def is_null(self) -> bool:
        """True for ``~``, ``null`` and nothing at all."""
        try:
            return self.tag != "str" and self.resolve() is None
        except ScalarError:
            return False


class SequenceNode:
    """A list of nodes."""

    __slots__ = ("items", "mark")

    value = None

    def __init__(self, mark: int) -> None:
        self.items: list[Node] = []
        self.mark = mark


class MappingNode:
    """Keys and values in turn: ``items[0]`` is the first key, ``items[1]`` its value. Keys are scalars."""

    __slots__ = ("items", "mark")

    value = None

    def __init__(self, mark: int) -> None:
        self.items: list[Any] = []
        self.mark = mark

    def find(self, name: str) -> Node | None:
        """Return the value of a key, or None when it is not written."""
        items = self.items
        for index in range(0, len(items), 2):
            if items[index].value == name:
                found: Node = items[index + 1]
                return found
        return None

    def pairs(self) -> list[tuple[ScalarNode, Node]]:
        """Return keys with values, in file order; merged ones last."""
        return list(zip(self.items[::2], self.items[1::2], strict=True))


Node: TypeAlias = ScalarNode | SequenceNode | MappingNode


class Document:
    """A file's tree and its name.

    Attributes:
        file: Path as the user would type it.
        root: The top node.
    """

    __slots__ = ("file", "root")

    def __init__(self, file: str, root: Node) -> None:
        self.file = file
        self.root = root

    def position(self, node: Node, path: Path = ROOT) -> Position:
        """Return where a node is."""
        return Position(
            self.file, (node.mark >> COLUMN_BITS) + 1, (node.mark & (1 << COLUMN_BITS) - 1) + 1, path_text(path)
        )


def child(node: Node, key: str | int) -> Node | None:
    """Return a mapping's value or a sequence's item, or None when there is none."""
    if isinstance(node, MappingNode):
        return node.find(str(key))
    if isinstance(node, SequenceNode) and isinstance(key, int) and key < len(node.items):
        return node.items[key]
    return None


def keys_of(path: Path) -> list[str | int]:
    """Return the keys of a path from the root down."""
    keys: list[str | int] = []
    while path is not None:
        path, key = path
        keys.append(key)
    return keys[::-1]


def find(root: Node, path: Path) -> Node:
    """Return the node of a path, or the deepest one on the way that is written."""
    node = root
    for key in keys_of(path):
        found = child(node, key)
        if found is None:
            break
        node = found
    return node


def path_text(path: Path) -> str:
    """Return a path such as ``task-config.tasks[3].name``."""
    parts: list[str] = []
    while path is not None:
        path, key = path
        parts.append(f"[{key}]" if isinstance(key, int) else f".{key}")
    return "".join(reversed(parts)).removeprefix(".")
