"""A box in use: the same code for every backend.

``open_box`` starts a box, mounts its zones, puts it under the tap, lets the
probe confirm from inside that the wall stands, and only then hands it out.
"""

from __future__ import annotations

import os
import signal
import socket
import time
import weakref
from collections.abc import Mapping, Sequence
from contextlib import ExitStack, suppress
from dataclasses import replace
from typing import Self

from rolewall.errors import BoxError, InfrastructureError, TapError
from rolewall.sandbox.attach import attach_zones
from rolewall.sandbox.channel import Channel
from rolewall.sandbox.environment import box_environment
from rolewall.sandbox.guard import guarded
from rolewall.sandbox.probe import probe, untouched
from rolewall.sandbox.protocol import Backend, BoxSpec, Completed, Launched, Listen, Output
from rolewall.sandbox.relay import Relay, relay_listens
from rolewall.sandbox.running import (
    KILL_SECONDS,
    OUTPUT_LIMIT,
    Command,
    Streams,
    Why,
    run_command,
)
from rolewall.sandbox.tap import (
    Supervisor,
    Watch,
    WatchSpec,
    WatchSummary,
    build_deny_filter,
    build_filter,
)
from rolewall.sandbox.usage import DiskWatch

__all__ = ["Box", "Streams", "interrupt_all", "open_box"]

HELLO_SECONDS = 30.0


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
        self._disk: DiskWatch | None = None
        self._starved = False
        self._interrupted = False
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
        self._install_filter(tap, watch)

    def _open_sockets(self) -> None:
        for listen in self.spec.listen:
            self.listeners[listen] = self._channel.listen(listen)
        targets = relay_listens(self.spec.allow)
        if not targets:
            return
        destinations = {}
        with ExitStack() as undo:
            for listen, target in targets:
                descriptor = self._channel.listen(listen)
                undo.callback(os.close, descriptor)
                destinations[descriptor] = target
            undo.pop_all()
        self._relay = Relay(destinations)

    def _install_filter(self, tap: Supervisor | None, watch: WatchSpec | None) -> None:
        if not self.spec.tap:
            # It notifies nobody, so its listener has nothing to say.
            os.close(self._channel.install_filter(build_deny_filter()))
            return
        if tap is None or watch is None:
            raise BoxError("a box with a tap needs its supervisor and what to watch")
        listener = self._channel.install_filter(build_filter())
        self._watch = tap.watch(listener, replace(watch, role_uid=self.identity.role_uid))

    def _confirm(self) -> None:
        with untouched(self.spec.mounts):
            self.facts["probe"] = probe(self, self._launched.filters + 1)
        self._disk = DiskWatch(self.spec.mounts, self.spec.limits.disk_mb)
        if self._watch:
            self._watch.begin()

    def environment(self, extra: Mapping[str, str] | None = None) -> dict[str, str]:
        """The whole environment of a command in the box."""
        return box_environment(self.spec, self.facts.get("image_path")) | dict(extra or {})

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
            InputError: a NUL byte in what is to be run.
            BoxError: the box itself broke, or the machine is out of descriptors
                or threads.
            TapError: attempts can no longer be observed.
            StorageError: the output could not be handed on to ``streams``. The
                command has been ended, with everything in the box; the cause is
                the system's error.

        After all but InputError and StorageError the box must be closed.
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
        if self._starved:
            return _out_of_memory(command, time.time())
        started = time.time()
        try:
            with guarded("run a command in a box"):
                return self._run(command)
        except BoxError:
            self._starved = not self._interrupted and self._launched.starved()
            if not self._starved:
                raise
            return _out_of_memory(command, started)

    def _run(self, command: Command) -> Completed:
        disk, limits = self._disk, self._launched.rlimits
        if disk is None:
            return run_command(self._channel, self.identity, limits, command, self._condemned)
        with disk.watching():
            done = run_command(self._channel, self.identity, limits, command, self._condemned)
        return replace(done, disk_full=disk.full)

    def _condemned(self) -> Why:
        if self._watch is not None and self._watch.poll():
            return "violation"
        return "disk_full" if self._disk is not None and self._disk.full else ""

    def _home_directory(self) -> str:
        return "/workspace" if any(m.zone == "workspace" for m in self.spec.mounts) else "/"

    def kill_all(self) -> int:
        """Kill every process of the role and see that none is left; how many there were.

        Raises:
            BoxError: something survived, or the box itself broke.
        """
        if self._starved:
            return 0
        with guarded("end what runs in a box"):
            return self._channel.kill_all(KILL_SECONDS)

    def finish(self) -> WatchSummary | None:
        """End observation: what the tap saw, or None in a box without one. No
        process of the role may be left: ``kill_all`` first.

        Raises:
            TapError: not all that was attempted has been recorded.
        """
        if self._watch is None:
            return None
        watch, self._watch = self._watch, None
        return watch.finish()

    def interrupt(self) -> None:
        """End the box from another thread: whoever waits on it gets a BoxError."""
        self._interrupted = True
        with suppress(OSError):
            self._launched.control.shutdown(socket.SHUT_RDWR)

    def close(self) -> None:
        """Kill everything and remove the box. Safe to call twice.

        Raises:
            BoxError: something of the box is left.
        """
        if self._closed:
            return
        self._closed = True
        with guarded("remove a box"), ExitStack() as steps:
            steps.callback(self._launched.close)
            steps.callback(self._channel.close)
            steps.callback(self._finish_quietly)
            for descriptor in self.listeners.values():
                steps.callback(os.close, descriptor)
            if self._relay:
                steps.callback(self._relay.close)

    def _finish_quietly(self) -> None:
        with suppress(BoxError):
            self._channel.quit()
        with suppress(TapError):
            self.finish()


def _out_of_memory(command: Command, started: float) -> Completed:
    """A command whose box the kernel ended at its memory limit: the role's own doing."""
    nothing = Output(b"", 0, truncated=False)
    code = 128 + signal.SIGKILL
    return Completed(command.argv, code, nothing, nothing, started, time.time(), out_of_memory=True)


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
        BackendUnavailable, BoxError, TapError, StorageError: the box could not be
            made, or cannot be observed.
        InputError: the spec names an image, a zone or a destination that no box
            can have.
    """
    with guarded("start a box"):
        launched = backend.launch(spec)
    box = Box(spec, launched)
    _OPEN.add(box)
    try:
        with guarded("start a box"):
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
