"""A box in use: the same code for every backend.

``open_box`` starts a box, mounts its zones, puts it under the tap, lets the
probe confirm from inside that the wall stands, and only then hands it out.
"""

from __future__ import annotations

import os
import socket
import time
from collections.abc import Mapping, Sequence
from contextlib import ExitStack, nullcontext, suppress
from dataclasses import replace
from typing import Self

from rolewall.errors import BoxError, InfrastructureError, TapError
from rolewall.sandbox.attach import attach_zones, check_count
from rolewall.sandbox.channel import Channel
from rolewall.sandbox.environment import box_environment
from rolewall.sandbox.guard import guarded
from rolewall.sandbox.probe import probe, untouched
from rolewall.sandbox.protocol import Backend, BoxSpec, Completed, Launched, Listen, Output
from rolewall.sandbox.registry import close_launched, register
from rolewall.sandbox.relay import Relay, relay_listens
from rolewall.sandbox.running import (
    KILL_SECONDS,
    KILLED,
    OUTPUT_LIMIT,
    Command,
    Streams,
    Why,
    run_command,
)
from rolewall.sandbox.showing import shown_places
from rolewall.sandbox.starvation import Starvation
from rolewall.sandbox.tap import (
    Supervisor,
    Watch,
    WatchSpec,
    WatchSummary,
    build_deny_filter,
    build_filter,
)
from rolewall.sandbox.usage import DiskWatch
from rolewall.sandbox.workdir import further_places

__all__ = ["Box", "Streams", "open_box"]

HELLO_SECONDS = 30.0


class Box:
    """A box whose wall has been seen to stand. Made by ``open_box`` only.

    Attributes:
        facts: what was put in force and how (users, limits, image, probe), and under
            ``limits_hit`` how often which limit was met: see ``Launched.limits_hit``.
        listeners: descriptors of the sockets that the spec asked for.
    """

    def __init__(self, spec: BoxSpec, launched: Launched) -> None:
        self.spec = spec
        self.identity = launched.identity
        self.facts: dict[str, object] = dict(launched.facts)
        if spec.shown:
            self.facts["shown"] = {str(source): at for source, at in shown_places(spec)}
        self.listeners: dict[Listen, int] = {}
        self._launched = launched
        self._channel = Channel(launched.control)
        self._relay: Relay | None = None
        self._watch: Watch | None = None
        self._disk: DiskWatch | None = None
        self._init = 0
        self._starvation = Starvation(launched, self.facts)
        self._interrupted = False
        self._closed = False

    def __enter__(self) -> Self:
        return self

    def __exit__(self, *failure: object) -> None:
        self.close()

    @property
    def starved(self) -> bool:
        """Whether the kernel has ended the box at its memory limit: nothing runs any more."""
        return self._starvation.found

    def _start(self, tap: Supervisor | None, watch: WatchSpec | None) -> None:
        hello = self._channel.hello(HELLO_SECONDS)
        self._init = hello.pid
        self._launched.admit(hello.pid)
        if self._launched.attach:
            further = further_places(self.spec)
            attach_zones(hello.pid, self.identity, self.spec.mounts, further)
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
        listener = self._channel.install_filter(build_filter(reads=watch.reads))
        self._watch = tap.watch(listener, replace(watch, role_uid=self.identity.role_uid))

    def _confirm(self) -> None:
        with untouched(self.spec.mounts):
            self.facts["probe"] = probe(self, self._launched.filters + 1)
        self._disk = DiskWatch(self.spec.mounts, self.spec.limits.disk_mb, self._init)
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
            cwd: directory in the box; the spec's ``workdir`` where there is a workspace,
                else ``/``.
            stdin: the command's whole input, or a descriptor to copy it from.
            timeout: seconds; then the command gets SIGTERM and, after a grace
                of two seconds, everything in the box is killed. What outgrew its
                disk, or spent the tap's budget, is killed at once. Whoever reads
                ``streams`` is waited for no longer than that either: what they did
                not take is left out, as ``sink_truncated`` says.
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
        if self.starved:
            return _not_run(command)
        before = self._starvation.begin()
        with guarded("run a command in a box"):
            done = self._run(command)
        killed = self._starvation.kills() > before and done.returncode == KILLED
        return replace(done, out_of_memory=True) if killed and not _cut_short(done) else done

    def _run(self, command: Command) -> Completed:
        watching = self._disk.watching() if self._disk else nullcontext()
        with watching:
            done = run_command(
                self._channel,
                self.identity,
                self._launched.rlimits,
                command,
                self._condemned,
                self._found_starved,
            )
        return replace(done, disk_full=self._disk.full) if self._disk else done

    def _found_starved(self) -> bool:
        """Whether the kernel ended the broken box at its memory limit."""
        return self._starvation.explains(gone=self._channel.gone and not self._interrupted)

    def _condemned(self) -> Why:
        self._starvation.answered()
        if self._watch is not None and self._watch.poll():
            return "violation"
        if self._disk is None:
            return ""
        self._disk.check()
        return "disk_full" if self._disk.full else ""

    def _home_directory(self) -> str:
        there = any(mount.zone == "workspace" for mount in self.spec.mounts)
        return self.spec.workdir if there else "/"

    def kill_all(self) -> int:
        """Kill every process of the role and see that none is left; how many there were.

        Raises:
            BoxError: something survived, or the box itself broke.
        """
        if not self.starved:
            self._starvation.begin()
            try:
                with guarded("end what runs in a box"):
                    ended = self._channel.kill_all(KILL_SECONDS)
                self._starvation.answered()
                return ended
            except BoxError:
                if not self._found_starved():
                    raise
        # The kernel is ending what init left: this waits for it.
        with guarded("end what runs in a box"):
            self._launched.close()
        return 0

    def finish(self) -> WatchSummary | None:
        """End observation: what the tap saw, or None in a box without one. No
        process of the role may be left: ``kill_all`` first.

        Raises:
            TapError: not all that was attempted has been recorded.
        """
        if not self._closed:
            self._starvation.kills()
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
            steps.callback(close_launched, self._launched)
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


def _cut_short(done: Completed) -> bool:
    return done.timed_out or done.violation or done.disk_full


def _not_run(command: Command) -> Completed:
    """A command for a box that the kernel has ended at its memory limit."""
    nothing, now = Output(b"", 0, truncated=False), time.time()
    return Completed(command.argv, KILLED, nothing, nothing, now, now, out_of_memory=True)


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
    check_count(spec)
    with guarded("start a box"):
        launched = backend.launch(spec)
    box = Box(spec, launched)
    register(box)
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
