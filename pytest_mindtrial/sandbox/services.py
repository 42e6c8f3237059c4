"""The services of one attempt: started before the prompt, removed with the attempt, never restarted.

Does not decide which services a task needs (`needs`) and does not run tools. Source: seed 000, section Task Services;
spec docker 5.
"""

from __future__ import annotations

import asyncio
import logging
import secrets
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from typing import Any

from pytest_mindtrial.core.errors import SandboxRuntimeError
from pytest_mindtrial.sandbox.connection import EngineFailure
from pytest_mindtrial.sandbox.container import ContainerSpec, Launch, launch_container
from pytest_mindtrial.sandbox.endpoints import ServiceEndpoint, endpoint_of, service_host
from pytest_mindtrial.sandbox.engine import Engine
from pytest_mindtrial.sandbox.environment import Environment
from pytest_mindtrial.sandbox.networks import SubnetAllocator, create_network
from pytest_mindtrial.sandbox.output import tail_text
from pytest_mindtrial.sandbox.ownership import Lease
from pytest_mindtrial.sandbox.readiness import NotReadyError, exit_state, wait_ready
from pytest_mindtrial.sandbox.templates import render_dependency
from pytest_mindtrial.suite.model import Dependency, Service

__all__ = ["Binding", "ServiceSet"]

_LOG = logging.getLogger("pytest_mindtrial.sandbox")
_LOG_LINES = 400
_IMAGE_LABELS = "org.opencontainers.image."


@dataclass(frozen=True, slots=True)
class Binding:
    """What a consumer gets from its dependencies: variables, and networks in order."""

    env: Mapping[str, str]
    networks: tuple[str, ...]


@dataclass(slots=True)
class _Instance:
    """One start of a service; registered before anything of it exists, so that nothing can be forgotten.

    ``guest`` is the user's own container that stands in for the service; it joins the network and is never removed.
    """

    service: Service
    guest: str = ""
    name: str = field(default_factory=lambda: secrets.token_hex(8))
    network: str = ""
    block: str = ""
    launch: Launch = field(default_factory=Launch)

    @property
    def container_name(self) -> str:
        return f"mindtrial-service-{self.name}"

    @property
    def network_name(self) -> str:
        return f"mindtrial-service-network-{self.name}"

    @property
    def endpoint(self) -> ServiceEndpoint:
        return endpoint_of(self.service)


