"""Golden files: compare as bytes, rewrite with ``MT_REWRITE_GOLDEN=1`` and review the diff."""

from __future__ import annotations

import os
from pathlib import Path


def check_golden(path: Path, text: str) -> None:
    data = text.encode("utf-8", "surrogatepass")
    if os.environ.get("MT_REWRITE_GOLDEN") == "1":
        path.parent.mkdir(parents=True, exist_ok=True)
        path.write_bytes(data)
    assert path.is_file(), f"{path.name} is missing; run with MT_REWRITE_GOLDEN=1 and review it"
    assert data == path.read_bytes()
