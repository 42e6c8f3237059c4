"""Front of the providers layer; see ARCHITECTURE.md."""

__all__: list[str] = []
