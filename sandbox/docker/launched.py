"""A started box on the Docker engine."""

from __future__ import annotations

import resource
import socket
from collections.abc import Mapping
from pathlib import Path

from rolewall.errors import BoxError
from rolewall.sandbox.docker.cleanup import remove
from rolewall.sandbox.docker.container import MEBIBYTE, Plan
from rolewall.sandbox.docker.engine import Engine
from rolewall.sandbox.docker.limits import check_limits

__all__ = ["DockerBox"]


class DockerBox:
    """One container with init as its pid 1. See ``Launched`` for the contract."""

    filters = 1

    def __init__(
        self,
        engine: Engine,
        container: str,
        plan: Plan,
        control: socket.socket,
        facts: Mapping[str, object],
    ) -> None:
        self.control = control
        self.identity = plan.identity
        self.attach = plan.attach
        largest = plan.spec.limits.disk_mb * MEBIBYTE
        self.rlimits: Mapping[int, tuple[int, int]] = {resource.RLIMIT_FSIZE: (largest, largest)}
        self._limits: dict[str, str] = {}
        self.facts: Mapping[str, object] = {**facts, "limits": self._limits}
        self._engine = engine
        self._container = container
        self._plan = plan
        self._closed = False

    def admit(self, pid: int) -> None:
        """See that ``pid`` is in this container and under the limits of the spec.

        Raises:
            BoxError: it is not: the engine did something else than it said.
        """
        try:
            groups = Path(f"/proc/{pid}/cgroup").read_text("ascii")
        except (OSError, ValueError) as error:
            raise BoxError(
                "init cannot be seen from the harness", got=f"pid {pid}", hint="share one /proc"
            ) from error
        if self._container not in groups:
            raise BoxError("init is not in the container that was started", got=f"pid {pid}")
        self._limits.update(check_limits(groups, self._plan.spec))

    def starved(self) -> bool:
        """The engine removes the group with the container: it cannot be asked afterwards."""
        return False

    def complaint(self) -> str:
        """The engine keeps no output of a box: there is nothing to add."""
        return ""

    def close(self) -> None:
        """Remove the container, its files and its users. Safe to call twice.

        Raises:
            BoxError: the container is still there; the users are then kept, so
                that no other box gets them.
        """
        if self._closed:
            return
        self.control.close()
        remove(self._engine, self._container)
        self._plan.kit.close()
        self.identity.release()
        self._closed = True
