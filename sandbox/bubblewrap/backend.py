"""The bubblewrap backend: see ``rolewall.sandbox.protocol.Backend`` for its contract."""

from __future__ import annotations

import os
import resource
import select
import signal
import socket
import subprocess
from collections.abc import Mapping
from contextlib import ExitStack, suppress
from pathlib import Path
from typing import IO

from rolewall.errors import BackendUnavailable, BoxError, InputError
from rolewall.policies import Limits
from rolewall.sandbox.bubblewrap.cgroup import ControlGroup, clean_groups
from rolewall.sandbox.bubblewrap.command import Layout, bwrap_command
from rolewall.sandbox.bubblewrap.diagnose import diagnose
from rolewall.sandbox.bubblewrap.find import bwrap_version, find_bwrap
from rolewall.sandbox.counters import LimitCounters
from rolewall.sandbox.guard import guarded
from rolewall.sandbox.host import host_binds
from rolewall.sandbox.kit import Kit
from rolewall.sandbox.leftover import clean_leftovers
from rolewall.sandbox.protocol import BoxSpec, Finding
from rolewall.sandbox.uids import Identity, lease
from rolewall.sandbox.usage import shared_disk_fact
from rolewall.sandbox.workdir import further_places

__all__ = ["BubblewrapBackend", "BubblewrapBox"]

END_SECONDS = 10.0
KILL_SECONDS = 10.0
COMPLAINT_SECONDS = 2.0
MEBIBYTE = 1024 * 1024


class BubblewrapBackend:
    """Boxes by bubblewrap. Needs no engine; only the image ``host``."""

    name = "bubblewrap"

    def launch(self, spec: BoxSpec) -> BubblewrapBox:
        """Start a box. See ``Backend`` for the contract.

        Raises:
            BackendUnavailable: no usable bubblewrap.
            BoxError: this box could not be made.
            StorageError: the box's kit cannot be written.
            InputError: another image than ``host``.
        """
        if spec.image != "host":
            raise InputError(
                "the bubblewrap backend has no images",
                got=spec.image,
                expected="image: host",
                hint="use the docker backend for images",
            )
        if further_places(spec):
            raise InputError(
                "the bubblewrap backend has the work at /workspace alone",
                got=spec.workdir,
                expected="/workspace",
                hint="use the docker backend, with an image that has this directory",
            )
        with guarded("start a box"), ExitStack() as undo:
            box = _start(spec, undo)
            undo.pop_all()
        return box

    def diagnose(self) -> list[Finding]:
        return diagnose(Limits())

    def clean(self) -> list[str]:
        return clean_leftovers() + clean_groups()


def _start(spec: BoxSpec, undo: ExitStack) -> BubblewrapBox:
    bwrap, root = find_bwrap(), os.geteuid() == 0
    identity = lease(own_init_uid=root)
    undo.callback(identity.release)
    kit = Kit.make(spec, identity)
    undo.callback(kit.close)
    kit.close_door()  # init inherits its control socket here
    group = ControlGroup.make(spec.limits)
    if group:
        undo.callback(group.remove)
    facts = _facts(identity, spec, grouped=group is not None)
    ours, theirs = socket.socketpair(socket.AF_UNIX, socket.SOCK_SEQPACKET)
    with theirs:
        undo.callback(ours.close)
        layout = Layout(tuple(host_binds()), kit.path, theirs.fileno(), root)
        process = _spawn(bwrap_command(bwrap, spec, identity, layout), theirs)
    return BubblewrapBox(process, ours, identity, kit, group, spec.limits, facts)


def _spawn(command: list[str], control: socket.socket) -> subprocess.Popen[bytes]:
    # Opened here: a Popen that fails may leave what it has opened for DEVNULL.
    with open(os.devnull, "r+b") as nothing:
        try:
            return subprocess.Popen(
                command,
                stdin=nothing,
                stdout=nothing,
                stderr=subprocess.PIPE,
                pass_fds=[control.fileno()],
                # Ctrl-C is for the harness, which then ends its boxes in order.
                start_new_session=True,
                env={"PATH": "/usr/bin:/bin"},
            )
        except (FileNotFoundError, PermissionError) as error:
            raise BackendUnavailable(f"bubblewrap cannot be started: {error.strerror}") from error


