#!/usr/bin/env python3
r"""Build the Docker images of the tests from files of this machine: no registry, no download.

Does not start an engine (``scripts/docker-engine``) and does not remove images. Every image is tagged with a digest of
everything that goes into it (``mindtrial-test/NAME:DIGEST``) and with ``latest``; an image whose digest is present is
not built again. Source: spec docker 11.1.

Two bases are made here:

- ``mindtrial-test/base``: a static busybox (Debian's package ``busybox-static``), 2 MB, shell tools, no Python;
- ``mindtrial-test/python``: the same plus the running interpreter with its standard library.

Further images are folders, by default those of the tests and of the example suites::

    NAME/image.json     {"base": "base" | "python", "changes": ["ENV A=1", "CMD [\"/run\"]"]}   (optional)
    NAME/rootfs/...     files laid over the base; modes and links are kept

In Python: ``build_folder(client, folder)`` and ``build_tree(client, name, tree, base=…, changes=…)`` return the tag.
"""

from __future__ import annotations

import argparse
import hashlib
import io
import json
import shutil
import subprocess
import sys
import sysconfig
import tarfile
from collections.abc import Callable, Sequence
from pathlib import Path
from typing import Any

ROOT = Path(__file__).resolve().parent.parent
NAMESPACE = "mindtrial-test"
BASES = ("base", "python")
FOLDERS = ("tests/docker/images/*", "example_suites/*/images/*")
PATH_LINE = "ENV PATH=/usr/local/bin:/usr/bin:/bin"
_LEFT_OUT = {
    "ensurepip", "idlelib", "lib2to3", "pydoc_data", "site-packages", "dist-packages", "test", "tests",
    "tkinter", "turtledemo",
}  # fmt: skip


class BuildError(Exception):
    """An image cannot be built here; the text says what is missing."""


class Tree:
    """A root file system under construction, written as a reproducible tar (sorted, no times, owner root)."""

    def __init__(self) -> None:
        self._entries: dict[str, tuple[tarfile.TarInfo, bytes | None]] = {}

    def add(self, name: str, content: bytes, mode: int = 0o644, mtime: int = 0) -> None:
        """Add a regular file and the folders above it."""
        info = self._new(name, tarfile.REGTYPE, mode)
        info.mtime = mtime
        info.size = len(content)
        self._entries[info.name] = (info, content)

    def link(self, name: str, target: str) -> None:
        """Add a symbolic link; ``target`` should be relative."""
        info = self._new(name, tarfile.SYMTYPE, 0o777)
        info.linkname = target
        self._entries[info.name] = (info, None)

    def folder(self, name: str, mode: int = 0o755) -> None:
        """Add a folder and the folders above it; an existing one gets the mode."""
        info = self._new(name, tarfile.DIRTYPE, mode)
        self._entries[info.name] = (info, None)

    def copy(
        self,
        source: Path,
        name: str = "",
        *,
        skip: Callable[[Path], bool] = lambda path: False,
        keep_times: bool = False,
    ) -> None:
        """Lay a file or folder of this machine at ``name``; links inside stay links."""
        if source.is_symlink():
            self.link(name, source.readlink().as_posix())
        elif source.is_dir():
            if name:
                self.folder(name)
            for child in sorted(source.iterdir()):
                if not skip(child):
                    self.copy(child, f"{name}/{child.name}", skip=skip, keep_times=keep_times)
        else:
            found = source.stat()
            mode = 0o755 if found.st_mode & 0o111 else 0o644
            self.add(name, source.read_bytes(), mode, int(found.st_mtime) if keep_times else 0)

    def tar(self) -> bytes:
        """Return the tar archive."""
        buffer = io.BytesIO()
        with tarfile.open(fileobj=buffer, mode="w", format=tarfile.PAX_FORMAT) as archive:
            for _, (info, content) in sorted(self._entries.items()):
                archive.addfile(info, None if content is None else io.BytesIO(content))
        return buffer.getvalue()

    def _new(self, name: str, kind: bytes, mode: int) -> tarfile.TarInfo:
        name = name.strip("/")
        parent = name.rpartition("/")[0]
        if parent and parent not in self._entries:
            self.folder(parent)
        info = tarfile.TarInfo(name)
        info.type, info.mode, info.mtime = kind, mode, 0
        return info


