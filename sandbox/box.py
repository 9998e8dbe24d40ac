"""A box in use: the same code for every backend.

``open_box`` starts a box, mounts its zones, puts it under the tap, lets the
probe confirm from inside that the wall stands, and only then hands it out.
"""

from __future__ import annotations

import os
import socket
import weakref
from collections.abc import Iterator, Mapping, Sequence
from contextlib import contextmanager, suppress
from dataclasses import replace
from typing import Self

from rolewall.errors import BoxError, InfrastructureError
from rolewall.sandbox.attach import attach_zones
from rolewall.sandbox.channel import Channel
from rolewall.sandbox.probe import probe
from rolewall.sandbox.protocol import Backend, BoxSpec, Completed, Launched, Listen, ZoneMount
from rolewall.sandbox.relay import Relay, relay_listens
from rolewall.sandbox.running import (
    KILL_SECONDS,
    OUTPUT_LIMIT,
    Command,
    Streams,
    run_command,
)
from rolewall.sandbox.tap import Supervisor, Watch, WatchSpec, WatchSummary, build_filter

__all__ = ["Box", "Streams", "interrupt_all", "open_box"]

HELLO_SECONDS = 30.0

BASE_ENVIRONMENT = {
    "PATH": "/usr/local/bin:/usr/bin:/bin:/usr/local/sbin:/usr/sbin:/sbin",
    "HOME": "/home",
    "TMPDIR": "/tmp",
    "LANG": "C.UTF-8",
    # Honest tools change nothing by looking: without these, git refreshes its
    # index and Python and pytest write caches into a zone that is not theirs.
    "GIT_OPTIONAL_LOCKS": "0",
    "GIT_CONFIG_NOSYSTEM": "1",
    "PYTHONDONTWRITEBYTECODE": "1",
    "PYTHONNOUSERSITE": "1",
    "PYTEST_ADDOPTS": "-p no:cacheprovider",
}


