"""The checker of documents finds what is wrong, and nothing is wrong with ours."""

from __future__ import annotations

import importlib.util
import re
import shlex
from pathlib import Path
from types import ModuleType

import pytest

from pytest_mindtrial.cli.flags import parse_flags
from pytest_mindtrial.cli.help import COMMANDS, OUR_COMMANDS
from pytest_mindtrial.plugin.options import OPTIONS

ROOT = Path(__file__).resolve().parents[3]


@pytest.fixture(scope="module")
def checker() -> ModuleType:
    spec = importlib.util.spec_from_file_location("check_documents", ROOT / "scripts" / "check_documents.py")
    assert spec is not None
    assert spec.loader is not None
    module = importlib.util.module_from_spec(spec)
    spec.loader.exec_module(module)
    return module


def _documents() -> list[Path]:
    return [ROOT / "README.md", ROOT / "ARCHITECTURE.md", *sorted((ROOT / "docs").rglob("*.md"))]


@pytest.mark.parametrize("path", _documents(), ids=lambda path: str(path.relative_to(ROOT)))
def test_our_documents_have_no_problem(checker, path):
    assert list(checker.problems(path)) == []


def test_every_chapter_of_the_guide_is_linked_from_its_index():
    folder = ROOT / "docs" / "guide"
    index = (folder / "index.md").read_text("utf-8")
    chapters = [path.name for path in folder.glob("*.md") if path.name != "index.md"]
    assert chapters
    assert [name for name in chapters if f"({name})" not in index] == []


def test_paths_follow_an_equals_sign_in_everything_a_user_copies():
    """After a space, pytest takes them for places with tests (guide/trouble.md, "A path after a space")."""
    names = "|".join(option.name for option in OPTIONS if option.kind == "path")
    after_space = re.compile(rf"--mt-(?:{names}) (?=[A-Z]{{3,}}\b|[\w$(./]*[/.]\w)")
    suites = [path for path in (ROOT / "example_suites").rglob("*") if path.suffix in (".md", ".yaml", ".py")]
    readers = [path for path in _documents() if path.name != "trouble.md"] + suites + [ROOT / "Makefile"]
    assert after_space.search("pytest --mt-config ci.yaml")
    assert [str(path) for path in readers if after_space.search(path.read_text("utf-8"))] == []


def _quoted_messages() -> list[str]:
    """Return the pieces of messages that the chapter on trouble quotes, without what differs from case to case."""
    rows = (ROOT / "docs" / "guide" / "trouble.md").read_text("utf-8").splitlines()
    cells = [row.split("|")[1] for row in rows if row.startswith("| `")]
    pieces = [piece.strip() for cell in cells for quote in re.findall("`([^`]+)`", cell) for piece in _fixed(quote)]
    return sorted({piece for piece in pieces if len(piece) > 6 and piece not in ("no tests ran", "pytest")})


def _fixed(quote: str) -> list[str]:
    return re.split(r"…|'[^']*'|unrecognized arguments.*|Execution Error: ", quote)


@pytest.mark.parametrize("piece", _quoted_messages())
def test_messages_that_the_guide_explains_exist(piece):
    sources = "".join(path.read_text("utf-8") for path in (ROOT / "pytest_mindtrial").rglob("*.py"))
    assert piece in sources


@pytest.mark.parametrize(
    ("text", "expected"),
    [
        ("see [x](gone.md)", "there is no gone.md"),
        ("# A b\n[x](#a-b) [y](#c)", "no such heading"),
        ("```yaml\nconfig: {providers: []}\n```", "output-dir: is required"),
        ("```yaml\ntask-config: {tasks: [{nam: x}]}\n```", "did you mean 'name'"),
        ("```yaml task\n- name: x\n```", "prompt: is required"),
        ("```yaml tools\n- name: x\n```", "image: is required"),
        ("```yaml\n- name: x\n```", "does not say what it is a piece of"),
        ("```yaml other\na: [\n```", "cannot be read"),
        ("```python\ndef x(\n```", "Python example"),
        ("```json\n{]\n```", "JSON example"),
    ],
)
def test_a_problem_is_found_with_its_line(checker, tmp_path, text, expected):
    path = tmp_path / "page.md"
    path.write_text(f"first line\n\n{text}\n", "utf-8")
    found = list(checker.problems(path))
    assert len(found) == 1
    assert expected in found[0]
    assert found[0].startswith(("3:", "4:"))


@pytest.mark.parametrize(
    "text",
    [
        "```yaml other\non: [push]\n```",
        "```yaml providers\n- name: mock\n  runs: [{name: a, model: b}]\n```",
        "```yaml task\n- {name: a, prompt: b, response-result-format: c, expected-result: d}\n```",
        "```text\n[x](gone.md)\n```",
        "`[x](gone.md)`",
        "[x](https://example.com/)",
        "# A `b` c\n\n[x](#a-b-c)",
        "```\nconfig: [\n```",
    ],
)
def test_what_is_right_or_no_example_is_left_alone(checker, tmp_path, text):
    path = tmp_path / "page.md"
    path.write_text(text + "\n", "utf-8")
    assert list(checker.problems(path)) == []


def _guide() -> dict[str, str]:
    pages = [ROOT / "README.md", *(ROOT / "docs" / "guide").glob("*.md"), *(ROOT / "example_suites").rglob("*.md")]
    return {str(path.relative_to(ROOT)): path.read_text("utf-8") for path in pages}


def test_every_option_and_ini_key_that_a_document_names_exists():
    names = {f"--mt-{option.name}" for option in OPTIONS if option.command_line}
    names |= {f"--no-mt-{option.name}" for option in OPTIONS if option.kind == "switch"}
    keys = {option.key for option in OPTIONS}
    for page, text in _guide().items():
        prose = text.partition("<!-- options:begin")[0] + text.partition("<!-- options:end")[2]
        assert set(re.findall(r"--(?:no-)?mt-[a-z-]*[a-z]", prose)) - names == set(), page
        ini = set(re.findall(r"^(mt_\w+) *=", text, re.MULTILINE)) | set(re.findall(r"ini key[^`]*`(mt_\w+)", text))
        assert ini - keys == set(), page


def test_every_fixture_and_hook_that_a_document_names_exists():
    fixtures = (ROOT / "docs/reference/fixtures.md").read_text("utf-8")
    hooks = (ROOT / "docs/reference/hooks.md").read_text("utf-8")
    for page, text in _guide().items():
        for name in set(re.findall(r"\bpytest_mt_\w+", text)):
            assert f"## {name}\n" in hooks, f"{page}: {name}"
        for name in set(re.findall(r"def (mt_\w+)\(", text)):
            assert f"## {name}\n" in fixtures, f"{page}: {name}"


def _command_lines() -> list[str]:
    blocks = [block for text in _guide().values() for block in re.findall(r"^```sh\n(.*?)^```", text, re.M | re.S)]
    return sorted({line for block in blocks for line in block.splitlines() if line.startswith("mindtrial ")})


@pytest.mark.parametrize("line", _command_lines())
def test_every_mindtrial_command_that_a_document_shows_can_be_read(line):
    given = parse_flags(shlex.split(line, comments=True)[1:], {**COMMANDS, **OUR_COMMANDS})
    assert given.words == []
    assert given.command
    given.check(given.command)
    if given.command in OUR_COMMANDS:
        reference = (ROOT / "docs/reference/command.md").read_text("utf-8")
        help_text = reference.partition(f"## mindtrial {given.command}\n")[2].partition("\n## ")[0]
        assert [word for word in given.rest if word.startswith("--") and word not in help_text] == []
