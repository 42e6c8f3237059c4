"""The project's own scripts, as far as they can go wrong silently."""

from __future__ import annotations

import importlib.util
import io
import os
import stat
import subprocess
import tarfile
from pathlib import Path

import pytest

ROOT = Path(__file__).parents[3]


def load(name):
    spec = importlib.util.spec_from_file_location(name, ROOT / f"scripts/{name}.py")
    module = importlib.util.module_from_spec(spec)
    spec.loader.exec_module(module)
    return module


def test_the_committed_pictures_come_from_the_script():
    script = load("draw_pictures")
    for name, draw in script.PICTURES.items():
        assert (ROOT / name).read_bytes() == draw(), name


def test_documents_are_checked(tmp_path):
    script = load("check_documents")
    (tmp_path / "other.md").write_text("# Some `code` *title*\n\n# Twice\n\n# Twice\n")
    document = tmp_path / "doc.md"
    document.write_text(
        "# Title\n[a](other.md) [b](other.md#some-code-title) [c](https://example.org) [d](#title)\n"
        "[e](other.md#twice-1) `[not](a link)`\n```\n[not](either)\n```\n"
        "```yaml\na: [1\n```\n[f](gone.md)\n[g](other.md#nowhere)\n[h](#nowhere)\n"
    )
    found = list(script.problems(document))
    assert [problem.split(": ")[0] for problem in found] == ["7", "10", "11", "12"]
    assert "YAML example cannot be read" in found[0]
    assert found[1].endswith("there is no gone.md")


def members(data):
    with tarfile.open(fileobj=io.BytesIO(data)) as archive:
        return {info.name: info for info in archive.getmembers()}


def test_image_trees_are_reproducible(tmp_path):
    script = load("build_images")
    (tmp_path / "srv").mkdir()
    (tmp_path / "srv/run").write_text("#!/bin/sh\n")
    (tmp_path / "srv/run").chmod(0o755)
    (tmp_path / "srv/data.txt").write_text("x")
    (tmp_path / "srv/link").symlink_to("data.txt")
    (tmp_path / "srv/__pycache__").mkdir()

    def tar():
        tree = script.Tree()
        tree.copy(tmp_path, "rootfs", skip=lambda path: path.name == "__pycache__")
        tree.folder("tmp", 0o1777)
        return tree.tar()

    first = tar()
    os.utime(tmp_path / "srv/run", (1, 1))
    assert tar() == first
    entries = members(first)
    assert entries.keys() == {"rootfs", "rootfs/srv", "rootfs/srv/run", "rootfs/srv/data.txt", "rootfs/srv/link", "tmp"}
    assert entries["rootfs/srv/run"].mode == 0o755
    assert entries["rootfs/srv/data.txt"].mode == 0o644
    assert entries["rootfs/srv/link"].linkname == "data.txt"
    assert (entries["tmp"].mode, entries["tmp"].mtime, entries["tmp"].uid) == (0o1777, 0, 0)


def test_unknown_keys_of_an_image_are_mistakes(tmp_path):
    script = load("build_images")
    (tmp_path / "image.json").write_text('{"from": "base"}')
    with pytest.raises(script.BuildError, match="unknown key 'from'; allowed are base and changes"):
        script.build_folder(None, tmp_path)


@pytest.fixture
def engine(tmp_path):
    def run(*arguments):
        environment = {**os.environ, "MINDTRIAL_ENGINE_DIR": str(tmp_path / "engine")}
        return subprocess.run(
            [ROOT / "scripts/docker-engine", *arguments], check=False, capture_output=True, text=True, env=environment
        )

    return run


def test_an_engine_that_does_not_run_is_not_stopped_and_has_no_status(engine):
    assert engine("status").returncode == 3
    assert engine("stop").returncode == 0
    assert engine("address").stdout.endswith("/docker.sock\n")
    assert engine("restart").returncode == 2


def test_another_process_under_the_number_of_a_dead_engine_is_left_alone(engine, tmp_path):
    (tmp_path / "engine").mkdir()
    (tmp_path / "engine/dockerd.pid").write_text(str(os.getpid()))
    assert engine("status").returncode == 3
    assert engine("stop").returncode == 0  # and this test goes on


def test_scripts_are_executable():
    names = [".ci/run", *(f"scripts/{path.name}" for path in (ROOT / "scripts").iterdir() if path.is_file())]
    assert [name for name in names if not (ROOT / name).stat().st_mode & stat.S_IXUSR] == []


@pytest.mark.parametrize("target", ["demo", "test", "lint", "bench", "docs", "images", "clean"])
def test_make_knows_its_targets(target):
    done = subprocess.run(["make", "-n", target], check=False, cwd=ROOT, capture_output=True, text=True)
    assert done.returncode == 0, done.stderr
    listing = subprocess.run(["make", "help"], check=True, cwd=ROOT, capture_output=True, text=True).stdout
    assert f"make {target} " in listing
