"""Front of the cli layer; see ARCHITECTURE.md."""

__all__: list[str] = []
