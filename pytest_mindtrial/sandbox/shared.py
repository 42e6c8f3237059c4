"""The shared directory of an attempt: one empty volume that all its tools see, removed with the attempt.

A volume instead of a host directory, because the engine can delete what a root container leaves in it, and because it
works with remote engines. Source: seed 000, section Tools; spec docker 4.4.
"""

from __future__ import annotations

import secrets

from pytest_mindtrial.sandbox.container import Mount
from pytest_mindtrial.sandbox.engine import Engine
from pytest_mindtrial.sandbox.ownership import Lease
from pytest_mindtrial.sandbox.staging import open_folder_archive

__all__ = ["SharedVolume"]


class SharedVolume:
    """Storage shared by the tool calls of one attempt.

    Args:
        engine: The engine.
        lease: For labels.
        attempt: Attempt id.

    Attributes:
        is_open: True once a container has made the folder writable for every user; until then each call brings the
            archive that does it.
    """

    def __init__(self, engine: Engine, lease: Lease, attempt: str) -> None:
        self._engine = engine
        self._labels = lease.labels("shared", attempt)
        self._name = f"mindtrial-shared-{secrets.token_hex(8)}"
        self._was_asked = False
        self._exists = False
        self.is_open = False

    async def mount(self, target: str) -> tuple[Mount, tuple[bytes, ...]]:
        """Return the mount at ``target`` and the archives that must be laid over the container before its start.

        Raises:
            EngineFailure: The volume could not be created.
        """
        if not self._exists:
            self._was_asked = True
            await self._engine.quick(
                "create a volume", self._engine.client.create_volume, self._name, driver="local", labels=self._labels
            )
            self._exists = True
        return Mount(target, self._name, "volume"), () if self.is_open else (open_folder_archive(target),)

    async def close(self) -> list[str]:
        """Remove the volume; return the problem, if any."""
        if not self._was_asked:
            return []
        problem = await self._engine.remove("volume", self._name)
        return [problem] if problem else []
