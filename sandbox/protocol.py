"""What a backend is: a way to start ``rolewall-init`` behind a wall.

A *box* is one sandbox with its own processes, mounts and network. A backend
starts the box; everything after that (commands, the tap, the probe, killing)
goes through ``rolewall-init`` and is the same code for every backend, in
``rolewall.sandbox.box``.
"""

from __future__ import annotations

import socket
from collections.abc import Mapping
from dataclasses import dataclass, field
from pathlib import Path
from typing import Literal, Protocol

from rolewall.policies import HostPort, Limits
from rolewall.sandbox.uids import Identity
from rolewall.sandbox.workdir import WORKSPACE

__all__ = [
    "Backend",
    "BoxSpec",
    "Completed",
    "Finding",
    "Launched",
    "Listen",
    "Output",
    "ZoneMount",
]


@dataclass(frozen=True, slots=True)
class ZoneMount:
    """One shared zone in a box: the directory ``source``, mounted at ``/zone``."""

    zone: str
    source: Path
    writable: bool


@dataclass(frozen=True, slots=True)
class Listen:
    """A socket that init opens inside the box and hands to the harness.

    ``address`` is an IPv4 loopback address for ``tcp``, an abstract socket's
    name for ``abstract`` (then ``port`` is 0).
    """

    kind: Literal["tcp", "abstract"]
    address: str
    port: int = 0


