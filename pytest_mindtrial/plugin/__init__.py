"""Front of the plugin layer; see ARCHITECTURE.md."""

import sys

__all__: list[str] = []


def _import_without_rewriting() -> None:
    """Let our modules be imported as any library's from now on; none of their assertions is for users to read.

    pytest marks installed plugins for the rewriting of assertions, and so finds, checks and reads each of their modules
    in a slower way, 0.3 ms per module in every session. There is no public way out; see ``plugin/_compat.py``.
    """
    for finder in sys.meta_path:
        marked, known = getattr(finder, "_must_rewrite", None), getattr(finder, "_marked_for_rewrite_cache", None)
        if isinstance(marked, set) and isinstance(known, dict):
            marked.discard(__name__.partition(".")[0])
            known.clear()


_import_without_rewriting()