class ServiceSet:
    """All services of one attempt.

    Args:
        engine: The engine.
        lease: For labels.
        attempt: Attempt id.
        allocator: Blocks for the networks.
        pids_limit: Processes and threads of one service.
    """

    def __init__(self, engine: Engine, lease: Lease, attempt: str, allocator: SubnetAllocator, pids_limit: int) -> None:
        self._engine = engine
        self._lease = lease
        self._attempt = attempt
        self._allocator = allocator
        self._pids_limit = pids_limit
        self._made: list[_Instance] = []
        self._ready: dict[str, _Instance] = {}

    @property
    def endpoints(self) -> Mapping[str, ServiceEndpoint]:
        """Service name → where it is, for the services that became ready."""
        return {name: instance.endpoint for name, instance in self._ready.items()}

    async def start(
        self, services: Sequence[tuple[Service, Mapping[str, str]]], running: Mapping[str, str] | None = None
    ) -> None:
        """Start services with their environments and wait until all are ready.

        They cannot see each other, so they start at the same time. The caller closes the set after any exception.

        Args:
            services: Definitions with environments.
            running: Service → the user's own container that stands in for it.

        Raises:
            SandboxRuntimeError: One of them could not be started or did not become ready.
        """
        guests = running or {}
        tasks = [
            asyncio.ensure_future(self._start(service, env, guests.get(service.name, ""))) for service, env in services
        ]
        try:
            for task in asyncio.as_completed(tasks):
                await task
        finally:
            for each in tasks:
                each.cancel()
            await asyncio.gather(*tasks, return_exceptions=True)

    async def bind(self, owner: str, dependencies: Sequence[Dependency], own_env: Mapping[str, str]) -> Binding:
        """Return what a consumer needs to reach its services.

        Args:
            owner: The consumer in words, for messages.
            dependencies: Its dependencies.
            own_env: Variables of its own definition.

        Raises:
            SandboxRuntimeError: A service was not started or has stopped, or variables clash.
        """
        env = Environment(owner, own_env)
        networks = []
        for dependency in dependencies:
            instance = self._ready.get(dependency.service)
            if instance is None:
                raise SandboxRuntimeError(f"{owner}: service {dependency.service!r} was not started for this attempt")
            await self._require_running(instance)
            endpoint = instance.endpoint
            for variable, template in dependency.env.items():
                env.set(variable, render_dependency(template, endpoint), f"service {dependency.service!r}")
            networks.append(instance.network)
        return Binding(env.values, tuple(networks))

    async def require_running(self, dependencies: Sequence[Dependency]) -> None:
        """Check services after a consumer failed.

        Raises:
            SandboxRuntimeError: One of them has stopped.
        """
        for dependency in dependencies:
            if (instance := self._ready.get(dependency.service)) is not None:
                await self._require_running(instance)

    async def close(self) -> list[str]:
        """Remove all containers, then all networks; return the problems."""
        made, self._made, self._ready = self._made, [], {}
        problems = [
            *await asyncio.gather(*(self._remove_container(each) for each in made)),
            *await asyncio.gather(*(self._remove_network(each) for each in made)),
        ]
        return [problem for problem in problems if problem]

    async def _start(self, service: Service, env: Mapping[str, str], guest: str) -> None:
        for is_last in (False, True):
            instance = _Instance(service, guest)
            self._made.append(instance)
            try:
                await self._bring_up(instance, env)
                self._ready[service.name] = instance
                return
            except NotReadyError as error:
                details = await self._logs(instance)
                raise SandboxRuntimeError(f"service {service.name!r} {error.message}", details=details) from error
            except EngineFailure as error:
                if is_last or not error.is_engine_fault:
                    raise SandboxRuntimeError(f"service {service.name!r} could not be started: {error}") from error
                _LOG.warning("service %r: %s; starting it once more", service.name, error)
                await self._remove_container(instance)
                await self._remove_network(instance)

    async def _bring_up(self, instance: _Instance, env: Mapping[str, str]) -> None:
        engine, service = self._engine, instance.service
        await engine.gated("create a network", self._create_network, instance)
        if instance.guest:
            _LOG.info("service %r is the running container %s", service.name, instance.guest)
            await engine.gated("let a container join a network", _join, engine.client, instance)
        else:
            await self._launch(instance, env)
        await wait_ready(engine, instance.launch.id, service.healthcheck, service.startup_timeout_s)

    async def _launch(self, instance: _Instance, env: Mapping[str, str]) -> None:
        engine, service = self._engine, instance.service
        spec = ContainerSpec(
            name=instance.container_name,
            image=service.image,
            labels=self._lease.labels("service", self._attempt),
            command=service.command,
            env=env,
            networks=(instance.network,),
            alias=service_host(service.name),
            limits=service.limits,
            pids_limit=self._pids_limit,
            keeps_log=True,
        )
        await self._log_image(service.image)
        _LOG.info("service %r starts from %s with variables %s", service.name, service.image, sorted(env))
        await engine.gated("start a service", launch_container, engine.client, spec, engine.cpus, instance.launch)

    async def _log_image(self, image: str) -> None:
        """Log once which build of an image is used, so that a result can be explained later."""
        if image in self._engine.seen_images:
            return
        self._engine.seen_images.add(image)
        try:
            found = await self._engine.quick("look at an image", self._engine.client.inspect_image, image)
        except EngineFailure:
            return  # the create request will say so
        labels = (found.get("Config") or {}).get("Labels") or {}
        shown = {key: value for key, value in labels.items() if key.startswith(_IMAGE_LABELS)}
        parts = (found.get("Id"), found.get("RepoTags"), found.get("RepoDigests"), shown)
        _LOG.info("image %s: id %s, tags %s, digests %s, labels %s", image, *parts)

    def _create_network(self, instance: _Instance) -> None:
        labels = self._lease.labels("network", self._attempt)
        instance.network, instance.block = create_network(
            self._engine.client, instance.network_name, labels, self._allocator
        )

    async def _require_running(self, instance: _Instance) -> None:
        ended = await exit_state(self._engine, instance.launch.id)
        if ended is not None:
            raise SandboxRuntimeError(
                f"service {instance.service.name!r} {ended} during the attempt; services are never restarted, because"
                " that would silently reset their state",
                details=await self._logs(instance),
            )

    async def _logs(self, instance: _Instance) -> dict[str, str]:
        """Return the end of what a service printed, for the report."""
        details = {}
        for stream in ("stdout", "stderr"):
            arguments: dict[str, Any] = {"stdout": stream == "stdout", "stderr": stream == "stderr", "tail": _LOG_LINES}
            try:
                data = await self._engine.quick("read logs", self._engine.client.logs, instance.launch.id, **arguments)
            except EngineFailure:
                continue
            if data:
                details[f"Service {instance.service.name} ({stream})"] = tail_text(data)
        return details

    async def _remove_container(self, instance: _Instance) -> str | None:
        if instance.guest:
            return None  # it leaves the network when that is removed
        return await self._engine.remove("container", instance.launch.id or instance.container_name)

    async def _remove_network(self, instance: _Instance) -> str | None:
        problem = await self._engine.remove("network", instance.network or instance.network_name)
        if instance.block and problem is None:
            self._allocator.give_back(instance.block)
            instance.block = ""
        return problem


def _join(client: Any, instance: _Instance) -> None:
    """Let the user's container join the network of the service that it stands in for."""
    instance.launch.id = client.inspect_container(instance.guest)["Id"]
    alias = service_host(instance.service.name)
    client.connect_container_to_network(instance.launch.id, instance.network, aliases=[alias])