class BubblewrapBox:
    """One started box. Init leaves, and the kernel ends all else, when ``control`` closes."""

    filters = 0

    def __init__(
        self,
        process: subprocess.Popen[bytes],
        control: socket.socket,
        identity: Identity,
        kit: Kit,
        group: ControlGroup | None,
        limits: Limits,
        facts: Mapping[str, object],
    ) -> None:
        self._process = process
        self._init = -1  # a pidfd, once init's pid is known
        self._closed = False
        self._counters: LimitCounters | None = None
        self._kit = kit
        self._group = group
        self.control = control
        self.identity = identity
        self.attach = os.geteuid() == 0
        self.rlimits = _rlimits(limits, grouped=group is not None)
        self.facts = facts

    def admit(self, pid: int) -> None:
        """Put init, and so all it starts, under the box's limits.

        Raises:
            BoxError: init is gone, or the kernel refused.
        """
        with guarded("find the init of a box"):
            self._init = os.pidfd_open(pid)
        if self._group:
            self._group.admit(pid)
            with guarded("look at the limits of a box"):
                self._counters = LimitCounters(Path(f"/proc/{pid}/cgroup").read_text("ascii"))

    def limits_hit(self) -> Mapping[str, int]:
        """What the kernel counted; nothing without control groups of the box's own."""
        return self._counters.read() if self._counters else {}

    def complaint(self) -> str:
        """What bubblewrap said on standard error, once it has ended."""
        stream: IO[bytes] | None = self._process.stderr
        try:
            self._process.wait(COMPLAINT_SECONDS)
        except subprocess.TimeoutExpired:
            return ""
        return stream.read().decode("utf-8", "replace").strip() if stream else ""

    def close(self) -> None:
        """Remove the box, its files and its users. Safe to call twice.

        Raises:
            BoxError: it did not end, by force neither; the users are then kept,
                so that no other box gets them.
        """
        if self._closed:
            return
        self.control.close()
        if not (self._ended(END_SECONDS) or self._killed()):
            raise BoxError("a box did not end", got=f"pid {self._process.pid}")
        self._closed = True
        if self._init >= 0:
            os.close(self._init)
        if self._process.stderr:
            self._process.stderr.close()
        if self._group:
            self._group.remove()
        self._kit.close()
        self.identity.release()

    def _ended(self, seconds: float) -> bool:
        """Whether bubblewrap is reaped, and init gone, within ``seconds`` each.

        Bubblewrap can die before its box does: init says when the users are free.
        """
        try:
            self._process.wait(seconds)
        except subprocess.TimeoutExpired:
            return False
        if self._init < 0:
            return True
        poller = select.poll()
        poller.register(self._init, select.POLLIN)
        return bool(poller.poll(round(seconds * 1000)))

    def _killed(self) -> bool:
        if self._init >= 0:
            with suppress(ProcessLookupError):
                signal.pidfd_send_signal(self._init, signal.SIGKILL)
        self._process.kill()
        return self._ended(KILL_SECONDS)


def _rlimits(limits: Limits, *, grouped: bool) -> Mapping[int, tuple[int, int]]:
    size = limits.disk_mb * MEBIBYTE
    found = {resource.RLIMIT_CORE: (0, 0), resource.RLIMIT_FSIZE: (size, size)}
    if not grouped:
        memory = limits.memory_mb * MEBIBYTE
        found[resource.RLIMIT_DATA] = (memory, memory)
        found[resource.RLIMIT_NPROC] = (limits.pids, limits.pids)
    return found


def _facts(identity: Identity, spec: BoxSpec, *, grouped: bool) -> dict[str, object]:
    version = bwrap_version(find_bwrap()) or ()
    return {
        "backend": "bubblewrap",
        "bubblewrap": ".".join(map(str, version)),
        "image": "host",
        "role_uid": identity.role_uid,
        "init_uid": identity.init_uid,
        "distinct_uids": identity.distinct,
        "limits": _limit_facts(spec, grouped=grouped),
    }


def _limit_facts(spec: BoxSpec, *, grouped: bool) -> dict[str, str]:
    limits = spec.limits
    cpus = f"{limits.cpus:g} cores"
    disk = f"tmpfs, {spec.private_mb} MiB a private zone; {shared_disk_fact(limits.disk_mb)}"
    if grouped:
        return {
            "memory_mb": f"cgroup, {limits.memory_mb} MiB",
            "pids": f"cgroup, {limits.pids + 1} processes with init",
            "cpus": f"cgroup, {cpus}",
            "disk_mb": disk,
        }
    return {
        "memory_mb": f"rlimit, {limits.memory_mb} MiB of private memory a process",
        "pids": f"rlimit, {limits.pids} processes of this user in the user namespace",
        "cpus": f"not enforced, {cpus}",
        "disk_mb": disk,
    }
