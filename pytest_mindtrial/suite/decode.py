"""Nodes to frozen models: scalars are read as the field's type wants them, mistakes keep their place.

Each model class is compiled once into a table of readers. Does not know any key itself
(``suite/config_models.py``, ``suite/task_models.py``). Source: spec mindtrial 0.2, 0.3; design D11.
"""

from __future__ import annotations

import types
import typing
from collections.abc import Callable, Mapping
from functools import cache
from typing import Any, Literal, TypeAlias, TypeVar, cast

from pydantic import ValidationError

from pytest_mindtrial.core.durations import parse_duration
from pytest_mindtrial.suite.field_types import AsSet, AsWritten, GoDuration, YamlModel, kebab
from pytest_mindtrial.suite.model_errors import error_text
from pytest_mindtrial.suite.nodes import ROOT, MappingNode, Node, Path, ScalarNode, SequenceNode
from pytest_mindtrial.suite.problems import Problems
from pytest_mindtrial.suite.suggest import allowed_list, near_match
from pytest_mindtrial.suite.yaml_scalars import ScalarError, read_bool

__all__ = [
    "BAD",
    "Reader",
    "decode",
    "describe",
    "read_bool_node",
    "read_int",
    "read_number",
    "read_text",
    "read_untyped",
]

Model = TypeVar("Model", bound=YamlModel)


class _Bad:
    """The value of a field that is left out: it is blank, or it could not be read and the mistake is noted."""

    def __repr__(self) -> str:
        return "nothing"


BAD = _Bad()

Reader: TypeAlias = Callable[[Problems, Node, Path], Any]


def decode(
    problems: Problems, node: Node, kind: type[Model], path: Path = ROOT, extra: dict[str, Any] | None = None
) -> Model | None:
    """Read a node as a model.

    Args:
        problems: Takes every mistake.
        node: The node.
        kind: The model class.
        path: Where the node is.
        extra: When given, takes unknown keys with their untyped values instead of refusing them.

    Returns:
        The model, or None when mistakes were noted.
    """
    before = len(problems)
    data = _read_mapping(problems, node, path, kind, extra)
    if data is BAD:
        return None
    try:
        model = kind.model_validate(data)
    except ValidationError as error:
        for item in error.errors(include_url=False):
            _note(problems, node, path, item)
        return None
    return model if len(problems) == before else None


def _note(problems: Problems, node: Node, path: Path, item: Any) -> None:
    location = tuple(item["loc"])
    place = path
    for key in location:
        place = (place, key)
    if problems.covers(place):
        return
    problems.add_at(error_text(item), node, path, *location)


def _read_mapping(
    problems: Problems, node: Node, path: Path, kind: type[YamlModel], extra: dict[str, Any] | None = None
) -> Any:
    if type(node) is not MappingNode:
        problems.add(f"must be a map with the keys {allowed_list(_plan(kind))}, found {describe(node)}", node, path)
        return BAD
    plan = _plan(kind)
    data: dict[str, Any] = {}
    items = node.items
    for index in range(0, len(items), 2):
        key, value = items[index], items[index + 1]
        name = key.value
        reader = plan.get(name)
        if reader is not None:
            if type(value) is ScalarNode and value.is_null:
                continue
            read = reader(problems, value, (path, name))
            if read is not BAD:
                data[name] = read
        elif extra is not None:
            extra[name] = read_untyped(problems, value, (path, name))
        else:
            message = f"unknown key {name!r}{near_match(name, plan)} (allowed: {allowed_list(plan)})"
            problems.add(message, key, (path, name))
    return data


@cache
def _plan(kind: type[YamlModel]) -> Mapping[str, Reader]:
    return {kebab(name): _reader(field.annotation, tuple(field.metadata)) for name, field in kind.model_fields.items()}


def _reader(annotation: Any, metadata: tuple[Any, ...]) -> Reader:
    for mark, reader in _MARKED.items():
        if any(isinstance(item, mark) for item in metadata):
            return reader
    origin, args = typing.get_origin(annotation), typing.get_args(annotation)
    if origin is typing.Annotated:
        return _reader(args[0], args[1:])
    if origin in (typing.Union, types.UnionType):
        (inner,) = (arg for arg in args if arg is not type(None))
        return _reader(inner, ())
    if origin is Literal:
        return _read_word
    if origin in (list, tuple, frozenset):
        return _list_reader(_reader(args[0], ()))
    if origin is dict:
        return _map_reader(_reader(args[1], ()))
    if isinstance(annotation, type) and issubclass(annotation, YamlModel):
        return _model_reader(annotation)
    return _SIMPLE[annotation]


def _model_reader(kind: type[YamlModel]) -> Reader:
    def read(problems: Problems, node: Node, path: Path) -> Any:
        return _read_mapping(problems, node, path, kind)

    return read


