"""Front of the engine layer; see ARCHITECTURE.md."""

__all__: list[str] = []
