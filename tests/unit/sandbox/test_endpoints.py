"""Endpoints follow from definitions, and no module of the sandbox needs one that needs it."""

from __future__ import annotations

import ast
import graphlib
from pathlib import Path

from pytest_mindtrial import sandbox
from pytest_mindtrial.sandbox.endpoints import ServiceEndpoint, endpoint_of
from pytest_mindtrial.suite.model import Service

PREFIX = "pytest_mindtrial.sandbox."


def test_an_endpoint_follows_from_the_definition() -> None:
    found = endpoint_of(Service("world", "image", 8443, scheme="https"))
    assert found == ServiceEndpoint("world", "svc-486ea46224d1", 8443, "https://svc-486ea46224d1:8443")


def test_imports_form_no_circle() -> None:
    """Imports for types and inside functions count as well: they are dependencies all the same."""
    folder = Path(sandbox.__path__[0])
    graph = {path.stem: _imports(path) for path in folder.glob("*.py")}
    assert len(graph) > 20
    order = list(graphlib.TopologicalSorter(graph).static_order())
    assert order.index("endpoints") < order.index("templates") < order.index("services")


def _imports(path: Path) -> set[str]:
    nodes = ast.walk(ast.parse(path.read_text("utf-8")))
    modules = {node.module or "" for node in nodes if isinstance(node, ast.ImportFrom)}
    return {module.removeprefix(PREFIX) for module in modules if module.startswith(PREFIX)}
