"""Values and rules that every layer shares: errors, clock, ids, numbers, JSON text, result records.

Does not read files, talk HTTP or know pytest. Import the submodules directly; this front stays empty so that
``core.errors`` costs nothing to import.
"""

__all__: list[str] = []
