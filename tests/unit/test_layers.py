"""The architecture as a test: who may import whom, and the size and shape of modules.

Reads the sources with ``ast``; imports nothing of the package. Source: ARCHITECTURE.md, design 4, style habits 1–4.
"""

from __future__ import annotations

import ast
from collections.abc import Iterator
from pathlib import Path

import pytest

ROOT = Path(__file__).parents[2]
PACKAGE = ROOT / "pytest_mindtrial"

RANKS = {
    "core": 0,
    "suite": 1,
    "providers": 2,
    "sandbox": 2,
    "validators": 2,
    "engine": 3,
    "results": 4,
    "report": 5,
    "plugin": 6,
    "cli": 6,
}
"""Layer → height; a layer imports itself and lower ones, so layers of one height do not know each other."""

SAME_HEIGHT = {("cli", "plugin")}
"""The command line runs pytest through the plugin; the plugin does not know the command line."""

MAX_LINES = 400
MAX_FRONT_LINES = 60

MODULES = sorted(PACKAGE.rglob("*.py"))


def module_id(path: Path) -> str:
    return path.relative_to(PACKAGE).as_posix()


def layer_of(path: Path) -> str | None:
    """Return the layer of a module; None for the package's own front."""
    parts = path.relative_to(PACKAGE).parts
    return parts[0] if len(parts) > 1 else None


def imports(source: str) -> Iterator[tuple[str, int]]:
    """Yield each imported dotted name and its line, wherever the import stands."""
    for node in ast.walk(ast.parse(source)):
        if isinstance(node, ast.Import):
            yield from ((alias.name, node.lineno) for alias in node.names)
        elif isinstance(node, ast.ImportFrom):
            assert node.level == 0, f"relative import in line {node.lineno}: write the full name"
            yield from ((f"{node.module}.{alias.name}", node.lineno) for alias in node.names)


def forbidden_layers(layer: str, source: str) -> list[str]:
    """Return ``line: name`` of each import that points upwards or sideways."""
    found = []
    for name, line in imports(source):
        parts = name.split(".")
        if parts[0] != "pytest_mindtrial" or len(parts) < 2 or parts[1] not in RANKS:
            continue
        target = parts[1]
        is_allowed = target == layer or RANKS[target] < RANKS[layer] or (layer, target) in SAME_HEIGHT
        if not is_allowed:
            found.append(f"{line}: {name}")
    return found


@pytest.mark.parametrize("path", MODULES, ids=module_id)
def test_imports_point_downwards(path):
    layer = layer_of(path)
    if layer is None:
        assert not [name for name, _ in imports(path.read_text("utf-8")) if name.startswith("pytest_mindtrial.")]
    else:
        assert forbidden_layers(layer, path.read_text("utf-8")) == []


@pytest.mark.parametrize(
    "layer, line, is_forbidden",
    [
        ("core", "from pytest_mindtrial.suite.model import Run", True),
        ("core", "import pytest_mindtrial.engine.plan", True),
        ("suite", "from pytest_mindtrial.core.errors import ConfigError", False),
        ("providers", "from pytest_mindtrial import validators", True),
        ("validators", "from pytest_mindtrial.sandbox.tools import x", True),
        ("engine", "def f():\n    from pytest_mindtrial.results.record import x", True),
        ("plugin", "from pytest_mindtrial.cli.main import main", True),
        ("cli", "from pytest_mindtrial.plugin.api import x", False),
        ("core", "import json", False),
    ],
)
def test_the_rule_itself(layer, line, is_forbidden):
    assert bool(forbidden_layers(layer, line)) is is_forbidden


def test_every_folder_is_a_known_layer():
    folders = {path.name for path in PACKAGE.iterdir() if path.is_dir() and path.name != "__pycache__"}
    assert folders == set(RANKS)


def roots(path: Path) -> set[str]:
    return {name.split(".")[0] for name, _ in imports(path.read_text("utf-8"))}


def test_only_the_plugin_imports_pytest():
    allowed = {"plugin"}
    users = {module_id(path) for path in MODULES if roots(path) & {"pytest", "_pytest", "xdist", "pytest_html"}}
    assert {user for user in users if user.split("/")[0] not in allowed} <= {"cli/run.py", "cli/main.py"}


def test_httpx_is_imported_in_one_module():
    assert {module_id(path) for path in MODULES if "httpx" in roots(path)} <= {"providers/http.py"}


@pytest.mark.parametrize("path", MODULES, ids=module_id)
def test_size_and_shape(path):
    source = path.read_text("utf-8")
    lines = source.count("\n")
    assert lines <= (MAX_FRONT_LINES if path.name == "__init__.py" else MAX_LINES), f"{lines} lines"
    assert ast.get_docstring(ast.parse(source)), "no module docstring"
    assert path.stem not in ("utils", "helpers", "common", "misc"), "name the subject"


@pytest.mark.parametrize("path", [p for p in MODULES if p.name == "__init__.py"], ids=module_id)
def test_fronts_have_no_logic(path):
    body = ast.parse(path.read_text("utf-8")).body
    allowed = (ast.Expr, ast.Import, ast.ImportFrom, ast.Assign, ast.AnnAssign)
    assert [type(node).__name__ for node in body if not isinstance(node, allowed)] == []
