"""One command in a box, from its pipes to its end."""

from __future__ import annotations

import math
import os
import selectors
import signal
import time
from collections.abc import Callable, Mapping
from contextlib import suppress
from dataclasses import dataclass, field, replace
from typing import IO, Literal

from rolewall.errors import BoxError, StorageError
from rolewall.sandbox.channel import Channel, NotStarted
from rolewall.sandbox.protocol import Completed
from rolewall.sandbox.streams import Collector, Feeder, Forwarder, register
from rolewall.sandbox.uids import Identity

__all__ = ["KILL_SECONDS", "OUTPUT_LIMIT", "Command", "Streams", "Why", "run_command"]

KILL_SECONDS = 60.0
GRACE_SECONDS = 2.0
DRAIN_SECONDS = 0.5
POLL_SECONDS = 0.05
OUTPUT_LIMIT = 1024 * 1024
SINK_LIMIT = 64 * 1024 * 1024
KILLED = 128 + signal.SIGKILL

Why = Literal["", "timeout", "violation", "disk_full", "starved"]
"""Why the harness ended a command, or the kernel its box; empty when neither did."""


@dataclass(frozen=True, slots=True)
class Streams:
    """Where a command's whole output goes, besides what is kept in memory.

    ``limit`` is how many bytes of each stream are handed on, or of standard output
    alone where ``stderr_limit`` is given. What is handed on is flushed at once.
    """

    stdout: IO[bytes] | None = None
    stderr: IO[bytes] | None = None
    limit: int = SINK_LIMIT
    stderr_limit: int | None = None


@dataclass(frozen=True)
class Command:
    """What to run, and how much of it: see ``Box.run``."""

    argv: tuple[str, ...]
    cwd: str
    env: Mapping[str, str]
    stdin: bytes | int = b""
    timeout: float | None = None
    output_limit: int = OUTPUT_LIMIT
    streams: Streams = field(default_factory=Streams)


def run_command(
    channel: Channel,
    identity: Identity,
    rlimits: Mapping[int, tuple[int, int]],
    command: Command,
    condemned: Callable[[], Why],
    starved: Callable[[], bool],
) -> Completed:
    """Start ``command``, serve its pipes, and end it when its time is over or
    ``condemned`` gives a reason, which is asked many times a second.

    A box that broke because it was ``starved`` has ended its command with SIGKILL.

    Raises:
        BoxError: the box broke otherwise, or this process is out of descriptors.
        StorageError: the output could not be handed on; the command has been ended.
    """
    running = _Running(channel, identity, command)
    try:
        begun = running.start(rlimits)
        if isinstance(begun, NotStarted):
            return running.not_started(begun)
        return running.completed(*running.wait(condemned))
    except BoxError:
        if not starved():
            raise
        return running.completed(KILLED, "starved")
    finally:
        running.close()