@dataclass(frozen=True)
class BoxSpec:
    """Everything a backend needs to know about one box.

    Attributes:
        label: what the box is for (``executor``, ``check``, ``grade``); shown by ``clean``.
        mounts: shared zones. Targets are ``/zone``; none lies below another.
        absent: zones of the policy that must not exist in this box; the probe checks it.
        private: names of private zones, each an empty tmpfs at ``/name`` owned by the role.
        files: read-only files at ``/rolewall/<key>`` (keys may contain ``/``), with their bytes.
        programs: like ``files``, executable.
        image: ``host`` or, on docker, the name of a local image.
        limits: what the box may use. ``disk_mb`` is the size of each file, and by
            how much all writable shared zones together may grow while the box lives
            (measured; see ``Completed.disk_full``). Private zones: see ``private_mb``.
        tap: whether attempts are observed. A box without a tap refuses the same
            calls, by a filter that tells nobody.
        allow: network destinations; none means a loopback device and nothing else.
        listen: further sockets opened for the harness before the filter is in force.
        env: the whole environment of commands in the box besides what the box itself sets.
        workdir: where commands start. Another than ``/workspace`` is a second place of that
            zone, with the same access; the image must hold a directory there, with no link
            on the way. Only on docker.
        shown: directories of the caller's, mounted read-only with their programs on the
            search path; ``rolewall.sandbox.showing`` says where.
    """

    label: str
    mounts: tuple[ZoneMount, ...]
    absent: tuple[str, ...] = ()
    private: tuple[str, ...] = ("tmp", "home")
    files: Mapping[str, bytes] = field(default_factory=dict)
    programs: Mapping[str, bytes] = field(default_factory=dict)
    image: str = "host"
    limits: Limits = field(default_factory=Limits)
    tap: bool = True
    allow: tuple[HostPort, ...] = ()
    listen: tuple[Listen, ...] = ()
    env: Mapping[str, str] = field(default_factory=dict)
    workdir: str = WORKSPACE
    shown: tuple[Path, ...] = ()

    @property
    def private_mb(self) -> int:
        """The size of each private zone. Its pages count as memory, so it gets at most
        a quarter: ``tmp``, ``home`` and shared memory, all full, leave room to run."""
        return max(1, min(self.limits.disk_mb, self.limits.memory_mb // 4))


@dataclass(frozen=True, slots=True)
class Output:
    """What a command wrote to one stream: at most head and tail are kept.

    ``size`` is the true number of bytes; ``truncated`` says that ``data`` is
    not all of them, ``sink_truncated`` that the file it was handed on to did
    not get all of them either.
    """

    data: bytes
    size: int
    truncated: bool
    sink_truncated: bool = False

    def text(self) -> str:
        return self.data.decode("utf-8", "replace")


@dataclass(frozen=True, slots=True)
class Completed:
    """A command that ran to its end, or was ended.

    ``returncode`` is the exit status, or 128+N for signal N. ``timed_out`` and
    ``violation`` say that the harness ended it (time limit; the tap's budget
    for crossings spent). ``disk_full`` says that the box's shared zones grew by
    more than ``Limits.disk_mb``: the harness ended the command, unless it had
    just ended by itself. ``absent`` says that there is no such program, or that it
    cannot be executed: nothing has run. ``out_of_memory`` says that the kernel killed
    the command at the box's memory limit, or what it ran if it ended with the same
    code; where it killed the box with it, ``Box.starved`` says so. ``started`` and
    ``ended`` are seconds since the epoch, and no step of the clock lies between them.
    """

    argv: tuple[str, ...]
    returncode: int
    stdout: Output
    stderr: Output
    started: float
    ended: float
    timed_out: bool = False
    violation: bool = False
    disk_full: bool = False
    absent: bool = False
    out_of_memory: bool = False


@dataclass(frozen=True, slots=True)
class Finding:
    """One line of ``rolewall doctor``: what works, or what blocks it and the way out."""

    subject: str
    ok: bool
    detail: str
    way_out: str = ""


class Launched(Protocol):
    """A started box, before it is configured: a process tree with init as pid 1."""

    @property
    def control(self) -> socket.socket:
        """The connected control socket (SOCK_SEQPACKET); the box's user owns it."""

    @property
    def identity(self) -> Identity:
        """The users of the box."""

    @property
    def attach(self) -> bool:
        """Whether the zones are still to be attached, over placeholders."""

    @property
    def rlimits(self) -> Mapping[int, tuple[int, int]]:
        """Limits that every command gets from the kernel, for want of other means."""

    @property
    def filters(self) -> int:
        """How many seccomp filters the backend itself puts on the box."""

    @property
    def facts(self) -> Mapping[str, object]:
        """What was put in force and how: uids, image, and under ``limits`` the
        mechanism of each limit, by the names of ``Limits``."""

    def admit(self, pid: int) -> None:
        """Called once with init's pid (in the harness's pid namespace), before any
        command runs: the place to put it under limits."""

    def limits_hit(self) -> Mapping[str, int]:
        """How often the kernel counted that the box met a limit, by the names of
        ``Limits``: processes killed, processes not started, periods waited. What
        nothing counts is left out. Once the box is gone, all that is known of it."""

    def complaint(self) -> str:
        """Why the box broke, in the backend's words; empty when it has none."""

    def close(self) -> None:
        """Remove the box and all it used. Safe to call twice; raises BoxError only
        when something is left behind."""


class Backend(Protocol):
    """A way to start boxes.

    Contract, held by ``tests/conformance`` for every backend:

    * ``launch`` returns with init running as pid 1 in new mount, pid, ipc, net
      and uts namespaces, with no other process in the box, no network but
      loopback, a read-only root, and only the zones of the spec mounted.
    * A zone is writable exactly if its mount says so; a zone not in the spec
      does not exist in the box.
    * When the harness dies, by whatever signal, the box dies with it.
    * Nothing ever runs weaker than asked: what cannot be put in force raises.

    Every error but ``InputError`` is a failure of the infrastructure and never
    counts against an agent.
    """

    name: str

    def launch(self, spec: BoxSpec) -> Launched:
        """Start a box with init in it; nothing of the role runs yet.

        Leaves nothing behind when it raises.

        Raises:
            BackendUnavailable: the machine cannot do this at all.
            BoxError: this box could not be made.
            StorageError: the box's files could not be written.
            InputError: the spec names an image that does not exist, or asks for
                what no box of this backend can have.
        """
        ...

    def diagnose(self) -> list[Finding]:
        """What this machine can enforce with this backend."""
        ...

    def clean(self) -> list[str]:
        """Remove what dead harnesses left; returns a line for each thing removed."""
        ...
