"""The wire languages the vendors speak; one module (or a few) per language, pure, without I/O."""

__all__: list[str] = []
