"""Measures what an evaluation costs beyond the model's own time; see ``docs/performance.md``."""
