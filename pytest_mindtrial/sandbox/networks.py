"""Networks of task services: internal, without a host address, in small blocks of our own choice.

The engine's default pools end at 30 networks, and an ordinary internal bridge leaves the host reachable; both are
avoided here. Does not start containers. Source: spec docker 5.4.
"""

from __future__ import annotations

import ipaddress
import random
import threading
from collections.abc import Mapping
from typing import Any

from pytest_mindtrial.core.errors import SandboxRuntimeError

__all__ = ["SubnetAllocator", "create_network"]

_BLOCK_PREFIX = 28
_TRIES = 50
_OVERLAP = 403
_NO_HOST_ADDRESS = {"com.docker.network.bridge.inhibit_ipv4": "true"}


class SubnetAllocator:
    """Hands out /28 blocks of a range at random; blocks that others use show up as refusals of the engine.

    Args:
        subnet_range: IPv4 network, at least a /28.
    """

    def __init__(self, subnet_range: str) -> None:
        self._network = ipaddress.ip_network(subnet_range)
        if self._network.version != 4 or self._network.prefixlen > _BLOCK_PREFIX:
            raise SandboxRuntimeError(f"{subnet_range} is no IPv4 range that holds /28 blocks")
        self._size = 2 ** (_BLOCK_PREFIX - self._network.prefixlen)
        self._used: set[int] = set()
        self._lock = threading.Lock()

    def take(self) -> str:
        """Return a block that this process does not use.

        Raises:
            SandboxRuntimeError: All blocks are in use.
        """
        with self._lock:
            if len(self._used) >= self._size:
                raise SandboxRuntimeError(f"all {self._size} networks of {self._network} are in use")
            number = random.randrange(self._size)
            while number in self._used:
                number = (number + 1) % self._size
            self._used.add(number)
        address = int(self._network.network_address) + number * 2 ** (32 - _BLOCK_PREFIX)
        return f"{ipaddress.ip_address(address)}/{_BLOCK_PREFIX}"

    def give_back(self, block: str) -> None:
        """Free a block."""
        offset = int(ipaddress.ip_network(block).network_address) - int(self._network.network_address)
        with self._lock:
            self._used.discard(offset // 2 ** (32 - _BLOCK_PREFIX))


def create_network(client: Any, name: str, labels: Mapping[str, str], allocator: SubnetAllocator) -> tuple[str, str]:
    """Create a service network; blocking.

    Args:
        client: A low-level docker-py client.
        name: Network name, for people; the engine accepts equal names, so the id counts.
        labels: Ownership labels.
        allocator: Where blocks come from.

    Returns:
        Network id and its block.

    Raises:
        Exception: docker-py's, for any refusal other than an overlap, or after 50 overlaps.
    """
    from docker.errors import APIError
    from docker.types import IPAMConfig, IPAMPool

    for attempt in range(_TRIES):
        block = allocator.take()
        try:
            made = client.create_network(
                name,
                driver="bridge",
                internal=True,
                ipam=IPAMConfig(pool_configs=[IPAMPool(subnet=block)]),
                options=dict(_NO_HOST_ADDRESS),
                labels=dict(labels),
            )
        except APIError as error:
            # An overlapping block stays marked as used: somebody else has it.
            if error.status_code == _OVERLAP and attempt < _TRIES - 1:
                continue
            raise
        return made["Id"], block
    raise AssertionError("the loop returns or raises")
