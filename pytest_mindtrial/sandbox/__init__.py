"""Docker for attempts: tools, task services, custom validators.

Does not talk to models and does not judge answers. Import the submodules directly (``hub``, ``session``, ``settings``,
``sweep``); this front stays empty so that the watchdog process, one per session, starts fast. Source: spec docker.
"""

__all__: list[str] = []
