"""Front of the validators layer; see ARCHITECTURE.md."""

__all__: list[str] = []
