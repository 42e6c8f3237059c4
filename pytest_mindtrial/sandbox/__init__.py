"""Front of the sandbox layer; see ARCHITECTURE.md."""

__all__: list[str] = []
