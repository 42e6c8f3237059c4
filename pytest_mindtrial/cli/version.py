"""``mindtrial version``.

Does not look for newer versions: this program never calls home.
"""

from __future__ import annotations

import platform

from pytest_mindtrial import __version__
from pytest_mindtrial.cli.console import print_document
from pytest_mindtrial.results.evaluation import APP_NAME

__all__ = ["run"]


def run() -> int:
    """Run the command."""
    print_document(f"{APP_NAME} {__version__} (Python {platform.python_version()})\n")
    return 0