class _Running:
    def __init__(self, channel: Channel, identity: Identity, command: Command) -> None:
        self._channel = channel
        self._command = command
        self._started = time.time()
        self._began = time.monotonic()
        self._until = math.inf
        self._ending = False
        self._theirs: list[int] = []
        ours: list[int] = []
        try:
            for _ in range(3):
                reader, writer = _pipe(identity)
                ours.append(reader)
                self._theirs.append(writer)
            # The command reads its input and writes the other two.
            ours[0], self._theirs[0] = self._theirs[0], ours[0]
            given, limit, sinks = command.stdin, command.output_limit, command.streams
            most = sinks.limit if sinks.stderr_limit is None else sinks.stderr_limit
            self._out = Collector(ours[1], limit, sinks.stdout, sinks.limit)
            self._err = Collector(ours[2], limit, sinks.stderr, most)
            self._feeder = (
                Feeder(ours[0], given) if isinstance(given, bytes) else Forwarder(ours[0], given)
            )
        except BaseException:
            for descriptor in (*ours, *self._theirs):
                os.close(descriptor)
            raise

    def start(self, rlimits: Mapping[int, tuple[int, int]]) -> int | NotStarted:
        stdin, stdout, stderr = self._theirs
        try:
            return self._channel.start(
                self._command.argv,
                cwd=self._command.cwd,
                env=self._command.env,
                rlimits=rlimits,
                stdin=stdin,
                stdout=stdout,
                stderr=stderr,
            )
        finally:
            for descriptor in self._theirs:
                os.close(descriptor)

    def wait(self, condemned: Callable[[], Why]) -> tuple[int, Why]:
        """The return code, and why the harness ended the command, if it did."""
        if self._command.timeout is not None:
            self._until = time.monotonic() + self._command.timeout
        with selectors.DefaultSelector() as selector:
            selector.register(self._channel.fileno(), selectors.EVENT_READ, None)
            for one in (self._feeder, self._out, self._err):
                register(selector, one)
            why, code = self._serve(selector, condemned, self._until)
            if code is not None and not why and not self._trouble:
                return code, ""
            if code is None and why in ("", "timeout"):
                code = self._persuade(selector, condemned)
        return self._kill(code), why

    def _serve(
        self, selector: selectors.BaseSelector, condemned: Callable[[], Why], until: float
    ) -> tuple[Why, int | None]:
        """Serve the pipes until the command ends or is to be ended: why, and its code."""
        while True:
            left = until - time.monotonic()
            if why := condemned() or ("timeout" if left <= 0 else ""):
                return why, None
            for key, _ in selector.select(min(left, POLL_SECONDS)):
                if key.data is not None:
                    _serve(selector, key)
                elif (code := self._channel.poll_exit(0)) is not None:
                    return "", code
            if self._trouble and not self._ending:
                return "", None

    @property
    def _trouble(self) -> StorageError | None:
        return self._out.trouble or self._err.trouble

    def _persuade(
        self, selector: selectors.BaseSelector, condemned: Callable[[], Why]
    ) -> int | None:
        """Ask the command to end, and serve what it still writes: its code if it does."""
        self._ending = True
        with suppress(BoxError):
            self._channel.signal(signal.SIGTERM)
        return self._serve(selector, condemned, time.monotonic() + GRACE_SECONDS)[1]

    def _kill(self, code: int | None) -> int:
        """End all that is left, by force; the command's code."""
        self._channel.kill_all(KILL_SECONDS)
        if code is None:
            code = self._channel.poll_exit(KILL_SECONDS)
        return KILLED if code is None else code

    def completed(self, code: int, why: Why) -> Completed:
        short = why or self._trouble
        until = time.monotonic() + DRAIN_SECONDS if short else self._until
        kept_up = [one.drain(until) for one in (self._out, self._err)]
        if self._trouble:
            raise self._trouble
        if not why and not all(kept_up):
            why = "timeout"  # it was over in time, and the handing on of its output not
        return Completed(
            self._command.argv,
            code,
            self._out.output(),
            self._err.output(),
            self._started,
            self._started + time.monotonic() - self._began,
            timed_out=why == "timeout",
            violation=why == "violation",
            disk_full=why == "disk_full",
            out_of_memory=why == "starved",
        )

    def not_started(self, why: NotStarted) -> Completed:
        """As a shell would have it: a code, and a line on standard error."""
        note = f"rolewall: {self._command.argv[0]}: {why.reason}\n"
        self._err.add(note.encode("utf-8", "surrogateescape"))
        return replace(self.completed(why.returncode, ""), absent=True)

    def close(self) -> None:
        for one in (self._feeder, self._out, self._err):
            one.close()


def _pipe(identity: Identity) -> tuple[int, int]:
    """A pipe that the role may open again by /proc/self/fd, as shells do."""
    pair = os.pipe2(os.O_CLOEXEC)
    if os.geteuid() == 0:  # both ends are one inode
        os.fchown(pair[0], identity.role_uid, identity.role_gid)
    return pair


def _serve(selector: selectors.BaseSelector, key: selectors.SelectorKey) -> None:
    one: Collector | Feeder = key.data
    if isinstance(one, Collector):
        one.read()
    else:
        one.write()
    if not one.open or one.awaits != (key.fd, key.events):
        selector.unregister(key.fd)
        register(selector, one)
