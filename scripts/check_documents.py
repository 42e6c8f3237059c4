#!/usr/bin/env python3
"""Check the documents: every relative link leads to a file, every anchor to a heading, every example is accepted.

A YAML block is a whole file (root key ``config`` or ``task-config``) or says after ``yaml`` what it is a piece of:
``task``, ``providers``, ``judges``, ``tools``, ``services`` or ``validators`` (list entries), or ``other``. It is read
by the program's own loader. Python blocks are compiled, JSON blocks parsed. Does not look at addresses on the internet
and does not judge the text.
"""

from __future__ import annotations

import json
import re
import subprocess
import sys
import tempfile
import textwrap
from collections.abc import Callable, Iterator
from pathlib import Path
from urllib.parse import unquote

import yaml

from pytest_mindtrial.core.errors import UserError
from pytest_mindtrial.suite.config import load_config
from pytest_mindtrial.suite.tasks import load_suite

ROOT = Path(__file__).resolve().parent.parent
LINK = re.compile(r"!?\[[^\]\n]*\]\(<?([^)\s>]+)>?(?:\s+\"[^\"]*\")?\)")
FENCE = re.compile(r"^( *)(`{3,}|~{3,})(\w*)[ \t]*([^\n]*)\n(.*?)^\1\2[ \t]*$", re.MULTILINE | re.DOTALL)
CONFIG_PIECES = ("providers", "judges", "tools", "services", "validators")


def problems(path: Path) -> Iterator[str]:
    """Yield what is wrong with a document, with its line."""
    text = path.read_text("utf-8")
    for match in FENCE.finditer(text):
        check = _CHECKS.get(match[3])
        problem = check(textwrap.dedent(match[5]), match[4].strip()) if check else None
        if problem:
            yield f"{_line(text, match.start())}: {problem}"
    prose = _blanked(text)
    for match in LINK.finditer(prose):
        problem = _link_problem(path, match[1])
        if problem:
            yield f"{_line(prose, match.start())}: {problem}"


def anchors(path: Path) -> set[str]:
    """Return the anchors of a document's headings, as code hosts make them."""
    found: set[str] = set()
    for heading in re.findall(r"^#{1,6} +(.+?) *#*$", _without_blocks(path.read_text("utf-8")), re.MULTILINE):
        plain = re.sub(r"\[([^\]]*)\]\([^)]*\)", r"\1", heading).lower()
        base = re.sub(r"[^\w\- ]", "", plain).strip().replace(" ", "-")
        name, number = base, 0
        while name in found:
            number += 1
            name = f"{base}-{number}"
        found.add(name)
    return found


def _blanked(text: str) -> str:
    """Return the text with code blocks and code spans emptied, line numbers kept."""
    return re.sub(r"(?<!`)(`+)(?!`).*?(?<!`)\1(?!`)", "", _without_blocks(text))


def _without_blocks(text: str) -> str:
    return FENCE.sub(lambda match: "\n" * match[0].count("\n"), text)


def _line(text: str, offset: int) -> int:
    return text.count("\n", 0, offset) + 1


def _yaml_problem(body: str, piece: str) -> str | None:
    try:
        (document,) = yaml.compose_all(body, Loader=yaml.SafeLoader)
    except (yaml.YAMLError, ValueError) as error:
        return f"YAML example cannot be read: {' '.join(str(error).split())}"
    if piece == "other":
        return None
    roots = [key.value for key, _ in document.value] if isinstance(document, yaml.MappingNode) else []
    if roots == ["config"]:
        return _refusal(load_config, body)
    if roots == ["task-config"]:
        return _refusal(load_suite, body)
    if piece == "task":
        return _refusal(load_suite, f"task-config:\n  tasks:\n{_below(body)}")
    if piece not in CONFIG_PIECES:
        return f"YAML example is no whole file and does not say what it is a piece of (found {piece!r})"
    providers = "" if piece == "providers" else "  providers: [{name: mock, runs: [{name: m, model: m}]}]\n"
    return _refusal(load_config, f"config:\n  output-dir: results\n{providers}  {piece}:\n{_below(body)}")


def _below(body: str) -> str:
    return textwrap.indent(body, "    ")


def _refusal(load: Callable[[Path], object], text: str) -> str | None:
    """Return what the program's own loader has against a file, or None."""
    with tempfile.TemporaryDirectory() as folder:
        path = Path(folder, "example.yaml")
        path.write_text(text, "utf-8")
        try:
            load(path)
        except UserError as error:
            return f"YAML example is refused: {str(error).replace(str(path), 'example')}"
    return None


def _python_problem(body: str, piece: str) -> str | None:
    try:
        compile(body, "example", "exec")
    except SyntaxError as error:
        return f"Python example cannot be read: {error}"
    return None


def _json_problem(body: str, piece: str) -> str | None:
    try:
        json.loads(body)
    except ValueError as error:
        return f"JSON example cannot be read: {error}"
    return None


_CHECKS: dict[str, Callable[[str, str], str | None]] = {
    "yaml": _yaml_problem,
    "yml": _yaml_problem,
    "python": _python_problem,
    "json": _json_problem,
}


def _link_problem(path: Path, target: str) -> str | None:
    if re.match(r"[a-z][a-z0-9+.-]*:", target):
        return None
    name, _, anchor = unquote(target).partition("#")
    file = path if not name else (path.parent / name).resolve()
    if not file.exists():
        return f"link to {target}: there is no {name}"
    if anchor and file.suffix == ".md" and anchor not in anchors(file):
        return f"link to {target}: {file.name} has no such heading"
    return None


def main() -> int:
    """Print each problem as ``file:line: text``; return 1 when there is one."""
    listing = subprocess.run(["git", "ls-files", "-z", "*.md"], check=True, cwd=ROOT, capture_output=True, text=True)
    paths = [ROOT / name for name in listing.stdout.split("\0") if name]
    found = [f"{path.relative_to(ROOT)}:{problem}" for path in paths if path.is_file() for problem in problems(path)]
    print("\n".join([*found, f"{len(paths)} documents, {len(found)} problems"]))
    return 1 if found else 0


if __name__ == "__main__":
    sys.exit(main())
