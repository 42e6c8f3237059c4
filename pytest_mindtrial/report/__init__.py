"""Front of the report layer; see ARCHITECTURE.md."""

__all__: list[str] = []
