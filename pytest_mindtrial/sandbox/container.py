"""What a container of ours looks like, and how it is brought up.

One way for every engine version: create with the first network, connect the others while the container is still
created, start; so the process never runs with fewer networks than it should, and the oldest engine runs what all run.
Does not wait for the process. Source: spec docker 4.6, 4.10, 9.
"""

from __future__ import annotations

import time
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from typing import Any, Literal

from pytest_mindtrial.sandbox.streams import attach
from pytest_mindtrial.suite.model import ContainerLimits

__all__ = ["ContainerSpec", "Launch", "Mount", "create_arguments", "launch_container"]

_MEBI = 1024 * 1024
_NANO_PER_PERCENT = 10_000_000
_FAST_LOOKUPS = ["timeout:1", "attempts:1"]


@dataclass(frozen=True, slots=True)
class Mount:
    """A host file or a volume inside a container.

    Attributes:
        target: Absolute path in the container.
        source: Path on the engine's host, or the name of a volume.
        kind: ``bind`` or ``volume``; volumes start empty (image content is not copied).
        read_only: Writes fail with EROFS.
    """

    target: str
    source: str
    kind: Literal["bind", "volume"] = "bind"
    read_only: bool = False


@dataclass(frozen=True, slots=True)
class ContainerSpec:
    """A container to be made.

    Attributes:
        name: Object name; chosen by us before the engine is asked, so that it can be removed whatever happens.
        image: Image reference.
        labels: Ownership labels.
        command: Empty = the image's default.
        env: Variables.
        networks: Network ids in order; empty = no network at all.
        alias: Host name on the first network; blank = none.
        mounts: Files and volumes.
        uploads: Tar archives laid over ``/`` before the start.
        limits: Memory and processor share; the timeout is the caller's business.
        pids_limit: Processes and threads.
        keeps_log: True = the engine keeps a rotated log (services); False = output goes to the attached reader only.
    """

    name: str
    image: str
    labels: Mapping[str, str]
    command: Sequence[str] = ()
    env: Mapping[str, str] = field(default_factory=dict)
    networks: Sequence[str] = ()
    alias: str = ""
    mounts: Sequence[Mount] = ()
    uploads: Sequence[bytes] = ()
    limits: ContainerLimits = field(default_factory=ContainerLimits)
    pids_limit: int = 512
    keeps_log: bool = False


@dataclass(slots=True)
class Launch:
    """How far a launch got; filled by `launch_container`, readable from other threads.

    Attributes:
        phase: ``create``, ``start`` or ``running``; on an exception, the phase that failed.
        id: Container id once it exists.
        stream: Attached output (a streamed response), open from before the start.
        started_ns: Monotonic time right after the engine's start call returned.
    """

    phase: Literal["create", "start", "running"] = "create"
    id: str = ""
    stream: Any = None
    started_ns: int = 0

    def close(self) -> None:
        """Close the stream; an attached stream that nobody reads would block kill and remove (spec docker 10).

        Not to be called while another thread reads it: removing the container ends that stream.
        """
        if self.stream is not None:
            self.stream.close()


def create_arguments(client: Any, spec: ContainerSpec, cpus: int) -> dict[str, Any]:
    """Return the keyword arguments of docker-py's ``create_container``."""
    from docker.types import LogConfig
    from docker.types import Mount as DockerMount

    limits = spec.limits
    memory = limits.max_memory_mb * _MEBI if limits.max_memory_mb else None
    log = {"max-size": "4m", "max-file": "2"} if spec.keeps_log else None
    host = client.create_host_config(
        network_mode=spec.networks[0] if spec.networks else "none",
        mounts=[
            DockerMount(
                each.target, each.source, each.kind, read_only=each.read_only, no_copy=each.kind == "volume" or None
            )
            for each in spec.mounts
        ],
        mem_limit=memory,
        memswap_limit=memory,
        nano_cpus=cpus * limits.cpu_percent * _NANO_PER_PERCENT if limits.cpu_percent else None,
        pids_limit=spec.pids_limit,
        security_opt=["no-new-privileges"],
        log_config=LogConfig(type="json-file", config=log) if spec.keeps_log else LogConfig(type="none", config={}),
        dns_opt=_FAST_LOOKUPS if spec.networks else None,
    )
    arguments = {
        "image": spec.image,
        "command": list(spec.command) or None,
        "environment": [f"{key}={value}" for key, value in sorted(spec.env.items())],
        "name": spec.name,
        "labels": dict(spec.labels),
        "host_config": host,
    }
    if spec.alias:
        endpoint = client.create_endpoint_config(aliases=[spec.alias])
        arguments["networking_config"] = client.create_networking_config({spec.networks[0]: endpoint})
    return arguments


def launch_container(client: Any, spec: ContainerSpec, cpus: int, launch: Launch) -> None:
    """Create and start a container, keeping ``launch`` up to date; blocking.

    Raises:
        Exception: docker-py's; ``launch.phase`` tells where.
    """
    launch.id = client.create_container(**create_arguments(client, spec, cpus))["Id"]
    for network in spec.networks[1:]:
        client.connect_container_to_network(launch.id, network)
    for archive in spec.uploads:
        client.put_archive(launch.id, "/", archive)
    if not spec.keeps_log:
        launch.stream = attach(client, launch.id)
    launch.phase = "start"
    client.start(launch.id)
    launch.phase = "running"
    launch.started_ns = time.monotonic_ns()