def build_base(client: Any, name: str) -> str:
    """Build ``base`` or ``python`` when its digest is not present; return the tag with the digest."""
    busybox = _busybox().read_bytes()
    digest = _digest(Path(__file__).read_bytes(), busybox, sys.version.encode() if name == "python" else b"")
    tag = f"{NAMESPACE}/{name}:{digest}"
    if _is_present(client, tag):
        return _latest(client, tag)
    tree = Tree()
    _add_busybox(tree, busybox)
    changes = [PATH_LINE, 'CMD ["/bin/sh"]']
    if name == "python":
        _add_python(tree)
        changes += ["ENV PYTHONDONTWRITEBYTECODE=1", "ENV LANG=C.UTF-8"]
    repository, _, version = tag.partition(":")
    client.api.import_image_from_data(tree.tar(), repository=repository, tag=version, changes=changes)
    return _latest(client, tag)


def build_tree(
    client: Any, name: str, tree: Path | None, *, base: str = "base", changes: Sequence[str] = (), keep: str = "latest"
) -> str:
    """Lay a folder over a base image.

    Args:
        client: A ``docker.DockerClient``.
        name: Image name below ``mindtrial-test/``.
        tree: Folder whose content becomes ``/``; None = only the configuration differs.
        base: ``base``, ``python`` or the tag of any present image.
        changes: Dockerfile lines such as ``CMD ["/run"]``, ``ENV A=1``, ``USER 1000``, ``HEALTHCHECK …``.
        keep: Second tag that moves to the newest build.

    Returns:
        The tag with the digest.
    """
    parent = build_base(client, base) if base in BASES else base
    files = Tree()
    if tree is not None and tree.is_dir():
        files.copy(tree, "rootfs", skip=lambda path: path.name == "__pycache__")
    recipe = "\n".join([f"FROM {parent}", *(["COPY rootfs /"] if files.tar() != Tree().tar() else []), *changes, ""])
    content = files.tar()
    tag = f"{NAMESPACE}/{name}:{_digest(content, recipe.encode())}"
    if not _is_present(client, tag):
        files.add("Dockerfile", recipe.encode())
        client.images.build(fileobj=io.BytesIO(files.tar()), custom_context=True, tag=tag, rm=True, forcerm=True)
    return _latest(client, tag, keep)


def build_folder(client: Any, folder: Path) -> str:
    """Build the image that a folder with ``rootfs/`` and an optional ``image.json`` describes; return its tag."""
    settings: dict[str, Any] = {}
    if (folder / "image.json").is_file():
        settings = json.loads((folder / "image.json").read_text("utf-8"))
    if unknown := settings.keys() - {"base", "changes"}:
        raise BuildError(f"{folder / 'image.json'}: unknown key {sorted(unknown)[0]!r}; allowed are base and changes")
    return build_tree(
        client,
        folder.name,
        folder / "rootfs",
        base=settings.get("base", "base"),
        changes=settings.get("changes", []),
    )


def _digest(*parts: bytes) -> str:
    digest = hashlib.sha256()
    for part in parts:
        digest.update(len(part).to_bytes(8, "big") + part)
    return digest.hexdigest()[:16]


def _is_present(client: Any, tag: str) -> bool:
    return bool(client.images.list(name=tag))


def _latest(client: Any, tag: str, keep: str = "latest") -> str:
    repository = tag.partition(":")[0]
    client.api.tag(tag, repository, keep)
    return tag


