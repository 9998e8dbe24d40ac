"""A started box on the Docker engine."""

from __future__ import annotations

import resource
import socket
import time
from collections.abc import Mapping
from contextlib import suppress
from pathlib import Path

from rolewall.errors import BoxError, RolewallError
from rolewall.sandbox.counters import LimitCounters
from rolewall.sandbox.docker.cleanup import remove
from rolewall.sandbox.docker.container import MEBIBYTE, Plan
from rolewall.sandbox.docker.engine import Engine
from rolewall.sandbox.docker.limits import check_limits

__all__ = ["DockerBox"]

EVENT_SECONDS = 0.5


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
        self._counters: LimitCounters | None = None
        self._looked = time.time()
        self._kills_told: int | None = None

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
        self._counters = LimitCounters(groups)

    def limits_hit(self) -> Mapping[str, int]:
        """What the kernel counted. The engine removes the groups with a container that
        ended; what was killed after the last look is then the engine's to tell."""
        if self._counters is None:
            return {}
        counts = self._counters.read()
        if not self._counters.gone:
            self._looked = time.time()
        elif "memory_mb" in counts:
            if self._kills_told is None:
                self._kills_told = self._told_by_engine()
            counts["memory_mb"] += self._kills_told
        return counts

    def _told_by_engine(self) -> int:
        """How many times since the last look the engine was told of memory that ran out."""
        asked = {"container": self._container, "event": "oom"}
        # The engine may learn of it a moment after the box's end: it waits until then.
        since, until = f"{self._looked:.9f}", f"{time.time() + EVENT_SECONDS:.9f}"
        with suppress(RolewallError):
            return self._engine.call(
                "say why a box ended",
                lambda c: len(list(c.events(since=since, until=until, filters=asked, decode=True))),
            )
        return 0

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
