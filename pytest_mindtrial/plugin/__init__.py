"""Front of the plugin layer; see ARCHITECTURE.md."""

__all__: list[str] = []