def _busybox() -> Path:
    found = shutil.which("busybox")
    if found is None:
        raise BuildError("no busybox on this machine; install Debian's package busybox-static")
    path = Path(found).resolve()
    if _libraries(path):
        raise BuildError(f"{path} is not statically linked; install Debian's package busybox-static")
    return path


def _add_busybox(tree: Tree, content: bytes) -> None:
    for name in ("bin", "dev", "etc", "home", "opt", "proc", "root", "run", "srv", "sys", "usr/bin", "var/tmp"):
        tree.folder(name)
    tree.folder("tmp", 0o1777)
    tree.add("bin/busybox", content, 0o755)
    names = subprocess.run([str(_busybox()), "--list"], check=True, capture_output=True, text=True).stdout.split()
    for name in names:
        if name != "busybox":  # a link of that name would replace the program by a loop
            tree.link(f"bin/{name}", "busybox")
    tree.link("usr/bin/env", "../../bin/busybox")
    tree.add("etc/passwd", b"root:x:0:0:root:/root:/bin/sh\nnobody:x:65534:65534:nobody:/:/bin/false\n")
    tree.add("etc/group", b"root:x:0:\nnogroup:x:65534:\n")
    tree.add("etc/nsswitch.conf", b"hosts: files dns\n")


def _add_python(tree: Tree) -> None:
    version = f"{sys.version_info.major}.{sys.version_info.minor}"
    program = Path(sys.executable).resolve()
    library = Path(sysconfig.get_path("stdlib"))
    tree.add(f"usr/bin/python{version}", program.read_bytes(), 0o755)
    tree.link("usr/bin/python3", f"python{version}")
    tree.link("usr/bin/python", f"python{version}")

    def is_needless(path: Path) -> bool:
        left_out = path.name in _LEFT_OUT or path.name.startswith(("config-", "_tkinter", "_test"))
        return left_out or path.suffix == ".a" or ".opt-" in path.name

    # Byte code is only valid beside sources of the same age; without it every import in a container compiles.
    tree.copy(library, f"usr/lib/python{version}", skip=is_needless, keep_times=True)
    needed = set(_libraries(program))
    for module in sorted((library / "lib-dynload").glob("*.so")):
        if not is_needless(module):
            needed.update(_libraries(module))
    # The resolver loads these by name at run time, so no ELF header names them.
    for name in ("libnss_dns.so.2", "libnss_files.so.2", "libresolv.so.2"):
        needed.update(path.parent / name for path in list(needed) if (path.parent / name).exists())
    for path in sorted(needed):
        tree.add(path.as_posix(), path.resolve().read_bytes(), 0o755)


def _libraries(program: Path) -> list[Path]:
    """Return the shared libraries of an ELF file, loader included; none for a static one."""
    listing = subprocess.run(["ldd", str(program)], check=False, capture_output=True, text=True).stdout
    words = (word for line in listing.splitlines() for word in line.split())
    return [Path(word) for word in words if word.startswith("/") and not word.endswith(":")]


def main() -> int:
    """Build the bases and every folder image; print one line an image."""
    parser = argparse.ArgumentParser(description="Build the images of the Docker tests without a registry.")
    parser.add_argument("folders", nargs="*", type=Path, help=f"folders to build (default: {' '.join(FOLDERS)})")
    options = parser.parse_args()
    import docker

    try:
        client = docker.from_env()
    except docker.errors.DockerException as error:
        print(f"build_images: no Docker engine answers ({error}); see scripts/docker-engine", file=sys.stderr)
        return 1
    folders = options.folders or [path for pattern in FOLDERS for path in sorted(ROOT.glob(pattern)) if path.is_dir()]
    try:
        for name in BASES:
            print(build_base(client, name))
        for folder in folders:
            print(build_folder(client, folder))
    except BuildError as error:
        print(f"build_images: {error}", file=sys.stderr)
        return 1
    finally:
        client.close()
    return 0


if __name__ == "__main__":
    sys.exit(main())
