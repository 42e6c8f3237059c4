"""Builders of the pages in docs/reference/; ``scripts/build_reference.py`` writes them."""
