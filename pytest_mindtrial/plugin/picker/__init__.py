"""The screens of ``--mt-interactive``; imported only when they are shown (extra ``tui``)."""

__all__: list[str] = []
