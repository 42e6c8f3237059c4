"""Front of the suite layer; see ARCHITECTURE.md."""

__all__: list[str] = []