class Box:
    """A box whose wall has been seen to stand. Made by ``open_box`` only.

    Attributes:
        facts: what was put in force and how (users, limits, image, probe).
        listeners: descriptors of the sockets that the spec asked for.
    """

    def __init__(self, spec: BoxSpec, launched: Launched) -> None:
        self.spec = spec
        self.identity = launched.identity
        self.facts: dict[str, object] = dict(launched.facts)
        self.listeners: dict[Listen, int] = {}
        self._launched = launched
        self._channel = Channel(launched.control)
        self._relay: Relay | None = None
        self._watch: Watch | None = None
        self._closed = False

    def __enter__(self) -> Self:
        return self

    def __exit__(self, *failure: object) -> None:
        self.close()

    def _start(self, tap: Supervisor | None, watch: WatchSpec | None) -> None:
        hello = self._channel.hello(HELLO_SECONDS)
        self._launched.admit(hello.pid)
        if self._launched.attach:
            attach_zones(hello.pid, self.identity, self.spec.mounts)
        self._open_sockets()
        if self.spec.tap:
            if tap is None or watch is None:
                raise BoxError("a box with a tap needs its supervisor and what to watch")
            listener = self._channel.install_filter(build_filter())
            own = replace(watch, role_uid=self.identity.role_uid)
            self._watch = tap.watch(listener, own)

    def _open_sockets(self) -> None:
        for listen in self.spec.listen:
            self.listeners[listen] = self._channel.listen(listen)
        destinations = {
            self._channel.listen(listen): target
            for listen, target in relay_listens(self.spec.allow)
        }
        if destinations:
            self._relay = Relay(destinations)

    def _confirm(self) -> None:
        filters = self._launched.filters + (1 if self.spec.tap else 0)
        with _untouched(self.spec.mounts):
            self.facts["probe"] = probe(self, filters)
        if self._watch:
            self._watch.begin()

    def environment(self, extra: Mapping[str, str] | None = None) -> dict[str, str]:
        """The whole environment of a command in the box."""
        found = dict(BASE_ENVIRONMENT)
        path = self.facts.get("image_path") or found["PATH"]
        found["PATH"] = f"/rolewall/bin:{path}"
        if self.spec.image != "host":
            found["PYTHONPATH"] = "/rolewall/python"
        return found | dict(self.spec.env) | dict(extra or {})

    def run(
        self,
        argv: Sequence[str],
        *,
        cwd: str | None = None,
        env: Mapping[str, str] | None = None,
        stdin: bytes | int = b"",
        timeout: float | None = None,
        output_limit: int = OUTPUT_LIMIT,
        streams: Streams | None = None,
    ) -> Completed:
        """Run one command as the role and wait for it.

        Args:
            argv: the command; its program is looked for on the box's PATH.
            cwd: directory in the box; ``/workspace`` where there is one, else ``/``.
            stdin: the command's whole input, or a descriptor to copy it from.
            timeout: seconds; then the command gets SIGTERM and, after a grace
                of two seconds, everything in the box is killed.
            output_limit: bytes of each stream kept in memory, half from the
                start and half from the end.

        A command that cannot be started is a completed command with code 127
        (not found) or 126, as a shell has it.

        Raises:
            BoxError: the box itself broke.
        """
        command = Command(
            argv=tuple(argv),
            cwd=cwd or self._home_directory(),
            env=self.environment(env),
            stdin=stdin,
            timeout=timeout,
            output_limit=output_limit,
            streams=streams or Streams(),
        )
        launched = self._launched
        return run_command(self._channel, self.identity, launched.rlimits, command, self._violated)

    def _violated(self) -> bool:
        return self._watch is not None and self._watch.poll()

    def _home_directory(self) -> str:
        return "/workspace" if any(m.zone == "workspace" for m in self.spec.mounts) else "/"

    def kill_all(self) -> int:
        """Kill every process of the role and see that none is left; how many there were.

        Raises:
            BoxError: something survived.
        """
        return self._channel.kill_all(KILL_SECONDS)

    def finish(self) -> WatchSummary | None:
        """End observation: what the tap saw, or None in a box without one. No
        process of the role may be left: ``kill_all`` first."""
        if self._watch is None:
            return None
        watch, self._watch = self._watch, None
        return watch.finish()

    def interrupt(self) -> None:
        """End the box from another thread: whoever waits on it gets a BoxError."""
        with suppress(OSError):
            self._launched.control.shutdown(socket.SHUT_RDWR)

    def close(self) -> None:
        """Kill everything and remove the box. Safe to call twice."""
        if self._closed:
            return
        self._closed = True
        if self._relay:
            self._relay.close()
        for descriptor in self.listeners.values():
            os.close(descriptor)
        try:
            with suppress(InfrastructureError):
                self._channel.quit()
            with suppress(InfrastructureError):
                self.finish()
        finally:
            self._channel.close()
            self._launched.close()


@contextmanager
def _untouched(mounts: Sequence[ZoneMount]) -> Iterator[None]:
    """Leave no trace of the probe's file in the times of the zones."""
    writable = [mount.source for mount in mounts if mount.writable]
    before = [(path, path.stat()) for path in writable]
    yield
    for path, status in before:
        os.utime(path, ns=(status.st_atime_ns, status.st_mtime_ns))


def interrupt_all() -> None:
    """End every box of this process: whoever waits on one gets a BoxError."""
    for box in list(_OPEN):
        box.interrupt()


_OPEN: weakref.WeakSet[Box] = weakref.WeakSet()


def open_box(
    backend: Backend,
    spec: BoxSpec,
    *,
    tap: Supervisor | None = None,
    watch: WatchSpec | None = None,
) -> Box:
    """Start a box and confirm its wall.

    Args:
        tap, watch: the supervisor and what it should record; needed when
            ``spec.tap`` is set. ``watch.role_uid`` is filled in here.

    Raises:
        ProbeFailed: the policy is not in force inside the box. Nothing of the
            role has run.
        InfrastructureError: the box could not be made.
    """
    launched = backend.launch(spec)
    box = Box(spec, launched)
    _OPEN.add(box)
    try:
        box._start(tap, watch)
        box._confirm()
    except BaseException as error:
        words = launched.complaint() if isinstance(error, BoxError) else ""
        with suppress(InfrastructureError):
            box.close()
        if words:
            raise BoxError(
                f"{backend.name}: {words}", hint="`rolewall doctor` tells more"
            ) from error
        raise
    return box
