"""LLM evaluations as native pytest items.

This front exports nothing but the version, so that loading the plugin in an unrelated pytest run stays cheap.
The public API is the fixtures (``docs/reference/fixtures.md``), the hooks (``plugin/hookspecs.py``) and the
``mindtrial`` command.
"""

__all__ = ["__version__"]

__version__ = "0.1.0"