def _list_reader(item_reader: Reader) -> Reader:
    def read(problems: Problems, node: Node, path: Path) -> Any:
        if type(node) is ScalarNode and node.is_null:
            return []
        if type(node) is not SequenceNode:
            problems.add(f"must be a list, found {describe(node)}", node, path)
            return BAD
        return [item_reader(problems, item, (path, index)) for index, item in enumerate(node.items)]

    return read


def _map_reader(value_reader: Reader) -> Reader:
    def read(problems: Problems, node: Node, path: Path) -> Any:
        if type(node) is ScalarNode and node.is_null:
            return {}
        if type(node) is not MappingNode:
            problems.add(f"must be a map, found {describe(node)}", node, path)
            return BAD
        return {key.value: value_reader(problems, value, (path, key.value)) for key, value in node.pairs()}

    return read


def read_text(problems: Problems, node: Node, path: Path) -> Any:
    """Read any scalar as its literal text; null is empty."""
    if type(node) is not ScalarNode:
        problems.add(f"must be a text, found {describe(node)}", node, path)
        return BAD
    if node.tag is None or node.tag == "str":
        return "" if node.is_null else node.value
    value = read_untyped(problems, node, path)
    return value if value is BAD or isinstance(value, str) else "" if value is None else node.value


def _read_word(problems: Problems, node: Node, path: Path) -> Any:
    value = read_text(problems, node, path)
    return BAD if value == "" else value  # a blank choice counts as not written


def read_bool_node(problems: Problems, node: Node, path: Path) -> Any:
    """Read true, false or a YAML 1.1 word."""
    if type(node) is ScalarNode:
        value = read_bool(node.value, read_untyped(problems, node, path))
        if value is not None:
            return value
    problems.add(f"must be true or false, found {describe(node)}", node, path)
    return BAD


def read_int(problems: Problems, node: Node, path: Path) -> Any:
    """Read a whole number; a float without a fraction counts."""
    value = read_untyped(problems, node, path) if type(node) is ScalarNode else None
    if type(value) is int:
        return value
    if type(value) is float and value.is_integer() and abs(value) < 2**53:
        return int(value)
    problems.add(f"must be a whole number, found {describe(node)}", node, path)
    return BAD


def read_number(problems: Problems, node: Node, path: Path) -> Any:
    """Read an integer or a float, kept as it is."""
    value = read_untyped(problems, node, path) if type(node) is ScalarNode else None
    if type(value) in (int, float):
        return value
    problems.add(f"must be a number, found {describe(node)}", node, path)
    return BAD


def _read_duration(problems: Problems, node: Node, path: Path) -> Any:
    value = read_untyped(problems, node, path) if type(node) is ScalarNode else None
    if isinstance(value, str):
        try:
            return parse_duration(value) / 1e9
        except ValueError as error:
            problems.add(str(error), node, path)
            return BAD
    hint = "; add a unit and write it as text, such as 60s" if type(value) in (int, float) else ""
    problems.add(f"must be a duration such as 60s or 1m30s, found {describe(node)}{hint}", node, path)
    return BAD


def read_untyped(problems: Problems, node: Node, path: Path) -> Any:
    """Read a node as plain data: dict, list, str, bool, int, float, date, datetime, None."""
    if type(node) is ScalarNode:
        try:
            return node.resolve()
        except ScalarError as error:
            problems.add(str(error), node, path)
            return BAD
    if type(node) is SequenceNode:
        return [read_untyped(problems, item, (path, index)) for index, item in enumerate(node.items)]
    data = {}
    for key, value in cast("MappingNode", node).pairs():
        data[read_untyped(problems, key, (path, key.value))] = read_untyped(problems, value, (path, key.value))
    return data


def _read_set(problems: Problems, node: Node, path: Path) -> Any:
    value = read_untyped(problems, node, path)
    return tuple(value) if type(node) is SequenceNode else (value,)


def _read_as_written(problems: Problems, node: Node, path: Path) -> Any:
    return node


def describe(node: Node) -> str:
    """Return what a node is, in words for a message: ``the number 5``, ``the text 'x'``, ``a list``."""
    if isinstance(node, MappingNode):
        return "a map"
    if isinstance(node, SequenceNode):
        return "a list"
    try:
        value = node.resolve()
    except ScalarError:
        value = node.value
    shown = node.value if len(node.value) <= 40 else f"{node.value[:40]}…"
    if value is None:
        return "nothing"
    if isinstance(value, str):
        return f"the text {shown!r}"
    if isinstance(value, bool):
        return f"the boolean {shown}"
    return f"the number {shown}" if isinstance(value, int | float) else f"the date {shown}"


_MARKED: Mapping[type, Reader] = {GoDuration: _read_duration, AsSet: _read_set, AsWritten: _read_as_written}

_SIMPLE: Mapping[Any, Reader] = {
    str: read_text,
    bool: read_bool_node,
    int: read_int,
    float: read_number,
    Any: read_untyped,
}
