"""Removing containers, networks and volumes by label, in the order the engine allows.

Blocking; used by the hub's end, the sweep and the watchdog. Does not decide what is an orphan (`ownership`).
Source: spec docker 5.9 and 8.
"""

from __future__ import annotations

import contextlib
import time
from collections.abc import Callable, Iterator, Mapping
from dataclasses import dataclass
from typing import Any

__all__ = ["OwnedObject", "list_owned", "remove_all", "remove_one", "remove_owned"]

_CONFLICT_PAUSE_S = 0.05


@dataclass(frozen=True, slots=True)
class OwnedObject:
    """Something this project made.

    Attributes:
        kind: ``container``, ``network`` or ``volume``.
        id: What the engine knows it by.
        name: For people.
        labels: All labels.
    """

    kind: str
    id: str
    name: str
    labels: Mapping[str, str]


def list_owned(client: Any, label: str) -> list[OwnedObject]:
    """Return the objects that carry ``label`` (``key`` or ``key=value``): containers, then networks, then volumes."""
    chosen = {"label": label}
    return [
        *(
            OwnedObject(
                "container", found["Id"], (found.get("Names") or ["?"])[0].lstrip("/"), found.get("Labels") or {}
            )
            for found in client.containers(all=True, filters=chosen)
        ),
        *(
            OwnedObject("network", found["Id"], found["Name"], found.get("Labels") or {})
            for found in client.networks(filters=chosen)
        ),
        *(
            OwnedObject("volume", found["Name"], found["Name"], found.get("Labels") or {})
            for found in client.volumes(filters=chosen).get("Volumes") or ()
        ),
    ]


def remove_owned(client: Any, label: str, budget_s: float) -> list[str]:
    """Remove everything with a label; return one problem text for each object that resisted."""
    return remove_all(client, list_owned(client, label), budget_s)


def remove_all(client: Any, objects: list[OwnedObject], budget_s: float) -> list[str]:
    """Remove objects, containers before networks before volumes; return the problems, having tried every object."""
    return list(_problems(client, objects, budget_s))


def _problems(client: Any, objects: list[OwnedObject], budget_s: float) -> Iterator[str]:
    for kind in ("container", "network", "volume"):
        for found in objects:
            if found.kind == kind and (problem := remove_one(client, kind, found.id, budget_s)):
                yield problem


def remove_one(client: Any, kind: str, name: str, budget_s: float) -> str | None:
    """Remove one object.

    Args:
        client: A low-level docker-py client.
        kind: ``container`` (killed, with its anonymous volumes), ``network`` or ``volume``.
        name: Id or name.
        budget_s: How long to try again while the engine says that the object is still in use.

    Returns:
        None when the object is gone, else the reason in words.
    """
    from docker.errors import APIError
    from requests.exceptions import RequestException

    deadline = time.monotonic() + budget_s
    while True:
        try:
            _remover(client, kind)(name)
            return None
        except APIError as error:
            status = error.status_code
            if status == 404:
                return None
            if status not in (403, 409) or time.monotonic() > deadline:
                return f"{kind} {name} could not be removed: {error.explanation}"
        except RequestException as error:
            return f"{kind} {name} could not be removed: {error}"
        # In use for a moment: a removal under way, or endpoints of a container that is just going.
        time.sleep(_CONFLICT_PAUSE_S)
        if kind == "network":
            _release_endpoints(client, name)


def _release_endpoints(client: Any, network: str) -> None:
    """Cut what still hangs on a network that is to go.

    A container that was removed while it started can leave an endpoint behind (seen with engine 20.10), and no
    waiting helps then.
    """
    from docker.errors import APIError

    with contextlib.suppress(APIError):
        for endpoint in (client.inspect_network(network).get("Containers") or {}).values():
            with contextlib.suppress(APIError):
                client.disconnect_container_from_network(endpoint["Name"], network, force=True)


def _remover(client: Any, kind: str) -> Callable[[str], None]:
    if kind == "container":
        return lambda name: client.remove_container(name, force=True, v=True)
    return client.remove_network if kind == "network" else client.remove_volume  # type: ignore[no-any-return] # untyped
