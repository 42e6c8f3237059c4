"""The environment that is measured: what a user installs, and nothing else.

``python -m benchmarks`` makes it in ``.build/benchmark`` on first use and installs the present sources into it, as a
wheel. In a developer's environment other plugins load with every pytest, and packages that nobody needs slow the start
down (anyio's plugin imports trio where it finds it). Does not run anything else.
"""

from __future__ import annotations

import subprocess
import sys
from pathlib import Path

__all__ = ["prepare", "python"]

ROOT = Path(__file__).parents[1]
_FOLDER = ROOT / ".build/benchmark"


def python() -> str:
    """Return the interpreter of the environment."""
    return str(_FOLDER / "bin/python")


def prepare() -> None:
    """Install the present sources; with their dependencies the first time.

    Raises:
        subprocess.CalledProcessError: pip failed; it has said why.
    """
    is_new = not Path(python()).exists()
    if is_new:
        subprocess.run([sys.executable, "-m", "venv", _FOLDER], check=True)
    again = () if is_new else ("--no-deps", "--force-reinstall")
    subprocess.run([python(), "-m", "pip", "install", "-qq", "--compile", *again, ROOT], check=True)
