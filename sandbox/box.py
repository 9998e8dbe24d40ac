"""A box in use: the same code for every backend.

``open_box`` starts a box, mounts its zones, puts it under the tap, lets the
probe confirm from inside that the wall stands, and only then hands it out.
"""

from __future__ import annotations

import os
import selectors
import signal
import socket
import time
import weakref
from collections.abc import Iterator, Mapping, Sequence
from contextlib import contextmanager, suppress
from dataclasses import dataclass, replace
from types import TracebackType
from typing import IO, Self

from rolewall.errors import BoxError, InfrastructureError
from rolewall.sandbox.attach import attach_zones
from rolewall.sandbox.channel import Channel, NotStarted
from rolewall.sandbox.probe import probe
from rolewall.sandbox.protocol import Backend, BoxSpec, Completed, Launched, Listen, ZoneMount
from rolewall.sandbox.relay import Relay, relay_listens
from rolewall.sandbox.streams import Collector, Feeder, Forwarder, register
from rolewall.sandbox.tap import Supervisor, Watch, WatchSpec, WatchSummary, build_filter

__all__ = ["Box", "Streams", "interrupt_all", "open_box"]

HELLO_SECONDS = 30.0
KILL_SECONDS = 60.0
GRACE_SECONDS = 2.0
DRAIN_SECONDS = 0.5
OUTPUT_LIMIT = 1024 * 1024
SINK_LIMIT = 64 * 1024 * 1024
POLL_SECONDS = 0.2

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


@dataclass(frozen=True, slots=True)
class Streams:
    """Where a command's whole output goes, besides what is kept in memory."""

    stdout: IO[bytes] | None = None
    stderr: IO[bytes] | None = None
    limit: int = SINK_LIMIT


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

    def __exit__(
        self,
        kind: type[BaseException] | None,
        error: BaseException | None,
        trace: TracebackType | None,
    ) -> None:
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
        sinks = streams or Streams()
        pipes = [self._pipe() for _ in range(3)]
        (child_in, feed), (out, child_out), (err, child_err) = pipes
        started = time.time()
        try:
            begun = self._channel.start(
                list(argv),
                cwd=cwd or self._home_directory(),
                env=self.environment(env),
                rlimits=self._launched.rlimits,
                stdin=child_in,
                stdout=child_out,
                stderr=child_err,
            )
        except BaseException:
            for descriptor in (feed, out, err):
                os.close(descriptor)
            raise
        finally:
            for descriptor in (child_in, child_out, child_err):
                os.close(descriptor)
        feeder = Feeder(feed, stdin) if isinstance(stdin, bytes) else Forwarder(feed, stdin)
        collectors = (
            Collector(out, output_limit, sinks.stdout, sinks.limit),
            Collector(err, output_limit, sinks.stderr, sinks.limit),
        )
        try:
            if isinstance(begun, NotStarted):
                return _not_started(argv, begun, started, collectors)
            deadline = None if timeout is None else time.monotonic() + timeout
            code, why = self._wait(feeder, collectors, deadline)
            for collector in collectors:
                _drain(collector)
        finally:
            for one in (feeder, *collectors):
                one.close()
        return Completed(
            tuple(argv),
            code,
            collectors[0].output(),
            collectors[1].output(),
            started,
            time.time(),
            timed_out=why == "timeout",
            violation=why == "violation",
        )

    def _home_directory(self) -> str:
        return "/workspace" if any(m.zone == "workspace" for m in self.spec.mounts) else "/"

    def _pipe(self) -> tuple[int, int]:
        """A pipe that the role may open again by /proc/self/fd, as shells do."""
        pair = os.pipe2(os.O_CLOEXEC)
        if os.geteuid() == 0:
            for descriptor in pair:
                os.fchown(descriptor, self.identity.role_uid, self.identity.role_gid)
        return pair

    def _wait(
        self,
        feeder: Feeder | Forwarder,
        collectors: tuple[Collector, Collector],
        deadline: float | None,
    ) -> tuple[int, str]:
        """The return code, and why the harness ended the command, if it did."""
        with selectors.DefaultSelector() as selector:
            selector.register(self._channel.fileno(), selectors.EVENT_READ, None)
            for one in (feeder, *collectors):
                register(selector, one)
            while True:
                if self._watch and self._watch.poll():
                    return self._end(), "violation"
                left = None if deadline is None else deadline - time.monotonic()
                if left is not None and left <= 0:
                    return self._end(), "timeout"
                wait = POLL_SECONDS if self._watch or left is None else min(left, POLL_SECONDS)
                for key, _ in selector.select(wait):
                    if key.data is None:
                        code = self._channel.poll_exit(0)
                        if code is not None:
                            return code, ""
                    else:
                        _serve(selector, key.data)

    def _end(self) -> int:
        """End the running command: politely, then by force, with all it started."""
        with suppress(BoxError):
            self._channel.signal(signal.SIGTERM)
        code = self._channel.poll_exit(GRACE_SECONDS)
        self._channel.kill_all(KILL_SECONDS)
        if code is None:
            code = self._channel.poll_exit(KILL_SECONDS)
        return 128 + signal.SIGKILL if code is None else code

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


def _serve(selector: selectors.BaseSelector, one: Collector | Feeder | Forwarder) -> None:
    descriptor = one.descriptor
    if isinstance(one, Collector):
        one.read()
    elif isinstance(one, Feeder):
        one.write()
    if not one.open:
        selector.unregister(descriptor)


def _drain(collector: Collector) -> None:
    """What a command wrote just before it ended. A daemon may hold the pipe
    open and write for ever, so there is an end to it."""
    until = time.monotonic() + DRAIN_SECONDS
    while collector.open and time.monotonic() < until and collector.read():
        pass


def _not_started(
    argv: Sequence[str],
    why: NotStarted,
    started: float,
    collectors: tuple[Collector, Collector],
) -> Completed:
    _drain(collectors[1])
    note = f"rolewall: {argv[0]}: {why.reason}\n".encode()
    stderr = type(collectors[1].output())(note, len(note), truncated=False)
    return Completed(
        tuple(argv), why.returncode, collectors[0].output(), stderr, started, time.time()
    )


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
    except BaseException:
        with suppress(InfrastructureError):
            box.close()
        raise
    return box
