"""Where consumers find a service: host name, port, URL.

All of it follows from the service's definition, so that it can be told before and after the service runs. Does not
start services (`services`). Source: seed 000, sections Task Services and Templates; spec docker 5.5.
"""

from __future__ import annotations

import hashlib
from dataclasses import dataclass

from pytest_mindtrial.suite.model import Service

__all__ = ["ServiceEndpoint", "endpoint_of", "service_host"]


@dataclass(frozen=True, slots=True)
class ServiceEndpoint:
    """Where consumers reach a running service, from inside its network only.

    Attributes:
        name: Name in the configuration.
        host: Host name inside the network.
        port: Container port.
        url: ``scheme://host:port``.
    """

    name: str
    host: str
    port: int
    url: str


def endpoint_of(service: Service) -> ServiceEndpoint:
    """Return where every instance of a service is reached."""
    host = service_host(service.name)
    return ServiceEndpoint(service.name, host, service.port, f"{service.scheme}://{host}:{service.port}")


def service_host(name: str) -> str:
    """Return the host name of a service: a valid DNS label that depends on its name only."""
    return f"svc-{hashlib.sha256(name.encode()).hexdigest()[:12]}"
