"""Keeps our modules out of pytest's rewriting of assertions; the first module that ``plugin/hooks.py`` imports.

pytest marks installed plugins for it, and so finds, checks and reads each of their modules in a slower way, 0.3 ms per
module in every session. None of our assertions is for users to read. There is no public way out, and this must come
before every other import, which is why it is not in ``plugin/_compat.py``. Without the private attributes our modules
are imported in the slower way.
"""

from __future__ import annotations

import sys

__all__: list[str] = []

for _finder in sys.meta_path:
    _marked, _known = getattr(_finder, "_must_rewrite", None), getattr(_finder, "_marked_for_rewrite_cache", None)
    if isinstance(_marked, set) and isinstance(_known, dict):
        _marked.discard(__name__.partition(".")[0])
        _known.clear()
