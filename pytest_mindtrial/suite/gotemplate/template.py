"""A template: read once, checked, rendered often.

Does not load files or know YAML. Source: spec mindtrial 3.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from dataclasses import dataclass
from typing import Any

from pytest_mindtrial.core.errors import Position
from pytest_mindtrial.suite.gotemplate.check import check_fields
from pytest_mindtrial.suite.gotemplate.functions import BUILTINS, EXTRAS
from pytest_mindtrial.suite.gotemplate.interpreter import render_tree
from pytest_mindtrial.suite.gotemplate.kinds import FieldSpec
from pytest_mindtrial.suite.gotemplate.nodes import Node
from pytest_mindtrial.suite.gotemplate.parser import parse_tree

__all__ = ["Template", "parse"]

_ALWAYS = frozenset(BUILTINS) | {"and", "or"}


@dataclass(frozen=True, slots=True)
class Template:
    """A parsed template; safe to share between threads.

    Attributes:
        kind: As the user knows it, such as ``judge prompt``; part of every message.
        position: Where it stands in the user's file.
    """

    kind: str
    nodes: tuple[Node, ...]
    position: Position | None = None

    def render(self, data: Mapping[str, Any]) -> str:
        """Return the text for the data.

        Args:
            data: The value of ``.`` and ``$``: a mapping of str, bool, int, float, None, lists and mappings.

        Raises:
            TemplateError: A field is missing, a value does not fit, or a limit is reached.
        """
        return render_tree(self.nodes, data, kind=self.kind, position=self.position)


def parse(
    text: str,
    *,
    kind: str,
    functions: Iterable[str] = (),
    fields: FieldSpec | None = None,
    position: Position | None = None,
) -> Template:
    """Read a template.

    Args:
        text: The template.
        kind: Template kind for messages.
        functions: Names from `EXTRAS` (``hash``, ``json``) that this kind may call besides the built-in ones.
        fields: The fields the data will have; None checks them only when rendering.
        position: Where the template stands in the user's file.

    Raises:
        TemplateError: The template is malformed, uses what is not supported, or names an unknown field.
    """
    allowed = _ALWAYS | set(functions)
    nodes = parse_tree(text, kind=kind, functions=allowed, known=_ALWAYS | set(EXTRAS), position=position)
    if fields is not None:
        check_fields(nodes, fields, kind=kind, position=position)
    return Template(kind, nodes, position)
