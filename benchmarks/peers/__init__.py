"""The same tasks on the same service by other tools; see README.md."""
