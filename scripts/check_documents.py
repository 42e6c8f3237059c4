#!/usr/bin/env python3
"""Check the documents: every relative link leads to a file, every anchor to a heading, every YAML block can be read.

Does not look at addresses on the internet and does not judge the text.
"""

from __future__ import annotations

import re
import subprocess
import sys
from collections.abc import Iterator
from pathlib import Path
from urllib.parse import unquote

import yaml

ROOT = Path(__file__).resolve().parent.parent
LINK = re.compile(r"!?\[[^\]\n]*\]\(<?([^)\s>]+)>?(?:\s+\"[^\"]*\")?\)")
FENCE = re.compile(r"^( *)(`{3,}|~{3,})(\w*)[^\n]*\n(.*?)^\1\2[ \t]*$", re.MULTILINE | re.DOTALL)


def problems(path: Path) -> Iterator[str]:
    """Yield what is wrong with a document, with its line."""
    text = path.read_text("utf-8")
    for match in FENCE.finditer(text):
        if match[3] in ("yaml", "yml"):
            yield from _yaml_problem(match, _line(text, match.start()))
    prose = _blanked(text)
    for match in LINK.finditer(prose):
        problem = _link_problem(path, match[1])
        if problem:
            yield f"{_line(prose, match.start())}: {problem}"


def anchors(path: Path) -> set[str]:
    """Return the anchors of a document's headings, as code hosts make them."""
    found: set[str] = set()
    for heading in re.findall(r"^#{1,6} +(.+?) *#*$", _blanked(path.read_text("utf-8")), re.MULTILINE):
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
    text = FENCE.sub(lambda match: "\n" * match[0].count("\n"), text)
    return re.sub(r"(?<!`)(`+)(?!`).*?(?<!`)\1(?!`)", "", text)


def _line(text: str, offset: int) -> int:
    return text.count("\n", 0, offset) + 1


def _yaml_problem(match: re.Match[str], line: int) -> Iterator[str]:
    indent = len(match[1])
    body = "\n".join(row[indent:] for row in match[4].split("\n"))
    try:
        list(yaml.compose_all(body, Loader=yaml.SafeLoader))
    except yaml.YAMLError as error:
        yield f"{line}: YAML example cannot be read: {' '.join(str(error).split())}"


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
