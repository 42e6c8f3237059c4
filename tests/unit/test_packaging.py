"""What is shipped: the wheel's content, its entry points and metadata, and what must not stand in tracked files."""

from __future__ import annotations

import configparser
import re
import subprocess
import sys
import tomllib
import zipfile
from pathlib import Path

import pytest

import pytest_mindtrial

ROOT = Path(__file__).parents[2]
DATA_ENDINGS = (".html", ".js", ".css", ".json", "py.typed")


@pytest.fixture(scope="session")
def wheel(tmp_path_factory: pytest.TempPathFactory) -> zipfile.ZipFile:
    """Build the wheel from a copy of the sources, offline, so that nothing is left in the checkout."""
    source = tmp_path_factory.mktemp("source")
    names = _tracked() or pytest.skip("not a git checkout")
    for name in names:
        if name.startswith("pytest_mindtrial/") or "/" not in name:
            target = source / name
            target.parent.mkdir(parents=True, exist_ok=True)
            if (ROOT / name).is_file():
                target.write_bytes((ROOT / name).read_bytes())
    output = tmp_path_factory.mktemp("wheel")
    command = [sys.executable, "-m", "pip", "wheel", "--no-deps", "--no-build-isolation", "--no-index", "-q"]
    done = subprocess.run(
        [*command, "-w", str(output), str(source)], check=False, capture_output=True, text=True, timeout=120
    )
    assert done.returncode == 0, done.stderr
    (path,) = output.glob("*.whl")
    return zipfile.ZipFile(path)


def _tracked() -> list[str]:
    done = subprocess.run(["git", "ls-files", "-z"], check=False, cwd=ROOT, capture_output=True, text=True)
    return [name for name in done.stdout.split("\0") if name]


def metadata(wheel: zipfile.ZipFile, name: str) -> str:
    (path,) = [entry for entry in wheel.namelist() if entry.endswith(f".dist-info/{name}")]
    return wheel.read(path).decode()


def test_every_module_and_data_file_is_in_the_wheel(wheel):
    wanted = {
        name
        for name in _tracked()
        if name.startswith("pytest_mindtrial/") and name.endswith((".py", *DATA_ENDINGS)) and (ROOT / name).is_file()
    }
    assert wanted - set(wheel.namelist()) == set()


def test_nothing_else_is_in_the_wheel(wheel):
    tops = {name.split("/")[0] for name in wheel.namelist()}
    assert {top for top in tops if not top.endswith(".dist-info")} == {"pytest_mindtrial"}


def test_entry_points(wheel):
    points = configparser.ConfigParser()
    points.read_string(metadata(wheel, "entry_points.txt"))
    assert points["pytest11"]["mindtrial"] == "pytest_mindtrial.plugin.hooks"
    assert points["console_scripts"]["mindtrial"] == "pytest_mindtrial.cli.main:main"


def test_metadata(wheel):
    text = metadata(wheel, "METADATA")
    assert f"\nVersion: {pytest_mindtrial.__version__}\n" in text
    assert "\nRequires-Python: >=3.11\n" in text
    assert "\nLicense-File: LICENSE\n" in text
    assert "\nClassifier: Framework :: Pytest\n" in text


def test_the_entry_points_lead_somewhere():
    project = tomllib.loads((ROOT / "pyproject.toml").read_text("utf-8"))["project"]
    targets = [*project["entry-points"]["pytest11"].values(), *project["scripts"].values()]
    for target in targets:
        module = ROOT / (target.split(":")[0].replace(".", "/") + ".py")
        assert module.is_file(), target


def test_no_source_is_ignored_by_git():
    """A pattern such as ``results/`` without a leading slash hides a package of that name from every commit."""
    command = ["git", "ls-files", "-z", "--others", "--ignored", "--exclude-standard", "pytest_mindtrial", "tests"]
    done = subprocess.run(command, check=False, cwd=ROOT, capture_output=True, text=True)
    hidden = [name for name in done.stdout.split("\0") if name.endswith((".py", *DATA_ENDINGS))]
    assert hidden == []


# Written in pieces, so that this file does not find itself.
FORBIDDEN = {
    "a folder of one machine": re.compile("/(?:wo" "rk|ro" r"ot|ho" r"me/\w+)/(?!\.\.)"),
    "a package registry's host": re.compile(
        "(?:py" "pi|python" "hosted|npm" "js|deb" r"ian)\.(?:org|com)|registry\.\w+\.\w+", re.IGNORECASE
    ),
}
BINARY = (".png", ".gguf", ".pdf", ".zip", ".gz")


@pytest.mark.parametrize("what", FORBIDDEN)
def test_tracked_files_name_no_machine_and_no_registry(what):
    names = _tracked() or pytest.skip("not a git checkout")
    found = []
    for name in names:
        path = ROOT / name
        if name.endswith(BINARY) or not path.is_file():
            continue
        for number, line in enumerate(path.read_text("utf-8", "replace").splitlines(), 1):
            if FORBIDDEN[what].search(line):
                found.append(f"{name}:{number}: {line.strip()[:120]}")
    assert found == []


@pytest.mark.parametrize(
    "what, line, is_found",
    [
        ("a folder of one machine", "cd /wo" + "rk/main", True),
        ("a folder of one machine", "open('/home" + "/ada/x')", True),
        ("a folder of one machine", "the path /app/data/orders.csv", False),
        ("a package registry's host", "https://py" + "pi.org/simple", True),
        ("a package registry's host", "https://registry.np" + "mjs.org/", True),
        ("a package registry's host", "https://json-schema.org/draft", False),
    ],
)
def test_the_search_itself(what, line, is_found):
    assert bool(FORBIDDEN[what].search(line)) is is_found
