"""The ``local`` provider: a real, small model that needs no key and no network.

It is the chat dialect pointed at a server of ours on this machine; this module only says where that server is. Does
not speak HTTP (``providers/client.py``) and holds no profile (``providers/profiles.py``). Source: design D13, spec
providers 13.7.
"""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

from pytest_mindtrial.providers.local_server import ServerPool, read_options

__all__ = ["ensure_server", "stop_servers"]

_POOL = ServerPool()


def ensure_server(options: Mapping[str, Any]) -> str:
    """Return the base URL (``http://127.0.0.1:PORT/v1``) of the local model's server; start it on first use.

    Thread-safe; equal options share one server per process. Loading blocks for about half a second, so call it outside
    an event loop or through a thread.

    Args:
        options: ``client-config`` of the provider, kebab-case: ``model-path``, ``threads``, ``context``, ``slots``.

    Raises:
        ConfigError: An option is wrong, a package is missing (with the commands that install it) or the model file
            cannot be loaded.
    """
    return _POOL.url(read_options(options))


def stop_servers() -> None:
    """Stop every server and free its memory; happens by itself at interpreter exit."""
    _POOL.close()
