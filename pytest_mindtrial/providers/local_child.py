"""The program that holds the local model; started by ``providers/local_server.py``, not to be imported by others.

Takes its order as one JSON argument, prints one JSON line (``{"url": …}`` or ``{"error": …}``) and serves until its
standard input closes, which happens at the latest when the process that started it dies. Does not read configuration
and does not import the package it lies in. Source: design D13.
"""

from __future__ import annotations

import json
import os
import sys
from collections.abc import Callable, Mapping
from typing import Any

__all__ = ["main", "start"]


def start(order: Mapping[str, Any]) -> Any:
    """Start the server of an order (``model``, ``threads``, ``context``, ``slots``) and return it.

    Raises:
        ImportError: The runtime is missing.
        RuntimeError: The runtime cannot load the file.
    """
    import xllamacpp

    parameters = xllamacpp.CommonParams()
    parameters.model.path = order["model"]
    parameters.model_alias = {os.path.splitext(os.path.basename(order["model"]))[0]}
    parameters.hostnames = ["127.0.0.1"]
    parameters.port = 0
    parameters.n_parallel = order["slots"]
    parameters.n_ctx = order["context"] * order["slots"]
    for group in (parameters.cpuparams, parameters.cpuparams_batch):
        group.n_threads = order["threads"]
    # A prompt computed with and without a cached beginning rounds differently; reproducible answers are worth more.
    parameters.cache_prompt = False
    parameters.cache_ram_mib = 0
    parameters.verbosity = 0
    parameters.warmup = False
    parameters.ui = parameters.endpoint_slots = parameters.endpoint_props = False
    return xllamacpp.Server(parameters)


def main(order: str, leave: Callable[[int], None] = os._exit) -> None:
    """Serve until standard input closes, then leave the process.

    Args:
        order: The order as JSON.
        leave: Ends the process with a status, at once: the runtime's own shutdown, which runs when the server object is
            dropped, waits for the clients of unfinished requests, possibly for ever.
    """
    try:
        server = start(json.loads(order))
    except (ImportError, RuntimeError) as error:
        _say({"error": str(error)})
        leave(1)
        return
    _say({"url": f"{server.listening_address}/v1"})
    sys.stdin.buffer.read()
    leave(0)


def _say(message: Mapping[str, str]) -> None:
    sys.stdout.write(json.dumps(message) + "\n")
    sys.stdout.flush()


if __name__ == "__main__":  # pragma: no cover - runs in the child only, where nothing is measured
    main(sys.argv[1])
