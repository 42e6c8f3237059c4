"""Front of the results layer; see ARCHITECTURE.md."""

__all__: list[str] = []
